"""Many events at once, and commits whose caller has gone."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

import pytest

from cortex_actors import topics
from cortex_actors.domain.event import ActorLife, FileChanged, Payload
from cortex_actors.errors import LedgerDown, MailboxFull, UnknownTopic
from cortex_actors.testing import eventually
from tests.bus.gated import CHANGE, Gated, change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.domain.event import Event


class TestPublishAll:
    async def test_commits(self, bus: Bus, journal: Gated, monkeypatch: pytest.MonkeyPatch) -> None:
        """Many events are stored in few commits and heard in order, each with its number."""
        heard: list[Event[Payload]] = []
        sizes: list[int] = []
        bus.subscribe("*", heard.append)
        append = journal.append

        async def counted(events: Sequence[Event[Payload]]) -> list[Event[Payload]]:
            sizes.append(len(events))
            return await append(events)

        monkeypatch.setattr(journal, "append", counted)
        said = [(topics.FILE_CHANGED, FileChanged("prj_1", f"/{n}")) for n in range(1_001)]
        stored = await bus.publish_all(said, source="test")

        assert [500, 500, 1] == sizes
        assert list(range(1, 1_002)) == [event.seq for event in stored]
        assert [payload for _, payload in said] == [event.payload for event in heard]
        assert stored == heard == journal.events

    async def test_nothing(self, bus: Bus, journal: Gated) -> None:
        """Nothing to say costs no commit."""
        assert [] == await bus.publish_all([], source="test")
        assert not journal.asked.is_set()

    async def test_transient(self, bus: Bus, journal: Gated) -> None:
        """Events about the program's own life among them are heard in their place, not stored."""
        heard: list[str] = []
        bus.subscribe("*", lambda event: heard.append(event.topic))
        names = [topics.FILE_CHANGED, topics.ACTOR_STARTED, topics.FILE_CHANGED]
        payloads = [CHANGE, ActorLife("ledger"), CHANGE]
        await bus.publish_all(list(zip(names, payloads, strict=True)), source="test")

        assert names == heard
        assert 2 == len(journal.events)

    async def test_one_refused(self, bus: Bus, journal: Gated) -> None:
        """One that cannot be said keeps all from being said."""
        with pytest.raises(UnknownTopic):
            await bus.publish_all([(topics.FILE_CHANGED, CHANGE), ("no:topic", CHANGE)], source="t")

        assert [] == journal.events

    async def test_cancelled(self, bus: Bus, journal: Gated) -> None:
        """Events whose publisher gave up during their commit are heard all the same."""
        heard: list[Event[Payload]] = []
        bus.subscribe("*", heard.append)
        journal.gate.clear()
        said = [(topics.FILE_CHANGED, CHANGE)] * 3
        task = asyncio.create_task(bus.publish_all(said, source="test"))
        await journal.asked.wait()
        task.cancel()
        await asyncio.wait({task})
        journal.gate.set()

        await eventually(lambda: 3 == len(heard))


class TestCallerGone:
    async def test_no_room(self, bus: Bus, journal: Gated) -> None:
        """A receiver without room for what is stored after its publisher gave up is counted."""

        def refuse(_event: Event[Payload]) -> None:
            message = "no room"
            raise MailboxFull(message)

        subscription = bus.subscribe("*", refuse)
        journal.gate.clear()
        task = asyncio.create_task(change(bus))
        await journal.asked.wait()
        task.cancel()
        await asyncio.wait({task})
        journal.gate.set()

        await eventually(lambda: 1 == subscription.dropped)

    async def test_failed_commit(self, bus: Bus, journal: Gated) -> None:
        """A commit that fails after its publisher gave up is nobody's unretrieved exception."""
        complaints: list[dict[str, object]] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: complaints.append(context))
        journal.gate.clear()
        journal.error = LedgerDown("no disk")
        task = asyncio.create_task(change(bus))
        await journal.asked.wait()
        task.cancel()
        await asyncio.wait({task})
        del task
        journal.gate.set()
        await eventually(lambda: not bus._commits.running)
        gc.collect()

        assert [] == complaints
