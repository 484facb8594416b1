"""What the reconciler notices by itself, and what it tells of: no event comes for a late vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.event import AccumulationComplete, Ids, ReconciliationRequested, split_ids
from cortex_actors.pipeline.reconciler import LOOK, NAMED, Reconciler
from cortex_actors.sections import ReconciliationSettings
from cortex_actors.storage.pipeline import contradictions
from cortex_actors.storage.search.matrix import Neighbours, VectorMatrix
from cortex_actors.testing import eventually
from cortex_actors.topics import (
    ACCUMULATION_COMPLETE,
    CONTRADICTION_DETECTED,
    CONTRADICTION_RESOLVED,
    RECONCILIATION_REQUESTED,
)
from tests.pipeline.histories import MODEL, World, rested
from tests.pipeline.test_reconciling import ALL, ALWAYS, NEVER, TABS, apart, status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.domain.project import Project
    from tests.pipeline.support import Office


@pytest.fixture
async def world(office: Office) -> AsyncIterator[World]:
    """Give a world with a reconciler at work."""
    found = World(office)
    found.vectors = dict(zip(ALL, apart(0.95, 0.9, 0.1), strict=True))
    await employ(office)
    yield found
    found.close()


async def employ(office: Office, model: str = MODEL, **more: object) -> None:
    """Have a reconciler at work; `more` are thresholds of its own."""
    settings = ReconciliationSettings.model_validate(more)
    await office.employ(
        "reconciler",
        lambda: Reconciler(
            office.desk("reconciler"),
            office.records,
            settings=settings,
            neighbours=Neighbours(VectorMatrix(model, 64)),
            tables=office.home.rules,
        ),
    )


async def complete(world: World) -> None:
    """Say that files were read, and wait until what changed was compared."""
    done = AccumulationComplete("run_1", None, tuple(sorted(world.changed)))
    world.changed.clear()
    await world.office.bus.publish(ACCUMULATION_COMPLETE, done, source="accumulator")
    await rested(world.office)


async def looks(office: Office, times: int = 3) -> None:
    """Let so many looks go by, and wait for what comes of them."""
    for _ in range(times):
        await eventually(lambda: office.clock.sleepers > 0)
        office.clock.advance(LOOK)
    await rested(office)


def asked(office: Office) -> list[str]:
    """Return who asked for a reconciliation."""
    return [each.source for each in office.said if each.topic == RECONCILIATION_REQUESTED]


class TestLate:
    async def test_compared(self, world: World, project: Project) -> None:
        """A text whose vector came late is compared once it is there, though no event says so."""
        await world.write(project, "CLAUDE.md", [TABS])
        await world.write(project, "AGENTS.md", [TABS])
        await world.write(project, "docs/CLAUDE.md", [ALWAYS], embedded=False)
        await complete(world)
        assert "active" == await status(world, ALWAYS)

        await world.office.write(lambda c: world.embed(c, [ALWAYS]))
        await eventually(lambda: _superseded(world, ALWAYS))
        assert {"reconciler"} == set(asked(world.office))

    async def test_nothing_late(self, world: World, project: Project) -> None:
        """Where nothing came late nobody is asked for anything."""
        await world.write(project, "CLAUDE.md", [TABS, NEVER])
        await complete(world)
        await looks(world.office)

        assert [] == asked(world.office)


class TestOtherRules:
    async def test_model(self, world: World, project: Project) -> None:
        """Under another model nothing is merged any more by the cosines of the one before."""
        await world.write(project, "CLAUDE.md", [TABS, ALWAYS])
        await complete(world)
        await world.office.dismiss("reconciler")
        before = await world.office.read(contradictions.load_mark)
        await employ(world.office, model="another")
        await eventually(lambda: _differs(world, before.by))

        assert ["active", "active"] == [await status(world, text) for text in (TABS, ALWAYS)]

    async def test_threshold(self, world: World, project: Project) -> None:
        """Another threshold has everything compared anew, at the next start."""
        await world.write(project, "CLAUDE.md", [TABS, ALWAYS])
        await complete(world)
        await world.office.dismiss("reconciler")
        before = await world.office.read(contradictions.load_mark)
        await employ(world.office, judged=1.0, cluster=1.0)
        await eventually(lambda: _differs(world, before.by))

        assert ["active", "active"] == [await status(world, text) for text in (TABS, ALWAYS)]

    async def test_tables(self, world: World, project: Project, office: Office) -> None:
        """A user's own rules hold from the next look on; broken ones are told of in the run."""
        texts = ["Use the teapot.", "Use the kettle."]
        await world.write(project, "CLAUDE.md", texts, embedded=False)
        await complete(world)
        assert "active" == await status(world, texts[0])
        office.home.rules.write_text('[alternatives]\ntea = ["teapot", "kettle"]\n')
        before = await office.read(contradictions.load_mark)
        await eventually(lambda: _differs(world, before.by))
        assert "contradicted" == await status(world, texts[0])

        office.home.rules.write_text("[alternatives")
        await world.write(project, "AGENTS.md", [TABS])
        await complete(world)
        (newest, *_) = await office.runs("reconciler")
        assert "rules.toml" in (newest.error or "")


class TestTold:
    async def test_both(self, world: World, project: Project) -> None:
        """A contradiction is told of when it is found, and when it holds no more."""
        await world.write(project, "CLAUDE.md", [TABS, NEVER])
        await complete(world)
        (one,) = await world.office.read(contradictions.list_contradictions)
        await world.write(project, "CLAUDE.md", [TABS])
        await complete(world)

        told = {each.topic: each.payload for each in world.office.said}
        assert Ids((one.id,)) == told[CONTRADICTION_DETECTED]
        assert Ids((one.id,)) == told[CONTRADICTION_RESOLVED]

    def test_many(self) -> None:
        """What one event cannot name is told of in several."""
        some = [f"con_{n:04}" for n in range(NAMED + 1)]

        assert [NAMED, 1] == [len(each) for each in split_ids(some, NAMED)]

    async def test_full(self, world: World, project: Project) -> None:
        """Who asks for everything gets everything compared."""
        await world.write(project, "CLAUDE.md", [TABS, ALWAYS, NEVER])
        await complete(world)
        await world.office.bus.publish(
            RECONCILIATION_REQUESTED, ReconciliationRequested(full=True), source="test"
        )
        await rested(world.office)

        runs = await world.office.runs("reconciler")
        assert 3 == max(runs, key=lambda run: run.id).counts["compared"]


async def _superseded(world: World, text: str) -> bool:
    """Let a look go by; tell whether a text counts for another one by now."""
    world.office.clock.advance(LOOK)
    return "superseded" == await status(world, text)


async def _differs(world: World, by: bytes) -> bool:
    """Let a look go by; tell whether other rules have been judged by."""
    world.office.clock.advance(LOOK)
    return by != (await world.office.read(contradictions.load_mark)).by
