"""Which folders lie on a file system that other machines write to: its kernel events are silent.

Linux lists its mounts with the name of each one's file system in `/proc/self/mountinfo`. (`statfs`
would give a number for it, which Python does not offer, and one number for all of FUSE.) Elsewhere
nothing is known, and events are listened to; the sweep finds what they miss.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Where Linux lists the mounts of this process.
TABLE = "/proc/self/mountinfo"

#: File systems that somebody else may write to, unheard by this kernel: those of networks, of a
#: virtual machine's host, and everything that a program makes up (FUSE).
SILENT = frozenset(
    "nfs nfs3 nfs4 cifs smb3 smbfs smb2 ncpfs ncp afs auristorfs coda ceph glusterfs lustre gpfs"
    " beegfs orangefs pvfs2 ocfs2 gfs2 acfs panfs 9p v9fs virtiofs vboxsf vmhgfs prl_fs drvfs"
    " fakeowner davfs fuse fusectl osxfs grpcfuse".split()
)

#: Of FUSE, what is a disk of this machine after all.
_LOCAL = frozenset({"fuse.lxcfs", "fuse.overlayfs", "fuse.fuse-overlayfs", "fuse.mergerfs"})

#: The column of a mount's folder.
_FOLDER = 4

#: How the table writes a space, a tab, a line end and a backslash: in octal.
_ESCAPED = re.compile(r"\\([0-7]{3})")


def mounts(table: str = TABLE) -> dict[str, str]:
    """Return the file system of each mount by its folder (reads a file of the kernel's, no disk).

    Of two mounts on one folder the later one counts. Empty where there is no such table.
    """
    try:
        with open(table, encoding="utf-8", errors="surrogateescape") as opened:  # noqa: PTH123 - as in sweep.py
            lines = opened.read().splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")[0]
        if len(fields) > _FOLDER and kind:
            found[_ESCAPED.sub(lambda digits: chr(int(digits[1], 8)), fields[_FOLDER])] = kind
    return found


def silent(folders: Iterable[str], known: Mapping[str, str]) -> frozenset[str]:
    """Return those of some folders (real paths) whose events are silent."""
    return frozenset(each for each in folders if is_silent(kind_of(each, known)))


def is_silent(kind: str) -> bool:
    """Tell whether others may write to a file system unheard, given its name."""
    return kind in SILENT or (kind.startswith("fuse.") and kind not in _LOCAL)


def kind_of(folder: str, known: Mapping[str, str]) -> str:
    """Return the file system a folder lies on: that of the nearest mount above it."""
    place = folder
    while place not in known:
        parent = os.path.dirname(place)  # noqa: PTH120 - names that are only text
        if parent == place:
            return ""
        place = parent
    return known[place]
