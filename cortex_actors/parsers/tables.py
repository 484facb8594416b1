"""A table's rows as what they say: one sentence each, with the names of the columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Rows of a table that a person keeps; one of more is data, or was generated.
MOST_ROWS = 40

#: Share of a table's cells, the first column left out, that have words; below it is figures.
_WORDED = 0.5

#: Columns of a table whose first may name what the second explains, and what the second is called
#: then.
_PAIR = 2
_EXPLAINS = re.compile(
    r"\W*(?:descriptions?|purpose|notes?|meaning|details?|usage|use|uses?|what.*|role|contents?"
    r"|rules?|conventions?|responsibilit.*|explanation|about|summary|value|does|function|)\W*",
    re.IGNORECASE,
)

_PIPE = re.compile(r"(?<!\\)\|")

#: A word, in letters that have words of one sign, too.
_WORD = re.compile(r"[^\W\d_]{3}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

#: Lines that draw a tree of folders.
_TREE = re.compile(r"[\u2500-\u257f]")

#: Heads of a table that lists what happened, and not what holds.
_HISTORY = re.compile(r"(?:date|version|when|release|#|no\.?)", re.IGNORECASE)

#: Heads that say whether what stands below them is wanted.
_POLAR = re.compile(
    r"\W*(?:do|don['\u2019]?ts?|do not|good|bad|right|wrong|correct|incorrect|avoid|never|always"
    r"|instead(?: of)?|use|prefer(?:red)?|yes|no)\b|\W*[\u2705\u274c\u2713\u2717]",
    re.IGNORECASE,
)


def rows(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of each row's line, from 0 at the head, and what the row says.

    `lines` are the head, the line below it and the rows. Nothing for what is no person's word:
    figures, histories, trees of folders, and tables longer than anybody keeps by hand.
    """
    head, body = _cells(lines[0]), [_cells(line) for line in lines[2:]]
    if not body or len(body) > MOST_ROWS or _is_data(head, body):
        return
    polar = any(_POLAR.match(name) for name in head)
    for number, cells in enumerate(body, start=2):
        if text := _said(head, cells, polar=polar):
            yield number, " ".join(text.split())


def _cells(line: str) -> list[str]:
    """Return a row's cells, without the pipes around the row."""
    text = line.strip().removeprefix("|")
    text = text.removesuffix("|") if not text.endswith("\\|") else text
    return [cell.replace("\\|", "|").strip() for cell in _PIPE.split(text)]


def _is_data(head: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether a table says nothing that anybody would say in a sentence."""
    if _HISTORY.fullmatch(head[0].strip("*_ ")) is not None:
        return True
    if any(_TREE.search(row[0]) for row in body):
        return True
    cells = [cell for row in body for cell in row[1:] if cell]
    worded = sum(_WORD.search(cell) is not None for cell in cells)
    return not cells or worded < len(cells) * _WORDED


def _said(head: Sequence[str], cells: Sequence[str], *, polar: bool) -> str:
    """Return what a row says; empty for one that has only a name."""
    first, rest = cells[0], cells[1:]
    if not any(rest):
        return ""
    if polar:
        return "; ".join(
            _named(name, cell) for name, cell in zip(head, cells, strict=False) if cell
        )
    if len(cells) == _PAIR and _EXPLAINS.fullmatch(head[-1]):
        return f"{first}: {rest[0]}" if first else rest[0]
    said = "; ".join(_named(name, cell) for name, cell in zip(head[1:], rest, strict=False) if cell)
    return f"{first} - {said}" if first else said


def _named(name: str, cell: str) -> str:
    """Return a cell with the name of its column."""
    return f"{name}: {cell}" if name else cell
