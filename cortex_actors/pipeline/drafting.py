"""Drafting: a file as it is to be, made of the file as it is and the text of our section.

Pure, so that it can be made anew for each base that a human saves meanwhile. Nothing outside the
section changes, but for what a human wrote inside it and wants kept.
"""

from __future__ import annotations

from difflib import unified_diff

from cortex_actors.domain.principle import Edits
from cortex_actors.refusals import EditedSection
from cortex_actors.render import fence
from cortex_actors.render.fence import moved_out

#: Lines of a diff around what differs.
AROUND = 2

#: Bytes that are no UTF-8 are written out where they are only looked at.
_WRITTEN_OUT = "backslashreplace"


def drafted(
    data: bytes, body: str, *, ours: str, path: str, edits: Edits | None, adopt: bool = False
) -> bytes:
    """Return a file with our section saying `body`, or without one where that is nothing.

    `ours` is what we wrote there the last time; `edits` says what becomes of what a human wrote
    inside it since, and `adopt` lets a section without marks be replaced. Raises what
    `fence.splice` raises.
    """
    text = body.encode()
    standing = fence.find(data, path=path)
    is_edited = standing is not None and not standing.intact
    if is_edited and edits is None:
        raise EditedSection.of(path)
    if is_edited and edits is Edits.KEEP:
        data = moved_out(data, (ours or body).encode(), path=path)
    if text:
        return fence.splice(data, text, adopt=adopt, discard=is_edited, path=path)
    return data if standing is None else fence.removed(data, path=path)


def edited(data: bytes, ours: str, *, path: str) -> str:
    """Return what a human changed inside our section, as a diff; "" where nobody can tell."""
    standing = fence.find(data, path=path)
    if standing is None or not ours:
        return ""
    return _differing(ours, shown(standing.body), "as cortex wrote it", "as it is now")


def difference(before: bytes | None, after: bytes, *, path: str) -> str:
    """Return what would change in a file, as a diff; "" where nothing does."""
    return _differing(shown(before or b""), shown(after), path if before is not None else "-", path)


def shown(data: bytes) -> str:
    """Return a file's bytes as text that can travel."""
    return data.decode("utf-8", _WRITTEN_OUT).removeprefix("\ufeff")


def _differing(before: str, after: str, one: str, other: str) -> str:
    """Return the unified diff of two texts."""
    found = unified_diff(before.splitlines(), after.splitlines(), one, other, n=AROUND, lineterm="")
    return "\n".join(found)
