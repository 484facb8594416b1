"""A child process that answers requests: the daemon's side of frames.py.

What may crash the interpreter or hold its lock for long lives in such a child. Its death fails
the requests that wait for it and nothing else.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import socket
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Self

from cortex_actors.errors import BadInput, ChildProcessDown, CortexError, DeadlineExceeded
from cortex_actors.runtime import frames
from cortex_actors.runtime.output import relay

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Mapping, Sequence

    Answer = asyncio.Future[tuple[dict[str, Any], bytes]]

#: Seconds in which a child that has hung up must be gone, and its last words be read.
GRACE = 1.0

#: Bytes read ahead from a child before it has to wait.
READ_AHEAD = 2**20


class ChildError(CortexError):
    """A child's handler raised; `kind` is the name of the exception's class."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class ChildProcess:
    """One running child. Requests may overlap; the child answers them one after another.

    When the child ends, whatever the cause, every waiting request gets ChildProcessDown with
    its exit code or the name of the signal; a request may then have taken effect.
    """

    def __init__(
        self,
        name: str,
        process: Process,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        output: asyncio.Task[None] | None,
    ) -> None:
        self.name = name
        self._process = process
        self._reader, self._writer = streams
        self._output = output
        self._ids = itertools.count(1)
        self._waiting: dict[int, Answer] = {}
        self._killed = False
        self._reason: object = None
        self._life = asyncio.create_task(self._attend(), name=f"child {name}")

    @classmethod
    async def spawn(
        cls,
        module: str | Sequence[str],
        args: Sequence[str] = (),
        *,
        name: str,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> Self:
        """Start `python -m module --fd N *args` (or other interpreter arguments).

        `env` is added to this process's environment. `on_line` is given each line that the child
        writes to stdout or stderr; without it the child writes where this process does. Returns
        before the child has loaded anything. A cancelled start leaves nothing behind.
        """
        spawning = asyncio.ensure_future(
            cls._spawn(module, args, name=name, env=env, on_line=on_line)
        )
        try:
            return await asyncio.shield(spawning)
        except asyncio.CancelledError:
            # Half a start cannot be taken back: it is finished, and then ended.
            await asyncio.wait({spawning})
            if not spawning.cancelled() and spawning.exception() is None:
                spawning.result().kill()
                await spawning.result().exited()
            raise

    @classmethod
    async def _spawn(
        cls,
        module: str | Sequence[str],
        args: Sequence[str],
        *,
        name: str,
        env: Mapping[str, str] | None,
        on_line: Callable[[str], None] | None,
    ) -> Self:
        """Start the process and connect to it."""
        how = ("-m", module) if isinstance(module, str) else tuple(module)
        with ExitStack() as on_failure:
            ours, theirs = socket.socketpair()
            on_failure.callback(ours.close)
            output = await relay(on_line, name) if on_line else None
            if output is not None:
                on_failure.callback(output.task.cancel)
            with theirs:
                process = await _start(
                    how, theirs.fileno(), args, env, output.sink if output else None
                )
            on_failure.callback(_end, process)
            streams = await asyncio.open_connection(sock=ours, limit=READ_AHEAD)
            on_failure.pop_all()
        return cls(name, process, streams, output.task if output else None)

    @property
    def pid(self) -> int:
        """Return the child's process id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Return the exit code once it has ended: of a signal its number, negative."""
        return self._process.returncode

    async def request(
        self,
        op: str,
        params: Mapping[str, object] | None = None,
        body: bytes = b"",
        *,
        deadline: float,
    ) -> tuple[dict[str, Any], bytes]:
        """Have the child run an op, and return its JSON answer and bytes.

        Raises DeadlineExceeded after `deadline` seconds (the child goes on with it),
        ChildProcessDown, ChildError for an exception of the child's handler, and BadInput for a
        frame over the limit.
        """
        if self._life.done() or self._reason is not None:
            raise self._down()
        number = next(self._ids)
        head = frames.head({"id": number, "op": op, "params": params or {}}, body)
        answer: Answer = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            async with asyncio.timeout(deadline) as limit:
                await self._send(head, body)
                return await answer
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise DeadlineExceeded(
                f"{self.name} did not answer {op!r} within {deadline} s; it may still be at it"
            ) from error
        finally:
            self._waiting.pop(number, None)

    async def stop(self, timeout: float | None) -> None:
        """Close our end, which ends the child, and wait until it has; kill it after `timeout` s."""
        with suppress(OSError):
            if not self._writer.is_closing():
                self._writer.write_eof()
        await asyncio.wait({self._life}, timeout=timeout)
        if not self._life.done():
            self.kill()
        await asyncio.shield(self._life)

    def kill(self) -> None:
        """End the child now; `exited` then gives "killed"."""
        if self._process.returncode is None:
            self._killed = True
            _end(self._process)

    async def exited(self) -> object:
        """Wait for the child's end: "normal" (exit code 0), "killed" or a ChildProcessDown."""
        await asyncio.shield(self._life)
        return self._reason

    async def _send(self, head: bytes, body: bytes) -> None:
        with suppress(ConnectionError):  # the child has ended: the answer will say how
            self._writer.write(head)
            if body:
                self._writer.write(body)
            await self._writer.drain()

    async def _attend(self) -> None:
        """Read answers until the child has ended, then release everything it had."""
        reading = asyncio.create_task(self._read_answers(), name=f"answers of {self.name}")
        ending = asyncio.create_task(self._process.wait(), name=f"end of {self.name}")
        try:
            await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({ending}, timeout=GRACE)
            if not ending.done():
                _end(self._process)
            await ending
            await asyncio.wait({reading}, timeout=GRACE)
        finally:
            _end(self._process)
            self._reason = self._why()
            self._fail_waiting()
            for task in filter(None, (reading, ending)):
                task.cancel()
            self._writer.close()
        await self._close()

    async def _close(self) -> None:
        if self._output is not None:
            await asyncio.wait({self._output}, timeout=GRACE)
            self._output.cancel()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _read_answers(self) -> None:
        try:
            while True:
                prefix = await self._reader.readexactly(frames.LENGTHS.size)
                header, body = frames.lengths(prefix)
                answer = json.loads(await self._reader.readexactly(header))
                self._deliver(answer, await self._reader.readexactly(body))
        except (asyncio.IncompleteReadError, OSError):
            return
        except (BadInput, ValueError, KeyError, TypeError):  # this is no frame: nothing that
            _end(self._process)  # follows can be read

    def _deliver(self, header: dict[str, Any], body: bytes) -> None:
        answer = self._waiting.get(header["id"])
        if answer is None or answer.done():  # nobody waits any more
            return
        error = header.get("error")
        if error is None:
            answer.set_result((header["result"], body))
        else:
            text = f"{self.name} failed: {error['type']}: {error['text']}"
            answer.set_exception(ChildError(text, error["type"]))

    def _fail_waiting(self) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self._down())

    def _why(self) -> object:
        if self._killed:
            return "killed"
        return self._down() if self._process.returncode else "normal"

    def _down(self) -> ChildProcessDown:
        code = self._process.returncode
        how = "of an unknown cause" if code is None else f"with exit code {code}"
        if code is not None and code < 0:
            with suppress(ValueError):
                how = f"by {signal.Signals(-code).name}"
        return ChildProcessDown(
            f"{self.name} (process {self.pid}) ended {how}; ask again once it has been restarted"
        )


async def _start(
    how: Sequence[str],
    fd: int,
    args: Sequence[str],
    env: Mapping[str, str] | None,
    sink: int | None,
) -> Process:
    """Start the interpreter: unbuffered, with a stack on stderr for a crash, no terminal."""
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-u", "-X", "faulthandler", *how, "--fd", str(fd), *args),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            pass_fds=(fd,),
            # A group of its own, so that Ctrl-C does not reach it before it can ignore it.
            process_group=0,
            env={**os.environ, **(env or {})},
        )
    finally:
        if sink is not None:
            os.close(sink)


def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
