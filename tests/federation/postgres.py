"""A real PostgreSQL with pgvector of a test's own, on this machine: what pgserver brings."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from tests.contract.adapters import STARTING
from tests.process.commands import until
from tests.process.server import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Who runs it where tests run as root, which PostgreSQL refuses.
NOBODY = "nobody"

#: Its owner's password, asked for over TCP.
PASSWORD = "open-sesame"

#: What a test's server leaves out: it is thrown away.
_HASTE = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "shared_buffers=16MB")


class Postgres:
    """One server; over TCP it wants a password, over its socket it knows who asks."""

    def __init__(self, folder: Path) -> None:
        """Keep its files in a folder, on a port that is free now."""
        self.folder = folder
        self.port = free_port()
        self.url = f"postgresql://127.0.0.1:{self.port}/postgres"
        self._user = NOBODY if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """Make an empty database."""
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run(
            *("initdb", "--no-sync", "-U", "postgres", "-E", "UTF8", "--locale=C"),
            *("--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={secret}"),
            *("-D", str(self.folder / "data")),
        )

    def start(self) -> None:
        """Start it; return once it answers."""
        options = [part for each in _HASTE for part in ("-c", each)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    str(_program("postgres")),
                    *("-D", str(self.folder / "data"), "-p", str(self.port)),
                    *("-h", "127.0.0.1", "-k", str(self.folder), *options),
                ],
                stdout=log,
                stderr=log,
                user=self._user,
                extra_groups=[] if self._user else None,
                cwd=self.folder,
            )
        until(self._answers, "the PostgreSQL server", within=STARTING)

    def stop(self) -> None:
        """End it at once, with everybody's connections."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Have every process of it answer nobody any more, with its connections open."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on."""
        self._signal(signal.SIGCONT)

    def run(self, query: str, *values: Any) -> list[Sequence[Any]]:
        """Run a statement as its owner, and return what it finds."""
        with psycopg.connect(self._own, autocommit=True) as connection:
            cursor = connection.execute(query.encode(), values or None)
            return list(cursor.fetchall()) if cursor.description else []

    @property
    def _own(self) -> str:
        return f"host={self.folder} port={self.port} user=postgres dbname=postgres"

    def _answers(self) -> bool:
        with suppress(psycopg.OperationalError):
            self.run("SELECT 1")
            return True
        return False

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        for process in (self._process.pid, *map(int, children.read_text().split())):
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(_program(program)), *arguments],
            check=True,
            capture_output=True,
            user=self._user,
            extra_groups=[] if self._user else None,
            cwd=self.folder,
        )


@contextmanager
def serving() -> Iterator[Postgres]:
    """Run a server in a folder that its user can reach, which a test's own is not for `nobody`."""
    folder = Path(tempfile.mkdtemp(prefix="cx-pg-"))
    folder.chmod(0o755)
    server = Postgres(folder)
    try:
        server.make()
        server.start()
        server.run("CREATE EXTENSION vector")
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> Path:
    """Return a program of the package, which is not imported: that would take a lock for all."""
    found = importlib.util.find_spec("pgserver")
    assert found is not None, "pgserver is not installed: pip install -e '.[dev]'"
    assert found.origin is not None
    return Path(found.origin).parent / "pginstall" / "bin" / name
