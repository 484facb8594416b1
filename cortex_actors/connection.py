"""One connection of the control socket: lines in, lines out, and answers at once where they can be.

A line that comes alone, while nothing else is in hand, is first offered to whoever can answer it
without waiting for anybody: such an answer costs neither a task nor a timer, which are most of the
cost of a small request. Everything else is read line by line, as a stream.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from cortex_actors import rpc
from cortex_actors.client import LINE_LIMIT
from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

#: Seconds a connection may say nothing, and a reader may take nothing.
IDLE, STUCK = 300.0, 30.0

#: Bytes that wait for one reader before `send` waits for it.
WRITE_BUFFER = 64 * 1024

#: Bytes read from the socket at once. Of asyncio's own 256 KiB the allocator asks the kernel anew
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
        #: Whether it waits for a line, and whether one was answered at once meanwhile.
        self._waiting = self._spoke = False
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
                self._spoke = True
                self._out.write(answer)
                return
        self._given += len(data)
        super().data_received(data)

    async def line(self) -> bytes:
        """Return the next line, empty at the end.

        Raises `Unreadable` for one that is too long, `TimeoutError` when none comes in time.
        """
        self._waiting = True
        try:
            line = await self._next_line()
        except ValueError:
            error = BadInput(f"the request has more than {LINE_LIMIT:,} bytes on one line")
            raise rpc.Unreadable(rpc.INVALID_REQUEST, error) from None
        finally:
            self._waiting = False
        self._taken += len(line)
        return line

    async def spoken(self) -> None:
        """Return when the client says anything, which is then gone, or hangs up."""
        self._taken += len(await self._reader.read(1))

    async def send(self, data: bytes) -> None:
        """Send, waiting for a slow reader; raises `TimeoutError` for one that is stuck."""
        self.writer.write(data)
        if self._out.get_write_buffer_size():
            async with asyncio.timeout(STUCK):
                await self.writer.drain()

    def hang_up(self) -> None:
        """Cut the connection off; what was not sent is lost."""
        self._out.abort()

    def _begin(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve in a task of our own: asyncio's would complain when it is cancelled."""
        self._to = writer
        self._task = asyncio.get_running_loop().create_task(self._serve(self), name="control")

    def _is_whole(self, data: bytes) -> bool:
        """Tell whether this is one whole line, with nothing before it and no answer unsent."""
        return (
            self._waiting
            and self._given == self._taken
            and data.find(_NEWLINE) == len(data) - 1
            and not self._out.get_write_buffer_size()
        )

    async def _next_line(self) -> bytes:
        """Wait for a line, for as long as the connection is used."""
        while True:
            self._spoke = False
            try:
                async with asyncio.timeout(IDLE):
                    return await self._reader.readline()
            except TimeoutError:
                if not self._spoke:
                    raise
