"""A server of another program, a process of a test's own on a free port of this machine."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess


class ServerProcess:
    """One process on one port; it can be stopped, and made to answer nobody for a while."""

    def __init__(self) -> None:
        """Take a port that is free now; whoever inherits starts the process."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def stop(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Have it answer nobody any more, with its connections open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Have it answer again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)
