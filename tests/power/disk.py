"""What a disk may hold after the power was cut: a model, played from what a program asked of it.

What was synced before the cut is there. Of the rest each file keeps nothing, everything, the first
part, some part in any order, or pieces of 512 bytes; its size may have grown without its content.
A name is there for sure only once its folder was synced after the file was made, and one that was
removed or renamed may still be the old one. This is less than any real file system promises, except
in one point: a rename happens wholly or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

T = TypeVar("T")

#: Bytes a disk writes at once: what is longer may be torn.
SECTOR = 512

#: The inode of the folder that was there from the start.
ROOT = 0

#: What may become of that which was not synced.
_FATES = ("nothing", "everything", "beginning", "some", "torn")

#: Folder's inode and the name in it.
Place = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Named:
    """A place was given to an inode (None: emptied); with `of` it was moved from there."""

    place: Place
    inode: int | None
    of: Place | None = None
    #: Whether the inode is a folder.
    folder: bool = False

    @property
    def parents(self) -> set[int]:
        """The folders whose sync makes it last."""
        return {self.place[0], *([] if self.of is None else [self.of[0]])}


@dataclass(frozen=True, slots=True)
class Wrote:
    """Bytes were written."""

    inode: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Sized:
    """A file was cut, or grew by zeros."""

    inode: int
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    """Everything done to an inode before the operation number `begun` is on the disk."""

    inode: int
    begun: int


@dataclass(frozen=True, slots=True)
class Told:
    """The program told somebody that something is durable."""

    what: str


Change = Wrote | Sized
Operation = Named | Wrote | Sized | Synced | Told


@dataclass(slots=True)
class _File:
    """An inode's bytes on the disk, and what was done to it since, by operation number."""

    content: bytearray = field(default_factory=bytearray)
    since: list[tuple[int, Change]] = field(default_factory=list)


class Disk:
    """Plays operations; at any moment the power may be cut, as often as one likes."""

    def __init__(self) -> None:
        self._number = count()
        self._files: dict[int, _File] = {}
        self._folders = {ROOT}
        self._names: dict[Place, int] = {}
        self._renamed: list[tuple[int, Named]] = []
        #: What was told to be durable so far.
        self.told: set[str] = set()

    def play(self, operation: Operation) -> None:
        """Do the next operation."""
        number = next(self._number)
        match operation:
            case Named():
                if operation.folder and operation.inode is not None:
                    self._folders.add(operation.inode)
                self._renamed.append((number, operation))
            case Wrote() | Sized():
                self._file(operation.inode).since.append((number, operation))
            case Synced():
                self._sync(operation)
            case Told():
                self.told.add(operation.what)

    def cut(self, random: Random) -> dict[str, bytes]:
        """Return what the files may hold if the power is cut now, by path below the root."""
        names = dict(self._names)
        for operation in _survivors(random, [each for _, each in self._renamed]):
            _name(names, operation)
        found = self._walk(names, ROOT, "")
        contents = {inode: self._content(random, inode) for inode in sorted(set(found.values()))}
        return {path: contents[inode] for path, inode in found.items()}

    def _walk(self, names: Mapping[Place, int], folder: int, path: str) -> dict[str, int]:
        """Return the files that can be reached, with their inodes."""
        found: dict[str, int] = {}
        for (parent, name), inode in names.items():
            if parent != folder:
                continue
            if inode in self._folders:
                found.update(self._walk(names, inode, f"{path}{name}/"))
            else:
                found[path + name] = inode
        return found

    def _file(self, inode: int) -> _File:
        return self._files.setdefault(inode, _File())

    def _sync(self, sync: Synced) -> None:
        """Let last what was done before the sync began."""
        if (file := self._files.get(sync.inode)) is not None:
            for number, change in file.since:
                if number < sync.begun:
                    _change(file.content, change)
            file.since = [each for each in file.since if each[0] >= sync.begun]
        left = []
        for number, operation in self._renamed:
            if number < sync.begun and sync.inode in operation.parents:
                _name(self._names, operation)
            else:
                left.append((number, operation))
        self._renamed = left

    def _content(self, random: Random, inode: int) -> bytes:
        """Return what one file may hold."""
        file = self._file(inode)
        changes = [change for _, change in file.since]
        fate = random.choice(_FATES)
        if fate == "torn":
            changes = [piece for change in changes for piece in _pieces(change)]
        content = bytearray(file.content)
        for change in _survivors(random, changes, "some" if fate == "torn" else fate):
            _change(content, change)
        if fate in ("some", "torn") and random.random() < 0.5:
            # The size is written apart from the content.
            content.extend(bytes(max(0, _size(file) - len(content))))
        return bytes(content)


def _survivors(random: Random, done: list[T], fate: str | None = None) -> list[T]:
    """Return what of it reached the disk."""
    match fate or random.choice(_FATES[:4]):
        case "nothing":
            return []
        case "beginning":
            return done[: random.randrange(len(done) + 1)]
        case "some":
            share = random.choice((0.1, 0.5, 0.9))
            return [each for each in done if random.random() < share]
        case _:
            return done


def _pieces(change: Change) -> list[Change]:
    """Return a write as the sectors it consists of."""
    if isinstance(change, Sized):
        return [change]
    first = -change.offset % SECTOR
    cuts = [0, *range(first or SECTOR, len(change.data), SECTOR), len(change.data)]
    return [
        Wrote(change.inode, change.offset + start, change.data[start:end])
        for start, end in pairwise(cuts)
    ]


def _change(content: bytearray, change: Change) -> None:
    """Do a change to a file's bytes."""
    if isinstance(change, Sized):
        del content[change.size :]
        content.extend(bytes(change.size - len(content)))
        return
    content.extend(bytes(max(0, change.offset - len(content))))
    content[change.offset : change.offset + len(change.data)] = change.data


def _size(file: _File) -> int:
    """Return how long a file is for the program that writes it."""
    size = len(file.content)
    for _, change in file.since:
        if isinstance(change, Sized):
            size = change.size
        else:
            size = max(size, change.offset + len(change.data))
    return size


def _name(names: dict[Place, int], operation: Named) -> None:
    """Do a change of a name; a file that is moved needs not have had its old name."""
    if operation.of is not None:
        names.pop(operation.of, None)
    if operation.inode is None:
        names.pop(operation.place, None)
    else:
        names[operation.place] = operation.inode
