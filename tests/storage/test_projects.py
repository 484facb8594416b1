from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors.api import shapes, status
from cortex_actors.domain.project import Project
from cortex_actors.errors import UnknownProject
from cortex_actors.storage import projects
from cortex_actors.storage.pipeline.insight_lists import InsightFilter
from cortex_actors.storage.projects import FileState
from cortex_actors.testing import EPOCH
from tests.storage.support import ATLAS, HARBOR

if TYPE_CHECKING:
    from tests.storage.support import Store

STATE = FileState("/projects/atlas/CLAUDE.md", ATLAS.id, 10, 1, 2, 3, "ab")


@pytest.fixture
async def atlas(store: Store) -> Project:
    """Give a project that is followed."""
    await store.write(lambda c: projects.add(c, ATLAS))
    return ATLAS


class TestFollow:
    async def test_add(self, store: Store) -> None:
        """A project is new once."""
        new = [await store.write(lambda c: projects.add(c, ATLAS)) for _ in range(2)]

        assert [True, False] == new
        assert [ATLAS] == await store.read(projects.list_followed)

    async def test_remove(self, store: Store, atlas: Project) -> None:
        """A project that was removed is not followed, and can be removed once."""
        removed = [await store.write(lambda c: projects.remove(c, atlas.id)) for _ in range(2)]

        assert [True, False] == removed
        assert [] == await store.read(projects.list_followed)
        assert atlas not in await store.read(projects.list_followed)

    async def test_add_again(self, store: Store, atlas: Project) -> None:
        """A project that comes back is new again and remembers when it first came."""
        await store.write(lambda c: projects.remove(c, atlas.id))
        later = Project.from_root(atlas.root, EPOCH + 1)

        assert await store.write(lambda c: projects.add(c, later))
        assert atlas in await store.read(projects.list_followed)

    async def test_one_folder_one_project(self, store: Store, atlas: Project) -> None:
        """Two projects cannot have one root."""
        twin = replace(atlas, id="prj_twin")
        with pytest.raises(Exception, match="UNIQUE"):
            await store.write(lambda c: projects.add(c, twin))


class TestFiles:
    async def test_saw(self, store: Store, atlas: Project) -> None:
        """The last look at a file is the one that counts."""
        newer = replace(STATE, size=11, error="it is not text")
        for state in (STATE, newer):
            await store.write(partial(projects.note_file, state=state, at=EPOCH))

        assert newer == await store.read(lambda c: projects.load_file(c, STATE.path))
        assert {STATE.path: newer} == await store.read(lambda c: projects.load_files(c, atlas.id))
        assert [newer] == await store.read(projects.list_broken)
        assert {atlas.id: 1} == await store.read(projects.count_files)

    async def test_removed(self, store: Store, atlas: Project) -> None:
        """A file of a project that is followed no more is no broken file, and is again with it."""
        await store.write(lambda c: projects.note_file(c, replace(STATE, error="x"), EPOCH))
        await store.write(lambda c: projects.remove(c, atlas.id))
        gone = await store.read(projects.list_broken)
        await store.write(lambda c: projects.add(c, atlas))

        assert ([], 1) == (gone, len(await store.read(projects.list_broken)))

    async def test_left_out(self, store: Store, atlas: Project) -> None:
        """Lines of another tool are as many as the last whole reading of the file counted."""

        def ran(state: str, *, at: int, **counts: int) -> projects.PipelineRun:
            kind, path = projects.READER, STATE.path
            return projects.PipelineRun(f"run_{at}", kind, at, at, state, path=path, counts=counts)

        await store.write(lambda c: projects.note_file(c, STATE, EPOCH))
        found = []
        for run in (
            ran("completed", at=1, left_out=3),
            ran("completed", at=2, left_out=7, insights=2),
            ran("unchanged", at=3),
            ran("failed", at=4),
            ran("completed", at=5, insights=2),
        ):
            await store.write(partial(projects.record, run=run))
            found.append((await store.read(projects.count_left_out)).get(STATE.path, 0))

        assert [3, 7, 7, 7, 0] == found

    async def test_mended(self, store: Store, atlas: Project) -> None:
        """A file that can be read again is not broken any more."""
        for state in (replace(STATE, error="x"), STATE):
            await store.write(partial(projects.note_file, state=state, at=EPOCH))

        assert [] == await store.read(projects.list_broken)

    async def test_forget(self, store: Store, atlas: Project) -> None:
        """A file that is gone is not known."""
        await store.write(lambda c: projects.note_file(c, STATE, EPOCH))
        await store.write(lambda c: projects.forget(c, STATE.path))

        assert await store.read(lambda c: projects.load_file(c, STATE.path)) is None

    def test_same_stat(self) -> None:
        """Content and errors are no part of what a look sees."""
        assert STATE.has_same_stat(replace(STATE, sha256="cd", error="x"))
        assert not STATE.has_same_stat(replace(STATE, inode=4))


