"""Hooks of git: our lines in them, and everything else as a human left it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from cortex_actors.cli import entry
from cortex_actors.cli.githooks import HOOKS
from cortex_actors.clock import SystemClock
from cortex_actors.gateways.control import Control
from cortex_actors.home import Home
from cortex_actors.process.logs import LogStream
from cortex_actors.testing import eventually

if TYPE_CHECKING:
    from pathlib import Path

#: Hooks as humans have them: scripts of shells, with and without a last line end.
SCRIPTS = (
    b"#!/bin/sh\necho mine\n",
    b"#!/usr/bin/env bash\nset -eu\ncat >/dev/null\nexit 0",
    b"#! /bin/dash -e\n\n",
    b"#!/usr/bin/env -S zsh -f\n: \xff\xfe not UTF-8\r\n",
)

#: Shells that a hook may be written for; those of this machine are tried.
SHELLS = ("sh", "bash", "dash", "ksh", "zsh")

#: Our own settings for git, so that those of this machine change nothing.
OURS = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a repository with one commit, and a home for the commands."""
    for name, value in {**OURS, "CORTEX_HOME": str(tmp_home)}.items():
        monkeypatch.setenv(name, value)
    root = tmp_path / "a repo"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


def git(folder: Path, *words: str) -> None:
    """Run git."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr


def hooks(folder: Path) -> dict[str, bytes]:
    """Return the hooks of ours that there are in a folder."""
    return {name: (folder / name).read_bytes() for name in HOOKS if (folder / name).exists()}


def written(path: Path, text: bytes, mode: int = 0o755) -> Path:
    """Write a hook of a human's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    path.chmod(mode)
    return path


def changes(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, tuple[str, str]]:
    """Run a command; return what became of each hook, and why."""
    capsys.readouterr()
    entry.main(["hook", *words, "--json"])
    found = json.loads(capsys.readouterr().out)["changed"]
    return {each["name"]: (each["change"], each["reason"]) for each in found}


