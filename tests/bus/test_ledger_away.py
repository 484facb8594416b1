from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors import topics
from cortex_actors.bus.consumer import IDLE
from cortex_actors.domain.event import ScanRequested
from cortex_actors.errors import ActorAway, DeadlineExceeded, LedgerDown
from cortex_actors.testing import ManualClock, eventually
from tests.bus.journal import MemoryJournal
from tests.bus.support import Script, Stage

if TYPE_CHECKING:
    from collections.abc import Collection

    from cortex_actors.bus.commits import Delivery, Failure, Rest


class Moody(MemoryJournal):
    """A journal that raises what it was given, first."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.next_errors: list[Exception] = []
        self.fail_errors: list[Exception] = []

    async def find_next(
        self, consumer: str, in_hand: Collection[Delivery] = ()
    ) -> Delivery | Rest | None:
        """Raise, or say what is next."""
        if self.next_errors:
            raise self.next_errors.pop(0)
        return await super().find_next(consumer, in_hand)

    async def fail(self, delivery: Delivery, failure: Failure) -> None:
        """Raise, or record a crash."""
        if self.fail_errors:
            raise self.fail_errors.pop(0)
        await super().fail(delivery, failure)


class TestLedgerAway:
    @pytest.mark.parametrize("error", [LedgerDown("x"), ActorAway("x"), DeadlineExceeded("x")])
    async def test_reading(self, error: Exception) -> None:
        """A ledger that cannot be read is asked again later; the consumer lives."""
        play, script = Stage(Moody(ManualClock())), Script()
        assert isinstance(play.journal, Moody)
        play.journal.next_errors.append(error)
        await play.change("/a")
        ref = await play.alone("accumulator", script)
        await eventually(lambda: 1 == play.clock.sleepers)
        play.clock.advance(1)
        await eventually(lambda: ["/a"] == script.paths())

        assert ref.is_alive()

    @pytest.mark.parametrize("error", [LedgerDown("x"), ActorAway("x")])
    async def test_writing(self, error: Exception) -> None:
        """An outcome that cannot be committed is no crash: the event is handled again."""
        play, script = Stage(), Script(errors=[error])
        ref = await play.alone("accumulator", script)
        await play.change("/a")
        await eventually(lambda: 1 == len(script.seen) and 2 == play.clock.sleepers)
        play.clock.advance(1)
        await eventually(lambda: ["/a"] == script.paths())

        assert ref.is_alive()
        assert [] == play.memory.dead

    async def test_recording(self) -> None:
        """A crash that cannot be recorded does not become a loop of restarts."""
        play, script = Stage(Moody(ManualClock())), Script(poison={"/a"})
        assert isinstance(play.journal, Moody)
        play.journal.fail_errors.append(LedgerDown("the disk is full"))
        ref = await play.alone("accumulator", script)
        await play.change("/a")
        await eventually(lambda: 1 == len(script.seen) and 2 == play.clock.sleepers)
        script.poison.clear()
        play.clock.advance(1)
        await eventually(lambda: ["/a"] == script.paths())

        assert ref.is_alive()

    async def test_lost_wake_up(self) -> None:
        """What was stored without anybody being told is found after a while."""
        play, script = Stage(), Script()
        await play.alone("accumulator", script)
        await eventually(lambda: 1 == play.clock.sleepers)
        event = play.bus.make_event(topics.SCAN_REQUESTED, ScanRequested(), source="test")
        await play.journal.append([event])
        play.clock.advance(IDLE)
        await eventually(lambda: 1 == len(script.effects))

        assert event.id == script.effects[0].id