class TestLookup:
    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ("/projects/atlas", ATLAS),
            ("/projects/atlas/app/main.py", ATLAS),
            ("/projects/atlas/inner/x", None),
            ("atlas", ATLAS),
            (HARBOR.id, HARBOR),
        ],
    )
    async def test_found(self, store: Store, wanted: str, found: Project | None) -> None:
        """A project is found by a path in it, its name or its id; the innermost wins."""
        inner = Project.from_root("/projects/atlas/inner", EPOCH)
        for each in (ATLAS, HARBOR, inner):
            await store.write(partial(projects.add, project=each))

        assert (found or inner) == await store.read(lambda c: status.find_project(c, wanted))

    @pytest.mark.parametrize(
        ("wanted", "text"),
        [
            ("/projects/atlas-2", "no followed project holds"),
            ("twin", "2 projects are called twin"),
        ],
    )
    async def test_not_found(self, store: Store, wanted: str, text: str) -> None:
        """A path outside, or a name of two, is an error that says what to do."""
        for each in (
            ATLAS,
            Project.from_root("/a/twin", EPOCH),
            Project.from_root("/b/twin", EPOCH),
        ):
            await store.write(partial(projects.add, project=each))
        with pytest.raises(UnknownProject, match=text):
            await store.read(lambda c: status.find_project(c, wanted))

    async def test_insights(self, store: Store) -> None:
        """What clients get names the total, the evidence and every place."""
        await store.says("/projects/atlas/CLAUDE.md", "a", "b")
        await store.says("/projects/harbor/CLAUDE.md", "a", project=HARBOR)
        every = await store.read(lambda c: shapes.list_insights(c, InsightFilter(limit=1)))
        own = await store.read(
            lambda c: shapes.list_insights(c, InsightFilter(project_id=HARBOR.id))
        )

        assert (2, 1) == (every["total"], len(every["insights"]))
        assert (1, 2) == (own["total"], len(own["insights"][0]["sources"]))

    async def test_counts(self, store: Store) -> None:
        """The numbers of `status` are those of the ledger."""
        await store.says("/projects/atlas/CLAUDE.md", "a", "b")
        counts = await store.read(lambda c: status.count_all(c, "test/3", ()))

        assert {
            "projects": 1,
            "insights": 2,
            "unembedded": 2,
            "unindexed": 2,
        }.items() <= counts.items()


class TestLocate:
    async def test_known(self, store: Store, atlas: Project) -> None:
        """What repository a project is a checkout of is written once, and told when it changes."""
        found = [
            await store.write(partial(projects.locate, origins={atlas.id: name}))
            for name in ("github.com/a/b", "github.com/a/b", "github.com/c/d")
        ]

        assert [[atlas.id], [], [atlas.id]] == found
        wanted = {atlas.id: "github.com/c/d"}
        assert wanted == await store.read(lambda c: projects.load_origins(c, [atlas.id, "prj_x"]))

    @pytest.mark.parametrize("weaker", [None, "git:/projects/atlas/.git"])
    async def test_weaker(self, store: Store, atlas: Project, weaker: str | None) -> None:
        """What git has forgotten is not forgotten here."""
        for name in ("commit:abc", weaker):
            await store.write(partial(projects.locate, origins={atlas.id: name}))

        found = await store.read(lambda c: projects.load_origins(c, [atlas.id]))
        assert {atlas.id: "commit:abc"} == found

    async def test_ever(self, store: Store, atlas: Project) -> None:
        """A project that is followed no longer is remembered."""
        await store.write(lambda c: projects.remove(c, atlas.id))

        assert [atlas] == await store.read(projects.list_ever)
