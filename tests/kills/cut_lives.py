"""The process that `test_cuts.py` runs: tells the story in lives that stop themselves at commits.

Reads lines of JSON, `{"home", "folder", "commits", "sides", "tale"}`, and answers each with the
exit status of a life, which ends with 0 when it came to the story's end. `commits` is a range's
first, end and step: right before or right after each of those the life stops, all its threads at
once, as a SIGKILL would end them. That is answered with `stopped`; at the next line, `on` or
`kill`, the life goes on or dies. Every life is a fork, so the program is loaded once.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
import tempfile
import threading
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
    """Stops this process at commits."""

    def __init__(self, commits: range, sides: Sequence[str] = ()) -> None:
        self._commits = commits
        self._sides = sides
        self._seen = 0

    def committing(self) -> None:
        """Count a commit that is about to be done."""
        self._seen += 1
        self._at("before")

    def committed(self) -> None:
        """Look whether the commit that was done was one of them."""
        self._at("after")

    def _at(self, side: str) -> None:
        if self._seen in self._commits and side in self._sides:
            # To this very thread, which stops at once, and all others with it: another one that was
            # chosen for it would let this one go on to the next commit, and two stops be one.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


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


def fork(home: str, folder: str, commits: list[int], sides: list[str], tale: str) -> int:
    """Live one life in a process of its own, and return how it ended."""
    if pid := os.fork():
        return attend(pid)
    code = 1
    try:
        Connection.cut = Cut(range(*commits), sides)
        asyncio.run(live(Path(home), Path(folder), tale))
        code = 0
    except BaseException:  # noqa: BLE001 - whoever reads the exit status asks why
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def attend(pid: int) -> int:
    """Say when a life has stopped, and do with it what is said then; return how it ended."""
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        print("stopped", flush=True)  # noqa: T201 - the answer
        go_on = sys.stdin.readline() == "on\n"
        os.kill(pid, signal.SIGCONT if go_on else signal.SIGKILL)


def warm_up(tales: Sequence[str]) -> None:
    """Tell the stories once: what is imported and compiled on the way, every fork has then."""
    Connection.cut = Cut(range(0))
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
