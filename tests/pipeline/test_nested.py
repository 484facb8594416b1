"""Projects inside projects: a file is the innermost one's, however and whenever it is heard of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from cortex_actors.domain.event import AccumulationComplete, FileChanged
from cortex_actors.storage import projects
from cortex_actors.storage.pipeline import insights
from cortex_actors.storage.tables.schema import insight_sources
from cortex_actors.topics import ACCUMULATION_COMPLETE, FILE_CHANGED
from tests.pipeline.spoiling import spoil
from tests.pipeline.support import TWO, Office, write

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from cortex_actors.domain.project import Project

pytestmark = pytest.mark.usefixtures("accumulator")


async def owner(office: Office, path: Path) -> str:
    """Return whose file it is: its look and every source agree."""
    state = await office.read(lambda c: projects.load_file(c, str(path)))
    assert state is not None
    found = await office.read(insights.count_by_project)
    assert {state.project_id} == found.keys()
    return state.project_id


def scopes(connection: Connection) -> set[str]:
    """Return where in their projects texts hold."""
    return {scope for (scope,) in connection.execute(select(insight_sources.c.scope))}


def changed(office: Office) -> set[str]:
    """Return what the last run said to have changed."""
    said = [event.payload for event in office.said if event.topic == ACCUMULATION_COMPLETE][-1]
    assert isinstance(said, AccumulationComplete)
    return set(said.changed_ids)


class TestInnermost:
    @pytest.mark.parametrize("inner_first", [True, False])
    @pytest.mark.parametrize("said_of_inner", [True, False])
    async def test_either_order(
        self, office: Office, tmp_path: Path, *, inner_first: bool, said_of_inner: bool
    ) -> None:
        """A file is the innermost project's, whichever was followed first or the event names."""
        roots = [tmp_path / "outer", tmp_path / "outer" / "inner"]
        found = [await office.follow(r) for r in (roots[::-1] if inner_first else roots)]
        outer, inner = found[::-1] if inner_first else found
        path = write(inner, TWO)
        await office.changed(inner if said_of_inner else outer, path)

        assert inner.id == await owner(office, path)
        assert [inner.id] == [run.project_id for run in await office.runs()]

    async def test_unknown_project(self, office: Office, project: Project) -> None:
        """An event that names a project nobody knows is about the project that holds the path."""
        path = write(project, TWO)
        payload = FileChanged("prj_nobody", str(path))
        await office.bus.publish(FILE_CHANGED, payload, source="test")
        await office.handled("accumulator")

        assert project.id == await owner(office, path)

    async def test_outside(self, office: Office, project: Project, tmp_path: Path) -> None:
        """A file outside every followed project is a failed run, whatever the event claims."""
        path = tmp_path / "elsewhere" / "CLAUDE.md"
        path.parent.mkdir()
        path.write_text(TWO)
        await office.changed(project, path)

        (run,) = await office.runs()
        assert "cortex init" in (run.error or "")
        assert {} == await office.broken()


class TestMoved:
    @pytest.fixture
    async def path(self, office: Office, project: Project) -> Path:
        """Give a file below a folder that is no project yet; it was read as the outer one's."""
        path = write(project, TWO, "inner/CLAUDE.md")
        await office.changed(project, path)
        assert project.id == await owner(office, path)
        return path

    async def test_same_bytes(self, office: Office, project: Project, path: Path) -> None:
        """A file becomes the inner project's when it is read next, though nothing in it changed."""
        before = await office.evidence()
        inner = await office.follow(path.parent)
        await office.changed(project, path)

        assert inner.id == await owner(office, path)
        assert before == await office.evidence()
        assert {each.id for each in await office.insights()} == changed(office)
        assert {("inner",)} == {each.projects for each in await office.insights()}

    async def test_scope(self, office: Office, project: Project, path: Path) -> None:
        """What held in one folder of the outer project holds in all of the inner one."""
        before = await office.read(scopes)
        await office.follow(path.parent)
        await office.changed(project, path)

        assert ({"inner"}, {""}) == (before, await office.read(scopes))

    async def test_edited(self, office: Office, project: Project, path: Path) -> None:
        """A file that was edited meanwhile becomes the inner project's whole."""
        inner = await office.follow(path.parent)
        path.write_text(TWO.replace("tabs", "spaces"))
        await office.changed(project, path)

        assert inner.id == await owner(office, path)
        assert ["Run pytest.", "Use spaces."] == await office.contents()

    async def test_broken(self, office: Office, project: Project, path: Path) -> None:
        """A file that cannot be read becomes the inner project's with what it said."""
        inner = await office.follow(path.parent)
        spoil(path, "binary")
        await office.changed(project, path)

        assert inner.id == await owner(office, path)
        assert 2 == len(await office.contents())

    async def test_back(self, office: Office, project: Project, path: Path) -> None:
        """A file is the outer project's again when the inner one is followed no longer."""
        inner = await office.follow(path.parent)
        await office.changed(inner, path)
        await office.write(lambda c: projects.remove(c, inner.id))
        await office.changed(inner, path)

        assert project.id == await owner(office, path)


class TestOneName:
    @pytest.mark.parametrize("given", ["sub/../CLAUDE.md", "link/../CLAUDE.md", "./CLAUDE.md"])
    async def test_other_spelling(self, office: Office, project: Project, given: str) -> None:
        """A path that is spelt otherwise is the file it means, and that file is known once."""
        path = write(project, TWO)
        Path(project.root, "sub").mkdir()
        Path(project.root, "link").symlink_to("sub")
        for each in (str(path), f"{project.root}/{given}"):
            payload = FileChanged(project.id, each)
            await office.bus.publish(FILE_CHANGED, payload, source="test")
        await office.handled("accumulator")

        known = await office.read(lambda c: projects.load_files(c, project.id))
        assert [str(path)] == list(known)
        assert [2, 2] == list(await office.evidence())

    async def test_folder_became_a_link(self, office: Office, project: Project) -> None:
        """What was said in a folder that is a link now is said where the link leads, once."""
        path = write(project, TWO, "old/CLAUDE.md")
        await office.changed(project, path)
        path.parent.rename(Path(project.root, "new"))
        path.parent.symlink_to("new")
        await office.changed(project, path)

        found = await office.insights()
        places = [place.path for each in found for place in await office.places(each.id)]
        assert [f"{project.root}/new/CLAUDE.md"] * 2 == places
