"""One look at every instruction file of a project."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cortex_actors.domain.project import PRUNED, Project
from cortex_actors.watching.sweep import find_differences, find_inner_roots, sweep


def found(root: Path, *, depth: int = 8) -> list[str]:
    """Return what a sweep finds, as paths from the root."""
    swept = sweep(str(root), "prj_1", max_depth=depth)
    return sorted(os.path.relpath(path, root) for path in swept.files)


def put(root: Path, *names: str) -> Path:
    """Write instruction files below a root."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"says " + os.fsencode(name))
    return root


class TestFinds:
    def test_every_dialect(self, tmp_path: Path) -> None:
        """Files of every dialect are found, in any folder where their dialect allows it."""
        names = ["AGENTS.md", "a/CLAUDE.md", "a/b/GEMINI.md", ".github/copilot-instructions.md"]
        put(tmp_path, *names, "README.md", "a/copilot-instructions.md", "claude.md")

        assert sorted(names) == found(tmp_path)

    def test_rules_of_cline(self, tmp_path: Path) -> None:
        """Cline's rules are a file, or a folder of that name, which is no file that is broken."""
        put(tmp_path, ".clinerules/a.md", ".clinerules/workflows/b.md", "web/.clinerules")

        assert [".clinerules/a.md", "web/.clinerules"] == found(tmp_path)

    def test_own(self, tmp_path: Path) -> None:
        """Of a home folder a person's own files are found, and nothing else."""
        own = [".claude/CLAUDE.md", ".claude/rules/a.md", ".codex/AGENTS.md", ".gemini/GEMINI.md"]
        put(tmp_path, *own, "AGENTS.md", ".claude/rules/b/c.md", "code/CLAUDE.md", ".claude/x.md")
        swept = sweep(str(tmp_path), "prj_1", max_depth=8, own=True)

        assert [str(tmp_path / each) for each in own] == sorted(swept.files)

    @pytest.mark.parametrize("folder", sorted(PRUNED))
    def test_pruned(self, tmp_path: Path, folder: str) -> None:
        """Version control, dependencies and build output are not the project's own words."""
        assert [] == found(put(tmp_path, f"{folder}/CLAUDE.md", f"a/{folder}/b/AGENTS.md"))

    def test_depth(self, tmp_path: Path) -> None:
        """Folders are searched as deep as the settings say."""
        put(tmp_path, "CLAUDE.md", "1/CLAUDE.md", "1/2/CLAUDE.md", "1/2/3/CLAUDE.md")

        assert ["CLAUDE.md"] == found(tmp_path, depth=0)
        assert ["1/2/CLAUDE.md", "1/CLAUDE.md", "CLAUDE.md"] == found(tmp_path, depth=2)

    def test_linked_folder(self, tmp_path: Path) -> None:
        """A folder that is a link is not followed, so a ring of links ends no sweep."""
        put(tmp_path, "a/CLAUDE.md")
        (tmp_path / "a" / "up").symlink_to(tmp_path)

        assert ["a/CLAUDE.md"] == found(tmp_path)

    @pytest.mark.parametrize("kind", ["folder", "pipe"])
    def test_odd(self, tmp_path: Path, kind: str) -> None:
        """What has the name of an instruction file and is none is found: reading it tells why."""
        path = tmp_path / "CLAUDE.md"
        path.mkdir() if kind == "folder" else os.mkfifo(path)

        assert ["CLAUDE.md"] == found(tmp_path)

    def test_no_root(self, tmp_path: Path) -> None:
        """A root that is not there has no files."""
        assert [] == found(tmp_path / "gone")

    def test_root_is_told_apart(self, tmp_path: Path) -> None:
        """A root that is not there is another thing than one without files."""
        assert sweep(str(tmp_path), "p", max_depth=8).present
        gone = sweep(str(tmp_path / "gone"), "p", max_depth=8)

        assert not gone.present
        assert frozenset() == gone.folders

    def test_name_is_not_utf8(self, tmp_path: Path) -> None:
        """Names that are not UTF-8 do no harm to the others."""
        put(tmp_path, "CLAUDE.md")
        folder = os.path.join(os.fsencode(tmp_path), b"caf\xe9")  # noqa: PTH118 - bytes
        put(Path(os.fsdecode(folder)), "AGENTS.md", os.fsdecode(b"note\xff"))

        assert ["CLAUDE.md"] == found(tmp_path)


