"""The caller's side of the control socket for programs that run a loop: `Client`, awaited.

No thread: a call is a connection on the caller's own loop. Cancelling it closes the connection at
once and nothing is left behind; whether the daemon did what it was asked is then not known, as
after any lost answer. Errors are those of `Client`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

from cortex_actors.client.connection import TIMEOUT, Client, result
from cortex_actors.process.lock import peer

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.client.connection import Answer
    from cortex_actors.home import Home

#: Bytes of one answer: more than any verb gives, and an end to a daemon that never stops.
ANSWER_LIMIT = 256 * 1024 * 1024


class AsyncClient:
    """Calls the daemon of one home without blocking the loop; may be shared by tasks and loops."""

    def __init__(
        self,
        home: Home | Path | str | None = None,
        *,
        timeout: float = TIMEOUT,
        token: str | None = None,
    ) -> None:
        """Remember whom to call, and as whom; see `Client`."""
        self._client = Client(home, timeout=timeout, token=token)
        self._timeout = timeout

    @property
    def home(self) -> Home:
        """The home whose daemon is called."""
        return self._client.home

    async def call(
        self, method: str, /, *, timeout: float | None = None, **params: object
    ) -> Answer:
        """Return the result of one method.

        Raises `DaemonDown` when nobody answers, `DeadlineExceeded` after `timeout` seconds, and
        whatever the daemon raised.
        """
        data = self._client.encoded(method, params)
        seconds = self._timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(seconds) as limit:
                line = await self._asked(data)
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._client.silent(method, seconds) from None
        return result(self._client.message(line, method))

    async def _asked(self, data: bytes) -> bytes:
        """Send one request and return the line that answers it, as far as it came."""
        reader, writer = await self._connect()
        try:
            if not self._is_ours(writer):
                raise self._client.foreign()
            writer.write(data)
            return await _line(reader, writer)
        finally:
            # At once, whatever was still to be sent: this is the end of a call that was cancelled.
            writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection to whoever listens on the home's socket."""
        sock = socket.socket(socket.AF_UNIX)
        sock.setblocking(False)  # noqa: FBT003 - takes no keywords
        try:
            # By ourselves: asyncio takes a full queue of callers for a connection.
            sock.connect(str(self.home.socket))
        except BlockingIOError:
            sock.close()
            raise self._client.crowded() from None
        except OSError as error:
            sock.close()
            raise self._client.down() from error
        return await asyncio.open_unix_connection(sock=sock, limit=ANSWER_LIMIT)

    def _is_ours(self, writer: asyncio.StreamWriter) -> bool:
        """Say whether the same user listens; one that hung up already is told from its answer."""
        sock = writer.get_extra_info("socket")
        try:
            return sock is None or peer(sock).ours
        except OSError:
            return True


async def _line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Return the next line, or what came of it before the other side ended."""
    with contextlib.suppress(OSError):  # it refused us and hung up: why is what we read next
        await writer.drain()
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except (OSError, asyncio.LimitOverrunError):
        return b""
