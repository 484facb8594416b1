"""The ledger's file as the disk has it: whether there is room, and whether it is still the same.

SQLite goes on writing into a file that was moved away, replaced or cut off, and its log into one
that was deleted: what is committed then is gone with the process. So each commit is followed by a
look.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cortex_actors.errors import DiskFault, StorageFull
from cortex_actors.storage.files import size

if TYPE_CHECKING:
    from pathlib import Path

#: Bytes of a megabyte.
MB = 1_000_000


class LedgerFile:
    """Looks at the file and its disk; each look is a system call or two (microseconds)."""

    def __init__(self, path: Path, *, low_water: int = 0) -> None:
        """Look at a ledger that is open.

        Args:
            path: of the ledger.
            low_water: bytes of free space below which there is no room for new work; 0 for none.

        """
        self.path = path
        self._low_water = low_water
        self._paths = (path, path.with_name(f"{path.name}-wal"))
        self._known = [_identity(each) for each in self._paths]
        self._size = size(path)

    def shortage(self) -> StorageFull | None:
        """Return why there is no room for new work; None while there is."""
        if not self._low_water:
            return None
        found = os.statvfs(self.path.parent)
        free = found.f_bavail * found.f_frsize
        if free >= self._low_water:
            return None
        return StorageFull(
            f"cannot write the ledger {self.path}: its disk has only {free // MB} MB free, and the "
            f"last {self._low_water // MB} MB (storage.low_water_mb) are kept for work already in "
            "hand: free some space, and it goes on by itself"
        )

    def require_same(self) -> None:
        """Raise `DiskFault` when the file, or the log beside it, is no longer the one opened.

        And when the file was cut off: nothing of ours makes it shorter.
        """
        for path, known in zip(self._paths, self._known, strict=True):
            if known is not None and _identity(path) != known:
                message = (
                    f"cannot keep anything in the ledger {self.path}: {path} was moved away or "
                    "replaced while it was open; put it back if it was yours, then start again"
                )
                raise DiskFault(message)
        known_size, self._size = self._size, size(self.path)
        if self._size < known_size:
            message = (
                f"cannot keep anything in the ledger {self.path}: it was cut off from "
                f"{known_size:,} to {self._size:,} bytes while it was open; start again, which "
                "restores it (docs/recovery.md)"
            )
            raise DiskFault(message)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what a file is whatever it is called; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
