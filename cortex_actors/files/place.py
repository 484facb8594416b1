"""A file's place: its folder, reached from the top without following a link, and held open.

Names are looked up in the open folder, so that no one can lead a write elsewhere by exchanging a
folder for a link while it goes on. Each part of the path is opened by itself with `O_NOFOLLOW`;
Linux' `openat2` does the same in one call, but only there, and the way for the others would be
needed as well.

What a file must be to be written: an ordinary one, our own, under one name, and not locked.

When a file is at rest: no program seems to be saving it, editing it, or moving it about.

What is written at the wrong moment is never lost, but it makes an editor ask its user what to do.
And a file that is read while it is being saved would have our section put to half a text.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cortex_actors import errors
from cortex_actors.domain.project import hash_file
from cortex_actors.files.ignores import find_kind, is_silent, read_mounts
from cortex_actors.files.repository import find_git_folder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from cortex_actors.clock import Clock


#: Bytes an instruction file may have; the parsers' limit.
LARGEST = 1_048_576

#: What else can lie at a path, in words.
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFSOCK: "a socket"}


def admit(path: str, found: os.stat_result) -> None:
    """Return if a file may be written; else raise the refusal that says why.

    `rename` could replace a file that its owner has locked with `chmod a-w`, or that is another
    user's in a folder of ours: that it could is no permission.
    """
    kind = stat.S_IFMT(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        raise errors.SymbolicLink.from_file(path, part="it")
    if stat.S_ISFIFO(found.st_mode):
        raise errors.NamedPipe.from_file(path)
    if stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode):
        raise errors.Device.from_file(path)
    if not stat.S_ISREG(found.st_mode):
        raise errors.NotAFile.from_file(path, kind=_KINDS.get(kind, "something else"))
    if found.st_nlink != 1:
        raise errors.HardLink.from_file(path, names=found.st_nlink)
    if found.st_uid != os.geteuid():
        raise errors.ForeignOwner.from_file(path, owner=found.st_uid, user=os.geteuid())
    if not found.st_mode & stat.S_IWUSR:
        raise errors.ReadOnlyFile.from_file(path, mode=stat.S_IMODE(found.st_mode))
    if found.st_size > LARGEST:
        raise errors.Oversized.from_file(path, size=found.st_size, limit=LARGEST)


def admit_disk(path: str, known: Mapping[str, str] | None = None) -> None:
    """Return if no other machine writes to a file's disk unseen; else raise. Reads the mounts."""
    kind = find_kind(os.path.dirname(path), read_mounts() if known is None else known)
    if kind.startswith("fuse") and is_silent(kind):
        raise errors.OnFuse.from_file(path, kind=kind)
    if is_silent(kind):
        raise errors.OnNetwork.from_file(path, kind=kind)


#: A folder that is only gone through; Linux asks no right to list it for that.
_THROUGH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

#: The folder that holds the file: its list of names is synced.
_HELD = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

#: A file that is read; a pipe that took its place must not hold us up.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

#: A file of ours that no other user may read before it has the mode of the file it replaces.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

#: The signal that reports a wanted lease: one that is ignored unless it
#: is asked for. The usual one, SIGIO, ends a process.
_QUIET = signal.SIGURG


@dataclass(frozen=True, slots=True)
class FileSeen:
    """A file at one moment, and whether it was open for writing elsewhere."""

    data: bytes
    stat: os.stat_result
    in_use: bool = False

    @property
    def sha256(self) -> str:
        """The hash of its bytes."""
        return hash_file(self.data)

    def is_as(self, other: FileSeen | None) -> bool:
        """Tell whether nothing was done to it between two looks."""
        return other is not None and (self.data, _stamp(self.stat)) == (
            other.data,
            _stamp(other.stat),
        )


