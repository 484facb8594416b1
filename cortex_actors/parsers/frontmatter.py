"""The metadata on top of a file: how far it reaches, which files the rest is for, its tags.

Only a few keys matter, and their values are often no YAML (`globs: *.ts` is an alias there), so
that a YAML library would refuse half of the files that name globs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Keys that hold globs, as Cursor, Copilot and Claude Code call them.
_GLOBS = frozenset({"globs", "applyto", "paths"})

#: Keys that hold what a document is filed under.
_TAGS = frozenset({"tags", "tag", "keywords"})

#: Globs of one file, and characters of a line of them; a person writes fewer.
_MOST, _LONGEST = 64, 4_000

_KEY = re.compile(r"[\w\"'][\w .\"'-]*:(?:\s|$)")
_ENTRY = re.compile(r"([\w-]+):(.*)")
_ITEM = re.compile(r"\s*-\s+(.*)")

#: A comma between two globs; one in braces is a part of its glob.
_BETWEEN = re.compile(r",(?![^{}]*\})")


def length(texts: Sequence[str]) -> int:
    """Return how many lines are front matter, from the top.

    A rule `---` on the first line is not front matter: that is closed, and its first entry is a
    YAML key.
    """
    if texts[0].rstrip() != "---":
        return 0
    has_key = False
    for number, line in enumerate(texts[1:], start=1):
        text = line.rstrip()
        if text in {"---", "..."}:
            return number + 1 if has_key or number == 1 else 0
        if not has_key and text and not text.startswith("#"):
            if not _KEY.match(text):
                return 0
            has_key = True
    return 0


def globs(content: str) -> tuple[str, ...]:
    """Return the globs of the files that a file's text is for, given its front matter.

    Empty when it is for all files: none is named, or `**` and its like are.
    """
    found = tuple(dict.fromkeys(_named(content.split("\n"), _GLOBS)))[:_MOST]
    return () if any(each in {"*", "**", "**/*"} for each in found) else found


def tags(content: str) -> tuple[str, ...]:
    """Return the tags that a front matter gives its file, each once, as they are written."""
    found = dict.fromkeys(each.lstrip("#") for each in _named(content.split("\n"), _TAGS))
    return tuple(each for each in found if each)[:_MOST]


def _named(lines: Sequence[str], keys: frozenset[str]) -> Iterator[str]:
    """Yield the values of some keys as they are written, without quotation marks."""
    listed = False
    for line in lines:
        entry, item = _ENTRY.match(line), _ITEM.match(line)
        if entry is not None:
            listed = entry[1].lower() in keys
            values = entry[2] if listed else ""
        else:
            values = item[1] if item is not None and listed else ""
        values = values[:_LONGEST].strip().removeprefix("[").removesuffix("]")
        for value in _BETWEEN.split(values):
            glob = value.strip().strip("\"'")
            if glob:
                yield glob
