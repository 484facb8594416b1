"""One remote store's connection: what goes out and comes back, and nothing else ever does.

What every client has in common that keeps connections open. The door to httpx2.

Whose certificates are believed when a connection is made with TLS. The door to truststore.

How long to wait before a request is tried again: growing pauses, and what the server asked for.

Pure: chance and the time are handed in.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import ssl
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from cortex_actors.endpoint import replies
from cortex_actors.endpoint.pinning import Pin
from cortex_actors.errors import CortexError, StoreDown, StoreUnusable
from cortex_actors.rules.addresses import SCHEMES, parse_address
from cortex_actors.runtime.threads import Threads

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Awaitable, Callable, Sequence

    from httpx2 import AsyncClient, AsyncHTTPTransport, Request, Response

    from cortex_actors.clock import Clock
    from cortex_actors.endpoint.pinning import Resolver


def make_context(*, system_store: bool) -> ssl.SSLContext:
    """Return what checks a server's certificate; reads files, so call it on a thread.

    By the certificates that Python brings (certifi's), or those that SSL_CERT_FILE or SSL_CERT_DIR
    name; with `system_store` by those of the operating system, where a company puts its own. Name
    and chain are checked in any case. Raises ImportError, OSError and ValueError (ssl's own errors
    are both) for what cannot be loaded.
    """
    if system_store:
        import truststore  # noqa: PLC0415 - most homes never need it

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    import certifi  # noqa: PLC0415 - as above

    file, folder = (os.environ.get(each) for each in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return ssl.create_default_context(
        cafile=file or (None if folder else certifi.where()), capath=None if file else folder
    )


#: Seconds before the first repetition, before jitter.
FIRST = 0.5

#: How much longer each further pause is.
GROWTH = 2.0

#: Seconds that one pause lasts at most, before jitter.
LONGEST = 8.0

#: Seconds that a server may ask for, at most: no wrong number silences an endpoint for a year.
LONGEST_REST = 3_600.0

#: A number of seconds, as RFC 9110 (10.2.3) has it; some servers send a fraction.
_SECONDS = re.compile(r"\d{1,9}(\.\d{0,9})?", re.ASCII)


def choose_pause(attempt: int, chance: float) -> float:
    """Return the seconds to wait after the first (0), second (1) ... attempt.

    Half of it is certain and half is up to `chance`, from 0 to 1 ("equal jitter", Brooker 2015), so
    that clients that failed together do not come back together.
    """
    full = min(FIRST * GROWTH**attempt, LONGEST)
    return full / 2 + full / 2 * chance


def read_retry_after(header: str | None) -> float | None:
    """Return the seconds that a `Retry-After` header asks for, at most an hour; None for others.

    It may also hold a date, which servers of models and stores do not send: our own pause is used.
    """
    text = (header or "").strip()
    return min(float(text), LONGEST_REST) if _SECONDS.fullmatch(text) else None


T = TypeVar("T")
C = TypeVar("C", bound="AsyncClient | AsyncHTTPTransport")


class KeptConnections(Generic[C]):
    """Open connections, made at their first use on a thread of their own.

    httpx2 is imported there as well: that takes a fifth of a second, and reading certificates may
    hang on a disk.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], C],
        *,
        gone: Callable[[], CortexError],
        unmade: Callable[[Exception], CortexError],
    ) -> None:
        """Call the thread so; `gone` says that it was closed, `unmade` why it cannot be made."""
        self._threads = Threads(name, 1)
        self._make = make
        self._gone = gone
        self._unmade = unmade
        self._made: C | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def run(self, call: Callable[[], T]) -> T:
        """Run a calculation that would hold up the loop on the thread.

        Raises what `gone` says when it is closed before its turn.
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
        """Close the connections and end the thread; who waits for an answer gets an error."""
        self._closed = True
        made, self._made = self._made, None
        if made is not None:
            await made.aclose()
        self._threads.close()

    async def _opened(self) -> C:
        """Return what connects, making it first if need be; raises what `unmade` says."""
        async with self._opening:
            self._require_open()
            if self._made is None:
                try:
                    self._made = await self.run(self._make)
                except (ImportError, OSError, ValueError) as error:
                    raise self._unmade(error) from error
            return self._made

    def _require_open(self) -> None:
        if self._closed:
            raise self._gone()


#: Bytes that an answer may have, when the settings say nothing else.
MOST = 4 * 1024 * 1024

#: Seconds an unused connection is kept. uvicorn, behind which most stores are, closes its own after
#: 5, and a request that meets the closing fails.
KEPT = 4.0

#: Bytes of an error's body that are read; the message is at its beginning.
ERROR_BYTES = 65_536

#: Bytes from which an answer is read on the thread: below, that takes longer than the reading.
LARGE = 131_072

#: What every request of ours says of itself.
_HEADERS = {
    "Accept": "application/json",
    "Content-Type": "application/json",
    "User-Agent": "cortex-actors",
}


class StoreConnection(KeptConnections["AsyncHTTPTransport"]):
    """Sends requests to one store, at the addresses that its name was resolved to.

    Nothing else is connected to: no redirection is followed, no proxy of the environment is used
    and the name is looked up by `Pin` alone. A request has one time limit for all of it, an answer
    is dropped where it grows too large, and the token goes to this store and into no error.
    Everything is made at the first use, on a thread. Errors are one line of at most 200 letters
    without the store's name, which is beside them wherever they are shown.
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
        if not replies.FOR_HEADERS.issuperset(token):
            raise StoreUnusable(
                "its token cannot be sent: it holds a space, a line end or a character that is not "
                "ASCII"
            )
        self.address = parse_address(url)
        super().__init__(
            "store",
            partial(_transport, self.address.scheme, system_store=trust_system_store),
            gone=partial(StoreDown, "the store is closed; ask again"),
            unmade=replies.explain_unread,
        )
        self.token = token
        self.most = most
        self.trust_system_store = trust_system_store
        self._clock = clock
        self.pin = Pin(
            self.address,
            clock,
            threads=self._threads,
            allowed=allow_hosts,
            is_secret=bool(token),
            resolve=resolve,
        )

    async def post(self, path: str, document: object, *, seconds: float) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Send a JSON document and return the one that comes back.

        Raises `StoreTimeout`, `StoreUnusable` when a person has to repair something, and
        `StoreDown` for every other answer that is none.
        """
        body = json.dumps(document, ensure_ascii=False, allow_nan=False)
        return await self._ask("POST", path, body=body.encode("utf-8", "replace"), seconds=seconds)

    async def get(self, path: str, *, seconds: float) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Return the JSON document at a path; raises like `post`."""
        return await self._ask("GET", path, body=b"", seconds=seconds)

    async def resolve(self, seconds: float) -> tuple[str, ...]:
        """Return the addresses that may be connected to, for libraries with connections of theirs.

        They have been judged, the token's way to them included; the one that worked last is the
        first. Raises `StoreUnusable`, `StoreDown` and `StoreTimeout`.
        """
        self._require_open()
        async with replies.limit_time(seconds):
            return await self.pin.resolve()

    async def close(self) -> None:
        """Close the connections and end the thread; who waits for an answer gets `StoreDown`."""
        self.pin.close()
        await super().close()

    async def try_addresses(
        self, send: Callable[[str, int], Awaitable[T]], *, unreached: tuple[type[Exception], ...]
    ) -> T:
        """Return what `send` makes of the first address that can be connected to.

        It is given an address and how many there are, and raises one of `unreached` where nothing
        can be connected to; the last of these is raised.
        """
        self._require_open()
        failure: Exception = StoreDown("has no address")
        ips = await self.pin.resolve()
        for ip in ips:
            try:
                found = await send(ip, len(ips))
            except unreached as error:
                failure = error
                continue
            self.pin.note_worked(ip)
            return found
        self.pin.note_failure()
        raise failure

    async def _ask(self, method: str, path: str, *, body: bytes, seconds: float) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Send a request and read what comes back, all within a time."""
        if self.address.scheme not in SCHEMES:
            raise StoreUnusable("its address must begin with http:// or https://")
        self._require_open()
        async with replies.limit_time(seconds):
            answer = await self._sent(method, path, body=body, seconds=seconds)
            if failure := replies.judge_store_answer(answer, self.token):
                raise failure
            if len(answer.body) < LARGE:
                return replies.parse_body(answer.body)
            return await self.run(partial(replies.parse_body, answer.body))

    async def _sent(
        self, method: str, path: str, *, body: bytes, seconds: float
    ) -> replies.HttpReply:
        """Return the answer to a request, read as far as it may be."""
        await self._opened()
        import httpx2  # noqa: PLC0415 - in memory since the transport was made, on its thread

        large = replies.refuse_large(self.most)
        try:
            request = httpx2.Request(
                method,
                f"{self.address.origin}{self.address.path}{path}",
                headers=_HEADERS,
                content=body,
                extensions={"timeout": {"connect": seconds}},
            )
        except httpx2.InvalidURL as error:
            raise replies.explain_broken(error) from None
        response = await self.send(request)
        try:
            # The bytes that it says it has, where it does.
            told = response.headers.get("content-length", "")
            is_number = told.isascii() and told.isdigit() and len(told) < 20  # noqa: PLR2004
            if response.is_success and is_number and int(told) > self.most:
                raise large
            pieces = cast("AsyncIterable[bytes]", response.stream)
            answer = await read_answer(response, pieces, large, most=self.most)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise replies.explain_broken(error) from None
        finally:
            await response.aclose()
        encoding = response.headers.get("content-encoding", "identity")
        if response.is_success and encoding != "identity":
            raise StoreDown("answered compressed, which it was not asked to")
        return answer

    async def send(self, request: Request) -> Response:
        """Return the answer of the first address that can be connected to, its body not yet read.

        The request goes there under the store's name and with its token, wherever it was meant to
        go. Raises `StoreUnusable` and `StoreDown`.
        """
        transport = await self._opened()
        import httpx2  # noqa: PLC0415 - as above

        headers = request.headers.copy()
        headers |= {"Host": self.address.netloc, "Accept-Encoding": "identity"}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        times = dict(request.extensions.get("timeout", {}))
        longest = times.get("connect")

        async def send(ip: str, share: int) -> Response:
            # One that takes no connections must not use up the time of the others.
            times["connect"] = longest and longest / share
            moved = httpx2.Request(
                request.method,
                request.url.copy_with(host=ip),
                headers=headers,
                stream=request.stream,
                extensions={"sni_hostname": self.address.host, "timeout": times},
            )
            return await transport.handle_async_request(moved)

        unreached = (httpx2.ConnectError, httpx2.ConnectTimeout)
        try:
            return await self.try_addresses(send, unreached=unreached)
        except unreached as error:
            raise replies.explain_refused(error) from error
        except httpx2.HTTPError as error:
            raise replies.explain_broken(error) from error


async def read_answer(
    response: Response, pieces: AsyncIterable[bytes], refusal: CortexError, *, most: int
) -> replies.HttpReply:
    """Read an answer's body, not to its end where it has too much of it.

    More than `most` bytes raise `refusal`; of an error the beginning is enough.
    """
    body = bytearray()
    async for piece in pieces:
        body += piece
        if response.is_success and len(body) > most:
            body.clear()  # the refusal holds this frame, and its raiser's holds the refusal
            raise refusal
        if not response.is_success and len(body) >= ERROR_BYTES:
            break
    headers = response.headers
    rest = read_retry_after(headers.get("retry-after"))
    kind, location = headers.get("content-type", ""), headers.get("location", "")
    return replies.HttpReply(response.status_code, kind, bytes(body), rest, location)


def _transport(scheme: str, *, system_store: bool) -> AsyncHTTPTransport:
    """Make what connects, on a thread."""
    import httpx2  # noqa: PLC0415 - takes a fifth of a second, and most homes never need it

    silence()
    return httpx2.AsyncHTTPTransport(
        # Without TLS there are no certificates to read, which takes most of the time.
        verify=make_context(system_store=system_store) if scheme == "https" else False,
        limits=httpx2.Limits(max_connections=None, keepalive_expiry=KEPT),
        trust_env=False,
    )


def silence() -> None:
    """Keep httpx2 from writing a line for every request."""
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