class TestNested:
    def test_left_out(self, tmp_path: Path) -> None:
        """What lies in a project of its own is left out, and what only sounds alike is not."""
        put(tmp_path, "CLAUDE.md", "in/CLAUDE.md", "in/deep/CLAUDE.md", "inner/CLAUDE.md")
        roots = [tmp_path, tmp_path / "in", tmp_path.with_name(tmp_path.name + "-other")]
        followed = [Project.from_root(str(root), 1) for root in roots]
        apart = find_inner_roots(str(tmp_path), followed)
        swept = sweep(str(tmp_path), "p", max_depth=8, apart=apart)

        assert {str(tmp_path / "in")} == apart
        assert {str(tmp_path / name / "CLAUDE.md") for name in (".", "inner")} == set(swept.files)
        assert frozenset() == find_inner_roots(str(tmp_path / "in"), followed)


class TestLinks:
    def test_counted_once(self, tmp_path: Path) -> None:
        """A link to another instruction file of the project is left out, whatever their names."""
        put(tmp_path, "AGENTS.md", "b/CLAUDE.md")
        (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
        (tmp_path / "GEMINI.md").symlink_to("b/CLAUDE.md")

        assert ["AGENTS.md", "b/CLAUDE.md"] == found(tmp_path)

    def test_to_other_file(self, tmp_path: Path) -> None:
        """A link to a file that is not found by itself is found; of two such links only one."""
        put(tmp_path, "docs/rules.md")
        (tmp_path / "AGENTS.md").symlink_to("docs/rules.md")
        (tmp_path / "CLAUDE.md").symlink_to("docs/rules.md")

        assert ["AGENTS.md"] == found(tmp_path)

    @pytest.mark.parametrize("target", ["nowhere.md", "CLAUDE.md"])
    def test_leads_nowhere(self, tmp_path: Path, target: str) -> None:
        """A link that leads nowhere is found, so that somebody is told."""
        (tmp_path / "CLAUDE.md").symlink_to(target)

        assert ["CLAUDE.md"] == found(tmp_path)


class TestFolders:
    def test_of_files(self, tmp_path: Path) -> None:
        """The folders to listen to are the root and those that hold an instruction file."""
        put(tmp_path, "a/b/CLAUDE.md", "c/README.md")
        swept = sweep(str(tmp_path), "prj_1", max_depth=8)

        assert {str(tmp_path), str(tmp_path / "a" / "b")} == swept.folders


class TestDifferences:
    def test_kinds(self, tmp_path: Path) -> None:
        """New, gone and changed files differ; the same look does not."""
        put(tmp_path, "AGENTS.md", "CLAUDE.md", "GEMINI.md")
        agents, claude, gemini = sorted(sweep(str(tmp_path), "p", max_depth=8).files.items())
        before = dict([agents, claude])
        now = dict([(agents[0], replace(agents[1], ctime_ns=0)), gemini])

        assert [agents[0], claude[0], gemini[0]] == find_differences(before, now)
        assert [] == find_differences(before, dict(before))

    @pytest.mark.parametrize("field", ["size", "mtime_ns", "ctime_ns", "inode"])
    def test_every_number_counts(self, tmp_path: Path, field: str) -> None:
        """A save that keeps the size and the time still shows in another number."""
        put(tmp_path, "CLAUDE.md")
        before = dict(sweep(str(tmp_path), "p", max_depth=8).files)
        other: dict[str, Any] = {field: -1}
        now = {path: replace(state, **other) for path, state in before.items()}

        assert list(before) == find_differences(before, now)
