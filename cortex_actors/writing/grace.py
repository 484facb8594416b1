"""The time in which what was displaced is watched: somebody may have had it open.

Its name is taken out of the folder as soon as the write is noted, so that nothing of ours is left
where git or a person would find it. Whoever has the file open by then (an editor that was just
about to open it when the exchange came) still writes into it; so it is held open and looked at for
a while, and what is written late is put into the file. Where the system can tell who has a file
open for writing (Linux, by asking for a lease), `swap` has put it back already if somebody had, and
it is watched for as long as somebody has.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cortex_actors.writing.failures import told
from cortex_actors.writing.journal import sha256
from cortex_actors.writing.place import Place, in_use

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cortex_actors.clock import Clock
    from cortex_actors.writing.journal import Entry
    from cortex_actors.writing.rest import Pace


class Kept:
    """What a write displaced, held open without a name; `shown` is the hash of what it says."""

    def __init__(self, opened: int, shown: str) -> None:
        """Take over an open file."""
        self._opened = opened
        self._shown = shown
        #: Whether somebody had it open for writing at the last look.
        self.in_use = False

    def __del__(self) -> None:
        """Close the file, also where the watch was called off before it began."""
        os.close(self._opened)

    def look(self) -> bytes | None:
        """Return what was written into it since the last look; None if nothing was. Blocks."""
        # In this order: who has closed it in between has changed it.
        self.in_use = in_use(self._opened)
        data = os.pread(self._opened, os.fstat(self._opened).st_size, 0)
        if sha256(data) == self._shown:
            return None
        self._shown = sha256(data)
        return data


def kept(entry: Entry, shown: str) -> Kept | None:
    """Take the name of what lies beside a file out of the folder and hold the file open; blocks.

    None where nothing lies there. Raises a refusal, or `WriteFailed`, and leaves it there.
    """
    with told(entry.path), Place.at(entry.root, entry.path) as place:
        try:
            found = Kept(place.open(entry.aside), shown)
        except FileNotFoundError:
            return None
        place.unlink(entry.aside)
        place.sync()
        return found


async def written_late(
    kept: Kept, on_thread: Callable[..., Awaitable[bytes | None]], clock: Clock, pace: Pace
) -> bytes | None:
    """Return what somebody has written into it, once two looks find the same.

    None once nobody can write into it any more.
    """
    begun, late = clock.monotonic(), None
    while True:
        await clock.sleep(pace.look)
        data = await on_thread(kept.look)
        if data is None and late is not None:
            return late
        late = data
        waited = clock.monotonic() - begun
        ended = waited >= (pace.longest if kept.in_use else pace.grace)
        if late is None and ended:
            return None