class TestInstall:
    def test_and_back(self, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A repository without hooks has ours, once, and then none again."""
        folder = repository / ".git" / "hooks"
        assert 0 == entry.main(["hook", "install", "git", str(repository)])
        first = {name for name in hooks(folder) if os.access(folder / name, os.X_OK)}
        again = changes(capsys, "install", "git", str(repository))
        gone = changes(capsys, "uninstall", "git", str(repository))

        assert set(HOOKS) == first
        assert ({("unchanged", "")}, {("removed", "")}) == (set(again.values()), set(gone.values()))
        assert {} == hooks(folder)

    @pytest.mark.parametrize("text", SCRIPTS)
    def test_keeps_a_humans(self, repository: Path, text: bytes) -> None:
        """A human's hook keeps each of its bytes beside ours, and has them back as they were."""
        path = written(repository / ".git" / "hooks" / "post-commit", text, 0o750)
        entry.main(["hook", "install", "git", str(repository)])
        both = path.read_bytes()
        entry.main(["hook", "uninstall", "git", str(repository)])
        first, rest = text.split(b"\n", 1)

        assert both.startswith(first + b"\n# cortex:begin v1 (")
        assert both.endswith(b"# cortex:end\n" + rest)
        assert (text, 0o750) == (path.read_bytes(), path.stat().st_mode & 0o777)

    def test_another_home(self, repository: Path, tmp_path: Path) -> None:
        """Installed for another home, the hook tells that one, and a human's lines stay."""
        path = written(repository / ".git" / "hooks" / "post-commit", SCRIPTS[0])
        entry.main(["hook", "install", "git", str(repository)])
        entry.main(["hook", "install", "git", str(repository), "--home", str(tmp_path / "b")])
        text = path.read_bytes()

        assert 1 == text.count(b"# cortex:begin")
        assert f"--home '{tmp_path}/b'".encode() in text or f"--home {tmp_path}/b".encode() in text
        assert text.endswith(b"echo mine\n")

    def test_left_alone(self, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What is no shell script, a link, or switched off is left alone with what to do."""
        folder = repository / ".git" / "hooks"
        written(folder / "post-commit", b"#!/usr/bin/env python3\n")
        written(folder / "post-merge", SCRIPTS[0], 0o644)
        (folder / "post-rewrite").symlink_to("../../hook.sh")
        before = hooks(folder)
        found = changes(capsys, "install", "git", str(repository))

        assert {"post-checkout": ("installed", "")} == {
            name: found[name] for name in found if found[name][0] != "left alone"
        }
        assert "it is no shell script; have it run: [ -x" in found["post-commit"][1]
        assert "it is not executable" in found["post-merge"][1]
        assert "it is a link to ../../hook.sh" in found["post-rewrite"][1]
        assert before == {name: text for name, text in hooks(folder).items() if name in before}

    def test_nowhere(self, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Where no hook can take our lines, the exit code says so."""
        for name in HOOKS:
            written(repository / ".git" / "hooks" / name, b"#!/usr/bin/perl\n")

        assert 77 == entry.main(["hook", "install", "git", str(repository)])
        assert "could take our lines" in capsys.readouterr().err


class TestPlaces:
    def test_worktree(self, repository: Path, tmp_path: Path) -> None:
        """A worktree's hooks are those of its repository, and so is one of a folder in it."""
        git(repository, "worktree", "add", "-q", str(tmp_path / "other"))
        (tmp_path / "other" / "deep").mkdir()
        assert 0 == entry.main(["hook", "install", "git", str(tmp_path / "other" / "deep")])

        assert set(HOOKS) == set(hooks(repository / ".git" / "hooks"))

    def test_link(self, repository: Path, tmp_path: Path) -> None:
        """A link to a folder in a checkout leads to that checkout's own hooks."""
        (repository / "deep").mkdir()
        (tmp_path / "link").symlink_to(repository / "deep")
        assert 0 == entry.main(["hook", "install", "git", str(tmp_path / "link")])

        assert set(HOOKS) == set(hooks(repository / ".git" / "hooks"))
        assert not (tmp_path / ".git").exists()

    def test_hooks_path(self, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Hooks that `core.hooksPath` has elsewhere are found there, and that is said."""
        git(repository, "config", "core.hooksPath", ".my/hooks")
        assert 0 == entry.main(["hook", "install", "git", str(repository)])

        assert set(HOOKS) == set(hooks(repository / ".my" / "hooks"))
        assert "core.hooksPath has them in" in capsys.readouterr().out

    def test_tracked(self, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A hook that git tracks is left alone: others would get the paths of this machine."""
        path = written(repository / ".my" / "post-commit", SCRIPTS[0])
        git(repository, "config", "core.hooksPath", ".my")
        git(repository, "add", ".")
        found = changes(capsys, "install", "git", str(repository))

        assert "git tracks it" in found["post-commit"][1]
        assert SCRIPTS[0] == path.read_bytes()

    @pytest.mark.parametrize(
        ("where", "code", "said"),
        [("none", 66, "it is no folder"), ("plain", 66, "no repository"), ("bare", 65, "checkout")],
    )
    def test_no_checkout(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str, code: int, said: str
    ) -> None:
        """A folder without a repository, and a repository without files, are refused."""
        (tmp_path / "plain").mkdir()
        git(tmp_path, "init", "-q", "--bare", "bare")

        assert code == entry.main(["hook", "install", "git", str(tmp_path / where)])
        assert said in capsys.readouterr().err

    def test_other_tools(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Only git has hooks here."""
        assert 64 == entry.main(["hook", "install", "svn"])
        assert "choose from 'git'" in capsys.readouterr().err


class TestRun:
    def test_no_daemon(self, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Without a daemon nothing is lost and nothing fails."""
        assert 0 == entry.main(["hook", "run", "git", str(repository)])
        assert "the next start reads every file" in capsys.readouterr().out

    @pytest.mark.parametrize("shell", [each for each in SHELLS if shutil.which(each)])
    async def test_output(
        self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str
    ) -> None:
        """Who reads what git says to its end does not wait until the daemon was told."""
        written(repository / ".git/hooks/post-commit", f"#!/usr/bin/env {shell}\n".encode())
        gate, told = tmp_path / "gate", tmp_path / "told"
        script = f"#!/bin/sh\nuntil [ -e '{gate}' ]; do sleep 0.05; done\n: >'{told}'\n"
        monkeypatch.setattr("sys.executable", str(written(tmp_path / "python", script.encode())))
        entry.main(["hook", "install", "git", str(repository)])
        try:
            done = subprocess.run(
                ["git", "commit", "-q", "--allow-empty", "-m", "second"],
                cwd=repository,
                capture_output=True,
                timeout=20,
                check=True,
            )
        finally:
            gate.touch()
        await eventually(told.exists)

        assert (b"", b"") == (done.stdout, done.stderr)

    @pytest.mark.slow
    async def test_by_git(self, repository: Path, tmp_home: Path) -> None:
        """Git runs it after a commit and a checkout, and imports nothing from the repository."""
        told: list[str] = []

        async def rescan(folder: str) -> dict[str, list[object]]:
            told.append(folder)
            return {"projects": [], "seqs": []}

        home = Home(tmp_home)
        home.create()
        logs = LogStream(home.logs / "cortex.ndjson", SystemClock())
        control = Control(home, verbs={"rescan": rescan}, logs=logs, shutdown=lambda _: None)
        await control.open()
        # Were it imported, nobody would be told.
        (repository / "cortex_actors").mkdir()
        (repository / "cortex_actors" / "__init__.py").write_text("raise SystemExit")
        written(repository / ".git" / "hooks" / "post-commit", SCRIPTS[0])
        entry.main(["hook", "install", "git", str(repository)])
        git(repository, "commit", "-q", "--allow-empty", "-m", "second")
        await eventually(lambda: len(told) == 1)
        git(repository, "checkout", "-q", "-b", "other")
        await eventually(lambda: len(told) == 2)
        await control.close()
        logs.close()

        assert [str(repository.resolve())] * 2 == told
