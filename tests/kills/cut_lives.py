"""The process that `test_cuts.py` runs: tells the story in lives that end themselves at a commit.

Reads lines of JSON, `{"home", "folder", "commit", "side", "tale"}`, and answers each with the exit
status of a life: it dies by SIGKILL right before or right after its commit of that number, or ends
with 0 when it came to the story's end before. Every life is a fork, so the program is loaded once.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, event

from cortex_actors.pipeline.organiser import Organiser
from cortex_actors.pipeline.reconciler import Reconciler
from tests.kills.standing import standing
from tests.kills.story import DOWN, SETTINGS, UP, tell, write

if TYPE_CHECKING:
    from collections.abc import Sequence


class Cut:
    """Ends this process at a commit."""

    def __init__(self, commit: int, side: str) -> None:
        self._commit = commit
        self._side = side
        self._seen = 0

    def committing(self) -> None:
        """Count a commit that is about to be done."""
        self._seen += 1
        self._at("before")

    def committed(self) -> None:
        """Look whether the commit that was done was the one."""
        self._at("after")

    def _at(self, side: str) -> None:
        if (self._seen, side) == (self._commit, self._side):
            os.kill(os.getpid(), signal.SIGKILL)


class Connection(sqlite3.Connection):
    """The connection that writes, whoever commits on it and however."""

    cut: Cut

    def commit(self) -> None:
        if not self.in_transaction:
            return super().commit()
        self.cut.committing()
        super().commit()
        return self.cut.committed()

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql.strip().upper() not in ("COMMIT", "END"):
            return super().execute(sql, *values)
        self.cut.committing()
        done = super().execute(sql, *values)
        self.cut.committed()
        return done


def connect(_dialect: object, _record: object, words: tuple[str, ...], how: dict[str, Any]) -> None:
    """Have SQLAlchemy make the writing connection one of ours."""
    if "mode=ro" not in str(words):
        how["factory"] = Connection


async def live(home: Path, folder: Path, tale: str) -> None:
    """Tell the story to its end, from where the last life left it."""
    async with standing(home, **SETTINGS) as tree:
        await tell(tree, folder, home / f"done {tale}", tale)


def fork(home: str, folder: str, commit: int, side: str, tale: str) -> int:
    """Live one life in a process of its own, and return how it ended."""
    if pid := os.fork():
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status)
    code = 1
    try:
        Connection.cut = Cut(commit, side)
        asyncio.run(live(Path(home), Path(folder), tale))
        code = 0
    except BaseException:  # noqa: BLE001 - whoever reads the exit status asks why
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def warm_up(tales: Sequence[str]) -> None:
    """Tell the stories once: what is imported and compiled on the way, every fork has then."""
    Connection.cut = Cut(0, "")
    with tempfile.TemporaryDirectory(prefix="cx-") as folder:
        write(Path(folder) / "projects")
        (Path(folder) / "home").mkdir()
        for tale in tales:
            asyncio.run(live(Path(folder) / "home", Path(folder) / "projects", tale))


if __name__ == "__main__":
    # Nobody rests so that others gather: a life is to be short.
    Reconciler.share = Organiser.share = 1.0
    event.listen(Engine, "do_connect", connect)
    warm_up(sys.argv[1:] or (UP, DOWN))
    for line in sys.stdin:
        print(fork(**json.loads(line)), flush=True)  # noqa: T201 - the answer
