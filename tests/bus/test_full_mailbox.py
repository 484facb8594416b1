"""A consumer whose mailbox is full of other messages when an event comes."""

from __future__ import annotations

from typing import ClassVar

from cortex_actors import topics
from cortex_actors.bus.consumer import LEDGER_PAUSE
from cortex_actors.domain.event import FileChanged
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.testing import eventually
from tests.bus.support import Script, Scripted, Stage


class Narrow(Scripted):
    """Has room for one message."""

    mailbox_limit: ClassVar[int] = 1
    overflow: ClassVar[Overflow] = Overflow.BACK_PRESSURE


class TestFullMailbox:
    async def test_wakes_later(self) -> None:
        """An event that finds the mailbox full is handled soon after, not at the next event."""
        play, script = Stage(), Script()
        ref = await play.alone("accumulator", script, Narrow)
        await eventually(lambda: 1 == play.clock.sleepers)
        event = play.bus.make_event(topics.FILE_CHANGED, FileChanged("prj_1", "/a"), source="test")
        (stored,) = await play.journal.append([event])
        ref.tell("something else")
        play.bus.announce(stored)
        await eventually(lambda: 0 < play.clock.due <= LEDGER_PAUSE)
        play.clock.advance(LEDGER_PAUSE)

        await eventually(lambda: ["/a"] == script.paths())
