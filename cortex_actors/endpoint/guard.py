"""What keeps one bad store from costing the others anything: a bulkhead and a circuit breaker."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from cortex_actors.endpoint.breaker import Breaker, Position
from cortex_actors.endpoint.storereply import QuestionRefused
from cortex_actors.errors import StoreDown, StoreTimeout

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.clock import Clock

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
        self._breaker = Breaker(failures=failures, pause=pause)
        #: Questions that are out, and that wait for a place.
        self.running = self.waiting = 0

    @property
    def position(self) -> Position:
        """Where the breaker stands."""
        return self._breaker.position

    @property
    def opened(self) -> int:
        """Times the breaker has opened."""
        return self._breaker.opened

    def refusal(self) -> str:
        """Return why the store is not asked now; "" when it may be. Nothing is used up by it."""
        if self.waiting >= self._most:
            return f"{self.waiting} questions wait for it already"
        return self._rested()

    @asynccontextmanager
    async def attempt(self, seconds: float) -> AsyncIterator[float]:
        """Give a place for one question, and the seconds that are left of those it may take.

        How the block ends is what the breaker learns: an error is a failure, but for
        `QuestionRefused`, with which a store shows that it works; a cancellation within the time
        says nothing, and neither does `LeftAlone`, with which whoever asks tells that the store is
        not to blame. Whoever limits the time does it inside, so that being late counts. Raises
        `LeftAlone` when the store is not asked, and `StoreTimeout` when no place became free in
        time.
        """
        until = self._clock.monotonic() + seconds
        if reason := self.refusal():
            raise LeftAlone(reason)
        await self._place(seconds)
        self.running += 1
        try:
            # Others may have opened it, or be trying it, while this one waited.
            if reason := self._rested():
                raise LeftAlone(reason)
            self._breaker.admits(self._clock.monotonic())
            async with self._told(until, seconds):
                yield max(0.0, until - self._clock.monotonic())
        finally:
            self.running -= 1
            self._places.release()

    def _rested(self) -> str:
        """Return why the breaker lets nobody through; "" when it would let one."""
        breaker = self._breaker
        if breaker.position is Position.HALF_OPEN:
            return f"left alone until one question has shown that it is back: {breaker.reason}"
        if (left := breaker.remaining(self._clock.monotonic())) > 0:
            return f"left alone for {left:.0f} s more: {breaker.reason}"
        return ""

    async def _place(self, seconds: float) -> None:
        """Wait for a free place; raises `StoreTimeout`."""
        self.waiting += 1
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError:
            raise StoreTimeout(f"timeout after {seconds:.2f} s, waiting for others") from None
        finally:
            self.waiting -= 1

    @asynccontextmanager
    async def _told(self, until: float, seconds: float) -> AsyncIterator[None]:
        """Tell the breaker how a block has ended that had so many seconds, until then."""
        try:
            yield
        except QuestionRefused:
            self._breaker.succeeded()
            raise
        except LeftAlone:
            self._breaker.abandoned(self._clock.monotonic())
            raise
        except Exception as error:
            rest = float(getattr(error, "rest", 0.0))
            self._breaker.failed(str(error)[:120], self._clock.monotonic(), rest=rest)
            raise
        except BaseException:
            # A loop that stalled until whoever asks gives up, too, has both limits end at once.
            if (now := self._clock.monotonic()) >= until:
                self._breaker.failed(f"timeout after {seconds:.2f} s", now)
            else:
                self._breaker.abandoned(now)
            raise
        self._breaker.succeeded()
