"""A changed file is handed out until it was read once: through crashes, waits and repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.event import FileChanged
from cortex_actors.pipeline.accumulator import Accumulator
from cortex_actors.testing import eventually
from cortex_actors.topics import FILE_CHANGED
from tests.pipeline.support import TWO, Embedder, Office, write

if TYPE_CHECKING:
    from cortex_actors.domain.project import Project


class TestOnce:
    @pytest.mark.usefixtures("accumulator")
    async def test_same_event_twice(self, office: Office, project: Project) -> None:
        """An event that is stored twice is handled once."""
        payload = FileChanged(project.id, str(write(project, TWO)))
        event = office.bus.make_event(FILE_CHANGED, payload, source="test")
        for _ in range(2):
            await office.journal.append([event])
            office.bus.announce(event)
        await office.handled("accumulator")

        assert 1 == len(await office.runs())

    async def test_crash_in_hand(self, office: Office, project: Project, embed: Embedder) -> None:
        """A file in hand when the actor dies is read by its successor, and counts once."""
        embed.gate.clear()
        await office.employ("accumulator", office.accumulator(embed))
        payload = FileChanged(project.id, str(write(project, TWO)))
        await office.bus.publish(FILE_CHANGED, payload, source="test")
        await eventually(lambda: 1 == embed.busy)
        await office.dismiss("accumulator")
        assert [] == await office.contents()

        embed.gate.set()
        await office.employ("accumulator", office.accumulator(embed))
        await office.handled("accumulator")
        assert (2, 2) == await office.evidence()
        assert 1 == len(await office.runs())

    async def test_waited_for_the_actor(
        self, office: Office, project: Project, embed: Embedder
    ) -> None:
        """What was said while nobody was there is handled at the next start, repeats as one."""
        payload = FileChanged(project.id, str(write(project, TWO)))
        for _ in range(3):
            await office.bus.publish(FILE_CHANGED, payload, source="test")
        await office.employ("accumulator", office.accumulator(embed))
        await office.handled("accumulator")

        assert 2 == len(await office.contents())
        assert 1 == len(await office.runs())


class TestAtOnce:
    async def test_most(self, office: Office, project: Project, embed: Embedder) -> None:
        """As many files as may be are processed at once, and the next one waits."""
        most = Accumulator.concurrency
        embed.gate.clear()
        await office.employ("accumulator", office.accumulator(embed))
        for n in range(most + 2):
            path = write(project, f"## A\n\nNumber {n}.\n", f"{n}/CLAUDE.md")
            await office.bus.publish(
                FILE_CHANGED, FileChanged(project.id, str(path)), source="test"
            )
        await eventually(lambda: most == embed.busy)
        assert most + 2 == await office.waiting("accumulator")
        assert most == len(embed.calls)

        embed.gate.set()
        await office.handled("accumulator")
        assert most + 2 == len(await office.contents())

    async def test_path_in_hand(self, office: Office, project: Project, embed: Embedder) -> None:
        """A path in hand that changes again is read once more afterwards, never twice at once."""
        embed.gate.clear()
        await office.employ("accumulator", office.accumulator(embed))
        path = write(project, "## A\n\nThis is old.\n")
        payload = FileChanged(project.id, str(path))
        await office.bus.publish(FILE_CHANGED, payload, source="test")
        await eventually(lambda: 1 == embed.busy)
        write(project, "## A\n\nThis is new.\n")
        for _ in range(5):
            await office.bus.publish(FILE_CHANGED, payload, source="test")
        assert 1 == len(embed.calls)

        embed.gate.set()
        await office.handled("accumulator")
        assert ["This is new."] == await office.contents()
        assert 2 == len(await office.runs())
