from __future__ import annotations

import hashlib

import pytest

from cortex_actors.domain.project import (
    PRUNED,
    Project,
    find_innermost,
    is_pruned,
    make_project_id,
    make_project_name,
)

OUTER, INNER = Project.from_root("/a", 0), Project.from_root("/a/b", 0)


class TestProject:
    def test_at(self) -> None:
        """A project is known by its real path and called after its folder."""
        digest = hashlib.sha256(b"/home/ada/atlas-api").hexdigest()
        project = Project.from_root("/home/ada/atlas-api", 7)

        assert Project(f"prj_{digest[:20]}", "atlas-api", "/home/ada/atlas-api", 7) == project

    def test_same_name_elsewhere(self) -> None:
        """Two folders of one name are two projects."""
        assert make_project_id("/a/web") != make_project_id("/b/web")

    @pytest.mark.parametrize(("root", "name"), [("/a/b/", "b"), ("/", "/"), ("/a b", "a b")])
    def test_name(self, root: str, name: str) -> None:
        """Every path has a name that is not empty."""
        assert name == make_project_name(root)


class TestInnermost:
    @pytest.mark.parametrize(
        ("path", "found"),
        [
            ("/a/CLAUDE.md", OUTER),
            ("/a/b/CLAUDE.md", INNER),
            ("/a/b", INNER),
            ("/a/bc/CLAUDE.md", OUTER),
            ("/ab/CLAUDE.md", None),
            ("", None),
        ],
    )
    def test_found(self, path: str, found: Project | None) -> None:
        """A path belongs to the innermost project that holds it, in whatever order they come."""
        assert found == find_innermost([OUTER, INNER], path)
        assert found == find_innermost([INNER, OUTER], path)

    def test_root(self) -> None:
        """A project of the whole file system holds everything."""
        assert Project.from_root("/", 0).holds("/a")


class TestPruned:
    def test_folders(self) -> None:
        """What lies below a folder of others' words is passed over, at any depth."""
        assert all(is_pruned(f"{name}/CLAUDE.md") for name in PRUNED)
        assert is_pruned("app/node_modules/x/CLAUDE.md")

    @pytest.mark.parametrize("path", ["CLAUDE.md", "app/CLAUDE.md", "dist", "builds/CLAUDE.md"])
    def test_own(self, path: str) -> None:
        """Folders of other names, and files that are called like one, are the project's own."""
        assert not is_pruned(path)
