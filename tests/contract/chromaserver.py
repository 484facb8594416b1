"""A real Chroma server of a test's own, on this machine and without a network."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.process.commands import until

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Chroma's program, installed with the library.
PROGRAM = Path(sys.executable).with_name("chroma")

#: Where its collections are listed.
LISTED = "api/v2/tenants/default_tenant/databases/default_database/collections?limit=1000"


class ChromaServer:
    """`chroma run` on one port; it can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        """Keep its files in a folder, on a port that is free now."""
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; return once it answers."""
        where = ("--path", str(self._folder), "--host", "127.0.0.1", "--port", str(self.port))
        with (self._folder.parent / "chroma.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(PROGRAM), "run", *where], stdout=log, stderr=log, cwd=self._folder
            )
        until(self._answers, "the Chroma server")

    def stop(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Have it answer nobody any more, with its connections open."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def collections(self) -> list[str]:
        """Return the names of every collection."""
        with urllib.request.urlopen(f"{self.url}/{LISTED}", timeout=10) as answer:  # noqa: S310
            return sorted(each["name"] for each in json.load(answer))

    def _answers(self) -> bool:
        with suppress(OSError):
            self.collections()
            return True
        return False


@contextmanager
def serving(folder: Path) -> Iterator[ChromaServer]:
    """Run a server on a folder."""
    folder.mkdir(exist_ok=True)
    server = ChromaServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
