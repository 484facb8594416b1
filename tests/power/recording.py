"""What a script did to the files of a folder: strace's text, read as operations of a disk."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from tests.power.disk import ROOT, Named, Operation, Place, Sized, Synced, Told, Wrote
from tests.power.strace import traced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

#: Calls that are understood.
_KNOWN = "openat mkdir unlink rmdir rename pwrite64 write ftruncate fsync fdatasync close".split()

#: Calls that would change a file behind the recording's back: an error when they hit ours.
_UNKNOWN = (
    "open creat truncate fallocate pwritev pwritev2 writev sendfile copy_file_range splice link "
    "linkat symlink symlinkat renameat2 dup dup2 dup3 lseek".split()
)

#: Bytes of one write that strace shows: more than any of ours has.
_LONGEST = 1 << 20

#: What SQLite maps and rebuilds after a crash: no sync ever waits for it.
_REBUILT = "-shm"

_CALL = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+)")
_STARTED = re.compile(r"(\d+) +(\w+)\((.*?) *<unfinished \.\.\.>$")
_RESUMED = re.compile(r"(\d+) +<\.\.\. \w+ resumed>(.*)$")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.{3})?')
_DESCRIPTOR = re.compile(r"^(\d+)<")


class UnknownCallError(Exception):
    """The script changed a file of the folder in a way that the recording cannot express."""


@dataclass(slots=True)
class _Opened:
    """A file descriptor."""

    inode: int
    #: Where the next plain write goes; None when it cannot be known.
    position: int | None


@dataclass(slots=True)
class _Reader:
    """Follows names and inodes below a folder, and one process after the other."""

    folder: str
    operations: list[Operation] = field(default_factory=list)
    _names: dict[Place, int] = field(default_factory=dict)
    _folders: set[int] = field(default_factory=lambda: {ROOT})
    _opened: dict[int, _Opened] = field(default_factory=dict)
    _inodes: count[int] = field(default_factory=lambda: count(ROOT + 1))

    def process(self, lines: Iterable[str]) -> None:
        """Read the lines of one process from its beginning."""
        self._opened.clear()
        started: dict[str, tuple[str, int]] = {}
        for line in lines:
            if begins := _STARTED.match(line):
                thread, name, words = begins.groups()
                started[thread] = (f"{thread} {name}({words}", len(self.operations))
                continue
            text, begun = line, len(self.operations)
            if (resumes := _RESUMED.match(line)) and resumes[1] in started:
                text, begun = started.pop(resumes[1])
                text += resumes[2]
            if (found := _CALL.match(text)) and not found[4].startswith("-"):
                self._call(found[2], found[3], result=int(found[4]), begun=begun)

    def _call(self, name: str, words: str, *, result: int, begun: int) -> None:
        """Take in one call that succeeded; `begun` is how many operations were done before it."""
        if name in ("fsync", "fdatasync"):
            if (file := self._opened.get(_descriptor(words))) is not None:
                self.operations.append(Synced(file.inode, begun))
            return
        reads: Mapping[str, Callable[[str, int], None]] = {
            "openat": self._open,
            "mkdir": self._mkdir,
            "mkdirat": self._mkdir,
            "unlink": self._unlink,
            "unlinkat": self._unlink,
            "rmdir": self._unlink,
            "rename": self._rename,
            "renameat": self._rename,
            "pwrite64": self._write_at,
            "write": self._write,
            "ftruncate": self._truncate,
            "close": self._close,
        }
        reads.get(name, self._refuse)(words, result)

    def _open(self, words: str, result: int) -> None:
        """A descriptor, and perhaps a new file."""
        place = self._place(_path(words))
        if place is None or place[1].endswith(_REBUILT):
            return
        known = self._names.get(place)
        inode = ROOT if place == (ROOT, "") else known
        if inode is None:
            inode = self._names[place] = next(self._inodes)
            self.operations.append(Named(place, inode))
        elif "O_TRUNC" in words:
            self.operations.append(Sized(inode, 0))
        plain = "O_WRONLY" in words and "O_APPEND" not in words
        self._opened[result] = _Opened(inode, 0 if plain else None)

    def _mkdir(self, words: str, result: int) -> None:
        place = self._place(_path(words))
        if place is not None:
            inode = self._names[place] = next(self._inodes)
            self._folders.add(inode)
            self.operations.append(Named(place, inode, folder=True))

    def _unlink(self, words: str, result: int) -> None:
        place = self._place(_path(words))
        if place is not None and not place[1].endswith(_REBUILT):
            del self._names[place]
            self.operations.append(Named(place, None))

    def _rename(self, words: str, result: int) -> None:
        old, new = (self._place(os.fsdecode(text)) for text in _texts(words))
        if old is None and new is None:
            return
        if old is None or new is None:
            raise UnknownCallError(f"a file was moved across the border: {words}")
        if not old[1].endswith(_REBUILT):
            inode = self._names[new] = self._names.pop(old)
            self.operations.append(Named(new, inode, old))

    def _write_at(self, words: str, result: int) -> None:
        file = self._opened.get(_descriptor(words))
        if file is not None:
            offset = int(words.rsplit(", ", 1)[1])
            self.operations.append(Wrote(file.inode, offset, _texts(words)[0][:result]))

    def _write(self, words: str, result: int) -> None:
        """A write where the last one ended; on standard output it tells somebody something."""
        descriptor = _descriptor(words)
        if descriptor == 1:
            lines = _texts(words)[0].decode().splitlines()
            self.operations.extend(Told(line) for line in lines)
        if (file := self._opened.get(descriptor)) is None:
            return
        if file.position is None:
            raise UnknownCallError(f"nobody knows where in the file this goes: {words[:200]}")
        self.operations.append(Wrote(file.inode, file.position, _texts(words)[0][:result]))
        file.position += result

    def _truncate(self, words: str, result: int) -> None:
        file = self._opened.get(_descriptor(words))
        if file is not None:
            self.operations.append(Sized(file.inode, int(words.rsplit(", ", 1)[1])))

    def _close(self, words: str, result: int) -> None:
        self._opened.pop(_descriptor(words), None)

    def _refuse(self, words: str, result: int) -> None:
        """Anything else must not concern our files."""
        descriptors = {int(found) for found in re.findall(r"(?:^|, )(\d+)<", words)}
        paths = [self._place(os.fsdecode(text)) for text in _texts(words)]
        if descriptors & self._opened.keys() or any(path is not None for path in paths):
            raise UnknownCallError(f"a call that the recording does not know: {words[:200]}")

    def _place(self, path: str) -> Place | None:
        """Return the place a path names; None for what lies outside the folder."""
        if path == self.folder:
            return ROOT, ""
        if not path.startswith(self.folder + "/"):
            return None
        *parents, name = path.removeprefix(self.folder + "/").split("/")
        inode = ROOT
        for parent in parents:
            inode = self._names[inode, parent]
        return inode, name


class Recorder:
    """Runs scripts, one after the other, on a folder that is empty at first.

    A script that ends leaves the files as they are, like a process that was killed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reader = _Reader(str(folder))

    @property
    def operations(self) -> list[Operation]:
        """What all scripts together did, in order."""
        return self._reader.operations

    def run(self, script: Path, *words: str, env: Mapping[str, str]) -> None:
        """Run a script to its end.

        Raises `AssertionError` when the script fails, `UnknownCallError` when it does something to
        these files that is not understood.
        """
        output = self._folder.with_suffix(".strace")
        # With `?`, because no machine has them all.
        trace = "trace=" + ",".join(f"?{name}" for name in (*_KNOWN, *_UNKNOWN))
        options = ["--seccomp-bpf", "-y", "-xx", f"-s{_LONGEST}", "-e", trace, "-o", str(output)]
        done = traced(script, *words, options=options, env=env)
        assert done.returncode == 0, done.stderr[-4000:]
        with output.open(encoding="ascii") as lines:
            self._reader.process(lines)
        output.unlink()


def read(lines: Iterable[str], folder: str) -> list[Operation]:
    """Return the operations on files below an empty folder that strace's lines speak of."""
    reader = _Reader(folder)
    reader.process(lines)
    return reader.operations


def _descriptor(words: str) -> int:
    """Return the number of the file descriptor that a call was given first."""
    found = _DESCRIPTOR.match(words)
    return int(found[1]) if found else -1


def _texts(words: str) -> list[bytes]:
    """Return the strings a call was given."""
    found = []
    for text, cut in _TEXT.findall(words):
        assert not cut, "strace shows less than the whole of a write"
        found.append(bytes.fromhex(text.replace("\\x", "")))
    return found


def _path(words: str) -> str:
    """Return the path a call was given."""
    return os.fsdecode(_texts(words)[0])
