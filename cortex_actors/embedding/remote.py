"""One remote embedder: requests that are tried again, behind a circuit breaker."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from cortex_actors.embedding.backoff import pause
from cortex_actors.embedding.breaker import Position
from cortex_actors.embedding.reply import Embedded, Passing, rows_of, verdict
from cortex_actors.embedding.waiting import within
from cortex_actors.embedding.wire import Wire
from cortex_actors.errors import BadInput, EmbedderDown, ModelMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.breaker import Breaker
    from cortex_actors.embedding.endpoint import Endpoint

T = TypeVar("T")

#: Bytes an answer may have, for each text and beside them: vectors of 8,192 numbers, 24 characters
#: each, fit in.
ROW_BYTES, MORE_BYTES = 200_000, 65_536

#: Seconds a server may ask to be left alone within one request; for a longer rest the breaker
#: opens, so that everybody is told at once instead of waiting.
LONGEST_WAIT = 20.0


class Remote:
    """Asks an endpoint for vectors: up to `retries` more times when a failure may pass.

    Pauses between attempts grow, and last as long as the server asks for with `Retry-After`.
    Failures in a row, of whatever request, open the breaker; then everybody is refused at once.
    """

    def __init__(
        self,
        model: str,
        clock: Clock,
        *,
        endpoint: Endpoint,
        breaker: Breaker,
        retries: int,
        timeout: float,
        chance: Callable[[], float],
    ) -> None:
        self._model = model
        self._clock = clock
        self._endpoint = endpoint
        self._breaker = breaker
        self._retries = retries
        self._timeout = timeout
        self._chance = chance
        self._wire = Wire(endpoint, clock)
        self._closing = asyncio.Event()
        self.requests = self.retried = 0

    async def ask(self, texts: Sequence[str], *, until: float) -> Embedded:
        """Return one row a text, not yet judged; by the monotonic time `until` in any case.

        Raises `BadInput` when the server refuses the texts, `ModelMissing` when somebody has to
        mend something, and `EmbedderDown` when it cannot be asked now.
        """
        if self._clock.monotonic() >= until:
            raise EmbedderDown(
                f"the embedding endpoint {self._endpoint.host} is too slow for all of these texts; "
                "ask for fewer at once"
            )
        body = json.dumps(
            {"model": self._model, "input": list(texts), "encoding_format": "float"}
        ).encode()
        attempt = 0
        while True:
            try:
                return await self._attempt(body, len(texts), until=until)
            except Passing as failure:
                wait = max(failure.rest or 0.0, pause(attempt, self._chance()))
                if not self._worth_it(attempt, wait, until):
                    raise EmbedderDown(_given_up(failure, attempt)) from failure
            attempt += 1
            self.retried += 1
            if await within(self._clock, wait, self._closing.wait()):
                raise EmbedderDown(f"the embedding endpoint {self._endpoint.host} was let go of")

    async def run(self, call: Callable[[], T]) -> T:
        """Run a calculation on a thread; raises `EmbedderDown` when closed before its turn."""
        return await self._wire.run(call)

    async def close(self) -> None:
        """Close the connections; who waits for an answer gets `EmbedderDown`."""
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

    async def _attempt(self, body: bytes, texts: int, *, until: float) -> Embedded:
        """Make one attempt and tell the breaker what came of it."""
        at = self._clock.monotonic()
        if not self._breaker.admits(at):
            raise EmbedderDown(self._left_alone(at))
        try:
            found = await self._post(body, texts, seconds=min(self._timeout, max(0.0, until - at)))
        except (BadInput, ModelMissing):
            self._breaker.succeeded()  # it answers, whatever it says
            raise
        except EmbedderDown as failure:
            self._note(failure)
            raise
        except BaseException:
            self._breaker.abandoned(self._clock.monotonic())
            raise
        self._breaker.succeeded()
        return found

    async def _post(self, body: bytes, texts: int, *, seconds: float) -> Embedded:
        """Send one request and read its answer."""
        self.requests += 1
        most = MORE_BYTES + texts * ROW_BYTES
        answer = await self._wire.post(body, most=most, seconds=seconds)
        told = {"host": self._endpoint.host, "key": self._endpoint.key}
        failure = verdict(answer, **told)
        if failure is not None:
            raise failure
        # A megabyte of numbers takes long enough to read to hold up everybody else.
        return await self._wire.run(partial(rows_of, answer, texts, **told))

    def _note(self, failure: EmbedderDown) -> None:
        """Tell the breaker of a failure; a long rest that the server asks for opens it at once."""
        rest = failure.rest if isinstance(failure, Passing) and failure.rest else 0.0
        self._breaker.failed(
            str(failure), self._clock.monotonic(), rest=rest if rest > LONGEST_WAIT else 0.0
        )

    def _left_alone(self, at: float) -> str:
        """Return why nobody may ask now."""
        return (
            f"the embedding endpoint {self._endpoint.host} is left alone for "
            f"{self._breaker.remaining(at):.0f} s more, because {self._breaker.reason}; ask again "
            "after that"
        )


def _given_up(failure: Passing, attempt: int) -> str:
    """Return what an asker is told after the last attempt."""
    times = "" if attempt == 0 else f" ({attempt + 1} attempts)"
    return f"{failure}{times}; ask again in a moment"
