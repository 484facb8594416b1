"""Starts `mcpserver.py` for tests, as a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.contract.adapters import STARTING
from tests.process.commands import until
from tests.process.server import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The program, and how it is started over its pipes.
PROGRAM = Path(__file__).with_name("mcpserver.py")
COMMAND = [sys.executable, str(PROGRAM)]


class McpServer(ServerProcess):
    """One server on a port; it can be stopped and started again."""

    def __init__(self, token: str = "", *arguments: str) -> None:
        """Take a port that is free now."""
        super().__init__()
        self.url = f"{self.url}/mcp"
        self._command = [*COMMAND, str(self.port), *arguments]
        self._environment = {**os.environ, "TOKEN": token}

    def start(self) -> None:
        """Start it; return once it listens."""
        self._process = subprocess.Popen(self._command, env=self._environment)
        until(self._listens, "the MCP server", within=STARTING)

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False


@contextmanager
def serving(token: str = "", *arguments: str) -> Iterator[McpServer]:
    """Run a server."""
    server = McpServer(token, *arguments)
    server.start()
    try:
        yield server
    finally:
        server.stop()
