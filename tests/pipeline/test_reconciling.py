"""What a run of the reconciler makes of texts: who stands for whom, and who contradicts whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.errors import NotFound
from cortex_actors.storage.pipeline import contradictions, insights
from tests.pipeline.histories import DIMENSION, World, ids, unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sqlalchemy import Connection

    from cortex_actors.domain.project import Project
    from cortex_actors.storage.pipeline.contradictions import Contradiction
    from tests.pipeline.support import Office

TABS, ALWAYS, NEVER = "Use tabs.", "Always use tabs.", "Never use tabs."
TESTS = "Run the tests before each commit."

ALL = (TABS, ALWAYS, NEVER, TESTS)


def apart(*cosines: float) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """Return a vector, and others of those cosines with it."""
    first = np.zeros(DIMENSION)
    first[0] = 1.0
    found = [unit(first)]
    for number, score in enumerate(cosines, 1):
        row = np.zeros(DIMENSION)
        row[0], row[number] = score, (1 - score**2) ** 0.5
        found.append(unit(row))
    return found


@pytest.fixture
async def world(office: Office) -> AsyncIterator[World]:
    """Give a world in which what is said of tabs is near, and of tests far from it."""
    found = World(office)
    found.vectors = dict(zip(ALL, apart(0.95, 0.9, 0.1), strict=True))
    yield found
    found.close()


async def open_ones(world: World) -> list[Contradiction]:
    """Return the contradictions that nobody has decided."""
    return await world.office.read(
        lambda c: contradictions.list_contradictions(c, status="unresolved")
    )


async def status(world: World, text: str) -> str:
    """Return where a text stands."""
    stands: dict[str, tuple[str, str | None]] = (await world.state())["stands"]
    return stands[ids(text)[0]][0]


class TestMerging:
    async def test_same(self, world: World, project: Project) -> None:
        """Two wordings of one claim are one insight, with the sources of both."""
        await world.write(project, "CLAUDE.md", [TABS])
        await world.write(project, "AGENTS.md", [TABS])
        await world.write(project, "docs/CLAUDE.md", [ALWAYS])
        await world.reconcile()

        assert ["active", "superseded"] == [await status(world, text) for text in (TABS, ALWAYS)]
        (insight,) = await world.office.insights()
        assert 3 == len(await world.office.places(insight.id))

    async def test_parted(self, world: World, project: Project) -> None:
        """What stood for another text and is no longer said gives it back."""
        await world.write(project, "CLAUDE.md", [TABS])
        await world.write(project, "AGENTS.md", [TABS])
        await world.write(project, "docs/CLAUDE.md", [ALWAYS])
        await world.reconcile()
        await world.write(project, "CLAUDE.md", [])
        await world.write(project, "AGENTS.md", [TESTS])
        await world.reconcile()

        assert ["withdrawn", "active"] == [await status(world, text) for text in (TABS, ALWAYS)]

    async def test_private(self, world: World, project: Project) -> None:
        """What only one person's file says is never merged with what others say."""
        await world.write(project, "CLAUDE.md", [TABS])
        await world.write(project, "CLAUDE.local.md", [ALWAYS])
        await world.reconcile()

        assert ["active", "active"] == [await status(world, text) for text in (TABS, ALWAYS)]

    async def test_meanwhile(self, world: World, project: Project, office: Office) -> None:
        """A file that is read again between the look and the commit leaves nobody in the lurch."""
        await world.write(project, "CLAUDE.md", [TABS])
        await world.write(project, "AGENTS.md", [TABS])
        await world.write(project, "docs/CLAUDE.md", [ALWAYS])
        found = await world.look()
        await world.write(project, "CLAUDE.md", [TESTS])
        await world.write(project, "AGENTS.md", [TESTS])
        await office.write(found.write)

        assert "active" == await status(world, ALWAYS)
        await world.reconcile()
        assert {} == await office.read(lambda c: insights.load_representatives(c, ids(*ALL)))


