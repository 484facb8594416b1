from __future__ import annotations

import hashlib

import pytest

from cortex_actors.domain.project import Project, project_id, project_name


class TestProject:
    def test_at(self) -> None:
        """A project is known by its real path and called after its folder."""
        digest = hashlib.sha256(b"/home/ada/atlas-api").hexdigest()
        project = Project.at("/home/ada/atlas-api", 7)

        assert Project(f"prj_{digest[:20]}", "atlas-api", "/home/ada/atlas-api", 7) == project

    def test_same_name_elsewhere(self) -> None:
        """Two folders of one name are two projects."""
        assert project_id("/a/web") != project_id("/b/web")

    @pytest.mark.parametrize(("root", "name"), [("/a/b/", "b"), ("/", "/"), ("/a b", "a b")])
    def test_name(self, root: str, name: str) -> None:
        """Every path has a name that is not empty."""
        assert name == project_name(root)
