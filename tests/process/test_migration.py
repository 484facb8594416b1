"""A migration whose process is killed in the middle."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger.backups import find_problem
from cortex_actors.storage.ledger.connection import migrate
from tests.process.commands import ROOT
from tests.storage.later import OLD, become_later
from tests.storage.ledgers import template

if TYPE_CHECKING:
    from pathlib import Path

#: Migrates a ledger and is killed when everything is done but the commit.
SCRIPT = """
import os, signal, sys
from pathlib import Path
from cortex_actors.storage.ledger import connection
from tests.storage.later import become_later

def killed(opened, upgrade=connection._upgrade):
    upgrade(opened)
    os.kill(os.getpid(), signal.SIGKILL)

become_later(Path(sys.argv[2]))
connection._upgrade = killed
path = Path(sys.argv[1])
connection.migrate(connection.open_writing(path), path)
"""


class TestKilled:
    @pytest.mark.slow
    def test_as_before(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The ledger is as it was, a copy of it is good, and the next start migrates it."""
        path, later = tmp_path / "cortex.db", tmp_path / "later"
        path.write_bytes(template())
        with closing(sqlite3.connect(path, isolation_level=None)) as opened:
            opened.execute(
                "INSERT INTO projects (id, name, root, added_at) VALUES ('prj_1', 'a', '/a', 1)"
            )
            before = list(opened.iterdump())
        ended = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(path), str(later)],
            cwd=ROOT,
            capture_output=True,
            check=False,
        )
        with closing(sqlite3.connect(path)) as opened:
            version = opened.execute("PRAGMA user_version").fetchone()
            left = list(opened.iterdump())
        (copy,) = (tmp_path / "backups").glob(f"before-v{OLD}-*.db")
        become_later(later, monkeypatch.setattr)
        engine = opening.open_writing(path)
        found = migrate(engine, path)
        engine.dispose()

        assert -signal.SIGKILL == ended.returncode, ended.stderr
        assert ((OLD,), before) == (version, left)
        assert "" == find_problem(copy)
        assert OLD == found
        assert "" == find_problem(path)
