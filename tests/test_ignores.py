"""Ignores: folders that are not a project's own words are left out, as git says."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from cortex_actors.files import ignores as ignores_module
from cortex_actors.files.ignores import STARS, Ignores, is_left_out
from cortex_actors.watching.sweep import sweep

if TYPE_CHECKING:
    from pathlib import Path


def put(root: Path, **texts: str) -> None:
    """Write files below a root; `__` in a name stands for a slash."""
    for name, text in texts.items():
        path = root / name.replace("__", "/").replace("gitignore", ".gitignore")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def said(root: Path, *folders: str) -> None:
    """Write an instruction file into some folders."""
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / "CLAUDE.md").write_text("Use tabs.\n")


def found(root: Path, ignores: Ignores | None = None) -> list[str]:
    """Return the folders whose instruction files a sweep finds, and check them one by one."""
    swept = sweep(str(root), "prj_1", max_depth=8, ignores=ignores)
    for path in root.rglob("CLAUDE.md"):
        assert is_left_out(str(root), str(path)) is (str(path) not in swept.files), path
    return sorted(os.path.relpath(os.path.dirname(path), root) for path in swept.files)  # noqa: PTH120


class TestGitignore:
    def test_folder(self, tmp_path: Path) -> None:
        """A folder that git ignores is not looked into, wherever it lies."""
        put(tmp_path, gitignore="out/\n/generated\n*.cache\n")
        said(tmp_path, "out", "a/out/b", "generated", "a/generated", "x.cache", "src")

        assert ["a/generated", "src"] == found(tmp_path)

    def test_never_a_file(self, tmp_path: Path) -> None:
        """A file that git ignores is read: people keep their own instructions to themselves."""
        put(tmp_path, gitignore="CLAUDE.md\n*.md\n")
        said(tmp_path, ".", "a")

        assert [".", "a"] == found(tmp_path)

    def test_tools(self, tmp_path: Path) -> None:
        """The folders of tools are read whatever git ignores."""
        put(tmp_path, gitignore=".claude/\n.cursor\n", __claude="")
        said(tmp_path, ".claude")
        (tmp_path / ".cursor/rules").mkdir(parents=True)
        (tmp_path / ".cursor/rules/a.mdc").write_text("x")
        swept = sweep(str(tmp_path), "p", max_depth=8)

        assert {".claude/CLAUDE.md", ".cursor/rules/a.mdc"} == {
            os.path.relpath(path, tmp_path) for path in swept.files
        }

    def test_nested(self, tmp_path: Path) -> None:
        """The innermost ignore file that speaks of a folder decides, and may take it back."""
        put(tmp_path, gitignore="gen/\nlib/\n", a__gitignore="!gen/\nown/\n")
        said(tmp_path, "gen", "a/gen", "a/own", "own", "a/lib", "b/gen")

        assert ["a/gen", "own"] == found(tmp_path)

    def test_exclude(self, tmp_path: Path) -> None:
        """What a clone alone ignores is left out, too, unless an ignore file says otherwise."""
        put(tmp_path, gitignore="!kept/\n")
        info = tmp_path / ".git/info"
        info.mkdir(parents=True)
        (info / "exclude").write_text("scratch/\nkept/\n")
        said(tmp_path, "scratch", "kept")

        assert ["kept"] == found(tmp_path)

    def test_above(self, tmp_path: Path) -> None:
        """A project inside a repository follows the rules of the folders above it."""
        (tmp_path / ".git").mkdir()
        put(tmp_path, gitignore="out/\n/apps/web/tmp\n")
        said(tmp_path, "apps/web/out", "apps/web/tmp", "apps/web/src")

        assert ["src"] == found(tmp_path / "apps/web")

    def test_ignored_root(self, tmp_path: Path) -> None:
        """A project whose folder git ignores is followed all the same."""
        (tmp_path / ".git").mkdir()
        put(tmp_path, gitignore="lab/\n")
        said(tmp_path, "lab", "lab/a")

        assert [".", "a"] == found(tmp_path / "lab")

    def test_as_git(self, tmp_path: Path) -> None:
        """Folders are left out exactly where git itself ignores them."""
        if shutil.which("git") is None:
            assert "CI" not in os.environ, "git is not installed, and tests here need it"
            pytest.skip("git is not installed")
        patterns = [
            "a/",
            "/b",
            "!b/c/",
            "d/**/e/",
            "f*",
            "!fine/",
            "g/h",
            "*.i/",
            "j\\ k/",
            "[lm]/",
        ]
        put(tmp_path, gitignore="\n".join(patterns), n__gitignore="!a/\n/f2/\n")
        names = "a n/a b b/c x/b d/e d/1/2/e fine fun n/f2 n/x/f2 g/h x/g/h s.i l m o n/n"
        folders = [*names.split(), "j k"]
        said(tmp_path, *folders)
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        asked = "".join(f"{each}/\n" for each in folders)
        told = subprocess.run(
            ["git", "-C", str(tmp_path), "check-ignore", "--stdin", "--no-index"],
            input=asked,
            capture_output=True,
            text=True,
            check=False,
        )
        ignored = {line.rstrip("/") for line in told.stdout.splitlines()}

        assert sorted(set(folders) - ignored) == found(tmp_path)


class TestWorktrees:
    def test_linked(self, tmp_path: Path) -> None:
        """A linked worktree is the project once more; a submodule is a folder like any other."""
        said(tmp_path, ".", "trees/one/deep", "modules/two")
        (tmp_path / "trees/one/.git").write_text("gitdir: /x/.git/worktrees/one\n")
        (tmp_path / "modules/two/.git").write_text("gitdir: ../../.git/modules/two\n")

        assert [".", "modules/two"] == found(tmp_path)

    def test_root(self, tmp_path: Path) -> None:
        """A worktree that is followed itself is a project."""
        said(tmp_path, ".")
        (tmp_path / ".git").write_text("gitdir: /x/.git/worktrees/one\n")

        assert ["."] == found(tmp_path)


class TestChanges:
    def test_seen(self, tmp_path: Path) -> None:
        """What an ignore file says now counts at the next look: new, other, gone."""
        ignores = Ignores(str(tmp_path))
        said(tmp_path, "a", "in/b")
        assert ["a", "in/b"] == found(tmp_path, ignores)
        put(tmp_path, gitignore="a/\n", in__gitignore="b/\n")
        assert [] == found(tmp_path, ignores)
        put(tmp_path, gitignore="nothing/\n")
        assert ["a"] == found(tmp_path, ignores)
        (tmp_path / "in/.gitignore").unlink()
        assert ["a", "in/b"] == found(tmp_path, ignores)

    def test_read_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An ignore file that stays as it is is read once, and a folder judged once."""
        ignores = Ignores(str(tmp_path))
        put(tmp_path, gitignore="out/\n")
        said(tmp_path, "a", "out")
        sweep(str(tmp_path), "p", max_depth=8, ignores=ignores)
        monkeypatch.setattr(ignores_module, "GitIgnoreSpec", None)
        monkeypatch.setattr(ignores_module, "_says", None)

        assert 1 == len(sweep(str(tmp_path), "p", max_depth=8, ignores=ignores).files)


