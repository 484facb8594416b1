"""A server of another program, a process of a test's own on a free port of this machine."""

from __future__ import annotations

import secrets
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

#: Ports of which one is taken at random. Below those that systems give to whoever asks for any: the
#: seconds until a server binds its own are enough for another test to be given it.
_PORTS = range(20_000, 32_000)


def free_port() -> int:
    """Return a port that is free now and that nobody is given by chance."""
    while True:
        port = secrets.choice(_PORTS)  # `random` is seeded alike in every process of the tests
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


class ServerProcess:
    """One process on one port; it can be stopped, and made to answer nobody for a while."""

    def __init__(self) -> None:
        """Take a port that is free now; whoever inherits starts the process."""
        self.port = free_port()
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
