"""A store's line for programs that bring their own requests, as MCP's SDK does.

Importing it takes a fifth of a second: do it on a thread, where the SDK is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2

from cortex_actors.endpoint.replies import large
from cortex_actors.errors import StoreDown, StoreUnusable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.endpoint.connection import Line


def client(pinned: Pinned, *, seconds: float) -> httpx2.AsyncClient:
    """Return a client that reaches one store and nothing else.

    What `Line` promises holds for it: judged addresses only, no proxy, no redirection, the token
    to this store alone, and no answer larger than `line.most`. `seconds` is how long each step of a
    request may take; who needs one limit for all of it sets it around. Whoever gets it closes it.
    """
    return httpx2.AsyncClient(
        transport=pinned, timeout=seconds, trust_env=False, follow_redirects=False
    )


class Pinned(httpx2.AsyncBaseTransport):
    """Sends requests over a line, whose connections it uses.

    Why a request failed is kept in `trouble`, because the SDK makes something of its own of it.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        #: Why the last request failed; None when it was answered.
        self.trouble: StoreDown | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the store; raises `httpx2.ConnectError` for any other address."""
        self.trouble = None
        where, own = request.url, self._line.address
        port = where.port or {"http": 80, "https": 443}.get(where.scheme)
        try:
            if (where.scheme, where.host, port) != (own.scheme, own.host, own.port):
                raise StoreUnusable("was about to be asked at another address than its own")
            return await self._checked(await self._line.send(request))
        except StoreDown as error:
            self.trouble = error
            raise httpx2.ConnectError(str(error), request=request) from error

    async def _checked(self, response: httpx2.Response) -> httpx2.Response:
        """Return an answer with a limit to its size; a redirection is none."""
        reason = ""
        if response.is_redirect:
            reason = f"answered {response.status_code}, a redirection, which is never followed"
        elif response.headers.get("content-encoding", "identity") != "identity":
            reason = "answered compressed, which it was not asked to"
        if reason:
            await response.aclose()
            raise StoreUnusable(reason)
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            raise StoreDown("answered in a way that cannot be read")
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Measured(response.stream, self, self._line.most),
            extensions=response.extensions,
        )


class _Measured(httpx2.AsyncByteStream):
    """An answer that ends with an error where it becomes too large."""

    def __init__(self, stream: httpx2.AsyncByteStream, transport: Pinned, most: int) -> None:
        self._stream = stream
        self._transport = transport
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for piece in self._stream:
            left -= len(piece)
            if left < 0:
                trouble = large(self._most)
                self._transport.trouble = trouble
                raise httpx2.ReadError(str(trouble))
            yield piece

    async def aclose(self) -> None:
        """Close the connection, or give it back when all of it was read."""
        await self._stream.aclose()
