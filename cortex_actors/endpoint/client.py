"""One endpoint's client: requests that are tried again, behind a circuit breaker.

A circuit breaker: who has failed many times in a row is left alone for a while. Pure.

(Nygard, "Release It!", 2007.) Its owner tells it the time and what came of each attempt; it never
sleeps, and knows nothing of what it guards.

What keeps one bad store from costing the others anything: a bulkhead and a circuit breaker.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors.endpoint.connection import (
    KeptConnections,
    choose_pause,
    make_context,
    read_answer,
    silence,
)
from cortex_actors.endpoint.replies import (
    HttpReply,
    Passing,
    QuestionRefused,
    judge_answer,
    limit_time,
    read_endpoint,
)
from cortex_actors.errors import BadInput, EndpointDown, EndpointUnusable, StoreDown
from cortex_actors.runtime.threads import wait_within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from httpx2 import AsyncClient

    from cortex_actors.clock import Clock
    from cortex_actors.endpoint.replies import Endpoint, Use
    from cortex_actors.sections import EmbeddingSettings, JudgingSettings


class SwitchPosition(StrEnum):
    """The position of the switch."""

    #: Attempts go through.
    CLOSED = "closed"
    #: Attempts are refused at once, until the pause is over.
    OPEN = "open"
    #: One attempt is out to see whether it works again; others are refused until it is back.
    HALF_OPEN = "half-open"


class Breaker:
    """Opens after `failures` in a row for `pause` seconds; then one attempt decides.

    Times are monotonic seconds. The end of every attempt that `admits` lets through is noted with
    `note_success`, `note_failure` or `note_abandoned`; one that began before the switch opened may
    still come back, and then counts like any other.
    """

    def __init__(self, *, failures: int, pause: float) -> None:
        self._most = failures
        self._pause = pause
        self._failed = 0
        self._until = 0.0
        #: The position of the switch; an open one whose pause is over waits for an attempt.
        self.position = SwitchPosition.CLOSED
        #: Why it opened; empty while it is closed.
        self.reason = ""
        #: Times it has opened.
        self.opened = 0

    def compute_wait(self, at: float) -> float:
        """Return the seconds until an attempt may be let through; 0 when one may now."""
        return max(0.0, self._until - at) if self.position is SwitchPosition.OPEN else 0.0

    def explain_refusal(self, at: float) -> str:
        """Return why no attempt is let through, and when the next one is; "" when one is."""
        if self.position is SwitchPosition.HALF_OPEN:
            return f"left alone until one question has shown that it is back: {self.reason}"
        rest = self.compute_wait(at)
        return f"left alone for {rest:.0f} s more: {self.reason}" if rest else ""

    def admits(self, at: float) -> bool:
        """Return whether an attempt may be made now; with True it has begun."""
        if self.position is SwitchPosition.CLOSED:
            return True
        if self.position is SwitchPosition.HALF_OPEN or at < self._until:
            return False
        self.position = SwitchPosition.HALF_OPEN
        return True

    def note_success(self) -> None:
        """Note that an attempt went well: the switch closes, and past failures are forgotten."""
        self.position = SwitchPosition.CLOSED
        self._failed = 0
        self.reason = ""

    def note_failure(self, reason: str, at: float, *, rest: float = 0.0) -> None:
        """Note that an attempt failed; one that was to decide opens the switch again.

        `rest` is a time for which the other side has asked to be left alone: it opens the switch
        at once, for at least that long.
        """
        self._failed += 1
        decides = self.position is SwitchPosition.HALF_OPEN
        if not (decides or rest > 0.0 or self._failed >= self._most):
            return
        until = at + max(self._pause, rest)
        if self.position is not SwitchPosition.OPEN:
            self.opened += 1
        # An attempt that began earlier must not shorten a rest that was asked for since.
        self._until = max(until, self._until) if self.position is SwitchPosition.OPEN else until
        self.position = SwitchPosition.OPEN
        self.reason = reason

    def note_abandoned(self, at: float) -> None:
        """Note that an attempt was given up without an answer: the next one decides."""
        if self.position is SwitchPosition.HALF_OPEN:
            self.position = SwitchPosition.OPEN
            self._until = at


T = TypeVar("T")

#: Seconds a server may ask to be left alone within one request; for a longer rest the breaker
#: opens, so that every caller gets an error at once instead of waiting.
LONGEST_WAIT = 20.0

#: Seconds one call may take, with all its requests and repetitions: half of what the watchdog
#: allows the pool of embeddings.
LONGEST_CALL = 300.0

#: Seconds between two looks at an endpoint that a person has to repair.
LOOK_AGAIN = 60.0


#: Connections at once: a patient request, an urgent one, a look whether it is back, one to spare.
CONNECTIONS = 4

#: Seconds an unused connection is kept: less than the minute after which proxies close theirs.
KEPT_ALIVE = 30.0


#: Letters of a connection's error that are shown.
SHOWN = 200


class EndpointClient(KeptConnections["AsyncClient"]):
    """Asks an endpoint that speaks OpenAI's protocol, as a section of the settings says.

    HTTP/1.1 with keep-alive, no redirections, no compression (an answer's size is what comes over
    the wire). The proxies that the environment names are used, but not for this machine.

    A request is sent up to `retries` more times when a failure may pass. Pauses between attempts
    grow, and last as long as the server asks for with `Retry-After`. Failures in a row, of whatever
    request, open the breaker; then everybody is refused at once.
    """

    def __init__(
        self,
        use: Use,
        settings: EmbeddingSettings | JudgingSettings,
        *,
        clock: Clock,
        breaker: Breaker,
        chance: Callable[[], float],
    ) -> None:
        """Check the address; raises `EndpointUnusable`. Nothing is sent yet."""
        self.endpoint = read_endpoint(
            settings.base_url,
            settings.api_key.get_secret_value(),
            use=use,
            system_store=settings.trust_system_store,
        )
        super().__init__(
            "endpoint",
            partial(_client, self.endpoint),
            gone=partial(EndpointDown, f"{self.endpoint.named} is closed; ask again"),
            unmade=partial(_unmade, self.endpoint.named),
        )
        self._clock = clock
        self._breaker = breaker
        self._retries = settings.retries
        self._timeout = settings.request_timeout_s
        self._chance = chance
        self._closing = asyncio.Event()
        #: Requests so far, repetitions included, and the repetitions.
        self.requests = self.retried = 0

    async def ask(
        self,
        document: Mapping[str, Any],
        read: Callable[[HttpReply], T],
        *,
        most: int,
        until: float,
    ) -> T:
        """Send a document, and return what `read` makes of a good answer of at most `most` bytes.

        It takes until the monotonic time `until` in any case. `read` runs on a thread and raises
        `EndpointDown` for an answer that cannot be used. Raises `BadInput` when the server refuses
        what was sent, `EndpointUnusable` when a person has to repair something, and `EndpointDown`
        when it cannot be asked now.
        """
        if self._clock.monotonic() >= until:
            raise EndpointDown(
                f"{self.endpoint.named} is too slow for all of these texts; ask for fewer at once"
            )
        body = json.dumps(document).encode()
        attempt = 0
        while True:
            try:
                return await self._attempt(body, read, most=most, until=until)
            except Passing as failure:
                wait = max(failure.rest or 0.0, choose_pause(attempt, self._chance()))
                if (
                    attempt >= self._retries
                    or self._clock.monotonic() + wait >= until
                    or self._breaker.position is not SwitchPosition.CLOSED
                    or self._closing.is_set()
                ):
                    times = f" ({attempt + 1} attempts)" if attempt else ""
                    raise EndpointDown(f"{failure}{times}; ask again in a moment") from failure
            attempt += 1
            self.retried += 1
            if await wait_within(self._clock, wait, self._closing.wait()):
                raise EndpointDown(f"{self.endpoint.named} is closed")

    async def close(self) -> None:
        """Close the connections; who waits for an answer gets `EndpointDown`."""
        self._closing.set()
        await super().close()

    async def _attempt(
        self, body: bytes, read: Callable[[HttpReply], T], *, most: int, until: float
    ) -> T:
        """Make one attempt and tell the breaker what came of it."""
        at = self._clock.monotonic()
        if not self._breaker.admits(at):
            why = self._breaker.explain_refusal(at)
            raise EndpointDown(f"{self.endpoint.named} is {why}; ask again after that")
        try:
            seconds = min(self._timeout, max(0.0, until - at))
            found = await self._post(body, read, most=most, seconds=seconds)
        except (BadInput, EndpointUnusable):
            self._breaker.note_success()  # it answers, whatever it says
            raise
        except EndpointDown as failure:
            # A long rest that the server asks for opens it at once.
            rest = failure.rest or 0.0 if isinstance(failure, Passing) else 0.0
            rest = rest if rest > LONGEST_WAIT else 0.0
            self._breaker.note_failure(str(failure), self._clock.monotonic(), rest=rest)
            raise
        except BaseException:
            self._breaker.note_abandoned(self._clock.monotonic())
            raise
        self._breaker.note_success()
        return found

    async def _post(
        self, body: bytes, read: Callable[[HttpReply], T], *, most: int, seconds: float
    ) -> T:
        """Send one request and read its answer.

        Raises `Passing` when there is none within that many seconds, and `EndpointDown` when it has
        more than `most` bytes.
        """
        self.requests += 1
        client = await self._opened()
        import httpx2  # noqa: PLC0415 - in memory since the client was made, on its thread

        where, use = self.endpoint.named, self.endpoint.use
        large = EndpointDown(
            f"{where} answered with more than {most} bytes; nothing of it is used: see that "
            f"{use.section}.base_url is {use.api}"
        )
        try:
            async with (
                asyncio.timeout(seconds),
                client.stream("POST", self.endpoint.url, content=body) as response,
            ):
                answer = await read_answer(response, response.aiter_raw(), large, most=most)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise Passing(f"{where} did not answer within {seconds:g} s") from error
        except httpx2.ConnectError as error:
            raise Passing(f"{where} cannot be reached ({_reason(error)})") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise Passing(f"the connection to {where} broke ({_reason(error)})") from error
        if (failure := judge_answer(answer, self.endpoint)) is not None:
            raise failure
        # A megabyte of numbers takes long enough to read to hold up everybody else.
        return await self.run(partial(read, answer))


def _client(endpoint: Endpoint) -> AsyncClient:
    """Make the client, on a thread."""
    import httpx2  # noqa: PLC0415 - takes a fifth of a second, and most homes never need it

    silence()
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    secure = endpoint.url.startswith("https:")
    return httpx2.AsyncClient(
        headers=headers,
        timeout=None,  # `_post` has one for the whole of it, drips included
        # Without TLS there are no certificates to read, which takes most of the time.
        verify=make_context(system_store=endpoint.system_store) if secure else False,
        limits=httpx2.Limits(max_connections=CONNECTIONS, keepalive_expiry=KEPT_ALIVE),
        trust_env=not endpoint.is_loopback,
    )


def _unmade(named: str, error: Exception) -> EndpointUnusable:
    """Return what keeps a client from being made: the environment asks for what is not there."""
    return EndpointUnusable(
        f"no connection to {named} can be made ({_reason(error)}): see to "
        "the proxy in HTTPS_PROXY or ALL_PROXY and the certificates in SSL_CERT_FILE or "
        "SSL_CERT_DIR of the daemon's environment, or to tls.trust_system_store, then start the "
        "daemon again"
    )


def _reason(error: Exception) -> str:
    """Return what went wrong in a few words; some of these errors have no text."""
    return str(error)[:SHOWN] or type(error).__name__


#: Questions that may wait for each place: with more, the last ones only wait to be too late.
QUEUED = 16


class LeftAlone(StoreDown):
    """A store is not asked: it failed too often, too many wait for it, or we are not ready."""


class Guard:
    """Lets `at_once` questions to a store at a time, and none while its breaker is open.

    (Nygard, "Release It!", 2007: bulkheads and circuit breakers.) `failures` in a row open it for
    `pause` seconds, or for as long as the store asks for; then one question decides.
    """

    def __init__(self, clock: Clock, *, at_once: int, failures: int, pause: float) -> None:
        """Guard one store; nothing of it is known yet."""
        self._clock = clock
        self._places = asyncio.Semaphore(at_once)
        self._most = at_once * QUEUED
        self.breaker = Breaker(failures=failures, pause=pause)
        #: Questions that are out, and that wait for a place.
        self.running = self.waiting = 0

    def explain_refusal(self) -> str:
        """Return why the store is not asked now; "" when it may be. Nothing is used up by it."""
        if self.waiting >= self._most:
            return f"{self.waiting} questions wait for it already"
        return self.breaker.explain_refusal(self._clock.monotonic())

    @asynccontextmanager
    async def attempt(self, seconds: float) -> AsyncIterator[float]:
        """Give a place for one question, and the seconds that are left of those it may take.

        How the block ends is what the breaker learns: an error is a failure, but for
        `QuestionRefused`, with which a store shows that it works; a cancellation within the time
        says nothing, and neither does `LeftAlone`, with which the caller says that the store is
        not to blame. The caller limits the time inside, so that being late counts. Raises
        `LeftAlone` when the store is not asked, and `StoreTimeout` when no place became free in
        time.
        """
        until = self._clock.monotonic() + seconds
        if reason := self.explain_refusal():
            raise LeftAlone(reason)
        self.waiting += 1
        try:
            async with limit_time(seconds, doing=", waiting for others"):
                await self._places.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        try:
            # Others may have opened it, or be trying it, while this one waited.
            at = self._clock.monotonic()
            if not self.breaker.admits(at):
                raise LeftAlone(self.breaker.explain_refusal(at))
            async with self._told(until, seconds):
                yield max(0.0, until - self._clock.monotonic())
        finally:
            self.running -= 1
            self._places.release()

    @asynccontextmanager
    async def _told(self, until: float, seconds: float) -> AsyncIterator[None]:
        """Tell the breaker how a block has ended that had so many seconds, until then."""
        try:
            yield
        except QuestionRefused:
            self.breaker.note_success()
            raise
        except LeftAlone:
            self.breaker.note_abandoned(self._clock.monotonic())
            raise
        except Exception as error:
            rest = float(getattr(error, "rest", 0.0))
            self.breaker.note_failure(str(error)[:120], self._clock.monotonic(), rest=rest)
            raise
        except BaseException:
            # A loop that stalled until the caller gives up, too, has both limits end at once.
            if (now := self._clock.monotonic()) >= until:
                self.breaker.note_failure(f"timeout after {seconds:.2f} s", now)
            else:
                self.breaker.note_abandoned(now)
            raise
        self.breaker.note_success()
