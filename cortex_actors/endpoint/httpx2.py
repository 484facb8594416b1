"""A store's line for programs that bring their own requests, as MCP's SDK does. The door to httpx2.

Importing it takes a fifth of a second: do it on a thread, where the SDK is imported.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import httpx2

from cortex_actors.endpoint.connection import KEPT, context
from cortex_actors.endpoint.replies import broken, large, refused, unread
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
    """Connects to the addresses that a line has judged.

    Why a request failed is kept in `trouble`, because the SDK makes something of its own of it.
    """

    def __init__(self, line: Line) -> None:
        """Make what connects; nothing is sent. Raises `StoreUnusable` without certificates."""
        for name in ("httpx2", "httpcore2"):  # they would write a line for every request
            logging.getLogger(name).setLevel(logging.WARNING)
        self._line = line
        #: Why the last request failed; None when it was answered.
        self.trouble: StoreDown | None = None
        secure = line.address.scheme == "https"
        try:
            self._inner = httpx2.AsyncHTTPTransport(
                verify=context(system_store=line.trust_system_store) if secure else False,
                limits=httpx2.Limits(max_connections=None, keepalive_expiry=KEPT),
                trust_env=False,
            )
        except (ImportError, OSError, ValueError) as error:
            raise unread(error) from error

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the store; raises `httpx2.ConnectError` for any other address."""
        self.trouble = None
        try:
            return await self._sent(request)
        except StoreDown as error:
            self.trouble = error
            raise httpx2.ConnectError(str(error), request=request) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer of the first address that can be connected to."""
        where, line = request.url, self._line
        port = where.port or {"http": 80, "https": 443}.get(where.scheme)
        if (where.scheme, where.host, port) != (
            line.address.scheme,
            line.address.host,
            line.address.port,
        ):
            raise StoreUnusable("was about to be asked at another address than its own")

        async def send(ip: str, share: int) -> httpx2.Response:
            return await self._inner.handle_async_request(self._moved(request, ip, share=share))

        unreached = (httpx2.ConnectError, httpx2.ConnectTimeout)
        try:
            return await self._checked(await line.first(send, unreached=unreached))
        except unreached as error:
            raise refused(error) from error
        except httpx2.HTTPError as error:
            raise broken(error) from error

    def _moved(self, request: httpx2.Request, ip: str, *, share: int) -> httpx2.Request:
        """Return a request as it goes to one of several IP addresses, under the store's name."""
        times = dict(request.extensions.get("timeout", {}))
        if times.get("connect"):
            times["connect"] /= share
        headers = request.headers.copy()
        headers["Host"] = self._line.address.netloc
        headers["Accept-Encoding"] = "identity"
        if self._line.token:
            headers["Authorization"] = f"Bearer {self._line.token}"
        return httpx2.Request(
            request.method,
            request.url.copy_with(host=ip),
            headers=headers,
            stream=request.stream,
            extensions={
                **request.extensions,
                "sni_hostname": self._line.address.host,
                "timeout": times,
            },
        )

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
