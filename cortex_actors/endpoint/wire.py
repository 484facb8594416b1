"""The HTTP side of an endpoint: one client with its open connections. The door to httpx."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from cortex_actors.endpoint.backoff import rest_asked
from cortex_actors.endpoint.certificates import context
from cortex_actors.endpoint.reply import Answer, Passing
from cortex_actors.errors import EndpointDown, EndpointUnusable
from cortex_actors.runtime.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from httpx import AsyncClient, HTTPError, Response

    from cortex_actors.clock import Clock
    from cortex_actors.endpoint.address import Endpoint

T = TypeVar("T")

#: Connections at once: a patient request, an urgent one, a look whether it is back, one to spare.
CONNECTIONS = 4

#: Seconds an unused connection is kept: less than the minute after which proxies close theirs.
KEPT = 30.0

#: Bytes of an error's body that are read; the message is at its beginning.
ERROR_BYTES = 65_536

#: Letters of a connection's error that are shown.
SHOWN = 200

_OK = 200


class Wire:
    """Posts bytes to one endpoint and reads the answer.

    httpx is imported and its client made on a thread, at the first use: that takes a fifth of a
    second, and reading certificates may hang on a disk. HTTP/1.1 with keep-alive, no redirections,
    no compression (an answer's size is what comes over the wire). The proxies that the environment
    names are used, but not for this machine.
    """

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._threads = Threads("endpoint", 1)
        self._client: AsyncClient | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def post(self, body: bytes, *, most: int, seconds: float) -> Answer:
        """Return the answer to a request, however it turned out.

        Raises `Passing` when there is none within that many seconds, and `EndpointDown` when it has
        more than `most` bytes.
        """
        client = await self._opened()
        import httpx  # noqa: PLC0415 - in memory since the client was made, on its thread

        where = self._endpoint.named
        try:
            async with (
                asyncio.timeout(seconds),
                client.stream("POST", self._endpoint.url, content=body) as response,
            ):
                return await self._read(response, most)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise Passing(f"{where} did not answer within {seconds:g} s") from error
        except httpx.ConnectError as error:
            raise Passing(f"{where} cannot be reached ({_reason(error)})") from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise Passing(f"the connection to {where} broke ({_reason(error)})") from error

    async def run(self, call: Callable[[], T]) -> T:
        """Run a calculation that would hold up the loop on the wire's thread.

        Raises `EndpointDown` when the wire is closed before its turn.
        """
        self._require_open()
        try:
            return await self._threads.run(call)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and not task.cancelling():  # dropped by `close`, not by its asker
                self._require_open()
            raise

    async def close(self) -> None:
        """Close the connections and end the thread."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        self._threads.close()

    async def _opened(self) -> AsyncClient:
        """Return the client, making it first if need be; raises `EndpointUnusable`."""
        async with self._opening:
            if self._client is None:
                try:
                    self._client = await self.run(partial(_client, self._endpoint))
                except (ImportError, OSError, ValueError) as error:
                    raise EndpointUnusable(_unmade(self._endpoint.named, error)) from error
        return self._client

    def _require_open(self) -> None:
        if self._closed:
            raise EndpointDown(f"{self._endpoint.named} was let go of; ask again")

    async def _read(self, response: Response, most: int) -> Answer:
        """Read an answer's body; one that has too much of it is not read to its end."""
        good = response.status_code == _OK
        body = bytearray()
        async for piece in response.aiter_raw():
            body += piece
            if good and len(body) > most:
                raise EndpointDown(
                    f"{self._endpoint.named} answered with more than {most} bytes; nothing of it "
                    f"is used: see that {self._endpoint.use.section}.base_url is "
                    f"{self._endpoint.use.api}"
                )
            if not good and len(body) >= ERROR_BYTES:
                break
        return Answer(
            response.status_code,
            response.headers.get("content-type", ""),
            bytes(body),
            rest_asked(response.headers.get("retry-after"), self._clock.now()),
        )


def _client(endpoint: Endpoint) -> AsyncClient:
    """Make the client, on a thread."""
    import httpx  # noqa: PLC0415 - takes a fifth of a second, and most homes never need it

    for name in ("httpx", "httpcore"):  # they would write a line for every request
        logging.getLogger(name).setLevel(logging.WARNING)
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    secure = endpoint.url.startswith("https:")
    return httpx.AsyncClient(
        headers=headers,
        timeout=None,  # noqa: S113 - `post` has one for the whole of it, drips included
        # Without TLS there are no certificates to read, which takes most of the time.
        verify=context(system_store=endpoint.system_store) if secure else False,
        limits=httpx.Limits(max_connections=CONNECTIONS, keepalive_expiry=KEPT),
        trust_env=not endpoint.is_loopback,
    )


def _unmade(named: str, error: Exception) -> str:
    """Return what keeps a client from being made: the environment asks for what is not there."""
    return (
        f"no connection to {named} can be made ({_reason(error)}): see to "
        "the proxy in HTTPS_PROXY or ALL_PROXY and the certificates in SSL_CERT_FILE or "
        "SSL_CERT_DIR of the daemon's environment, or to tls.trust_system_store, then start the "
        "daemon again"
    )


def _reason(error: HTTPError | Exception) -> str:
    """Return what went wrong in a few words; some of these errors have no text."""
    return str(error)[:SHOWN] or type(error).__name__
