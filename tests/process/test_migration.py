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
from cortex_actors.storage.ledger.backups import problem
from cortex_actors.storage.ledger.migrate import migrate
from cortex_actors.storage.migrations.versions.v0001 import STATEMENTS
from tests.process.commands import ROOT

if TYPE_CHECKING:
    from pathlib import Path

#: Migrates a ledger and is killed when everything is done but the commit.
SCRIPT = """
import os, signal, sys
from pathlib import Path
from cortex_actors.storage.ledger import connection, migrate

def killed(opened, upgrade=migrate._upgrade):
    upgrade(opened)
    os.kill(os.getpid(), signal.SIGKILL)

migrate._upgrade = killed
path = Path(sys.argv[1])
migrate.migrate(connection.writing(path), path)
"""


class TestKilled:
    @pytest.mark.slow
    def test_as_before(self, tmp_path: Path) -> None:
        """The ledger is as it was, a copy of it is good, and the next start migrates it."""
        path = tmp_path / "cortex.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as opened:
            opened.execute("PRAGMA journal_mode = WAL")
            for statement in STATEMENTS:
                opened.execute(statement)
            opened.execute("INSERT INTO projects VALUES ('prj_1', 'atlas', '/atlas', 1, 1)")
            opened.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
            opened.execute("INSERT INTO alembic_version VALUES ('0001')")
            opened.execute("PRAGMA user_version = 1")
            before = list(opened.iterdump())
        ended = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(path)], cwd=ROOT, capture_output=True, check=False
        )
        with closing(sqlite3.connect(path)) as opened:
            version = opened.execute("PRAGMA user_version").fetchone()
            left = list(opened.iterdump())
        (copy,) = (tmp_path / "backups").glob("before-v1-*.db")
        engine = opening.writing(path)
        found = migrate(engine, path)
        engine.dispose()

        assert -signal.SIGKILL == ended.returncode, ended.stderr
        assert ((1,), before) == (version, left)
        assert "" == problem(copy)
        assert 1 == found
        assert "" == problem(path)
