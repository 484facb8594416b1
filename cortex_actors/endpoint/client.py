"""One endpoint's client: requests that are tried again, behind a circuit breaker."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors.endpoint.backoff import pause
from cortex_actors.endpoint.breaker import Position
from cortex_actors.endpoint.reply import Answer, Passing, verdict
from cortex_actors.endpoint.wire import Wire
from cortex_actors.errors import BadInput, EndpointDown, EndpointUnusable
from cortex_actors.runtime.threads import within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cortex_actors.clock import Clock
    from cortex_actors.endpoint.address import Endpoint
    from cortex_actors.endpoint.breaker import Breaker

T = TypeVar("T")

#: Seconds a server may ask to be left alone within one request; for a longer rest the breaker
#: opens, so that everybody is told at once instead of waiting.
LONGEST_WAIT = 20.0


class Client:
    """Sends requests to an endpoint: up to `retries` more times when a failure may pass.

    Pauses between attempts grow, and last as long as the server asks for with `Retry-After`.
    Failures in a row, of whatever request, open the breaker; then everybody is refused at once.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        clock: Clock,
        *,
        breaker: Breaker,
        retries: int,
        timeout: float,
        chance: Callable[[], float],
    ) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._breaker = breaker
        self._retries = retries
        self._timeout = timeout
        self._chance = chance
        self._wire = Wire(endpoint, clock)
        self._closing = asyncio.Event()
        self.requests = self.retried = 0

    async def ask(
        self,
        document: Mapping[str, Any],
        read: Callable[[Answer], T],
        *,
        most: int,
        until: float,
    ) -> T:
        """Send a document, and return what `read` makes of a good answer of at most `most` bytes.

        It takes until the monotonic time `until` in any case. `read` runs on a thread and raises
        `EndpointDown` for an answer that cannot be used. Raises `BadInput` when the server refuses
        what was sent, `EndpointUnusable` when somebody has to mend something, and `EndpointDown`
        when it cannot be asked now.
        """
        if self._clock.monotonic() >= until:
            raise EndpointDown(
                f"{self._endpoint.named} is too slow for all of these texts; ask for fewer at once"
            )
        body = json.dumps(document).encode()
        attempt = 0
        while True:
            try:
                return await self._attempt(body, read, most=most, until=until)
            except Passing as failure:
                wait = max(failure.rest or 0.0, pause(attempt, self._chance()))
                if not self._worth_it(attempt, wait, until):
                    raise EndpointDown(_given_up(failure, attempt)) from failure
            attempt += 1
            self.retried += 1
            if await within(self._clock, wait, self._closing.wait()):
                raise EndpointDown(f"{self._endpoint.named} was let go of")

    async def run(self, call: Callable[[], T]) -> T:
        """Run a calculation on a thread; raises `EndpointDown` when closed before its turn."""
        return await self._wire.run(call)

    async def close(self) -> None:
        """Close the connections; who waits for an answer gets `EndpointDown`."""
        self._closing.set()
        await self._wire.close()

    def _worth_it(self, attempt: int, wait: float, until: float) -> bool:
        """Return whether to try again after a wait."""
        return (
            attempt < self._retries
            and self._clock.monotonic() + wait < until
            and self._breaker.position is Position.CLOSED
            and not self._closing.is_set()
        )

    async def _attempt(
        self, body: bytes, read: Callable[[Answer], T], *, most: int, until: float
    ) -> T:
        """Make one attempt and tell the breaker what came of it."""
        at = self._clock.monotonic()
        if not self._breaker.admits(at):
            raise EndpointDown(self._left_alone(at))
        try:
            seconds = min(self._timeout, max(0.0, until - at))
            found = await self._post(body, read, most=most, seconds=seconds)
        except (BadInput, EndpointUnusable):
            self._breaker.succeeded()  # it answers, whatever it says
            raise
        except EndpointDown as failure:
            self._note(failure)
            raise
        except BaseException:
            self._breaker.abandoned(self._clock.monotonic())
            raise
        self._breaker.succeeded()
        return found

    async def _post(
        self, body: bytes, read: Callable[[Answer], T], *, most: int, seconds: float
    ) -> T:
        """Send one request and read its answer."""
        self.requests += 1
        answer = await self._wire.post(body, most=most, seconds=seconds)
        failure = verdict(answer, self._endpoint)
        if failure is not None:
            raise failure
        # A megabyte of numbers takes long enough to read to hold up everybody else.
        return await self._wire.run(partial(read, answer))

    def _note(self, failure: EndpointDown) -> None:
        """Tell the breaker of a failure; a long rest that the server asks for opens it at once."""
        rest = failure.rest if isinstance(failure, Passing) and failure.rest else 0.0
        self._breaker.failed(
            str(failure), self._clock.monotonic(), rest=rest if rest > LONGEST_WAIT else 0.0
        )

    def _left_alone(self, at: float) -> str:
        """Return why nobody may ask now."""
        return (
            f"{self._endpoint.named} is left alone for {self._breaker.remaining(at):.0f} s more, "
            f"because {self._breaker.reason}; ask again after that"
        )


def _given_up(failure: Passing, attempt: int) -> str:
    """Return what an asker is told after the last attempt."""
    times = "" if attempt == 0 else f" ({attempt + 1} attempts)"
    return f"{failure}{times}; ask again in a moment"