class TestContradictions:
    async def test_found(self, world: World, project: Project) -> None:
        """Two that cannot both hold are contradicted, however alike they are, and never merged."""
        await world.write(project, "CLAUDE.md", [TABS, NEVER])
        found = await world.reconcile()

        (one,) = await open_ones(world)
        assert tuple(sorted(ids(TABS, NEVER))) == one.pair
        assert ("direct", "rules", "reconciler") == (one.type, one.decided_by, one.detected_by)
        assert 0.9 == pytest.approx(one.similarity, abs=0.001)
        assert [one.id] == [each.id for each in found.detected]
        assert ["contradicted"] * 2 == [await status(world, text) for text in (TABS, NEVER)]

    async def test_leaves_by_itself(self, world: World, project: Project) -> None:
        """A contradiction whose text is withdrawn is over, and the other side active again."""
        await world.write(project, "CLAUDE.md", [TABS, NEVER])
        await world.reconcile()
        await world.write(project, "CLAUDE.md", [TABS])
        found = await world.reconcile()

        assert [] == await open_ones(world)
        assert 1 == len(found.ended)
        assert "active" == await status(world, TABS)

    async def test_dismissed(self, world: World, project: Project) -> None:
        """What a person dismissed is not raised again, nor for another wording of it."""
        await world.write(project, "CLAUDE.md", [TABS, NEVER])
        await world.reconcile()
        (one,) = await open_ones(world)
        at = world.office.clock.now()
        await world.office.write(
            lambda c: contradictions.decide(c, one.id, status="dismissed", at=at, note="both fine")
        )
        await world.write(project, "AGENTS.md", [ALWAYS])
        await world.write(project, "docs/CLAUDE.md", [ALWAYS])
        await world.reconcile(full=True)

        assert [] == await open_ones(world)
        assert "active" == await status(world, NEVER)

    async def test_kept(self, world: World, project: Project) -> None:
        """What a person decided against stays contradicted as long as the other one is said."""
        await world.write(project, "CLAUDE.md", [TABS, NEVER])
        await world.reconcile()
        (one,) = await open_ones(world)
        kept, at = ids(TABS)[0], world.office.clock.now()
        await world.office.write(
            lambda c: contradictions.decide(c, one.id, status="resolved", kept_id=kept, at=at)
        )
        assert ["active", "contradicted"] == [await status(world, text) for text in (TABS, NEVER)]
        await world.write(project, "CLAUDE.md", [NEVER])
        await world.reconcile()

        assert "active" == await status(world, NEVER)

    async def test_no_decision(self, world: World, project: Project) -> None:
        """A decision about nothing is refused and says what there is."""
        with pytest.raises(NotFound, match="cortex contradictions"):
            await world.office.write(
                lambda c: contradictions.decide(c, "con_none", status="dismissed", at=1)
            )

    async def test_far(self, world: World, project: Project) -> None:
        """Two that take a stand on one thing are compared however far apart their vectors are."""
        world.vectors[NEVER] = apart(0.05, 0.1, 0.2)[3]
        await world.write(project, "CLAUDE.md", ["Use tabs for indentation."], embedded=False)
        await world.write(project, "AGENTS.md", ["Use spaces for indentation."], embedded=False)
        await world.reconcile()

        (one,) = await open_ones(world)
        assert one.similarity is None

    async def test_pieces(
        self, world: World, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who shares a stand is found some insights at a time, and each pair once."""
        monkeypatch.setattr("cortex_actors.pipeline.reconciler.EXPLORED_AT_ONCE", 1)
        world.vectors[NEVER] = apart(0.05, 0.1, 0.2)[3]
        indents = ("Use tabs for indentation.", "Use spaces for indentation.")
        for number, said in enumerate((*indents, "Use npm.", "Use pnpm.", "Use yarn.")):
            await world.write(project, f"{number}/CLAUDE.md", [said], embedded=False)
        await world.reconcile()
        some = await world.state()
        monkeypatch.undo()
        await world.reconcile(full=True)

        assert 4 == len(some["contradictions"])
        assert some == await world.state()


def _clusters(connection: Connection) -> dict[str, str]:
    """Return the cluster of every insight that is in one."""
    return contradictions.load_clusters(connection, contradictions.load_clustered(connection))


class TestClusters:
    async def test_near(self, world: World, project: Project) -> None:
        """Insights that say nearly the same are a cluster, until they are no longer near."""
        texts = ("The cache holds results.", "Templates lie in the cache, too.", TESTS)
        world.vectors = dict(zip(texts, apart(0.8, 0.1), strict=True))
        await world.write(project, "CLAUDE.md", texts)
        await world.reconcile()
        (name,) = set((await world.office.read(_clusters)).values())
        (one,) = await world.office.read(lambda c: contradictions.get_clusters(c, [name]))
        assert tuple(sorted(ids(*texts[:2]))) == one.members
        assert 0.8 == pytest.approx(one.coherence, abs=0.001)
        assert dict.fromkeys(one.members, one.id) == await world.office.read(_clusters)

        await world.write(project, "CLAUDE.md", texts[1:])
        await world.reconcile()
        assert {} == await world.office.read(_clusters)

    async def test_disagree(self, world: World, project: Project) -> None:
        """Who disagrees is no cluster, however near."""
        await world.write(project, "CLAUDE.md", [TABS, NEVER])
        await world.reconcile()

        assert {} == await world.office.read(_clusters)
