"""One remote store's connection: what goes out and comes back, and nothing else ever does."""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.endpoint.backoff import rest_asked
from cortex_actors.endpoint.certificates import context
from cortex_actors.endpoint.pinning import Pin
from cortex_actors.endpoint.reply import Answer
from cortex_actors.endpoint.storereply import parsed, verdict
from cortex_actors.endpoint.trouble import broken, large, late, refused, unread
from cortex_actors.errors import StoreDown, StoreUnusable
from cortex_actors.rules.addresses import SCHEMES, address
from cortex_actors.runtime.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from httpx import AsyncHTTPTransport, Response

    from cortex_actors.clock import Clock
    from cortex_actors.endpoint.pinning import Resolver

#: Bytes that an answer may have, when the settings say nothing else.
MOST = 4 * 1024 * 1024

#: Seconds an unused connection is kept. uvicorn, behind which most stores are, closes its own after
#: 5, and a request that meets the closing fails.
KEPT = 4.0

#: Bytes of an error's body that are read; the message is at its beginning.
ERROR_BYTES = 65_536

#: Bytes from which an answer is read on the thread: below, that takes longer than the reading.
LARGE = 131_072

#: Characters a token may have: what a header can carry, without the space that would end it.
_TOKEN = frozenset(map(chr, range(0x21, 0x7F)))


