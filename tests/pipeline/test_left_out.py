"""Files in folders that are left out: never taken in, and let go when they were."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.support import TWO, Office

if TYPE_CHECKING:
    from cortex_actors.domain.project import Project

pytestmark = pytest.mark.usefixtures("accumulator")


@pytest.fixture
def generated(project: Project) -> Path:
    """Give an instruction file in a folder of its own."""
    return project_file(project, "generated/CLAUDE.md", TWO)


def project_file(project: Project, name: str, text: str) -> Path:
    """Write a file of a project."""
    path = Path(project.root) / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


class TestLeftOut:
    async def test_said(self, office: Office, project: Project, generated: Path) -> None:
        """Whoever says it, a file in a folder that git ignores is refused with the reason."""
        project_file(project, ".gitignore", "generated/\n")
        await office.changed(project, generated)
        (run,) = await office.runs()

        assert [] == await office.insights()
        assert "failed" == run.state
        assert "git ignores its folder" in (run.error or "")

    async def test_let_go(self, office: Office, project: Project, generated: Path) -> None:
        """What a file said is withdrawn when git ignores its folder, and comes back with it."""
        await office.changed(project, generated)
        known = await office.contents()
        assert known
        ignoring = project_file(project, ".gitignore", "generated/\n")
        await office.changed(project, generated)
        assert [] == await office.insights()
        ignoring.unlink()
        await office.changed(project, generated)

        assert known == await office.contents()

    async def test_worktree(self, office: Office, project: Project, generated: Path) -> None:
        """A linked worktree of the project says nothing a second time."""
        project_file(project, "generated/.git", "gitdir: /x/.git/worktrees/generated\n")
        await office.changed(project, generated)

        assert [] == await office.insights()