class Place:
    """An open folder below a registered root, and the name of a file in it; blocks, on threads."""

    def __init__(self, root: str, path: str, folder: int) -> None:
        """Take over an open folder; `at` opens one."""
        self.root = root
        self.path = path
        self.name = os.path.basename(path)
        self.folder = folder

    @classmethod
    @contextlib.contextmanager
    def at(cls, root: str, path: str, *, make: bool = False) -> Iterator[Self]:
        """Hold the folder of a file open; `make` makes those between the root and it.

        Raises `OutsideRoot`, `InsideGit`, `SymbolicLink` or `FolderMissing`.
        """
        folder = _opened(path, _parts(root, path), made_from=len(_split(root)) if make else None)
        try:
            yield cls(root, path, folder)
        finally:
            os.close(folder)

    def look(self) -> FileSeen | None:
        """Return the file; None when there is none.

        Raises a refusal for what is no ordinary file of ours.
        """
        try:
            # Before it is opened, because opening a device can do something.
            admit(self.path, os.stat(self.name, dir_fd=self.folder, follow_symlinks=False))
            opened = self.open(self.name)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise translate_error(self.path, error) from error
        with os.fdopen(opened, "rb") as file:
            admit(self.path, os.fstat(opened))
            data = file.read(LARGEST + 1)
            found = os.fstat(opened)
        if len(data) > LARGEST:
            raise errors.Oversized.from_file(self.path, size=len(data), limit=LARGEST)
        return FileSeen(data, found)

    def look_whether_used(self) -> FileSeen | None:
        """Return our file, and whether it was open for writing while it was read."""
        found = self.look()
        if found is None:
            return None
        # In this order: who has closed it in between has changed it.
        in_use = self.is_open(self.name) or self.stamp(self.name) != _stamp(found.stat)
        return replace(found, in_use=in_use)

    def peek(self, name: str) -> str:
        """Return the hash of a file of the folder, whatever may not be written about it.

        Of what is no file that is its kind and number, and "" when there is nothing.
        """
        try:
            found = os.stat(name, dir_fd=self.folder, follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode) or found.st_size > 2 * LARGEST:
                return f"{found.st_mode}:{found.st_dev}:{found.st_ino}"
            with os.fdopen(os.open(name, _READ, dir_fd=self.folder), "rb") as file:
                return hash_file(file.read(2 * LARGEST))
        except FileNotFoundError:
            return ""

    def read(self, name: str) -> bytes:
        """Return the bytes of a file of ours, or of what it displaced; empty if it is none."""
        try:
            with os.fdopen(os.open(name, _READ, dir_fd=self.folder), "rb") as file:
                return file.read(2 * LARGEST)
        except OSError:
            return b""

    def stamp(self, name: str) -> tuple[int, ...] | None:
        """Return what changes when a file of the folder is written; None if it is gone."""
        try:
            return _stamp(os.stat(name, dir_fd=self.folder, follow_symlinks=False))
        except FileNotFoundError:
            return None

    def is_open(self, name: str) -> bool:
        """Tell whether a file is open for writing elsewhere; False where that is not known."""
        with contextlib.suppress(OSError):
            opened = self.open(name)
            try:
                return is_in_use(opened)
            finally:
                os.close(opened)
        return False

    def holds(self, name: str) -> bool:
        """Tell whether the folder has an entry of that name, whatever it is."""
        return self.stamp(name) is not None

    def open(self, name: str) -> int:
        """Open a file of the folder to read what it is beside its bytes."""
        return os.open(name, _READ, dir_fd=self.folder)

    def create(self, name: str) -> int:
        """Open a new file of ours for writing."""
        return os.open(name, _NEW, 0o600, dir_fd=self.folder)

    def rename(self, name: str, to: str) -> None:
        """Give a file of ours another name."""
        os.rename(name, to, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def link(self, name: str, to: str) -> None:
        """Give a file a second name; raises `FileExistsError` rather than replace one."""
        os.link(name, to, src_dir_fd=self.folder, dst_dir_fd=self.folder, follow_symlinks=False)

    def unlink(self, name: str) -> None:
        """Take a name out of the folder, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.folder)

    def sync(self) -> None:
        """Return once the folder's names are on the disk."""
        with contextlib.suppress(OSError):  # some file systems cannot; the ledger's row can wait
            os.fsync(self.folder)

    def stay(self) -> None:
        """Return if the path still leads to this folder; raises `FolderMoved` otherwise."""
        try:
            again = _opened(self.path, _parts(self.root, self.path))
        except (errors.SymbolicLink, errors.FolderMissing):
            raise errors.FolderMoved.from_file(self.path) from None
        try:
            if not os.path.samestat(os.fstat(again), os.fstat(self.folder)):
                raise errors.FolderMoved.from_file(self.path)
        finally:
            os.close(again)


def is_in_use(opened: int) -> bool:
    """Tell whether an open file is open for writing elsewhere; False where that is not known.

    Linux gives a lease on a file only if it is not. It is given back at once: a program that opens
    the file in between waits for that, and notices nothing.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    with contextlib.suppress(OSError):
        try:
            fcntl.fcntl(opened, fcntl.F_SETSIG, _QUIET)
            fcntl.fcntl(opened, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(opened, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except BlockingIOError:
            return True
    return False


def _parts(root: str, path: str) -> list[str]:
    """Return the folders on the way to a file, from the top."""
    parts = _split(path)
    below = parts[len(_split(root)) :]
    if not os.path.isabs(path) or not below or parts[: -len(below)] != _split(root):
        raise errors.OutsideRoot.from_file(path, root=root)
    if {os.pardir, os.curdir} & set(parts) or "\0" in path or path.endswith("/"):
        raise errors.OutsideRoot.from_file(path, root=root)
    if any(part.lower() == ".git" for part in parts):
        raise errors.InsideGit.from_file(path)
    return parts[:-1]


def _split(path: str) -> list[str]:
    """Return the parts of a path."""
    return [part for part in path.split("/") if part]


def _opened(path: str, parts: list[str], *, made_from: int | None = None) -> int:
    """Open a folder part by part; from one of them on, those that are not there are made."""
    at = os.open("/", _THROUGH)
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        try:
            if made_from is not None and number >= made_from:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=at)
            inner = os.open(part, _HELD if last else _THROUGH, dir_fd=at)
        except OSError as error:
            raise _astray(path, "/" + "/".join(parts[: number + 1]), at, error) from error
        finally:
            os.close(at)
        at = inner
    return at


def _astray(path: str, folder: str, at: int, error: OSError) -> Exception:
    """Return why a part of a path could not be opened."""
    name = os.path.basename(folder)
    with contextlib.suppress(OSError):
        found = os.stat(name, dir_fd=at, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            return errors.SymbolicLink.from_file(path, part=folder)
    if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}:
        return errors.FolderMissing.from_file(path, folder=folder)
    return translate_error(path, error)


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    """Return what changes with each write; the access time is not of it."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


#: What editors leave beside a file that they have open: Vim, Emacs, LibreOffice and its kind.
_MARKS = (".{name}.swp", ".#{name}", ".~lock.{name}#", "{name}~lock")


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things are waited for, seconds."""

    #: Between two looks at a file that must find the same.
    settle: float = 0.1
    #: For a file to come to rest.
    limit: float = 2.0
    #: That what was displaced is watched, because a program may still have it open.
    grace: float = 2.0
    #: Between two looks at what was displaced.
    look: float = 0.05
    #: That what was displaced is watched at most, if it is open for writing all the time.
    longest: float = 600.0


def require_undisturbed(place: Place) -> None:
    """Return if neither an editor nor git is at work there; raises a refusal. Blocks."""
    for mark in _MARKS:
        name = mark.format(name=place.name)
        if place.holds(name):
            raise errors.OpenInEditor.from_file(place.path, mark=name)
    trees = (each / ".git" for each in Path(place.path).parents)
    tree = next((each for each in trees if os.path.lexists(each)), None)
    state = tree and find_git_folder(tree)
    if state and os.path.lexists(state / "index.lock"):
        raise errors.GitAtWork.from_file(place.path, root=place.root)


async def wait_until_settled(
    look: Callable[[], Awaitable[FileSeen | None]],
    clock: Clock,
    *,
    path: str,
    pace: Pace,
    known: int | None = None,
    create: bool = False,
) -> FileSeen | None:
    """Return a file that two looks found the same; None when it is to be created.

    `known` are the bytes it had when it was last read: if it is empty now, or has lost more than
    half of them, it may be half saved. Raises `Missing`, `BeingSaved` or `LooksTorn`.
    """
    until = clock.monotonic() + pace.limit
    before = await look()
    while True:
        await clock.sleep(pace.settle)
        found = await look()
        if found is None and before is None:
            if not create:
                raise errors.Missing.from_file(path)
            return None
        rests = found is not None and found.is_as(before) and not found.in_use
        # A file that has shrunk to less than this share of what was known may be half saved.
        torn = found is not None and known is not None and len(found.data) < known * 0.5
        if rests and found is not None and not torn:
            return found
        before = found
        if clock.monotonic() >= until:
            if rests and found is not None:
                raise errors.LooksTorn.from_file(path, size=len(found.data), known=known)
            raise errors.BeingSaved.from_file(path, seconds=pace.limit)


#: The system, or the file's owner, says no.
_FORBIDDEN = frozenset({errno.EPERM, errno.EACCES})


def translate_error(path: str, error: OSError) -> Exception:
    """Return the error that tells of an error of the system."""
    if error.errno == errno.ELOOP:
        return errors.SymbolicLink.from_file(path, part="it")
    if error.errno == errno.EROFS:
        return errors.ReadOnlyDisk.from_file(path)
    if error.errno in _FORBIDDEN:
        return errors.ImmutableFile.from_file(path, error=error.strerror)
    # The disk has no room, or the user no quota.
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return errors.WriteFailed(f"cannot write {path}: {error.strerror}; make room on its disk")
    return errors.WriteFailed(
        f"cannot write {path}: {error.strerror}; look at its disk and try again"
    )
