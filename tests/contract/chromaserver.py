"""A real Chroma server of a test's own, on this machine and without a network."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.contract.adapters import STARTING
from tests.process.commands import until
from tests.process.server import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Chroma's program, installed with the library.
PROGRAM = Path(sys.executable).with_name("chroma")

#: Where its collections are listed.
LISTED = "api/v2/tenants/default_tenant/databases/default_database/collections?limit=1000"


class ChromaServer(ServerProcess):
    """`chroma run` on one port; it can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        """Keep its files in a folder, on a port that is free now."""
        super().__init__()
        self._folder = folder

    def start(self) -> None:
        """Start it; return once it answers."""
        where = ("--path", str(self._folder), "--host", "127.0.0.1", "--port", str(self.port))
        with (self._folder.parent / "chroma.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(PROGRAM), "run", *where], stdout=log, stderr=log, cwd=self._folder
            )
        until(self._answers, "the Chroma server", within=STARTING)

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
