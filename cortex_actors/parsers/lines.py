"""Bytes to lines that know where they stand in the file."""

from __future__ import annotations

import codecs
from typing import NamedTuple

from cortex_actors.errors import FileTooLarge, NotText

#: Bytes an instruction file may have; 1 MiB is six times the largest one seen in the wild.
MAX_BYTES = 1_048_576


class Line(NamedTuple):
    """One line: its text without the line end, and its byte range with it."""

    text: str
    start: int
    end: int


def lines(data: bytes, *, path: str) -> list[Line]:
    """Return the lines of a file; their byte ranges join to the whole file.

    A line ends at LF, CR LF or a bare CR, and nowhere else. Behind a final line end stands one more
    line, empty in text and bytes, so that every file has at least one. A byte order mark belongs to
    the first line's bytes and not to its text. What is no UTF-8 is read as U+FFFD: a file that was
    saved in another encoding says most of what it says in ASCII. `path` names the file in errors;
    nothing is read.

    Raises `FileTooLarge` above `MAX_BYTES` and `NotText` for NUL bytes, which text never has.
    """
    _check(data, path)
    found: list[Line] = []
    offset = 0
    # Splitting bytes knows only the three line ends; str.splitlines() knows eight more.
    for raw in data.splitlines(keepends=True):
        end = offset + len(raw)
        # Each by itself: a character that was cut off takes no line end with it.
        found.append(Line(raw.rstrip(b"\r\n").decode("utf-8", "replace"), offset, end))
        offset = end
    if not data or data.endswith((b"\n", b"\r")):
        found.append(Line("", offset, offset))
    if data.startswith(codecs.BOM_UTF8):
        found[0] = found[0]._replace(text=found[0].text.removeprefix("\ufeff"))
    return found


def _check(data: bytes, path: str) -> None:
    """Raise the typed error for bytes that are no text we take."""
    if len(data) > MAX_BYTES:
        raise FileTooLarge(
            f"cannot read {path}: it has {len(data):,} bytes and an instruction file may have "
            f"{MAX_BYTES:,}; split it"
        )
    nul = data.find(b"\0")
    if nul >= 0:
        raise NotText(f"cannot read {path} as text: byte {nul:,} is NUL; save the file as UTF-8")
