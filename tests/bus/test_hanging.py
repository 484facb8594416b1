"""An event whose handler hangs: it counts as failed, and ends as a dead letter like any poison."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from cortex_actors.bus.commits import Outcome
from cortex_actors.errors import LedgerDown
from cortex_actors.runtime.watchdog import Watchdog
from cortex_actors.testing import ManualClock, eventually
from tests.bus.journal import MemoryJournal
from tests.bus.support import Script, Scripted, Stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.bus.commits import Delivery, Failure
    from cortex_actors.domain.event import Event


class Hasty(Scripted):
    """Has little time for a message."""

    message_limit: ClassVar[float] = 0.05


class HastyWide(Hasty):
    """Handles several at once."""

    concurrency = 3


class Stubborn(Hasty):
    """Swallows the end of its handler once, and then succeeds."""

    async def on_event(self, event: Event[Any]) -> Outcome:
        """Go on when it is cancelled."""
        with suppress(asyncio.CancelledError):
            return await super().on_event(event)
        return Outcome(lambda _connection: self.script.effects.append(event))


@asynccontextmanager
async def watched(journal: MemoryJournal | None = None) -> AsyncIterator[Stage]:
    """Give a stage with a watchdog."""
    play = Stage(journal)
    watchdog = Watchdog(play.names, look=0.01, grace=0.05)
    watchdog.start()
    try:
        yield play
    finally:
        await watchdog.stop()
        await play.end()


def resting(play: Stage, script: Script, lives: int) -> bool:
    """Say whether that life has come, and rests."""
    return lives == script.lives and 1 == play.clock.sleepers


class TestHanging:
    async def test_comes_back(self) -> None:
        """A handler that hangs costs its event an attempt, and it comes back after the pause."""
        script = Script(gates={"/bad": asyncio.Event()})
        async with watched() as play:
            await play.supervised({"accumulator": script}, Hasty)
            await play.change("/bad", "/good")
            await eventually(lambda: resting(play, script, 2))
            script.gates.clear()
            before = len(script.seen)
            play.clock.advance(1)
            await eventually(lambda: 2 == len(script.effects))

        assert 1 == before
        assert ["/bad", "/good"] == script.paths()

    @pytest.mark.slow
    async def test_dead_letter(self) -> None:
        """After the last attempt it is set aside with the stack it hung in; the next is handled."""
        script = Script(gates={"/bad": asyncio.Event()})
        async with watched() as play:
            await play.supervised({"accumulator": script}, Hasty)
            await play.change("/bad", "/good")
            for life, pause in enumerate((1, 5, 30, 120), start=2):
                await eventually(lambda n=life: resting(play, script, n))
                play.clock.advance(pause)
            await eventually(lambda: bool(script.effects))

        ((consumer, event, trace),) = play.memory.dead
        assert ("accumulator", "/bad") == (consumer, event.payload.path)  # type: ignore[attr-defined]
        assert "in Scripted.on_event" in trace
        assert "Stuck: accumulator has been at file:changed 1 for" in trace
        assert [] == play.told("gave_up")
        assert ["/good"] == script.paths()

    async def test_others(self) -> None:
        """What was in hand beside it is handed out again and has lost no attempt."""
        script = Script(gates={"/bad": asyncio.Event()})
        async with watched() as play:
            await play.supervised({"accumulator": script}, HastyWide)
            await play.change("/bad")
            await eventually(lambda: ["/bad"] == script.inside)
            late = asyncio.get_running_loop().time() + 0.03
            await eventually(lambda: asyncio.get_running_loop().time() > late)
            script.gates["/a"] = asyncio.Event()
            await play.change("/a")
            await eventually(lambda: resting(play, script, 2))
            script.gates.clear()
            attempts = dict(play.memory._attempts)
            play.clock.advance(1)
            await eventually(lambda: 2 == len(script.effects))

        assert {("accumulator", 1): 1} == attempts

    async def test_done_at_last(self) -> None:
        """A handler that finishes while it is being given up has its effect once."""
        script = Script(gates={"/bad": asyncio.Event()})
        async with watched() as play:
            await play.supervised({"accumulator": script}, Stubborn)
            await play.change("/bad", "/good")
            await eventually(lambda: 2 == script.lives)
            script.gates.clear()
            await eventually(lambda: 0 < play.clock.sleepers or 2 == len(script.effects))
            play.clock.advance(5)
            await eventually(lambda: 2 == len(script.effects))
            await eventually(lambda: 0 == play.memory.waiting("accumulator"))

        assert ["/bad", "/good"] == sorted(script.paths())

    async def test_ledger_away(self) -> None:
        """Where it cannot be recorded, the consumer comes back all the same and tries again."""

        class Away(MemoryJournal):
            async def fail(self, delivery: Delivery, failure: Failure) -> None:
                """Record nothing."""
                raise LedgerDown("the ledger is away")

        script = Script(gates={"/bad": asyncio.Event()})
        async with watched(Away(ManualClock())) as play:
            await play.supervised({"accumulator": script}, Hasty)
            await play.change("/bad")
            await eventually(lambda: 2 == len(script.seen))
            script.gates.clear()
            await eventually(lambda: ["/bad"] == script.paths())

        assert [] == play.told("gave_up")
