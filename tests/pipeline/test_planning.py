"""Which files a wish is about, and what is there to be written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.principle import ResolutionWish
from cortex_actors.domain.project import Project
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.pipeline.resolver import explain_refusal, plan
from cortex_actors.pipeline.selection import find_present, read

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.render.section import Targets


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a project with two files, and a nested one."""
    (tmp_path / "CLAUDE.md").write_text("Use tabs.\n")
    (tmp_path / ".cursorrules").write_text("Use spaces.\n")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "AGENTS.md").write_text("Use npm.\n")
    return Project.from_root(str(tmp_path.resolve()), 1)


def planned(project: Project, path: str = "", **wish: object) -> Targets:
    """Return the files of a wish."""
    whole = f"{project.root}/{path}" if path else project.root
    return plan(project, ResolutionWish(whole, **wish), find_present(project.root))  # type: ignore[arg-type]


def named(found: Targets) -> list[tuple[str, str]]:
    """Return the files and their agents."""
    return [(each.path, each.formatter.name) for each in found.write]


class TestPlan:
    def test_project(self, project: Project) -> None:
        """Of a project each file at its root is written, for whom it is."""
        assert [("CLAUDE.md", "claude"), (".cursorrules", "cursor")] == named(planned(project))

    def test_agent(self, project: Project) -> None:
        """For one agent it is his file; one that is not there is made only on request."""
        assert [("CLAUDE.md", "claude")] == named(planned(project, agent="claude"))
        lacking = planned(project, agent="gemini")
        assert ([], 1) == (named(lacking), len(lacking.left))
        assert "GEMINI.md is not there; --create makes it" in explain_refusal(
            project, lacking.left[0]
        )
        assert [("GEMINI.md", "gemini")] == named(planned(project, agent="gemini", create=True))

    def test_file(self, project: Project) -> None:
        """A file that is named is written alone."""
        assert [("CLAUDE.md", "claude")] == named(planned(project, "CLAUDE.md"))

    def test_deeper(self, project: Project) -> None:
        """One that lies deeper is not: its folder can be followed by itself."""
        with pytest.raises(BadInput, match=r"not at its project's root.*cortex init .*/web$"):
            planned(project, "web/AGENTS.md")

    def test_second(self, project: Project, tmp_path: Path) -> None:
        """The second file of an agent is written when it is named."""
        (tmp_path / ".claude").mkdir()
        (tmp_path / ".claude" / "CLAUDE.md").write_text("Be brief.\n")

        assert [(".claude/CLAUDE.md", "claude")] == named(planned(project, ".claude/CLAUDE.md"))

    def test_leads_elsewhere(self, project: Project, tmp_path: Path) -> None:
        """A file that is only a link to another one is left alone, with the reason."""
        (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
        found = planned(project, "AGENTS.md")

        assert ([], ["AGENTS.md"]) == (named(found), [each.path for each in found.left])

    def test_nobodys(self, project: Project) -> None:
        """A file that no agent reads, or another one, is refused, and so is an unknown agent."""
        with pytest.raises(BadInput, match="no agent reads it; there are CLAUDE.md"):
            planned(project, "README.md")
        with pytest.raises(BadInput, match="it is read by claude"):
            planned(project, "CLAUDE.md", agent="cursor")
        with pytest.raises(NotFound, match="there are claude, agents"):
            planned(project, agent="hal")


class TestPresence:
    def test_files(self, project: Project) -> None:
        """What is there is told with its text; what lies deeper is not."""
        found = {each.path: each.data for each in find_present(project.root)}

        assert {"CLAUDE.md": b"Use tabs.\n", ".cursorrules": b"Use spaces.\n"} == found

    def test_links(self, project: Project, tmp_path: Path) -> None:
        """A link is told with where it leads, inside of the project or out of it."""
        (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
        (tmp_path / "GEMINI.md").symlink_to("/etc/hostname")
        (tmp_path / ".windsurf").symlink_to(tmp_path / "web")
        (tmp_path / "web" / "rules").mkdir()
        (tmp_path / "web" / "rules" / "cortex.md").write_text("Hidden.\n")
        found = {each.path: each for each in find_present(project.root)}

        assert "CLAUDE.md" == found["AGENTS.md"].link
        assert (found["GEMINI.md"].link or "").startswith("../")
        assert "web/rules/cortex.md" == found[".windsurf/rules/cortex.md"].link
        assert b"" == found["GEMINI.md"].data

    def test_no_text(self, project: Project, tmp_path: Path) -> None:
        """What is no text, or no file at all, is there and says nothing; nothing waits for it."""
        (tmp_path / "AGENTS.md").write_bytes(b"\x00\x01")
        os.mkfifo(tmp_path / "GEMINI.md")
        found = {each.path: each.data for each in find_present(project.root)}

        assert (b"", b"") == (found["AGENTS.md"], found["GEMINI.md"])

    def test_unreadable(self, tmp_path: Path) -> None:
        """A file that is not there, or is too large, is not read."""
        large = tmp_path / "CLAUDE.md"
        large.write_bytes(b"a" * (1_048_576 + 1))

        assert [None, None, None] == [
            read(str(path)) for path in (tmp_path / "none", large, tmp_path)
        ]
