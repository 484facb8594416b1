"""What a human did inside our section, and what a file had there before: neither is thrown away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.formatters.fence import (
    NAMELESS,
    appended,
    between,
    ends,
    eol_of,
    find,
    joint,
    removed,
    section_of,
    unix,
)
from cortex_actors.refusals import BrokenSection, OpenBlock

if TYPE_CHECKING:
    from collections.abc import Container, Iterable


def moved_out(data: bytes, written: bytes, *, path: str = NAMELESS) -> bytes:
    """Return a file whose edits inside our section stand above it, as the human's text.

    Edits are the lines that are not in `written`, the section as it was written, with the empty
    ones between them; of one that is not known (empty) that is every line. The section itself is
    as it was written again. Lines of ours that were deleted or moved are not remembered. Raises
    `OpenBlock` where an edit opens a block that would swallow the section below it.
    """
    fence = find(data, path=path)
    if fence is None:
        return data
    ours = {line.strip() for line in unix(written).split(b"\n")}
    edits = [*fence.strays, *fence.body.split(b"\n")]
    theirs = _theirs(edits, ours)
    at, eol = joint(data, fence), fence.eol
    section = section_of(unix(written), eol, data[fence.start : fence.end])
    if not theirs:
        return data[: fence.start] + section + data[fence.end :]
    text = between(data[:at], eol) + eol.join(theirs)
    if data[at : fence.start] != eol * 2:
        text += eol if data[at : fence.start] else eol * 2
    moved = data[:at] + text + data[at : fence.start] + section + data[fence.end :]
    if not _is_marked(moved):
        raise OpenBlock.of(path, line=len(unix(data[: fence.start]).split(b"\n")))
    return moved


def _is_marked(data: bytes) -> bool:
    """Tell whether a file has a section that is found."""
    try:
        return find(data) is not None
    except BrokenSection:
        return False


def _theirs(lines: Iterable[bytes], ours: Container[bytes]) -> list[bytes]:
    """Return the lines that are not ours, and the empty ones between two of them."""
    found: list[bytes] = []
    gap: list[bytes] = []
    inside = False
    for line in lines:
        if not line.strip():
            gap.append(line)
            continue
        is_ours = line.strip() in ours
        if not is_ours:
            found += [*(gap if inside else ()), line]
        inside, gap = not is_ours, []
    return found


def restored(data: bytes, before: bytes, *, path: str = NAMELESS) -> bytes:
    """Return a file with the section that an older one had, or without one if that had none."""
    old, fence = find(before, path=path), find(data, path=path)
    if old is None:
        return removed(data, path=path)
    section = before[old.start : old.end]
    if fence is None:
        return appended(data, section.rstrip(b"\r\n") + (eol_of(data) if ends(data) else b""))
    rest = fence.eol if ends(data[fence.start : fence.end]) else b""
    return data[: fence.start] + section.rstrip(b"\r\n") + rest + data[fence.end :]
