"""The time in which what was displaced is kept: somebody may have had it open.

An editor that opened the file before the exchange, and writes afterwards, writes into what lies
aside now. So that is looked at for a while; when it changes it is exchanged back at once, and the
rest of what is written arrives where it was meant to. Where the system can tell who has a file open
for writing (Linux, by asking for a lease), it is not let go of before nobody has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.writing.failures import told
from cortex_actors.writing.place import Place
from cortex_actors.writing.recovery import bring_back

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cortex_actors.clock import Clock
    from cortex_actors.writing.journal import Entry
    from cortex_actors.writing.rest import Pace
    from cortex_actors.writing.swap import Swapped


@dataclass(frozen=True, slots=True)
class Kept:
    """What lies beside a file: of which write, and what it looked like when it came there."""

    entry: Entry
    shown: str
    stamp: tuple[int, ...] | None = None
    changed: bool = False
    gone: bool = False


def look(kept: Kept) -> Kept:
    """Return what lies aside as it is now; blocks."""
    entry = kept.entry
    with told(entry.path), Place.at(entry.root, entry.path) as place:
        stamp = place.stamp(entry.aside)
        if stamp is None:
            return replace(kept, gone=True)
        if stamp == kept.stamp:
            return kept
        return replace(kept, stamp=stamp, changed=place.peek(entry.aside) != kept.shown)


def let_go(kept: Kept, *, last: bool) -> Kept:
    """Remove what lies aside if nobody can write into it any more; blocks.

    Returns it as `gone`, as `changed`, or as it was while somebody has it open. `last` removes it
    whoever has.
    """
    entry = kept.entry
    with told(entry.path), Place.at(entry.root, entry.path) as place:
        if not place.holds(entry.aside):
            return replace(kept, gone=True)
        if place.is_open(entry.aside) and not last:
            return kept
        # Nobody can begin to write now: its name is known to nobody else.
        if place.peek(entry.aside) != kept.shown:
            return replace(kept, changed=True)
        place.unlink(entry.aside)
        return replace(kept, gone=True)


def returned(kept: Kept) -> Swapped:
    """Let what was written too late stand in the file; blocks. See `bring_back`."""
    entry = kept.entry
    with told(entry.path), Place.at(entry.root, entry.path) as place:
        return bring_back(place, entry, place.peek(entry.aside))


async def watched(
    kept: Kept, on_thread: Callable[..., Awaitable[Kept]], clock: Clock, pace: Pace
) -> Kept:
    """Return once what lies aside has changed, or nobody can change it any more and it is gone."""
    begun = clock.monotonic()
    while not (kept.changed or kept.gone):
        await clock.sleep(pace.look)
        kept = await on_thread(look, kept)
        waited = clock.monotonic() - begun
        if waited >= pace.grace and not (kept.changed or kept.gone):
            kept = await on_thread(let_go, kept, last=waited >= pace.longest)
    return kept
