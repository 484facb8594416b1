"""Headings: which lines are one, and what a line stands under."""

from __future__ import annotations

import re
from typing import NamedTuple

#: A heading of any level at the very start of a line.
_ATX = re.compile(r"(#{1,6})(?=[ \t])")

#: A title that only repeats the name of the file.
_FILE_NAME = re.compile(r"[`*_]{0,3}[\w./-]{1,60}\.mdc?[`*_]{0,3}")


#: The line below a heading without hashes; one sign is a typing error.
UNDERLINE = re.compile(r"(?:={2,}|-{2,})[ \t]*")

#: Characters of a heading without hashes: longer text above a rule was meant as text.
_TITLE = 80


class Heading(NamedTuple):
    """A heading line's level, from 1, and its text."""

    level: int
    text: str


def heading(line: str) -> Heading | None:
    """Return the heading that a line is, its text without a closing run of `#`, else None."""
    found = _ATX.match(line)
    if found is None:
        return None
    rest = line[found.end() :].strip()
    bare = rest.rstrip("#")
    closed = not bare or bare[-1] in " \t"
    return Heading(len(found[1]), bare.rstrip() if closed else rest)


def underlined(line: str, underline: str) -> Heading | None:
    """Return the heading that a paragraph of one line is, given the line below it, else None."""
    title = len(line) <= _TITLE and not line.rstrip().endswith((".", ":"))
    if not title or UNDERLINE.fullmatch(underline) is None:
        return None
    return Heading(1 if underline.startswith("=") else 2, line.strip())


class Trail:
    """The headings that a reader stands under; each ends those of its level and below."""

    def __init__(self, above: tuple[str, ...] = (), *, level: int = 0) -> None:
        """Stand under some headings, the innermost of that level."""
        start = level - len(above) + 1
        self._open = [Heading(start + number, text) for number, text in enumerate(above)]

    def enter(self, found: Heading) -> None:
        """Come to a heading."""
        while self._open and self._open[-1].level >= found.level:
            self._open.pop()
        self._open.append(found)

    @property
    def texts(self) -> tuple[str, ...]:
        """The headings, outermost first, without those that say nothing of what is below them."""
        return tuple(
            each.text for each in self._open if each.text and not _FILE_NAME.fullmatch(each.text)
        )

    def above(self, level: int) -> tuple[str, ...]:
        """Return the texts of the headings above a level."""
        return tuple(
            each.text
            for each in self._open
            if each.level < level and each.text and not _FILE_NAME.fullmatch(each.text)
        )
