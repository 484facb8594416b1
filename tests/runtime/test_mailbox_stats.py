from __future__ import annotations

import asyncio

import pytest

from cortex_actors.errors import MailboxFull
from cortex_actors.runtime.inbox import MailboxStats, Overflow
from tests.runtime.support import Recorder, held


class Watched(Recorder):
    """Has a mailbox whose clock is turned by hand."""

    mailbox_limit = 3
    overflow = Overflow.DROP_NEW

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Take over the clock, once the mailbox has been bound to its loop."""
        self.actor_inbox._now = lambda: self.now


def stats(recorder: Recorder) -> MailboxStats:
    """Return the counters of an actor's mailbox."""
    return recorder.actor_inbox.stats()


class TestCounts:
    async def test_depth(self) -> None:
        """Depth is what waits now, high water the most that ever waited."""
        recorder = await held(Watched())
        for number in range(2):
            recorder.actor_ref.tell(number)
        before = stats(recorder)
        recorder.gate.set()
        await recorder.actor_ref.ask_async("a turn")

        assert (2, 2) == (before.depth, before.high)
        assert (0, 3) == (stats(recorder).depth, stats(recorder).high)

    async def test_handled(self) -> None:
        """Every message that was taken is counted, failed ones as well."""
        ref = Recorder.start()
        for message in (1, ValueError("bad"), 2):
            await asyncio.wait([asyncio.ensure_future(ref.ask_async(message))])

        assert 3 == ref.life.handled

    async def test_dropped(self) -> None:
        """Messages that were dropped are counted; control messages never are."""
        recorder = await held(Watched())
        for number in range(10):
            recorder.actor_ref.tell(number)
        recorder.actor_ref.shut_down()

        assert (4, 3, 7) == (
            stats(recorder).depth,
            stats(recorder).limit,
            stats(recorder).dropped,
        )
        recorder.gate.set()

    async def test_refused(self) -> None:
        """Messages that were refused to their sender are counted as well."""

        class Refusing(Recorder):
            mailbox_limit = 1
            overflow = Overflow.REFUSE

        recorder = await held(Refusing())
        recorder.actor_ref.tell(1)
        for _ in range(2):
            with pytest.raises(MailboxFull):
                recorder.actor_ref.tell(2)

        assert 2 == stats(recorder).dropped
        recorder.gate.set()


class TestTimes:
    async def test_waited(self) -> None:
        """The time that the last timed message waited is told, and the longest ever."""
        recorder = await held(Watched())
        recorder.actor_ref.tell(1)
        recorder.now += 2.5
        recorder.gate.set()
        await recorder.actor_ref.ask_async(2)
        slow = stats(recorder)
        await recorder.actor_ref.ask_async(3)

        assert (2_500.0, 2_500.0) == (slow.waited_ms, slow.longest_ms)
        assert (0.0, 2_500.0) == (stats(recorder).waited_ms, stats(recorder).longest_ms)

    async def test_still_waiting(self) -> None:
        """A message that waits behind one that hangs counts before it is taken."""
        recorder = await held(Watched())
        recorder.actor_ref.tell(1)
        recorder.now += 60.0

        assert 60_000.0 == stats(recorder).longest_ms
        recorder.gate.set()

    async def test_from_a_thread(self) -> None:
        """The counters can be read on any thread, and count what threads send."""
        recorder = await held(Watched())
        await asyncio.to_thread(recorder.actor_ref.tell, 1)
        recorder.now += 1.0

        assert 1_000.0 == (await asyncio.to_thread(stats, recorder)).longest_ms
        recorder.gate.set()

    async def test_quiet(self) -> None:
        """A mailbox that never held anything has counted nothing."""
        expected = MailboxStats(0, 0, 3, Overflow.DROP_NEW, 0, 0.0, 0.0)

        assert expected == stats(Watched())
