"""One look at one file: its bytes, or why there are none."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from cortex_actors.domain.project import Project
from cortex_actors.pipeline.reading import look
from tests.pipeline.spoiling import SPOILT, TOO_MANY, spoil

LIMIT = TOO_MANY - 1


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a project with a folder."""
    root = tmp_path / "atlas"
    root.mkdir()
    return Project.at(str(root.resolve()), 0)


@pytest.fixture
def path(project: Project) -> Path:
    """Give the path of the project's instruction file, which is not there yet."""
    return Path(project.root, "CLAUDE.md")


class TestGood:
    async def test_bytes(self, project: Project, path: Path) -> None:
        """A file's bytes come with their hash and with what the file looked like."""
        path.write_bytes(b"## A\n\nb\n")
        found = await look(str(path), project, limit=LIMIT)

        assert b"## A\n\nb\n" == found.data
        assert hashlib.sha256(b"## A\n\nb\n").hexdigest() == found.state.sha256
        assert (8, path.stat().st_ino) == (found.state.size, found.state.inode)
        assert found.state.error is None

    async def test_largest(self, project: Project, path: Path) -> None:
        """A file of exactly the allowed size is read."""
        path.write_bytes(b"a" * LIMIT)

        assert LIMIT == len((await look(str(path), project, limit=LIMIT)).data or b"")

    async def test_link_inside(self, project: Project, path: Path) -> None:
        """A link that stays in the project is read, and it is told where it leads."""
        target = path.with_name("other.md")
        target.write_text("x")
        path.symlink_to("other.md")
        found = await look(str(path), project, limit=LIMIT)

        assert (b"x", str(target)) == (found.data, found.real)

    async def test_name_is_not_utf8(self, project: Project) -> None:
        """A file below a folder whose name is not UTF-8 is read like any other."""
        folder = os.path.join(os.fsencode(project.root), b"caf\xe9")  # noqa: PTH118 - bytes
        Path(os.fsdecode(folder)).mkdir()
        path = Path(os.fsdecode(folder), "CLAUDE.md")
        path.write_text("x")

        assert b"x" == (await look(str(path), project, limit=LIMIT)).data


class TestBad:
    @pytest.mark.parametrize("how", SPOILT)
    async def test_told_apart(self, project: Project, path: Path, how: str) -> None:
        """What cannot be read has no bytes and a reason; what is no text is left to the parser."""
        reason = spoil(path, how)
        found = await look(str(path), project, limit=LIMIT)

        if found.data is None:
            assert str(path) in (found.state.error or "")
            assert reason in (found.state.error or "")
        else:
            assert how in {"binary", "not UTF-8"}

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    async def test_forbidden(self, project: Project, path: Path) -> None:
        """A file that may not be read has a reason that says who can change that."""
        path.write_text("x")
        path.chmod(0)

        assert "right to read" in ((await look(str(path), project, limit=1)).state.error or "")

    @pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
    async def test_impossible_path(self, project: Project, name: str) -> None:
        """A path that no file can have is a reason and no crash."""
        found = await look(f"{project.root}/{name}/CLAUDE.md", project, limit=LIMIT)

        assert "cannot read" in (found.state.error or "")

    @pytest.mark.parametrize("name", ["CLAUDE.md", "missing/CLAUDE.md", "file/CLAUDE.md"])
    async def test_not_there(self, project: Project, path: Path, name: str) -> None:
        """A file that is not there is told apart from one that cannot be read."""
        path.with_name("file").write_text("a file where a folder is expected")

        with pytest.raises((FileNotFoundError, NotADirectoryError)):
            await look(f"{project.root}/{name}", project, limit=LIMIT)
