"""What a write that was cut off has left, and how it is finished or taken back; blocks, on threads.

Before the file is touched there is a row, and under the name in it either nothing, or the whole new
file, or what the new file displaced: an unfinished one has another name. So the disk itself says
how far it came, whatever the moment at which the program ended.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cortex_actors.render.fence import revision
from cortex_actors.writing.journal import State
from cortex_actors.writing.swap import PART, Swap, Swapped

if TYPE_CHECKING:
    from cortex_actors.writing.journal import Entry
    from cortex_actors.writing.place import Place


def mended(place: Place, entry: Entry) -> Swapped:
    """Return how a write stands, after the folder has been put in order."""
    place.unlink(entry.aside + PART)
    target, aside = place.peek(place.name), place.peek(entry.aside)
    if aside and _is_one(place, entry):
        # Cut off between giving the file a name and taking the other one away.
        place.unlink(entry.aside)
        place.sync()
        return Swapped(_state(entry, State.DONE if aside == entry.after_sha256 else None))
    if not aside:
        is_there = target == entry.after_sha256
        return Swapped(_state(entry, State.DONE if is_there else None))
    if aside == entry.after_sha256:
        # Never exchanged, or back again: then somebody may have it open.
        if entry.before is not None:
            return Swapped(_state(entry, None), entry.aside, aside)
        place.unlink(entry.aside)
        return Swapped(_state(entry, None))
    if aside == entry.before_sha256:
        return Swapped(_state(entry, State.DONE), entry.aside, aside)
    return _of_human(place, entry, target=target, aside=aside)


def bring_back(place: Place, entry: Entry, aside: str) -> Swapped:
    """Let a human's text that came too late stand in the file, if nothing newer of his does.

    `aside` is its hash. It is still being written, perhaps: what is exchanged is the file that the
    writer has open, so that the rest of it arrives, too.
    """
    if not place.holds(place.name):
        return Swap(place, entry).put_back()
    standing = place.peek(place.name)
    if standing != entry.after_sha256 and not _has_part_of(place, entry.before):
        kept = place.read(entry.aside)
        place.unlink(entry.aside)
        return Swapped(State.ABANDONED, displaced=kept)
    return Swap(place, entry).give_way(aside, standing=standing)


def _has_part_of(place: Place, before: bytes | None) -> bool:
    """Tell whether the file has the human's part that it had before, whatever our section says."""
    return before is not None and revision(place.read(place.name)) == revision(before)


def _of_human(place: Place, entry: Entry, *, target: str, aside: str) -> Swapped:
    """Deal with a human's text that lies aside: it had been saved between two steps of ours."""
    if entry.after_sha256 == "" and not target:
        return Swap(place, entry).put_back()
    if target == entry.after_sha256 or _is_newer(place, entry):
        return Swap(place, entry).give_way(aside, standing=target)
    return bring_back(place, entry, aside)


def _is_newer(place: Place, entry: Entry) -> bool:
    """Tell whether what lies aside was saved after what is in the file.

    Both are a human's: the end came while one of his saves was exchanged for another.
    """
    aside, there = (_found(place, name) for name in (entry.aside, place.name))
    return aside is not None and there is not None and aside.st_mtime_ns > there.st_mtime_ns


def _found(place: Place, name: str) -> os.stat_result | None:
    """Return what is known of a name in the folder; None if it is not there."""
    try:
        return os.stat(name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _is_one(place: Place, entry: Entry) -> bool:
    """Tell whether both names are of one file."""
    there, aside = _found(place, place.name), _found(place, entry.aside)
    return there is not None and aside is not None and os.path.samestat(there, aside)


def _state(entry: Entry, found: State | None) -> State:
    """Return a row's state: what it is already, else what was found; None means not done."""
    if entry.state is not State.PENDING:
        return entry.state
    return found or State.ABANDONED
