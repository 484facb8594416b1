"""The lines of a paragraph as texts: joined where they were wrapped, apart where they were not.

Markdown joins all lines of a paragraph. People who write rules for agents often do not: they end a
line where a rule ends, and begin the next one with the next.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Characters up to which a line may be wrapped, as far as the other lines do not tell.
_WIDTH = 60

#: Characters that no line has: where none was wrapped, there was always room for a word.
_UNWRAPPED = 1 << 30

#: Share of the width that an unfinished line fills at least when it was wrapped.
_FILLED = 0.66

#: How a text ends that is finished.
_ENDS = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f\uff1a][\"'\u201d\u2019)\]*_`]{0,3}$")

#: How a line begins that is a thing of its own: a label in bold type, or a sign in place of a
#: list marker.
_BEGINS = re.compile(
    r"\*\*[^*]{1,80}\*\*|[\u2022\u2013\u2014\u2705\u274c\u26a0\u2713\u2717]|@[\w./~-]+\.mdc?$"
)

#: Words by which a line begins another rule, in small letters, too.
_RULES = re.compile(r"(?:never|always|avoid|do not|don['\u2019]?t|prefer|use|make sure)\b")

_BOX = re.compile(r"\[[ xX]\][ \t]+")


class Run(NamedTuple):
    """A text, and the numbers of its first and last line in the paragraph, from 0."""

    first: int
    last: int
    text: str


def runs(lines: Sequence[str], *, broken: bool = True) -> Iterator[Run]:
    """Yield the texts that a paragraph's lines are; all of it as one unless it may be `broken`."""
    if not lines:
        return
    # Where every line ends a sentence, none was wrapped.
    each = all(_ends(line.rstrip()) for line in lines)
    width = _UNWRAPPED if each else max(_WIDTH, *(len(line.rstrip()) for line in lines))
    first = 0
    for number in range(1, len(lines) + 1):
        if number == len(lines) or (broken and _breaks(lines[number - 1], lines[number], width)):
            text = one_line(lines[first:number])
            if text:
                yield Run(first, number - 1, text)
            first = number


def one_line(lines: Sequence[str]) -> str:
    """Return a text on one line, without comments and the box of a task."""
    parts = (_hard(line) for line in lines)
    text = " ".join(_without_comments(" ".join(parts)).split())
    return _BOX.sub("", text, count=1) if text.startswith("[") else text


def spread(lines: Sequence[str], pieces: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield for each piece of a text the numbers of its first and last line, given the text's.

    What is no space is counted, for that is the same in both. Where it is not, because a comment
    was left out, each piece stands on all lines.
    """
    ends = list(accumulate(_signs(line) for line in lines))
    sizes = list(accumulate(_signs(piece) for piece in pieces))
    if ends[-1] != sizes[-1]:
        yield from ((0, len(lines) - 1) for _ in pieces)
        return
    begin = 0
    for size in sizes:
        yield bisect_right(ends, begin), bisect_right(ends, max(begin, size - 1))
        begin = size


def _signs(text: str) -> int:
    """Return how many characters of a text are no white space."""
    return sum(map(len, text.split()))


def _breaks(line: str, following: str, width: int) -> bool:
    """Whether a line ends where its author wanted it to."""
    text = line.rstrip()
    if line.endswith("  ") or _hard(text) != text or _BEGINS.match(following):
        return True
    # A line that was wrapped had no room for the next word.
    need = len(text) + 1 + len(following.split(maxsplit=1)[0] if following.split() else "")
    if _ends(text):
        return need <= width
    begins = not following[:1].islower() or _RULES.match(following) is not None
    return begins and need <= width * _FILLED


def _ends(text: str) -> bool:
    """Whether a text ends a sentence."""
    return _ENDS.search(text, max(0, len(text) - 5)) is not None


def _hard(line: str) -> str:
    """Return a line without the sign that breaks it."""
    text = line.rstrip()
    for sign in ("\\", "<br>", "<br/>", "<br />"):
        text = text.removesuffix(sign)
    return text


def _without_comments(text: str) -> str:
    """Return a text without its HTML comments; linear, which a pattern is not."""
    kept: list[str] = []
    begin = 0
    while (opens := text.find("<!--", begin)) >= 0:
        closes = text.find("-->", opens)
        if closes < 0:
            break
        kept.append(text[begin:opens])
        begin = closes + len("-->")
    return "".join([*kept, text[begin:]])
