"""Presence: which instruction files a project has at its root, as the formatters ask for it.

Nothing here is written, and nothing but regular files is opened: what else may lie there is for
whoever writes to refuse.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from cortex_actors.errors import BadInput
from cortex_actors.formatters.targets import FOLDERS, PLACES, Present
from cortex_actors.parsers.lines import MAX_BYTES, lines

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Opened without waiting for a pipe's other end, and never through a link at the end of the path.
_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def present(root: str) -> tuple[Present, ...]:
    """Return which of the places that are written a project has. Blocks."""
    return tuple(_present(root))


def read(path: str) -> bytes | None:
    """Return the bytes of a regular file, as many as it may have; None for anything else. Blocks.

    What cannot be read now is None, too: whoever writes says why.
    """
    try:
        opened = os.open(path, _READING)
        try:
            found = os.fstat(opened)
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
                return None
            with os.fdopen(opened, "rb", closefd=False) as file:
                data = file.read(MAX_BYTES + 1)
        finally:
            os.close(opened)
    except (OSError, ValueError):
        return None
    return data if len(data) <= MAX_BYTES else None


def _present(root: str) -> Iterator[Present]:
    """Yield the places that are there."""
    real = os.path.realpath(root)
    for place in PLACES:
        path = f"{root.rstrip('/')}/{place}"
        if not os.path.lexists(path):
            continue
        end = os.path.relpath(os.path.realpath(path), real)
        yield Present(place, None if end == place else end, _text(path) if end == place else b"")
    for folder in FOLDERS:
        # Not by `Path`, which raises for a root that may not be entered.
        if os.path.isdir(f"{root}/{folder}"):  # noqa: PTH112
            yield Present(folder)


def _text(path: str) -> bytes:
    """Return what a file says; nothing of one that is no text, which nobody writes."""
    data = read(path) or b""
    try:
        lines(data, path=path)
    except BadInput:
        return b""
    return data
