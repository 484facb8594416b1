"""When a file is at rest: nobody seems to be saving it, editing it, or moving it about.

What is written at the wrong moment is never lost, but it makes an editor ask its user what to do.
And a file that is read while it is being saved would have our section put to half a text.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.refusals import BeingSaved, GitAtWork, LooksTorn, Missing, OpenInEditor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cortex_actors.clock import Clock
    from cortex_actors.writing.place import Place, Seen

#: What editors leave beside a file that they have open: Vim, Emacs, LibreOffice and its kind.
_MARKS = (".{name}.swp", ".#{name}", ".~lock.{name}#", "{name}~lock")

#: A file that has shrunk to less than this share of what was known may be half saved.
_SHRUNK = 0.5

#: Bytes of a worktree's `.git` file that are read.
_POINTER = 4_096


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things are waited for, seconds."""

    #: Between two looks at a file that must find the same.
    settle: float = 0.1
    #: For a file to come to rest.
    limit: float = 2.0
    #: That what was displaced is watched, because somebody may still have it open.
    grace: float = 2.0
    #: Between two looks at what was displaced.
    look: float = 0.05
    #: That what was displaced is watched at most, if somebody has it open for writing all the time.
    longest: float = 600.0


def undisturbed(place: Place) -> None:
    """Return if neither an editor nor git is at work there; raises a refusal. Blocks."""
    for mark in _MARKS:
        name = mark.format(name=place.name)
        if place.holds(name):
            raise OpenInEditor.of(place.path, mark=name)
    repository = _repository(os.path.dirname(place.path))
    if repository and os.path.lexists(os.path.join(repository, "index.lock")):
        raise GitAtWork.of(place.path, root=place.root)


async def settled(
    look: Callable[[], Awaitable[Seen | None]],
    clock: Clock,
    *,
    path: str,
    pace: Pace,
    known: int | None = None,
    create: bool = False,
) -> Seen | None:
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
                raise Missing.of(path)
            return None
        rests = found is not None and found.is_as(before) and not found.in_use
        if rests and found is not None and not _is_torn(len(found.data), known):
            return found
        before = found
        if clock.monotonic() >= until:
            if rests and found is not None:
                raise LooksTorn.of(path, size=len(found.data), known=known)
            raise BeingSaved.of(path, seconds=pace.limit)


def _is_torn(size: int, known: int | None) -> bool:
    """Tell whether a file may be half saved, by its size and the one that is known."""
    return known is not None and size < known * _SHRUNK


def _repository(folder: str) -> str | None:
    """Return where git keeps the state of the working tree around a folder; None without one."""
    while not os.path.lexists(found := os.path.join(folder, ".git")):
        if folder == (folder := os.path.dirname(folder)):
            return None
    if os.path.isdir(found):
        return found
    with contextlib.suppress(OSError, ValueError), open(found, "rb") as opened:
        said = opened.read(_POINTER).decode("utf-8", "surrogateescape")
        if said.startswith("gitdir:"):
            return os.path.join(folder, said.removeprefix("gitdir:").strip())
    return None
