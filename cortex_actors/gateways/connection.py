"""One connection of the control socket: lines in, lines out, and answers at once where they can be.

A line that comes alone, while no other is worked on, is first offered to a function that answers it
without waiting: such an answer costs neither a task nor a timer, which are most of the
cost of a small request. Everything else is read line by line, as a stream.

The file of the control socket: made so that only we can connect, removed only if it is ours.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from cortex_actors.errors import BadInput, ConfigurationError, DeadlineExceeded, TooManyConnections
from cortex_actors.gateways import rpc
from cortex_actors.home import LINE_LIMIT, Home

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


#: Seconds without a complete request after which a connection is closed. Our own clients connect
#: for each call, and a follower of the log is not idle.
IDLE = 60.0

#: Seconds a reader may take nothing while `send` waits for it.
STUCK = 30.0

#: Bytes that wait for one reader before `send` waits for it.
WRITE_BUFFER = 64 * 1024

#: Bytes read from the socket at once. Of asyncio's own 256 KiB the allocator asks the kernel again
#: for each read, which costs more than a small request.
CHUNK = 64 * 1024

_NEWLINE = b"\n"


class Connection(asyncio.StreamReaderProtocol):
    """The server's end of one connection.

    `serve` is run as a task of its own for each connection. `at_once` gets a whole line and returns
    what to send (nothing, for a notification), or None to have it read as a stream.
    """

    def __init__(
        self,
        serve: Callable[[Connection], Coroutine[Any, Any, None]],
        at_once: Callable[[bytes], bytes | None],
    ) -> None:
        self._reader = asyncio.StreamReader(limit=LINE_LIMIT)
        super().__init__(self._reader, self._begin)
        self._serve = serve
        self._at_once = at_once
        self._task: asyncio.Task[None] | None = None
        self._to: asyncio.StreamWriter | None = None
        self._out: asyncio.Transport
        #: Whether it waits for a line of which no end has come yet.
        self.idle = False
        #: When it began to wait, or last answered a line at once; the loop's seconds.
        self.idle_since = 0.0
        self._dismissed = False
        #: Bytes given to the stream, and taken from it.
        self._given = self._taken = 0

    @property
    def writer(self) -> asyncio.StreamWriter:
        """Where to write; there is one as long as `serve` runs."""
        return cast("asyncio.StreamWriter", self._to)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve."""
        if hasattr(transport, "max_size"):
            transport.max_size = CHUNK
        self._out = cast("asyncio.Transport", transport)
        self._out.set_write_buffer_limits(high=WRITE_BUFFER)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Answer a line at once, or give it to the stream."""
        if self._is_whole(data):
            answer = self._at_once(data)
            if answer is not None:
                self.idle_since = asyncio.get_running_loop().time()
                self._out.write(answer)
                return
        self.idle = self.idle and _NEWLINE not in data
        self._given += len(data)
        super().data_received(data)

    async def read_line(self) -> bytes:
        """Return the next line, empty at the end and once the connection was dismissed.

        Raises `Unreadable` for one that is too long, `DeadlineExceeded` when none comes in time.
        """
        self.idle, self.idle_since = True, asyncio.get_running_loop().time()
        try:
            line = await self._next_line()
        except ValueError:
            error = BadInput(f"the request has more than {LINE_LIMIT:,} bytes on one line")
            raise rpc.UnreadableRequest(rpc.INVALID_REQUEST, error) from None
        finally:
            self.idle = False
        self._taken += len(line)
        # The beginning of a line must not be taken for a request because the rest cannot come.
        return b"" if self._dismissed else line

    async def read_raw_line(self) -> bytes:
        """Return the next line, however long it takes to come; empty at the end.

        Raises `ValueError` for one that is too long.
        """
        line = await self._reader.readline()
        self._taken += len(line)
        return line

    async def wait_left(self) -> None:
        """Return when the client says anything, which is then gone, or hangs up."""
        self._taken += len(await self._reader.read(1))

    async def send(self, data: bytes) -> None:
        """Send, waiting for a slow reader; raises `TimeoutError` for one that is stuck."""
        self.writer.write(data)
        if self._out.get_write_buffer_size():
            async with asyncio.timeout(STUCK):
                await self.writer.drain()

    def dismiss(self) -> None:
        """Close an idle connection at once to make room, and say so where the client reads."""
        self.idle, self._dismissed = False, True
        seconds = asyncio.get_running_loop().time() - self.idle_since
        message = (
            f"the daemon closed a connection idle for {seconds:.1f} s, to make room for others;"
            " connect and ask again"
        )
        self._out.write(rpc.encode_failure(None, TooManyConnections(message)))
        if self._out.get_write_buffer_size():
            self.hang_up()
        self._out.close()

    def hang_up(self) -> None:
        """Cut the connection off; what was not sent is lost."""
        self._out.abort()

    async def finish(self) -> None:
        """Wait, once closed, until everything is sent; a client that takes nothing is cut off."""
        if self._out.get_write_buffer_size():
            try:
                async with asyncio.timeout(STUCK):
                    await self.writer.wait_closed()
            except OSError:
                self.hang_up()

    def _begin(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve in a task of our own: asyncio's would complain when it is cancelled."""
        self._to = writer
        self._task = asyncio.get_running_loop().create_task(self._serve(self), name="control")

    def _is_whole(self, data: bytes) -> bool:
        """Tell whether this is one whole line, with nothing before it and no answer unsent."""
        return (
            self.idle
            and self._given == self._taken
            and data.find(_NEWLINE) == len(data) - 1
            and not self._out.get_write_buffer_size()
        )

    async def _next_line(self) -> bytes:
        """Wait for a line, for as long as the connection is used: half a line is no use."""
        while (end := self.idle_since + IDLE) > asyncio.get_running_loop().time():
            with suppress(TimeoutError):
                async with asyncio.timeout_at(end):
                    return await self._reader.readline()
        raise DeadlineExceeded(f"no request came for {IDLE:g} s; connect and ask again")


def listen(home: Home) -> socket.socket:
    """Return the socket, bound so that at no moment anyone else could connect.

    Raises `ConfigurationError` for something else in its place, and `OSError`.
    """
    folder = home.socket.parent
    if folder != home.root and folder.stat().st_uid != os.getuid():
        raise OSError(f"{folder} belongs to another user")
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(home.socket.lstat().st_mode):
            raise ConfigurationError(
                f"cannot listen on {home.socket}: something else than a socket is there; look at "
                "what it is, then remove it"
            )
        home.socket.unlink()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)  # noqa: FBT003 - takes no keywords
    # The whole process's: with 0o177 a folder that another thread made meanwhile was closed to us.
    mask = os.umask(0o077)
    try:
        sock.bind(str(home.socket))
        home.socket.chmod(0o600)
    except OSError:
        sock.close()
        raise
    finally:
        os.umask(mask)
    return sock


def identify(home: Home) -> tuple[int, int] | None:
    """Return what the socket's file is whatever it is called; None where there is none."""
    try:
        found = home.socket.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def remove(home: Home, ours: tuple[int, int] | None) -> None:
    """Remove the socket's file, unless another daemon has put its own there by now."""
    if identify(home) == ours:
        with suppress(OSError):
            home.socket.unlink()
