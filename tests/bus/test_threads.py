"""Publishing from threads that run no loop."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors import topics
from cortex_actors.bus.bus import Bus
from cortex_actors.domain.event import Custom, FileChanged
from cortex_actors.errors import (
    BlockingInLoopError,
    DaemonStopping,
    DeadlineExceeded,
    InternalError,
    UnknownTopic,
)
from cortex_actors.testing import ManualClock, MemoryJournal, eventually
from tests.bus.gated import Gated
from tests.bus.hearing import TOPIC, Audience

if TYPE_CHECKING:
    from cortex_actors.domain.event import Event, Payload

CHANGE = FileChanged("prj_1", "/a")


def _bus() -> Bus:
    """Return a bus of its own."""
    return Bus(MemoryJournal(ManualClock()), ManualClock())


class TestPublish:
    async def test_durable(self, audience: Audience) -> None:
        """A thread gets a durable event back once it is stored, and it is heard on the loop."""
        heard: list[tuple[Event[Payload], int]] = []
        audience.bus.subscribe("*", lambda event: heard.append((event, threading.get_ident())))
        publish = partial(
            audience.bus.publish_from_thread, topics.FILE_CHANGED, CHANGE, source="test"
        )
        event = await asyncio.to_thread(publish)

        assert 1 == event.seq
        assert [(event, threading.get_ident())] == heard

    async def test_order_of_each(self, audience: Audience) -> None:
        """What one of several threads says is heard in its order, stored or not."""
        heard: list[int] = []
        audience.bus.subscribe(TOPIC, lambda event: heard.append(event.payload.body["n"]))  # type: ignore[attr-defined]

        def count(start: int) -> None:
            for number in range(start, start + 20):
                audience.bus.publish_from_thread(
                    TOPIC, Custom({"n": number}), source="test", durable=bool(number % 2)
                )

        starts = (0, 100, 200)
        await asyncio.gather(*(asyncio.to_thread(count, start) for start in starts))

        for start in starts:
            mine = [number for number in heard if start <= number < start + 100]
            assert list(range(start, start + 20)) == mine

    async def test_pressure(self, audience: Audience) -> None:
        """A thread is slowed by a receiver that wants its publishers to wait."""
        await audience.join("a", shut=True)
        audience.bus.deliver_to(TOPIC, audience.names, "a")
        said: list[int] = []

        def flood() -> None:
            for number in range(10):
                audience.bus.publish_from_thread(
                    TOPIC, Custom({"n": number}), source="test", durable=False
                )
                said.append(number)

        flooding = asyncio.create_task(asyncio.to_thread(flood))
        await eventually(lambda: len(said) == 4)
        assert not flooding.done()
        audience.gates["a"].set()
        await flooding

        await eventually(lambda: list(range(10)) == audience.heard["a"])


class TestRefused:
    async def test_unknown_topic(self, audience: Audience) -> None:
        """What `publish` raises is raised in the thread."""
        publish = partial(audience.bus.publish_from_thread, "no:topic", CHANGE, source="test")
        with pytest.raises(UnknownTopic):
            await asyncio.to_thread(publish)

    async def test_on_the_loop(self, audience: Audience) -> None:
        """On a loop's thread it would freeze the loop, and names what to use instead."""
        with pytest.raises(BlockingInLoopError, match="await bus.publish"):
            audience.bus.publish_from_thread(TOPIC, Custom({}), source="test")

    async def test_timeout(self) -> None:
        """A thread does not wait for ever for a commit."""
        journal = Gated(ManualClock())
        bus = Bus(journal, ManualClock())
        publish = partial(
            bus.publish_from_thread, topics.FILE_CHANGED, CHANGE, source="test", timeout=0.02
        )
        with pytest.raises(DeadlineExceeded, match="may be stored already"):
            await asyncio.to_thread(publish)
        journal.gate.set()

        await eventually(lambda: 1 == len(journal.events) and not bus._commits.running)

    def test_no_loop_yet(self) -> None:
        """Before the bus has a loop, a thread is told so."""
        with pytest.raises(InternalError, match="on a loop yet"):
            _bus().publish_from_thread(TOPIC, Custom({}), source="test")

    def test_loop_has_ended(self) -> None:
        """After the loop has ended, a thread is told so at once."""

        async def use() -> Bus:
            return _bus()

        bus = asyncio.run(use())
        with pytest.raises(DaemonStopping, match="has ended"):
            bus.publish_from_thread(TOPIC, Custom({}), source="test")