class TestOdd:
    @pytest.mark.parametrize(
        "text", ["!\n", "\\\n", "\0\n", "[\n", "# only\n\n", "\udcff/\n", "/\n"]
    )
    def test_lines(self, tmp_path: Path, text: str) -> None:
        """A line that is no pattern costs the others nothing."""
        (tmp_path / ".gitignore").write_bytes(f"{text}out/\n".encode("utf-8", "surrogateescape"))
        said(tmp_path, "out", "a")

        assert ["a"] == found(tmp_path)

    @pytest.mark.parametrize("kind", ["folder", "loop", "pipe"])
    def test_no_file(self, tmp_path: Path, kind: str) -> None:
        """Whatever lies there instead of an ignore file ignores nothing and holds nobody up."""
        place = tmp_path / ".gitignore"
        if kind == "folder":
            place.mkdir()
        elif kind == "pipe":
            os.mkfifo(place)
        else:
            place.symlink_to(place)
        said(tmp_path, "a")

        assert ["a"] == found(tmp_path)

    def test_slow_pattern(self, tmp_path: Path) -> None:
        """A pattern made to be tried for minutes ignores nothing."""
        name = "a" * 200
        put(tmp_path, gitignore=f"{'*a' * (STARS + 5)}b/\n{'**/a/' * 9}b/\n")
        said(tmp_path, name)
        began = time.process_time()

        assert [name] == found(tmp_path)
        assert time.process_time() - began < 1
