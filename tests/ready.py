"""Index children that start at once: forks of one process that has loaded Chroma.

Every whole tree of a test starts such a child, and most of what a child costs is that import. Each
is a process as the real one is, with the socket, the output and the environment that it is given;
what `python -m` adds is tested where the daemon is a process. Run as a program it is what forks.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cortex_actors.runtime import child
from cortex_actors.storage.index.life import CHILD

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Sequence

#: The folder that `tests` is imported from.
_ROOT = Path(__file__).parents[1]

#: Bytes of a request: an environment and some words.
_REQUEST = 2**20

#: Bytes of a number on the line.
_NUMBER = 12

#: What starts an interpreter otherwise.
_START = child.start_python


class ReadyProcess:
    """A fork, as asyncio shows a process: what ChildProcess asks of one."""

    #: Those that run.
    running: set[ReadyProcess] = set()  # noqa: RUF012 - of all

    def __init__(self, pid: int, ending: socket.socket) -> None:
        """Listen for its end."""
        self.pid = pid
        self.returncode: int | None = None
        self._ending = ending
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._loop.add_reader(ending, self._end)
        self.running.add(self)

    def _end(self) -> None:
        self._loop.remove_reader(self._ending)
        self.returncode = int(self._ending.recv(_NUMBER) or -signal.SIGKILL)
        self._ending.close()
        self.running.discard(self)
        self._ended.set_result(self.returncode)

    async def wait(self) -> int:
        """Return how it ended, once it has."""
        return int(await asyncio.shield(self._ended))

    @classmethod
    def forget(cls) -> int:
        """Return how many run, and end them."""
        left = list(cls.running)
        cls.running.clear()
        for each in left:
            each.kill()
        return len(left)

    def kill(self) -> None:
        """End it now."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


class Nursery:
    """Has the process that forks, from when it is first needed."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._line: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End the process that forks."""
        if self._line and self._process:
            self._line.close()
            self._process.wait()

    async def start(
        self, words: Sequence[str], handed: socket.socket, *, sink: int | None
    ) -> Process:
        """Start an interpreter, or fork an index child."""
        # Elsewhere a fork may not use what its parent has loaded.
        if sys.platform != "linux" or tuple(words[:2]) != ("-m", CHILD):
            return await _START(words, handed, sink=sink)
        sys.audit("subprocess.Popen", sys.executable, [sys.executable], None, None)
        ours, theirs = socket.socketpair()
        with theirs:
            said = {"words": words[2:], "env": dict(os.environ), "cwd": str(Path.cwd())}
            fds = [handed.fileno(), theirs.fileno(), 2 if sink is None else sink]
            socket.send_fds(self._ready(), [json.dumps(said).encode() + b"\n"], fds)
        ours.setblocking(False)
        try:
            pid = int(await asyncio.get_running_loop().sock_recv(ours, _NUMBER))
        except BaseException:  # the child hears by its own socket that no caller waits
            ours.close()
            raise
        return cast("Process", ReadyProcess(pid, ours))

    def _ready(self) -> socket.socket:
        """Return the line to what forks."""
        if self._line is None:
            self._line, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-u", "-X", "faulthandler", "-m", "tests.ready"],
                    stdin=theirs.fileno(),
                    cwd=_ROOT,
                    # Threads of a library would not be there in a fork.
                    env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(_ROOT)},
                    process_group=0,
                )
        return self._line


def _serve(line: socket.socket) -> None:
    """Fork for each request, until no process is left to make one."""
    from cortex_actors.storage.index import child as program  # noqa: PLC0415
    from cortex_actors.storage.index import chroma  # noqa: PLC0415 - not in a test's process

    chroma.load()
    while True:
        text, fds, _, _ = socket.recv_fds(line, _REQUEST, 3)
        while text and not text.endswith(b"\n"):
            text += line.recv(_REQUEST)
        if not text:
            break
        if os.fork() == 0:
            line.close()
            _attend(json.loads(text), fds, program)
        for each in fds:
            os.close(each)
        _reap(os.WNOHANG)
    _reap(0)


def _reap(how: int) -> None:
    """Wait for those that have ended, so that what they used is counted."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, how)[0]:
            pass


def _attend(said: dict[str, Any], fds: list[int], program: Any) -> None:
    """Fork once more, and tell the test which process it is and later how it ended."""
    handed, telling, sink = fds
    pid = os.fork()
    if pid:
        os.close(handed)
        os.close(sink)
        try:
            _tell(telling, pid)
            _tell(telling, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        finally:
            os._exit(0)
    os.close(telling)
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in enumerate((nothing, sink, sink)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(said["env"], HF_HUB_OFFLINE="1")
    os.chdir(said["cwd"])
    words = said["words"]
    words[words.index("--fd") + 1] = str(handed)
    sys.argv[1:] = words
    try:
        program.main()
    finally:
        os._exit(1)


def _tell(telling: int, number: int) -> None:
    with suppress(BrokenPipeError):  # the test's loop has gone
        os.write(telling, f"{number:{_NUMBER}}".encode())


if __name__ == "__main__":
    _serve(socket.socket(fileno=os.dup(0)))
