"""One remote store's connection: what goes out and comes back, and nothing else ever does.

The HTTP side of an endpoint: one client with its open connections. The door to httpx.

Whose certificates are believed when a connection is made with TLS. The door to truststore.

How long to wait before a request is tried again: growing pauses, and what the server asked for.

Pure: chance and the time are handed in.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import ssl
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors.clock import SECOND
from cortex_actors.endpoint.pinning import Pin
from cortex_actors.endpoint.replies import (
    Answer,
    Passing,
    broken,
    large,
    late,
    parsed,
    refused,
    store_verdict,
    unread,
)
from cortex_actors.errors import EndpointDown, EndpointUnusable, StoreDown, StoreUnusable
from cortex_actors.rules.addresses import SCHEMES, address
from cortex_actors.runtime.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from httpx import AsyncClient, AsyncHTTPTransport, HTTPError, Response

    from cortex_actors.clock import Clock
    from cortex_actors.endpoint.address import Endpoint
    from cortex_actors.endpoint.pinning import Resolver


def context(*, system_store: bool) -> ssl.SSLContext:
    """Return what checks a server's certificate; reads files, so call it on a thread.

    By the certificates that Python brings (certifi's), or those that SSL_CERT_FILE or SSL_CERT_DIR
    name; with `system_store` by those of the operating system, where a company puts its own. Name
    and chain are checked in any case. Raises ImportError, OSError and ValueError (ssl's own errors
    are both) for what cannot be loaded.
    """
    if system_store:
        import truststore  # noqa: PLC0415 - most homes never need it

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    import httpx  # noqa: PLC0415 - takes a fifth of a second

    return httpx.create_ssl_context()


#: Seconds before the first repetition, before jitter.
FIRST = 0.5

#: How much longer each further pause is.
GROWTH = 2.0

#: Seconds that one pause lasts at most, before jitter.
LONGEST = 8.0

#: Seconds that a server may ask for, at most: a wrong date must not silence an endpoint for a year.
LONGEST_REST = 3_600.0

#: A number of seconds, as RFC 9110 (10.2.3) has it; some servers send a fraction.
_SECONDS = re.compile(r"\d{1,9}(\.\d{0,9})?", re.ASCII)


def pause(attempt: int, chance: float) -> float:
    """Return the seconds to wait after the first (0), second (1) ... attempt.

    Half of it is certain and half is up to `chance`, from 0 to 1 ("equal jitter", Brooker 2015), so
    that clients that failed together do not come back together.
    """
    full = min(FIRST * GROWTH**attempt, LONGEST)
    return full / 2 + full / 2 * chance


def rest_asked(header: str | None, now: int) -> float | None:
    """Return the seconds that a `Retry-After` header asks for, at most an hour.

    It holds seconds or an HTTP date; None when there is none that can be understood, 0.0 when the
    date is over. `now` is the wall-clock time in UTC microseconds: the only one a date can be
    compared with.
    """
    text = (header or "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), LONGEST_REST)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    if date.tzinfo is None:  # "-0000": no zone is known, and RFC 9110 has all of them in GMT
        date = date.replace(tzinfo=UTC)
    ahead = (date - datetime.fromtimestamp(now / SECOND, UTC)).total_seconds()
    return min(max(0.0, ahead), LONGEST_REST)


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
        self, path: str, document: object, *, seconds: float, most: int | None = None
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
                if failure := store_verdict(answer, self.token):
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


T = TypeVar("T")

#: Connections at once: a patient request, an urgent one, a look whether it is back, one to spare.
CONNECTIONS = 4

#: Seconds an unused connection is kept: less than the minute after which proxies close theirs.
KEPT_ALIVE = 30.0


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
        limits=httpx.Limits(max_connections=CONNECTIONS, keepalive_expiry=KEPT_ALIVE),
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
