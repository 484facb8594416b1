"""What a file must be to be written: an ordinary one, our own, under one name, and not locked."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from cortex_actors.mounts import is_silent, kind_of, mounts
from cortex_actors.refusals import (
    Device,
    ForeignOwner,
    HardLink,
    NamedPipe,
    NotAFile,
    OnFuse,
    OnNetwork,
    Oversized,
    ReadOnlyFile,
    SymbolicLink,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        raise SymbolicLink.of(path, part="it")
    if stat.S_ISFIFO(found.st_mode):
        raise NamedPipe.of(path)
    if stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode):
        raise Device.of(path)
    if not stat.S_ISREG(found.st_mode):
        raise NotAFile.of(path, kind=_KINDS.get(kind, "something else"))
    if found.st_nlink != 1:
        raise HardLink.of(path, names=found.st_nlink)
    if found.st_uid != os.geteuid():
        raise ForeignOwner.of(path, owner=found.st_uid, user=os.geteuid())
    if not found.st_mode & stat.S_IWUSR:
        raise ReadOnlyFile.of(path, mode=stat.S_IMODE(found.st_mode))
    if found.st_size > LARGEST:
        raise Oversized.of(path, size=found.st_size, limit=LARGEST)


def admit_disk(path: str, known: Mapping[str, str] | None = None) -> None:
    """Return if nobody else writes to a file's disk unseen; else raise (reads the mount table)."""
    kind = kind_of(os.path.dirname(path), mounts() if known is None else known)
    if kind.startswith("fuse") and is_silent(kind):
        raise OnFuse.of(path, kind=kind)
    if is_silent(kind):
        raise OnNetwork.of(path, kind=kind)
