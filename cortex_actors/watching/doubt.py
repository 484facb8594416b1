"""Files that may say something else than what was read of them, although they look the same.

File systems round the time of a change: to milliseconds on most disks, to two seconds on some. Two
saves of equal length in one such moment, the first of which was read, cannot be told apart by
anything but their bytes. So what was read is hashed once more when that moment is over, and every
file at the start: the content has the last word.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from cortex_actors.domain.project import file_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_actors.storage.projects import FileState

#: Nanoseconds from a change within which another one may go unseen: FAT keeps times in steps of
#: two seconds, and a share's clock may be some way off ours.
UNSURE_NS = 2_000_000_000

#: Bytes of a file that are read: no larger one is ever taken in.
MOST = 1_048_576

_MICRO = 1_000


class Doubts:
    """Hashes once what was read, when no change can hide in its time any more.

    What was hashed is kept in memory alone: after a restart every file is hashed once.
    """

    def __init__(self) -> None:
        """Begin with nothing hashed."""
        self._sure: dict[str, FileState] = {}

    def differing(
        self, known: Mapping[str, FileState], there: Mapping[str, FileState], now: int
    ) -> list[str]:
        """Return the paths that look as they did when they were read, and say something else.

        `now` is in UTC microseconds. Blocks: run it on a thread. Raises nothing: what cannot be
        read is not in doubt. They are returned again until somebody says `settled`.
        """
        self._sure = {path: sure for path, sure in self._sure.items() if path in known}
        due = [each for each in known.values() if self._is_due(each, there.get(each.path), now)]
        differing = [each.path for each in due if _hash(each.path) not in ("", each.sha256)]
        self.settled((each.path for each in due if each.path not in set(differing)), known)
        return differing

    def settled(self, paths: Iterable[str], known: Mapping[str, FileState]) -> None:
        """Ask no more about what was read of some paths; another reading is asked about again."""
        self._sure.update({path: known[path] for path in paths if path in known})

    def _is_due(self, state: FileState, there: FileState | None, now: int) -> bool:
        """Tell whether a reading was never hashed again, and no change can hide any more."""
        if there is None or not state.sha256 or state.error or not state.same_stat(there):
            return False
        sure = self._sure.get(state.path)
        if sure is not None and sure.same_stat(state) and sure.sha256 == state.sha256:
            return False
        # A time that lies ahead is of another clock, and tells nothing.
        return abs(now * _MICRO - max(state.mtime_ns, state.ctime_ns)) >= UNSURE_NS


def _hash(path: str) -> str:
    """Return the hash of a file as it is now; "" for what cannot be read, or is no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return ""
            data = opened.read(MOST + 1)
            return "" if len(data) > MOST else file_hash(data)
    except OSError:
        return ""
