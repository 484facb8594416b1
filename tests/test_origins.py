"""Origins: of which repository a folder is a checkout, from git's files and without git."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from cortex_actors.files.repository import COMMIT, PLACE, find_origin, is_weak, parse_address

if TYPE_CHECKING:
    from pathlib import Path

ATLAS = "github.com/acme/atlas"


def repository(folder: Path, config: str = "", *, log: str = "") -> Path:
    """Make a folder what git would take for a repository, and return it."""
    git = folder / ".git"
    (git / "objects").mkdir(parents=True)
    (git / "logs").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(f"[core]\n\tbare = false\n{config}")
    (git / "logs" / "HEAD").write_text(log)
    return folder


def remote(url: str, name: str = "origin") -> str:
    """Return a remote as git writes it."""
    return f'[remote "{name}"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/{name}/*\n'


class TestAddress:
    @pytest.mark.parametrize(
        "url",
        [
            "https://github.com/acme/atlas",
            "https://github.com/acme/atlas.git/",
            "https://www.github.com/Acme/Atlas.git",
            "https://user:token@github.com/acme/atlas.git",
            "https://user:p@ssword@github.com/acme/atlas.git",
            "https://github.com/acme/atlas.git?token=abc",
            "https://github.com/acme/atlas.git#token=abc",
            "user:token@github.com:acme/atlas",
            "git@github.com:acme/atlas.git",
            "github.com:acme/atlas",
            "ssh://git@github.com:22/acme/atlas.git",
            "git://github.com/acme/atlas",
        ],
    )
    def test_one_repository(self, url: str) -> None:
        """Whatever way leads to a repository, its address is the same, without any password."""
        assert ATLAS == parse_address(url)

    @pytest.mark.parametrize("url", ["/srv/atlas.git", "../atlas", "file:///srv/atlas", "C:/x", ""])
    def test_a_path(self, url: str) -> None:
        """A path on this disk is no address."""
        assert parse_address(url) is None


class TestRemote:
    def test_remote(self, tmp_path: Path) -> None:
        """A repository is known by its remote, and so is every folder in it."""
        root = repository(tmp_path / "a", remote("git@github.com:acme/atlas.git"))
        (root / "docs").mkdir()

        assert [ATLAS, ATLAS] == [find_origin(str(root)), find_origin(str(root / "docs"))]

    def test_a_fork(self, tmp_path: Path) -> None:
        """A fork that keeps what it came of as upstream is a checkout of that."""
        mine = remote("git@github.com:me/atlas.git")
        root = repository(tmp_path, mine + remote("https://github.com/acme/atlas", "upstream"))

        assert ATLAS == find_origin(str(root))

    @pytest.mark.parametrize("line", ["[a{}x", '[remote "{}x', '[a "x"{}x', "url ={}x", "[{}x"])
    def test_long_lines(self, tmp_path: Path, line: str) -> None:
        """A line of a million blanks, which nobody wrote for git, holds nobody up for hours."""
        root = repository(tmp_path, f"{line.format(' ' * 1_000_000)}\n")
        assert is_weak(find_origin(str(root)))

    def test_another_name(self, tmp_path: Path) -> None:
        """A remote of any other name counts where there is none of the usual ones."""
        config = '[branch "main"]\n\turl = nonsense\n' + remote(f'"https://{ATLAS}" # main', "x")

        assert ATLAS == find_origin(str(repository(tmp_path, config)))

    def test_worktree(self, tmp_path: Path) -> None:
        """A linked worktree, wherever it lies, is a checkout of its repository."""
        root = repository(tmp_path / "a", remote(f"https://{ATLAS}"))
        (root / ".git" / "worktrees" / "b").mkdir(parents=True)
        (root / ".git" / "worktrees" / "b" / "commondir").write_text("../..\n")
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / ".git").write_text(f"gitdir: {root}/.git/worktrees/b\n")

        assert ATLAS == find_origin(str(tmp_path / "b"))

    def test_clones_on_this_disk(self, tmp_path: Path) -> None:
        """A clone of a clone here is a checkout of what the first one came of."""
        first = repository(tmp_path / "a", remote(f"https://{ATLAS}"))
        second = repository(tmp_path / "b", remote(str(first)))
        third = repository(tmp_path / "c", remote(f"file://{second}"))

        assert ATLAS == find_origin(str(third))


class TestWithoutRemote:
    def test_first_commit(self, tmp_path: Path) -> None:
        """A copy of a repository without a remote has its first commit."""
        log = f"{'0' * 40} {'ab' * 20} Me <me@x> 1 +0000\tcommit (initial): begin\n"
        root = repository(tmp_path / "a", log=log)
        shutil.copytree(root, tmp_path / "b")

        found = {find_origin(str(tmp_path / name)) for name in "ab"}
        assert {COMMIT + "ab" * 20} == found

    def test_a_place(self, tmp_path: Path) -> None:
        """One of which nothing else is known is known by its place, and so is its clone."""
        root = repository(tmp_path / "a")
        clone = repository(tmp_path / "b", remote(str(root)))

        found = f"{PLACE}{tmp_path.resolve()}/a/.git"
        assert [found, found] == [find_origin(str(root)), find_origin(str(clone))]
        assert is_weak(found)
        assert not is_weak(ATLAS)

    def test_none(self, tmp_path: Path) -> None:
        """A folder that git knows nothing of is a checkout of nothing, whatever is called .git."""
        (tmp_path / ".git").write_text("gitdir: /nowhere/at/all\n")

        assert find_origin(str(tmp_path)) is None
        assert is_weak(None)

    @pytest.mark.parametrize("name", ["config", "logs/HEAD"])
    def test_a_pipe(self, tmp_path: Path, name: str) -> None:
        """What is no plain file is not waited for."""
        root = repository(tmp_path)
        (root / ".git" / name).unlink()
        os.mkfifo(root / ".git" / name)

        assert is_weak(find_origin(str(root)))

    def test_circle(self, tmp_path: Path) -> None:
        """Two repositories that name each other as remotes are known by a place."""
        for one, other in ("ab", "ba"):
            repository(tmp_path / one, remote(str(tmp_path / other)))

        assert is_weak(find_origin(str(tmp_path / "a")))


@pytest.mark.skipif(
    shutil.which("git") is None and not os.environ.get("CI"), reason="git is not installed"
)
class TestGit:
    def test_as_git_writes(self, tmp_path: Path) -> None:
        """What git itself writes is read: its clone and its worktree are one repository."""
        one, two, three = (tmp_path / name for name in ("one", "two", "three"))
        me = ("-c", "user.name=me", "-c", "user.email=me@example.com")
        for words in (
            ("init", "-q", str(one)),
            ("-C", str(one), *me, "commit", "-q", "--allow-empty", "-m", "begin"),
            ("clone", "-q", str(one), str(two)),
            ("-C", str(one), "worktree", "add", "-q", str(three)),
        ):
            subprocess.run(("git", *words), check=True, capture_output=True)

        found = {find_origin(str(each)) for each in (one, two, three)}
        assert 1 == len(found)
        assert str(found.pop()).startswith(COMMIT)
