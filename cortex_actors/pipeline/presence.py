"""Presence: which instruction files a project has at its root, as the formatters ask for it.

Nothing here is written, and nothing but regular files is opened: what else may lie there is for
whoever writes to refuse.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from cortex_actors.errors import BadInput
from cortex_actors.refusals import NotWritten
from cortex_actors.render import fence
from cortex_actors.render.targets import FOLDERS, PLACES, Present
from cortex_actors.text.markdown import MAX_BYTES, lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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


def sections(paths: Iterable[str]) -> dict[str, frozenset[str] | None]:
    """Return what our section says, line by line, in each file that has one now. Blocks.

    Where marks are broken, or gone, that is every line; None for a file that cannot be read now.
    """
    return {path: found for path in paths for found in _section(path)}


def says(found: Mapping[str, frozenset[str] | None], path: str, text: str) -> bool:
    """Tell whether a bullet stands in its file, by what `sections` found."""
    lines = found.get(path, frozenset())
    return lines is None or text in lines


def _section(path: str) -> Iterator[frozenset[str] | None]:
    """Yield the lines of a file's section; nothing where there is none."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return
    except (OSError, ValueError):
        return
    data = read(path)
    if data is None:
        yield None
        return
    try:
        if not fence.stands(data):
            return
        fenced = fence.find(data)
    except (NotWritten, BadInput):
        fenced = None
    body = data if fenced is None else fenced.body
    yield frozenset(body.decode("utf-8", "replace").split("\n"))


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
