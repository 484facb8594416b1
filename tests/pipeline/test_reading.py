"""One look at one file: its bytes, or why there are none."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.project import Project
from cortex_actors.errors import BadInput
from cortex_actors.pipeline.reading import read_file_state, resolve_place
from cortex_actors.storage.projects import FileState
from tests.pipeline.spoiling import SPOILT, TOO_MANY, spoil

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = TOO_MANY - 1

#: The user that owns nothing.
NOBODY = 65_534


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a project with a folder."""
    root = tmp_path / "atlas"
    root.mkdir()
    return Project.from_root(str(root.resolve()), 0)


@pytest.fixture
def path(project: Project) -> Path:
    """Give the path of the project's instruction file, which is not there yet."""
    return Path(project.root, "CLAUDE.md")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that everybody may look into."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder).resolve()


@contextmanager
def as_nobody() -> Iterator[None]:
    """Be somebody without rights for a while; root may read everything."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


class TestGood:
    async def test_bytes(self, project: Project, path: Path) -> None:
        """A file's bytes come with their hash and with what the file looked like."""
        path.write_bytes(b"## A\n\nb\n")
        found = await read_file_state(str(path), project, limit=LIMIT)

        assert b"## A\n\nb\n" == found.data
        assert hashlib.sha256(b"## A\n\nb\n").hexdigest() == found.state.sha256
        assert (8, path.stat().st_ino) == (found.state.size, found.state.inode)
        assert found.state.error is None

    async def test_largest(self, project: Project, path: Path) -> None:
        """A file of exactly the allowed size is read."""
        path.write_bytes(b"a" * LIMIT)

        assert LIMIT == len((await read_file_state(str(path), project, limit=LIMIT)).data or b"")

    async def test_link_inside(self, project: Project, path: Path) -> None:
        """A link that stays in the project is read, and it is told where it leads."""
        target = path.with_name("other.md")
        target.write_text("x")
        path.symlink_to("other.md")
        found = await read_file_state(str(path), project, limit=LIMIT)

        assert (b"x", str(target)) == (found.data, found.real)

    async def test_name_is_not_utf8(self, project: Project) -> None:
        """A file below a folder whose name is not UTF-8 is read like any other."""
        folder = os.path.join(os.fsencode(project.root), b"caf\xe9")  # noqa: PTH118 - bytes
        Path(os.fsdecode(folder)).mkdir()
        path = Path(os.fsdecode(folder), "CLAUDE.md")
        path.write_text("x")

        assert b"x" == (await read_file_state(str(path), project, limit=LIMIT)).data


class TestBad:
    @pytest.mark.parametrize("how", SPOILT)
    async def test_told_apart(self, project: Project, path: Path, how: str) -> None:
        """What cannot be read has no bytes and a reason; what is no text is left to the parser."""
        reason = spoil(path, how)
        found = await read_file_state(str(path), project, limit=LIMIT)

        if found.data is None:
            assert str(path) in (found.state.error or "")
            assert reason in (found.state.error or "")
        else:
            assert how in {"binary", "Latin-1", "UTF-16"}

    async def test_forbidden(self, open_folder: Path) -> None:
        """A file that may not be read has a reason that says who can change that."""
        path = open_folder / "CLAUDE.md"
        path.write_text("x")
        path.chmod(0)
        with as_nobody():
            found = await read_file_state(
                str(path), Project.from_root(str(open_folder), 0), limit=1
            )

        assert found.data is None
        assert "right to read" in (found.state.error or "")

    @pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
    async def test_impossible_path(self, project: Project, name: str) -> None:
        """A path that no file can have is a reason and no crash."""
        found = await read_file_state(f"{project.root}/{name}/CLAUDE.md", project, limit=LIMIT)

        assert "cannot read" in (found.state.error or "")

    @pytest.mark.parametrize("name", ["CLAUDE.md", "missing/CLAUDE.md", "file/CLAUDE.md"])
    async def test_not_there(self, project: Project, path: Path, name: str) -> None:
        """A file that is not there is told apart from one that cannot be read."""
        path.with_name("file").write_text("a file where a folder is expected")

        with pytest.raises((FileNotFoundError, NotADirectoryError)):
            await read_file_state(f"{project.root}/{name}", project, limit=LIMIT)


class Late(ThreadPoolExecutor):
    """Runs jobs on a thread; after the first one a file is there that was not."""

    path: Path | None = None

    def submit(self, job: Any, /, *given: Any, **named: Any) -> Future[Any]:
        """Run a job to its end before anything else happens."""
        done = super().submit(job, *given, **named)
        wait([done])
        if self.path is not None:
            self.path.write_text("x")
            self.path = None
        return done


class TestThreads:
    async def test_came_in_between(self, project: Project, path: Path) -> None:
        """A file that came while it was looked at is not taken for what could not be read."""
        with Late(1) as executor:
            executor.path = path
            found = await read_file_state(str(path), project, limit=LIMIT, executor=executor)

        assert found.data is None
        assert not found.state.has_same_stat(
            FileState.from_stat(str(path), project.id, found=path.stat())
        )

    async def test_disk(
        self, project: Project, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No call that a share may hang in is made on the loop's thread, good file or bad."""
        seen: set[threading.Thread] = set()

        def watched(name: str) -> None:
            real = getattr(os, name)

            def call(*args: Any, **kwargs: Any) -> Any:
                seen.add(threading.current_thread())
                return real(*args, **kwargs)

            monkeypatch.setattr(os, name, call)

        path.write_text("x")
        for name in ("stat", "lstat", "open", "readlink"):
            watched(name)
        await read_file_state(str(path), project, limit=LIMIT)
        await read_file_state(str(path.with_name("a\0b")), project, limit=LIMIT)

        assert seen
        assert threading.current_thread() not in seen


class TestPlace:
    def test_one_name(self, project: Project, path: Path) -> None:
        """A file has one name, however its folder is written; a link at the end keeps its own."""
        path.with_name("sub").mkdir()
        path.with_name("link").symlink_to("sub")
        path.symlink_to("other.md")
        root = project.root

        assert str(path) == resolve_place(f"{root}/sub/../CLAUDE.md")
        assert str(path) == resolve_place(f"{root}//./CLAUDE.md")
        assert f"{root}/sub/CLAUDE.md" == resolve_place(f"{root}/link/CLAUDE.md")
        assert root == resolve_place(f"{root}/sub/..")
        assert f"{root}/gone/CLAUDE.md" == resolve_place(f"{root}/gone/CLAUDE.md")

    @pytest.mark.parametrize("path", ["", "CLAUDE.md", "./CLAUDE.md", "a\0b/CLAUDE.md", "/a\0/b"])
    def test_none(self, path: str) -> None:
        """What is no absolute path is refused with a hint."""
        with pytest.raises(BadInput, match="absolute"):
            resolve_place(path)
