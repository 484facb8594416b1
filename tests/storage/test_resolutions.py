"""What stands in our section of each file, as the ledger has it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.principle import Ending, GivenBullet
from cortex_actors.domain.project import Project
from cortex_actors.storage import projects
from cortex_actors.storage.pipeline import resolutions
from cortex_actors.storage.pipeline.resolutions import Resolution

if TYPE_CHECKING:
    from tests.storage.support import Store

ATLAS = Project.from_root("/code/atlas", 1)

WRITTEN = Resolution(
    path="/code/atlas/CLAUDE.md",
    agent="claude",
    project_id=ATLAS.id,
    run_id="run_1",
    revision="r1",
    inputs="i1",
    section="## Ours\n\n- Run pytest.\n",
    ending=Ending.WRITTEN,
    reason=None,
    resolved_at=5,
)

REFUSED = replace(
    WRITTEN, section="", ending=Ending.REFUSED, reason="refused: it is a link", resolved_at=6
)

BULLETS = [
    GivenBullet("pri_1", "- Run pytest."),
    GivenBullet("pri_2", "- [CONFLICT] Use tabs.", "x"),
]


@pytest.fixture
async def kept(store: Store) -> Store:
    """Give a ledger that knows one file with two bullets."""
    await store.write(lambda c: projects.add(c, ATLAS))
    await store.write(lambda c: resolutions.keep(c, WRITTEN, BULLETS))
    return store


async def bullets(store: Store) -> list[str]:
    """Return what stands in the file."""
    found = await store.read(lambda c: resolutions.load_bullets(c, WRITTEN.path, "claude"))
    return [each.text for each in found]


class TestKeep:
    async def test_found(self, kept: Store) -> None:
        """What was kept of a file is found by its path and agent, and in its project."""
        found = await kept.read(lambda c: resolutions.find(c, WRITTEN.path, "claude"))
        whole = await kept.read(lambda c: resolutions.load_of_project(c, ATLAS.id))

        assert WRITTEN == found
        assert {(WRITTEN.path, "claude"): WRITTEN} == whole
        assert await kept.read(lambda c: resolutions.find(c, WRITTEN.path, "gemini")) is None

    async def test_replaced(self, kept: Store) -> None:
        """Bullets are those of the last write, in their order."""
        newer = [GivenBullet("pri_3", "- Be kind."), BULLETS[0]]
        await kept.write(lambda c: resolutions.keep(c, WRITTEN, newer))

        assert ["- Be kind.", "- Run pytest."] == await bullets(kept)
        assert 1 == len(await kept.read(resolutions.list_paths))

    async def test_refused(self, kept: Store) -> None:
        """Where nothing could be written, section and bullets stay what stands there."""
        await kept.write(lambda c: resolutions.keep(c, REFUSED))
        found = await kept.read(lambda c: resolutions.find(c, WRITTEN.path, "claude"))

        assert replace(REFUSED, section=WRITTEN.section) == found
        assert [each.text for each in BULLETS] == await bullets(kept)


class TestAsked:
    async def test_standing(self, kept: Store) -> None:
        """Where a principle stands is found by its id."""
        found = await kept.read(lambda c: resolutions.list_standing(c, ["pri_2", "pri_9"]))
        every = await kept.read(resolutions.list_standing)

        assert [(WRITTEN.path, "claude", "pri_2", True)] == [
            (path, agent, each.principle_id, bool(each.conflict)) for path, agent, each in found
        ]
        assert 2 == len(every)

    async def test_troubled(self, kept: Store) -> None:
        """Files that were not written are told, as long as their project is followed."""
        assert [] == await kept.read(resolutions.list_troubled)
        await kept.write(lambda c: resolutions.keep(c, REFUSED))
        assert [Ending.REFUSED] == [
            each.ending for each in await kept.read(resolutions.list_troubled)
        ]

        await kept.write(lambda c: projects.remove(c, ATLAS.id))
        assert [] == await kept.read(resolutions.list_troubled)


class TestOptIn:
    async def test_projects(self, kept: Store) -> None:
        """A project is written by itself once somebody says so, until he says otherwise."""
        assert [] == await kept.read(projects.list_resolving)
        assert await kept.write(lambda c: projects.let_resolve(c, ATLAS.id, on=True))
        assert not await kept.write(lambda c: projects.let_resolve(c, ATLAS.id, on=True))
        assert [ATLAS] == await kept.read(projects.list_resolving)

        await kept.write(lambda c: projects.let_resolve(c, ATLAS.id, on=False))
        assert [] == await kept.read(projects.list_resolving)

    async def test_not_followed(self, kept: Store) -> None:
        """A project that is not followed any more is not."""
        await kept.write(lambda c: projects.let_resolve(c, ATLAS.id, on=True))
        await kept.write(lambda c: projects.remove(c, ATLAS.id))

        assert [] == await kept.read(projects.list_resolving)