class Line:
    """Sends requests to one store, at the addresses that its name was found to stand for.

    Nothing else is connected to: no redirection is followed, no proxy of the environment is used
    and the name is looked up by `Pin` alone. A request has one time limit for all of it, an answer
    is dropped where it grows too large, and the token goes to this store and into no error.
    Everything is made at the first use, on a thread. Errors are one line of at most 200 letters
    without the store's name, which stands beside them wherever they are shown.
    """

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        token: str = "",
        most: int = MOST,
        allow_hosts: Sequence[str] = (),
        trust_system_store: bool = False,
        resolve: Resolver | None = None,
    ) -> None:
        """Remember where; nothing is sent. Raises `StoreUnusable` for what cannot be an address."""
        if not _TOKEN.issuperset(token):
            raise StoreUnusable(
                "its token cannot be sent: it holds a space, a line end or a character that is not "
                "ASCII"
            )
        self.address = address(url)
        self.token = token
        self.most = most
        self.trust_system_store = trust_system_store
        self._clock = clock
        self._threads = Threads("store", 1)
        self.pin = Pin(
            self.address,
            clock,
            threads=self._threads,
            allowed=allow_hosts,
            is_secret=bool(token),
            resolve=resolve,
        )
        self._transport: AsyncHTTPTransport | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def post(
        self,
        path: str,
        document: object,
        *,
        seconds: float,
        most: int | None = None,
    ) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Send a JSON document and return the one that comes back.

        Raises `StoreTimeout`, `StoreUnusable` when somebody has to mend something, and `StoreDown`
        for every other answer that is none.
        """
        body = json.dumps(document, ensure_ascii=False, allow_nan=False)
        return await self._ask("POST", path, body.encode("utf-8", "replace"), seconds, most)

    async def get(self, path: str, *, seconds: float, most: int | None = None) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Return the JSON document at a path; raises like `post`."""
        return await self._ask("GET", path, b"", seconds, most)

    async def ips(self, seconds: float) -> tuple[str, ...]:
        """Return the addresses that may be connected to, for libraries with connections of theirs.

        They have been judged, the token's way to them included; the one that worked last is the
        first. Raises `StoreUnusable`, `StoreDown` and `StoreTimeout`.
        """
        self._require_open()
        try:
            async with asyncio.timeout(seconds):
                return await self.pin.resolved()
        except TimeoutError:
            raise late(seconds) from None

    async def close(self) -> None:
        """Close the connections and end the thread; who waits for an answer gets `StoreDown`."""
        self._closed = True
        self.pin.close()
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()
        self._threads.close()

    async def _ask(
        self, method: str, path: str, body: bytes, seconds: float, most: int | None
    ) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Send a request and read what comes back, all within a time."""
        if self.address.scheme not in SCHEMES:
            raise StoreUnusable("its address must begin with http:// or https://")
        self._require_open()
        try:
            async with asyncio.timeout(seconds):
                answer = await self._sent(
                    method, path, body, most=self.most if most is None else most, seconds=seconds
                )
                if failure := verdict(answer, self.token):
                    raise failure
                if len(answer.body) < LARGE:
                    return parsed(answer.body)
                return await self._threads.run(parsed, answer.body)
        except TimeoutError:
            raise late(seconds) from None

    async def _sent(
        self, method: str, path: str, body: bytes, *, most: int, seconds: float
    ) -> Answer:
        """Return the answer of the first address that can be connected to."""
        transport = await self._opened()
        import httpx  # noqa: PLC0415 - in memory since the transport was made, on its thread

        failure = StoreDown("has no address")
        ips = await self.pin.resolved()
        for ip in ips:
            request = httpx.Request(
                method,
                f"{self.address.scheme}://{bracketed(ip)}:{self.address.port}"
                f"{self.address.path}{path}",
                headers=self._headers(),
                content=body,
                extensions={
                    "sni_hostname": self.address.host,
                    # One that takes no connections must not use up the time of the others.
                    "timeout": {"connect": seconds / len(ips) if len(ips) > 1 else None},
                },
            )
            try:
                response = await transport.handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = refused(error)
                continue
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise broken(error) from None
            self.pin.worked(ip)
            return await self._read(response, most)
        self.pin.failed()
        raise failure

    async def _read(self, response: Response, most: int) -> Answer:
        """Read an answer; one that is too large is dropped where it becomes so."""
        import httpx  # noqa: PLC0415 - as above

        is_good = response.is_success
        limit = most if is_good else ERROR_BYTES
        try:
            if is_good and _length(response) > most:
                raise large(most)
            body = bytearray()
            async for piece in response.stream:  # type: ignore[union-attr] # the async kind
                body += piece
                if len(body) > limit:
                    if is_good:
                        raise large(most)
                    break
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise broken(error) from None
        finally:
            await response.aclose()
        if is_good and response.headers.get("content-encoding", "identity") != "identity":
            raise StoreDown("answered compressed, which it was not asked to")
        return Answer(
            response.status_code,
            response.headers.get("content-type", ""),
            bytes(body),
            rest_asked(response.headers.get("retry-after"), self._clock.now()),
            response.headers.get("location", ""),
        )

    def _headers(self) -> dict[str, str]:
        """Return what every request says of itself."""
        headers = {
            "Host": self.address.netloc,
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "cortex-actors",
        }
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    async def _opened(self) -> AsyncHTTPTransport:
        """Return the transport, making it first if need be; raises `StoreUnusable`."""
        async with self._opening:
            self._require_open()
            if self._transport is None:
                make = partial(
                    _transport, self.address.scheme, system_store=self.trust_system_store
                )
                try:
                    self._transport = await self._threads.run(make)
                except (ImportError, OSError, ValueError) as error:
                    raise unread(error) from error
        return self._transport

    def _require_open(self) -> None:
        if self._closed:
            raise StoreDown("the store was let go of; ask again")


def bracketed(ip: str) -> str:
    """Return an IP address as it stands in a URL."""
    return f"[{ip}]" if ":" in ip else ip


def _transport(scheme: str, *, system_store: bool) -> AsyncHTTPTransport:
    """Make what connects, on a thread."""
    import httpx  # noqa: PLC0415 - takes a fifth of a second, and most homes never need it

    for name in ("httpx", "httpcore"):  # they would write a line for every request
        logging.getLogger(name).setLevel(logging.WARNING)
    return httpx.AsyncHTTPTransport(
        # Without TLS there are no certificates to read, which takes most of the time.
        verify=context(system_store=system_store) if scheme == "https" else False,
        limits=httpx.Limits(max_connections=None, keepalive_expiry=KEPT),
        trust_env=False,
    )


def _length(response: Response) -> int:
    """Return the bytes an answer says it has; 0 when it does not say."""
    text = response.headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0  # noqa: PLR2004
