"""The organiser: an insight that has earned it becomes one principle, with its derivation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from cortex_actors.domain.insight import insight_id, section_hash
from cortex_actors.domain.payload import (
    Nothing,
    OrganisationComplete,
    Payload,
    ReconciliationComplete,
)
from cortex_actors.pipeline.organiser import Organiser
from cortex_actors.storage import contradictions, insights, principles, standing
from cortex_actors.storage.contradictions import Contradiction
from cortex_actors.storage.schema import derivations
from cortex_actors.storage.schema import principles as principle_rows
from cortex_actors.testing import eventually
from cortex_actors.topics import (
    ORGANISATION_COMPLETE,
    ORGANISATION_REQUESTED,
    RECONCILIATION_COMPLETE,
)
from tests.pipeline.support import Office, finding

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from cortex_actors.bus.journal import Delivery, Outcome
    from cortex_actors.domain.event import Event
    from cortex_actors.domain.project import Project

TABS = insight_id(section_hash("Use tabs."))

pytestmark = pytest.mark.usefixtures("learnt")


@pytest.fixture
async def learnt(office: Office, project: Project) -> None:
    """Have one thing known and an organiser at work."""
    path = f"{project.root}/CLAUDE.md"
    found = [finding("Use tabs.", path, category="warning")]
    await office.write(lambda c: insights.learn(c, found, project_id=project.id, path=path, at=1))
    await office.employ("organiser", lambda: Organiser(office.desk("organiser"), office.records))


async def organise(office: Office, *ids: str) -> None:
    """Name candidates and return once they were looked at."""
    office.clock.advance(1)
    done = ReconciliationComplete("run_1", ids)
    await office.bus.publish(RECONCILIATION_COMPLETE, done, source="reconciler")
    await office.handled("organiser")


def made(office: Office) -> list[tuple[str, ...]]:
    """Return the principles that each run said."""
    payloads: list[Payload] = [
        event.payload for event in office.said if event.topic == ORGANISATION_COMPLETE
    ]
    return [each.changed_ids for each in payloads if isinstance(each, OrganisationComplete)]


class TestOffice:
    async def test_said_after_the_commit(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is looked for after a run has been said, however late after the commit that was."""
        gate, settle = asyncio.Event(), office.journal.settle

        async def slowly(delivery: Delivery, outcome: Outcome) -> list[Event[Payload]]:
            found = await settle(delivery, outcome)
            await gate.wait()
            return found

        monkeypatch.setattr(office.journal, "settle", slowly)
        asked = asyncio.create_task(organise(office, TABS))
        await eventually(lambda: office.said != [])

        async def committed() -> bool:
            return 0 == await office.waiting("organiser")

        await eventually(committed)
        for _ in range(5):
            await committed()
        assert not asked.done()

        gate.set()
        await asked
        assert 1 == len(made(office))


class TestPromotion:
    async def test_promoted(self, office: Office) -> None:
        """A candidate becomes a principle of the kind that belongs to its category."""
        await organise(office, TABS)

        row = (await office.read(lambda c: c.execute(select(principle_rows)).all()))[0]
        assert ("Use tabs.", "anti_pattern", ["a"], ["python"]) == (
            row.content,
            row.category,
            row.tags,
            row.domains,
        )
        assert [(row.id,)] == made(office)

    async def test_contradicted(self, office: Office, project: Project) -> None:
        """A candidate that something speaks against by now becomes none."""
        path = f"{project.root}/AGENTS.md"
        found = [finding("Use spaces.", path)]
        one, other = sides = sorted((TABS, found[0].insight_id))
        name = contradictions.id_of(one, other)
        told = ("direct", None, "reconciler", "rules", "because", 1)
        against = Contradiction(name, one, other, *told)

        def work(connection: Connection) -> None:
            insights.learn(connection, found, project_id=project.id, path=path, at=1)
            contradictions.replace(connection, [against], [])
            standing.settle(connection, sides)

        await office.write(work)
        await organise(office, TABS)

        assert [()] == made(office)

    async def test_derivation(self, office: Office) -> None:
        """A principle names the insight that it came of."""
        await organise(office, TABS)

        rows = await office.read(lambda c: c.execute(select(derivations)).all())
        assert [("pri_" + TABS.removeprefix("ins_"), TABS, 1.0)] == [tuple(row) for row in rows]

    async def test_twice(self, office: Office) -> None:
        """A candidate that is named twice is one principle."""
        await organise(office, TABS)
        await organise(office, TABS)

        assert 1 == await office.read(principles.count)

    async def test_withdrawn(self, office: Office, project: Project) -> None:
        """A candidate that no file says any more by then is left out."""
        path = f"{project.root}/CLAUDE.md"
        await office.write(lambda c: insights.silence(c, path, 2))
        await organise(office, TABS)

        assert [()] == made(office)
        assert {"candidates": 1, "promoted": 0} == dict((await office.runs("organiser"))[0].counts)

    async def test_unknown(self, office: Office) -> None:
        """A candidate that nobody knows is left out."""
        await organise(office, "ins_nobody")

        assert [()] == made(office)

    async def test_requested(self, office: Office) -> None:
        """A run without candidates promotes nobody and is said to be complete."""
        await office.bus.publish(ORGANISATION_REQUESTED, Nothing(), source="test")
        await office.handled("organiser")

        assert [()] == made(office)
