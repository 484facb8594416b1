from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from cortex_actors.endpoint.client import QUEUED, Guard, LeftAlone, SwitchPosition
from cortex_actors.endpoint.replies import BadStatus, QuestionRefused
from cortex_actors.errors import StoreDown, StoreTimeout
from cortex_actors.testing import eventually

if TYPE_CHECKING:
    from tests.embedding.support import ManualClock


@pytest.fixture
def guard(clock: ManualClock) -> Guard:
    """Give a guard of two places that opens after three failures, for ten seconds."""
    return Guard(clock, at_once=2, failures=3, pause=10.0)


async def fail(guard: Guard, times: int = 3, error: Exception | None = None) -> None:
    """Let questions fail."""
    for _ in range(times):
        with suppress(StoreDown):
            async with guard.attempt(5):
                raise error or StoreDown("no luck")


class TestPlaces:
    async def test_at_once(self, guard: Guard) -> None:
        """So many questions are out at once; the others wait, and go in their turn."""
        gate, order = asyncio.Event(), []

        async def ask(number: int) -> None:
            async with guard.attempt(5):
                order.append(number)
                await gate.wait()

        tasks = [asyncio.create_task(ask(number)) for number in range(4)]
        await eventually(lambda: guard.waiting == 2)
        assert ([0, 1], 2) == (order, guard.running)
        gate.set()
        await asyncio.gather(*tasks)
        assert ([0, 1, 2, 3], 0, 0) == (order, guard.running, guard.waiting)

    async def test_late(self, guard: Guard) -> None:
        """Waiting for a place counts into a question's time, and is no failure of the store's."""
        async with guard.attempt(5), guard.attempt(5):
            for _ in range(4):
                with pytest.raises(StoreTimeout, match="waiting for others"):
                    async with guard.attempt(0.01):
                        pass
        assert "" == guard.explain_refusal()

    async def test_left(self, guard: Guard, clock: ManualClock) -> None:
        """Whoever waited is told how much of its time is left."""
        async with guard.attempt(5) as left:
            assert 5.0 == left

        async def second() -> float:
            async with guard.attempt(5) as left:
                return left

        async with guard.attempt(5), guard.attempt(5):
            waiting = asyncio.create_task(second())
            await eventually(lambda: guard.waiting == 1)
            await clock.advance(2)
        assert 3.0 == await waiting

    async def test_crowd(self, guard: Guard) -> None:
        """When too many wait already, the next one is told at once instead."""
        gate = asyncio.Event()

        async def ask() -> None:
            async with guard.attempt(30):
                await gate.wait()

        tasks = [asyncio.create_task(ask()) for _ in range(2 + 2 * QUEUED)]
        await eventually(lambda: guard.waiting == 2 * QUEUED)
        assert "wait for it already" in guard.explain_refusal()
        with pytest.raises(LeftAlone):
            async with guard.attempt(5):
                pass
        gate.set()
        await asyncio.gather(*tasks)


class TestBreaker:
    async def test_opens(self, guard: Guard, clock: ManualClock) -> None:
        """After failures in a row nobody asks until the pause is over; then one does."""
        await fail(guard)
        assert "left alone for 10 s more: no luck" == guard.explain_refusal()
        with pytest.raises(LeftAlone):
            async with guard.attempt(5):
                pass
        await clock.advance(10)
        assert "" == guard.explain_refusal()
        async with guard.attempt(5):
            assert "until one question" in guard.explain_refusal()
        assert (SwitchPosition.CLOSED, 1, "") == (
            guard.breaker.position,
            guard.breaker.opened,
            guard.explain_refusal(),
        )

    async def test_while_waiting(self, clock: ManualClock) -> None:
        """Whoever waits for a place while the breaker opens does not ask any more."""
        guard = Guard(clock, at_once=1, failures=1, pause=10.0)

        async def ask() -> None:
            async with guard.attempt(5):
                pass

        with suppress(StoreDown):
            async with guard.attempt(5):
                waiting = asyncio.create_task(ask())
                await eventually(lambda: guard.waiting == 1)
                raise StoreDown("no luck")
        with pytest.raises(LeftAlone, match="no luck"):
            await waiting
        assert 0 == guard.running

    async def test_rest(self, guard: Guard) -> None:
        """A store that asks to be left alone is left alone at once, for as long."""
        await fail(guard, 1, BadStatus("answered 503", status=503, rest=60.0))
        assert "left alone for 60 s more: answered 503" == guard.explain_refusal()

    async def test_refused_questions(self, guard: Guard) -> None:
        """A store that refuses questions works."""
        await fail(guard, 9, QuestionRefused("answered 422", status=422))
        assert SwitchPosition.CLOSED is guard.breaker.position

    async def test_timeouts(self, guard: Guard) -> None:
        """Being late is a failure."""
        await fail(guard, 3, StoreTimeout("timeout after 5.00 s"))
        assert "timeout after 5.00 s" in guard.explain_refusal()

    async def test_cancelled(self, guard: Guard, clock: ManualClock) -> None:
        """A question that is given up says nothing of the store, and the next one may ask."""
        await fail(guard)
        await clock.advance(10)

        async def ask() -> None:
            async with guard.attempt(5):
                await asyncio.Event().wait()

        asking = asyncio.create_task(ask())
        await eventually(lambda: guard.running == 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert ("", 0) == (guard.explain_refusal(), guard.running)

    async def test_cancelled_late(self, guard: Guard, clock: ManualClock) -> None:
        """A question that is given up when its time is over is a failure: the store was late."""
        for _ in range(3):
            with suppress(asyncio.CancelledError):
                async with guard.attempt(5):
                    await clock.advance(5)
                    raise asyncio.CancelledError

        assert "timeout after 5.00 s" in guard.explain_refusal()


class TestNotToBlame:
    async def test_left_alone(self, guard: Guard) -> None:
        """Whoever could not ask, by no fault of the store's, is no failure of it."""
        await fail(guard, 10, LeftAlone("not ready"))

        assert ("", SwitchPosition.CLOSED) == (guard.explain_refusal(), guard.breaker.position)
