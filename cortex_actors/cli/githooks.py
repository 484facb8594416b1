"""The quick command `hook`: git tells the daemon that files may have changed.

Git's hooks of a repository: our few lines in them, beside whatever a human wrote there.

Standard library only. A hook that is there keeps every byte and its name: our lines come after
its first one, run in the background, and change neither its exit code nor its input. What they
cannot go into (a program that is no shell script, a link, a file that others get through git) is
left alone. Git itself says where hooks are: worktrees share them, and `core.hooksPath` moves them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from cortex_actors.cli import lifecycle
from cortex_actors.client.connection import Client
from cortex_actors.errors import (
    BadInput,
    ConfigurationError,
    CortexError,
    DaemonDown,
    NotFound,
    Refused,
    visible,
)
from cortex_actors.home import Home, replace_file

#: The hooks after which the files of a checkout may be others.
HOOKS = ("post-commit", "post-merge", "post-checkout", "post-rewrite")

#: How our lines begin in a hook that was there before, and in one that we make.
_ADDED = "# cortex:begin v1 (cortex daemon hook uninstall git takes this out)"
_MADE = "# cortex:begin v1 made (cortex daemon hook uninstall git takes this file away)"

#: Our lines, with the end of the last one.
_BLOCK = re.compile(
    rb"^# cortex:begin v\d+(?P<made> made)? [^\n]*\n.*?^# cortex:end\n", re.MULTILINE | re.DOTALL
)

#: The first line of a script that a shell like sh runs.
_SHELL = re.compile(rb"#!\s*(\S*/)?(env\s+(-\S+\s+)*)?(\S*/)?(sh|bash|dash|ash|ksh|mksh|zsh)\b")

#: The first line of a hook that we make, and who may run it.
_FIRST, _MODE = b"#!/bin/sh\n", 0o755

#: Variables by which git tells its own hooks which repository is meant: here the path says that.
_GITS = frozenset("GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_PREFIX".split())

#: Seconds that one call of git may take.
_TIMEOUT = 10.0


#: What becomes of a hook, as people and programs read it.
_INSTALLED, _REMOVED, _UNCHANGED, _LEFT = "installed", "removed", "unchanged", "left alone"


class Repository(NamedTuple):
    """Where a checkout lies, and the folder of its hooks."""

    root: Path
    hooks: Path

    @classmethod
    def find(cls, path: Path) -> Repository:
        """Return the repository that a path lies in.

        Raises `NotFound` for a path that lies in none, `BadInput` for one without a checkout, and
        `ConfigurationError` where git is not installed.
        """
        if not path.is_dir():
            raise NotFound(f"cannot look for a repository at {path}: it is no folder; give one")
        if _git(path, "rev-parse", "--is-inside-work-tree") != "true":
            raise BadInput(f"{path} is no checkout: git has no files there; give one of a checkout")
        root = _git(path, "rev-parse", "--show-toplevel")
        # Git answers with a path from the folder that it was asked in, whatever links led there.
        hooks = path.resolve() / _git(path, "rev-parse", "--git-path", "hooks")
        return cls(Path(root), Path(os.path.normpath(hooks)))

    def install(self, home: Home) -> list[dict[str, str]]:
        """Put our lines into every hook that can hold them; return what became of each.

        Raises `CortexError` when the disk refuses, `BadInput` for a path that no script can hold.
        """
        command, done = _command(home), []
        for path in self._paths():
            before = _read(path)
            if reason := self._find_obstacle(path, before):
                done.append(_row(path, _LEFT, reason=f"{reason}; have it run: {command}"))
            else:
                done.append(_write(path, before, after=_with(before, command)))
        return done

    def uninstall(self) -> list[dict[str, str]]:
        """Take our lines out of every hook; return what became of each. Raises as `install`."""
        found = {path: None if path.is_symlink() else _read(path) for path in self._paths()}
        return [_write(path, before, after=_without(before)) for path, before in found.items()]

    def list_installed(self) -> list[Path]:
        """Return the hooks in which our lines are. Raises `CortexError` when the disk refuses."""
        found = (each for each in self._paths() if not each.is_symlink())
        return [each for each in found if _BLOCK.search(_read(each) or b"")]

    def _paths(self) -> list[Path]:
        """Return where the hooks are, whether they are there or not."""
        return [self.hooks / name for name in HOOKS]

    def _find_obstacle(self, path: Path, text: bytes | None) -> str:
        """Return why a hook cannot hold our lines; "" for one that can."""
        if path.is_symlink():
            return f"it is a link to {path.readlink()}"
        if path.is_relative_to(self.root) and _git(self.root, "ls-files", "--", str(path)):
            return "git tracks it, so others would get the lines of this machine"
        if text is not None and not _SHELL.match(text):
            return "it is no shell script"
        if text is not None and not os.access(path, os.X_OK):
            return "it is not executable, so git does not run it"
        return ""


def _row(path: Path, change: str, *, reason: str = "") -> dict[str, str]:
    """Return what became of one hook, and why it was left alone."""
    return {"name": path.name, "path": str(path), "change": change, "reason": reason}


def _write(path: Path, before: bytes | None, *, after: bytes | None) -> dict[str, str]:
    """Write a hook if it is another one than before; return what became of it."""
    if after == before:
        return _row(path, _UNCHANGED)
    try:
        if after is None:
            path.unlink()
        else:
            mode = path.stat().st_mode & 0o7777 if path.exists() else _MODE
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, after, mode=mode)
    except OSError as error:
        message = f"cannot change {path}: {error.strerror}; check who owns the folder"
        raise CortexError(message) from error
    return _row(path, _INSTALLED if _BLOCK.search(after or b"") else _REMOVED)


def _read(path: Path) -> bytes | None:
    """Return what a hook says; None for one that is not there. Raises `CortexError`."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise CortexError(f"cannot read {path}: {error.strerror}; check who owns it") from error


