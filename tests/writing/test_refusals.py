"""Everything that is not written: each for its own reason, and nothing is changed by it."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors import errors
from cortex_actors.client import connection
from cortex_actors.errors import Refused, WriteFailed
from cortex_actors.files import place, swap
from cortex_actors.files.writer import WriteTarget
from cortex_actors.gateways import rpc
from tests.writing.support import BODY, Desk, section

if TYPE_CHECKING:
    from collections.abc import Callable

_TEXT = b"# Atlas\n"


def _all(kind: type[errors.NotWritten]) -> list[type[errors.NotWritten]]:
    """Return every reason there is."""
    return [each for sub in kind.__subclasses__() for each in (sub, *_all(sub))]


def _link(desk: Desk) -> None:
    (desk.root / "other.md").write_bytes(_TEXT)
    desk.path.symlink_to("other.md")


def _names(desk: Desk) -> None:
    desk.path.write_bytes(_TEXT)
    (desk.root / "twin").hardlink_to(desk.path)


def _mode(desk: Desk) -> None:
    desk.path.write_bytes(_TEXT)
    desk.path.chmod(0o444)


def _socket(desk: Desk) -> None:
    here = Path.cwd()
    os.chdir(desk.root)  # a socket's path may have 100 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("CLAUDE.md")
    finally:
        os.chdir(here)


def _held(data: bytes) -> Callable[[Desk], None]:
    def make(desk: Desk) -> None:
        desk.path.write_bytes(data)

    return make


def _beside(name: str) -> Callable[[Desk], None]:
    def make(desk: Desk) -> None:
        desk.path.write_bytes(_TEXT)
        (desk.root / name).parent.mkdir(exist_ok=True)
        (desk.root / name).write_bytes(b"")

    return make


#: The reason -> what lies there.
_LYING: dict[str, Callable[[Desk], object]] = {
    "SymbolicLink": _link,
    "HardLink": _names,
    "ReadOnlyFile": _mode,
    "NamedPipe": lambda desk: os.mkfifo(desk.path),
    "NotAFile": lambda desk: desk.path.mkdir(),
    "Oversized": _held(b"x" * 1_048_577),
    "TwoSections": _held(section() + b"\n" + section()),
    "BrokenSection": _held(section().replace(b"<!-- cortex:end -->\n", b"")),
    "EditedSection": _held(section().replace(b"pnpm", b"npm")),
    "NewerSection": _held(section().replace(b" v1 ", b" v2 ")),
    "UnfencedSection": _held(b"# A\n\n" + BODY),
    "OpenBlock": _held(b"# A\n\n```sh\nmake\n"),
    "Unreadable": _held(b"# A\0\nResolved Knowledge\n"),
    "OpenInEditor": _beside(".CLAUDE.md.swp"),
    "GitAtWork": _beside(".git/index.lock"),
}


class TestRefusing:
    @pytest.mark.parametrize("reason", _LYING)
    async def test_lying(self, desk: Desk, reason: str) -> None:
        """What lies there is left as it is, and the error says why and what to do."""
        _LYING[reason](desk)
        before = _picture(desk.root)

        with pytest.raises(getattr(errors, reason)) as refused:
            await desk.write()

        assert before == _picture(desk.root)
        assert [] == desk.states
        assert str(desk.path) in str(refused.value)
        assert ";" in str(refused.value)

    async def test_socket(self, desk: Desk) -> None:
        """A socket is no file."""
        _socket(desk)
        with pytest.raises(errors.NotAFile, match="a socket"):
            await desk.write()

    async def test_git_of_worktree(self, desk: Desk, tmp_path: Path) -> None:
        """Git at work in a linked worktree is noticed, too."""
        (state := tmp_path / "state").mkdir()
        (desk.root / ".git").write_text(f"gitdir: {state}\n")
        desk.path.write_bytes(_TEXT)
        (state / "index.lock").touch()

        with pytest.raises(errors.GitAtWork):
            await desk.write()

    async def test_foreign_owner(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file of another user is his."""
        desk.path.write_bytes(_TEXT)
        monkeypatch.setattr(os, "geteuid", lambda: 12_345)

        with pytest.raises(errors.ForeignOwner, match="12345"):
            await desk.write()

    async def test_device(self, desk: Desk) -> None:
        """A device is refused before it is opened."""
        target = WriteTarget("/dev", "/dev/null", "prj_a", "claude", "run_1")

        with pytest.raises(errors.Device):
            await desk.writer.write(target, lambda _: section())

    @pytest.mark.parametrize(
        ("number", "reason"),
        [
            (errno.EPERM, errors.ImmutableFile),
            (errno.EROFS, errors.ReadOnlyDisk),
            (errno.EINVAL, errors.NoExchange),
            (errno.ENOSYS, errors.NoExchange),
            (errno.ENOSPC, WriteFailed),
            (errno.EIO, WriteFailed),
        ],
    )
    async def test_system(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch, number: int, reason: type[Exception]
    ) -> None:
        """What the system refuses to do is told, and nothing of ours stays in the folder."""
        desk.path.write_bytes(_TEXT)

        def refuse(*_: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(swap, "exchange", refuse)
        with pytest.raises(reason):
            await desk.write()
        assert (["CLAUDE.md"], _TEXT) == (desk.names, desk.path.read_bytes())
        assert ["abandoned"] == desk.states

    @pytest.mark.parametrize(
        ("kind", "reason"),
        [
            ("nfs4", errors.OnNetwork),
            ("cifs", errors.OnNetwork),
            ("fuse.sshfs", errors.OnFuse),
        ],
    )
    def test_shared_disk(self, kind: str, reason: type[Refused]) -> None:
        """Where other machines write unseen, or two files cannot be exchanged, nothing is."""
        with pytest.raises(reason, match=kind):
            place.admit_disk("/mnt/x/CLAUDE.md", {"/": "ext4", "/mnt": kind})
        place.admit_disk("/home/x/CLAUDE.md", {"/": "ext4", "/mnt": kind})

    async def test_torn(self, desk: Desk) -> None:
        """A file that has lost most of what it had may be half saved."""
        desk.path.write_bytes(_TEXT)
        with pytest.raises(errors.LooksTorn, match="cortex projects scan"):
            await desk.write(known=1_000)

        desk.path.write_bytes(b"")
        with pytest.raises(errors.LooksTorn):
            await desk.write(known=8)
        await desk.write(known=0)
        assert section() == desk.path.read_bytes()

    async def test_being_saved(self, desk: Desk) -> None:
        """A file that somebody holds open for writing is not at rest."""
        desk.path.write_bytes(_TEXT)
        with desk.path.open("r+b"), pytest.raises(errors.BeingSaved):
            await desk.write()

    async def test_attribute(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file whose attributes cannot be carried over is not taken apart from them."""
        desk.path.write_bytes(_TEXT)
        os.setxattr(desk.path, "user.origin", b"mine")

        def refuse(*_: object) -> None:
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr(os, "setxattr", refuse)
        with pytest.raises(errors.Unkept, match="user.origin"):
            await desk.write()
        assert ["CLAUDE.md"] == desk.names

    def test_to_a_client(self) -> None:
        """A client of the daemon raises the same reason."""
        error = errors.HardLink.from_file("/atlas/CLAUDE.md", names=2)
        answer = json.loads(rpc.encode_failure(1, error))

        assert isinstance(connection._error(answer["error"]), errors.HardLink)

    def test_codes(self) -> None:
        """Each reason has a word of its own, and exits as a refusal does."""
        found = _all(errors.NotWritten)
        assert len(found) == len({each.code for each in found})
        assert {77} == {each.exit_code for each in found}


class TestPlaces:
    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("../secret.md", "OutsideRoot"),
            ("docs/../../secret.md", "OutsideRoot"),
            ("", "OutsideRoot"),
            (".git/CLAUDE.md", "InsideGit"),
            ("docs/.GIT/CLAUDE.md", "InsideGit"),
            ("linked/CLAUDE.md", "SymbolicLink"),
            ("none/CLAUDE.md", "FolderMissing"),
            ("AGENTS.md/CLAUDE.md", "FolderMissing"),
        ],
    )
    async def test_refused(self, desk: Desk, path: str, reason: str) -> None:
        """A path that leads out of the root, into git, or over a link is refused, made or not."""
        outside = desk.root.parent / "outside"
        outside.mkdir()
        (desk.root / "linked").symlink_to(outside)
        (desk.root / "AGENTS.md").write_bytes(_TEXT)
        before = _picture(desk.root.parent)

        for create in (False, True):
            if create and path == "none/CLAUDE.md":
                continue
            target = replace(desk.target(create=create), path=f"{desk.root}/{path}")
            with pytest.raises(getattr(errors, reason)):
                await desk.writer.write(target, lambda _: section())
        assert before == _picture(desk.root.parent)

    async def test_root_of_another(self, desk: Desk) -> None:
        """A folder whose name begins as the root's does not lie in it."""
        (other := desk.root.with_name("project-2")).mkdir()
        with pytest.raises(errors.OutsideRoot):
            await desk.write(path=other / "CLAUDE.md", create=True)


def _picture(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return everything below a folder, but the tables of the tests."""
    found = {}
    for each in sorted(folder.rglob("*")):
        if not each.name.startswith("writes.db"):
            state = each.lstat()
            data = each.read_bytes() if stat.S_ISREG(state.st_mode) else b""
            found[str(each)] = (state.st_mode, state.st_ino, data)
    return found
