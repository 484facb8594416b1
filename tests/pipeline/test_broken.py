"""A file that cannot be read: its run has failed, what it said stands, nobody else pays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.event import FileChanged
from cortex_actors.errors import MailboxFull
from cortex_actors.storage import projects
from cortex_actors.topics import ACCUMULATION_COMPLETE, FILE_CHANGED
from tests.pipeline.spoiling import SPOILT, clear, spoil

if TYPE_CHECKING:
    from cortex_actors.domain.project import Project
    from tests.pipeline.support import Embedder, Office

pytestmark = pytest.mark.usefixtures("accumulator")


@pytest.fixture
def path(project: Project) -> Path:
    """Give the path of an instruction file that is not there yet."""
    return Path(project.root, "CLAUDE.md")


@pytest.mark.parametrize("how", SPOILT)
class TestBroken:
    async def test_failed_run(self, office: Office, project: Project, path: Path, how: str) -> None:
        """The run has failed with a reason that names the file, and the file is listed."""
        reason = spoil(path, how)
        await office.changed(project, path)

        (run,) = await office.runs()
        assert ("failed", str(path)) == (run.state, run.path)
        assert reason in (run.error or "")
        assert {str(path): run.error} == await office.broken()
        assert ACCUMULATION_COMPLETE == office.topics_said()[-1]

    async def test_keeps(self, office: Office, project: Project, path: Path, how: str) -> None:
        """What the file said before stands while it cannot be read."""
        path.write_text("## A\n\nThis is kept.\n")
        await office.changed(project, path)
        spoil(path, how)
        await office.changed(project, path)

        assert ["This is kept."] == await office.contents()

    async def test_mended(self, office: Office, project: Project, path: Path, how: str) -> None:
        """A file that was mended is read again and is broken no longer."""
        spoil(path, how)
        await office.changed(project, path)
        clear(path)
        path.write_text("## A\n\nThis is mended.\n")
        await office.changed(project, path)

        assert ["This is mended."] == await office.contents()
        assert {} == await office.broken()

    async def test_costs_nobody_else(
        self, office: Office, project: Project, path: Path, how: str
    ) -> None:
        """The other files of the project are read in the same breath."""
        spoil(path, how)
        good = path.with_name("AGENTS.md")
        good.write_text("## A\n\nThis is fine.\n")
        for each in (path, good):
            payload = FileChanged(project.id, str(each))
            await office.bus.publish(FILE_CHANGED, payload, source="test")
        await office.handled("accumulator")

        assert ["This is fine."] == await office.contents()


class TestOdd:
    async def test_restored(self, office: Office, project: Project, path: Path) -> None:
        """A broken file whose old bytes come back is broken no longer, and counts as before."""
        path.write_text("## A\n\nThis is same.\n")
        await office.changed(project, path)
        before = await office.evidence()
        spoil(path, "binary")
        await office.changed(project, path)
        path.write_text("## A\n\nThis is same.\n")
        await office.changed(project, path)

        assert {} == await office.broken()
        assert before == await office.evidence()

    async def test_other_name(self, office: Office, project: Project, path: Path) -> None:
        """A file that is no instruction file is refused with a hint at the list of names."""
        other = path.with_name("README.md")
        other.write_text("## A\n\nb\n")
        await office.changed(project, other)

        (run,) = await office.runs()
        assert ("failed", str(other)) == (run.state, run.path)
        assert "docs/cli.md" in (run.error or "")
        assert [] == await office.contents()
        assert {} == await office.broken()

    async def test_passed_over(self, office: Office, project: Project, path: Path) -> None:
        """An instruction file among the dependencies is refused, and is not listed as broken."""
        other = path.parent / "node_modules" / "x" / "CLAUDE.md"
        other.parent.mkdir(parents=True)
        other.write_text("## A\n\nb\n")
        await office.changed(project, other)

        (run,) = await office.runs()
        assert "failed" == run.state
        assert "dependencies" in (run.error or "")
        assert ([], {}) == (await office.contents(), await office.broken())
        assert {} == await office.read(lambda c: projects.load_files(c, project.id))

    @pytest.mark.parametrize("given", ["CLAUDE.md", "", "a\0b/CLAUDE.md"])
    async def test_no_path(self, office: Office, project: Project, given: str) -> None:
        """What is no absolute path is a failed run, and no file of anybody's."""
        payload = FileChanged(project.id, given)
        await office.bus.publish(FILE_CHANGED, payload, source="test")
        await office.handled("accumulator")

        (run,) = await office.runs()
        assert "failed" == run.state
        assert "absolute" in (run.error or "")
        assert {} == await office.broken()

    async def test_too_many_sections(self, office: Office, project: Project, path: Path) -> None:
        """A file of one section too many is refused by the limit; what it said stands."""
        path.write_text("## A\n\nThis is kept.\n")
        await office.changed(project, path)
        path.write_text("".join(f"## {n}\n{n}\n" for n in range(2_001)))
        await office.changed(project, path)

        assert "may have 2000; split it" in ((await office.runs())[0].error or "")
        assert [str(path)] == list(await office.broken())
        assert ["This is kept."] == await office.contents()

    async def test_thousands_of_sections(
        self, office: Office, project: Project, path: Path, embed: Embedder
    ) -> None:
        """A file of as many sections as it may have is kept whole, and withdrawn whole."""
        embed.fails = MailboxFull("far too many at once")
        path.write_text("".join(f"## {n}\nThis is {n}.\n" for n in range(2_000)))
        await office.changed(project, path)
        assert 2_000 == len(await office.contents())

        path.write_text("## A\n\nThis is short.\n")
        await office.changed(project, path)
        assert ["This is short."] == await office.contents()