def _with(text: bytes | None, command: str) -> bytes:
    """Return a hook with our lines in it, once, and everything else as it was."""
    # The braces: else the shell that waits for the command would keep git's output open, and who
    # reads that to its end would wait as well.
    lines = f"{{ {command}; }} </dev/null >/dev/null 2>&1 &\n# cortex:end\n"
    if text is None:
        return _FIRST + f"{_MADE}\n{lines}".encode()
    if found := _BLOCK.search(text):
        title = _MADE if found["made"] else _ADDED
        return text[: found.start()] + f"{title}\n{lines}".encode() + text[found.end() :]
    first, _, rest = text.partition(b"\n")
    return first + b"\n" + f"{_ADDED}\n{lines}".encode() + rest


def _without(text: bytes | None) -> bytes | None:
    """Return a hook without our lines; None for one that was nothing else."""
    found = _BLOCK.search(text) if text is not None else None
    if text is None or found is None:
        return text
    left = text[: found.start()] + text[found.end() :]
    return None if found["made"] and left == _FIRST else left


def _command(home: Home) -> str:
    """Return the line that tells a home's daemon; it does nothing once this program is gone.

    `-P`, because a module that lies in the repository must never be imported.
    """
    words = [sys.executable, str(home.root), lifecycle.find_checkout()]
    if not all(word.isprintable() for word in words):
        raise BadInput(f"no script can hold {words}; choose paths without control codes")
    python, place, source = (shlex.quote(word) for word in words)
    # A checkout that is not installed is found by this alone.
    found = f"PYTHONPATH={source} " if words[2] else ""
    asked = f"{found}{python} -P -m cortex_actors daemon hook run git --home {place}"
    return f"[ -x {python} ] && {asked}"


def _git(folder: Path, *words: str, asks: bool = False) -> str:
    """Return what git answers about a folder; with `asks`, "" when it says no.

    Raises `NotFound` for a folder of no repository, `ConfigurationError` without git.
    """
    ours = {name: value for name, value in os.environ.items() if name not in _GITS}
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(  # noqa: S603 - words of ours, and a folder as one of them
            command, capture_output=True, env=ours, timeout=_TIMEOUT, check=False
        )
    except FileNotFoundError as error:
        message = "git is not installed, so it has no hooks: install git, or use the watcher alone"
        raise ConfigurationError(message) from error
    except subprocess.TimeoutExpired as error:
        message = f"{' '.join(command)} took more than {_TIMEOUT:g} s; try again"
        raise CortexError(message) from error
    if done.returncode and not asks:
        said = os.fsdecode(done.stderr).strip().splitlines() or ["it says nothing"]
        raise NotFound(f"no repository of git's holds {folder}: {said[-1]}; give one's folder")
    return os.fsdecode(done.stdout).removesuffix("\n")


#: Seconds that a hook waits for the daemon: git does not wait for it, and hooks must not pile up.
RESCAN_TIMEOUT = 10.0


def run(home: Home, options: argparse.Namespace) -> int:
    """Install or take out the hooks, or do what they do."""
    path = Path(options.path)
    if options.action == "run":
        _tell(home, path, as_json=options.json)
        return 0
    repository = Repository.find(path)
    is_put = options.action == "install"
    changed = repository.install(home) if is_put else repository.uninstall()
    if options.json:
        print(json.dumps({"hooks": str(repository.hooks), "changed": changed}, indent=2))
    else:
        for each in changed:
            why = f": {each['reason']}" if each["reason"] else ""
            print(visible(f"{each['change']:<11}{each['path']}{why}"))
        if _git(repository.root, "config", "--get", "core.hooksPath", asks=True):
            print(visible(f"note: core.hooksPath has them in {repository.hooks}"))
    if is_put and all(each["change"] == _LEFT for each in changed):
        raise Refused(f"no hook in {repository.hooks} could take our lines; see above")
    return 0


def _tell(home: Home, path: Path, *, as_json: bool) -> None:
    """Have the projects in and around a folder read again; without a daemon nothing is lost."""
    try:
        found = Client(home, timeout=RESCAN_TIMEOUT).call("rescan", folder=str(path.absolute()))
    except DaemonDown:
        # A start reads every file, so there is nothing to write down for it.
        found = {"projects": [], "seqs": [], "offline": True}
    if as_json:
        print(json.dumps(found, indent=2))
    elif found.get("offline"):
        print("no daemon runs; the next start reads every file")
    elif found["projects"]:
        print(visible(f"reading again: {', '.join(found['projects'])}"))
    else:
        lack = f"no followed project lies in or around {path.absolute()}"
        print(visible(f"{lack}; see: cortex projects"))
