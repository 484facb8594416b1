"""Excerpts: what of a section is shown around a statement that was found; what repeats it. Pure.

A statement alone is often no answer: what introduces it, the command of the line before and the
next entry of its list belong to it. An excerpt is made of the statements that the ledger has of a
section, in their order, and of what they stand under. What was kept back or taken out of a file is
no statement, and so it is in no excerpt.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cortex_actors.domain.insight import Relation
from cortex_actors.rules.contradiction import apart, judge
from cortex_actors.rules.sameness import keeps, reordered
from cortex_actors.text.claims import read
from cortex_actors.text.lexicon import standard
from cortex_actors.text.statements import bare
from cortex_actors.text.terms import matches

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from cortex_actors.domain.insight import Claim


#: A fragment, and which of its statements.
Spot: TypeAlias = tuple[str, int]

#: Characters of an excerpt's statements: five of six of the 2,887 lists and paragraphs under one
#: heading in 101 real repositories have fewer, half of them 231 at most. Ten hits of this length
#: are about 1,500 tokens.
ROOM: Final = 600

#: Statements before and behind the found one that are looked at.
REACH: Final = 12

#: Lines from one statement to the next of the same list or fence: one may have a comment above it.
_NEXT: Final = 2

#: What stands between the parts of a heading.
_PART: Final = " > "

#: What ends a part that was too long.
_CUT: Final = "\u2026"


@dataclass(frozen=True, slots=True)
class Standing:
    """A statement where it stands: lines counted from 1, what it stands under outermost first."""

    spot: Spot
    heading: str
    line_start: int
    line_end: int
    text: str

    @property
    def path(self) -> tuple[str, ...]:
        """The parts of what it stands under."""
        return tuple(self.heading.split(_PART)) if self.heading else ()


def around(
    section: Sequence[Standing], spot: Spot, *, taken: Container[Spot] = ()
) -> tuple[Standing, ...]:
    """Return a statement with those around it that belong to it, in their order.

    `section` holds the statements of its fragment in their order; nothing where it lacks the spot.
    What stands under the same heading is preferred, then what is nearer. What is `taken` is shown
    elsewhere and ends the excerpt.
    """
    at = next((number for number, each in enumerate(section) if each.spot == spot), -1)
    if at < 0:
        return ()
    own, left = section[at], ROOM - len(section[at].text)
    ends, open_sides = {-1: at, 1: at}, {-1, 1}
    while open_sides:
        options = []
        for side in sorted(open_sides):
            number = ends[side] + side
            other = section[number] if 0 <= number < len(section) else None
            if (
                other is None
                or other.spot in taken
                or abs(number - at) > REACH
                or len(other.text) > left
                or not _belongs(own, other, section[ends[side]])
            ):
                open_sides.discard(side)
            else:
                options.append((other.heading != own.heading, abs(number - at), side))
        if options:
            *_, side = min(options)
            ends[side] += side
            left -= len(section[ends[side]].text)
    return tuple(section[ends[-1] : ends[1] + 1])


def _belongs(own: Standing, other: Standing, edge: Standing) -> bool:
    """Tell whether another statement is shown: under the same, or directly beside what is shown."""
    shared = _shared(own.path, other.path)
    gap = max(other.line_start - edge.line_end, edge.line_start - other.line_end)
    return shared == min(len(own.path), len(other.path)) or gap <= _NEXT


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many parts two paths have in common, from the outermost on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def excerpt(
    some: Sequence[Standing], found: Mapping[Spot, str], *, question: str
) -> dict[str, Any] | None:
    """Return an excerpt as plain JSON values; None where there is nothing around one statement.

    `heading` is what stands above all of it, `marks` where the found statements are (by id: their
    lines in the file, their characters in `text` from `start` up to `end`), `words` the characters
    of the words that the question has, too. An innermost heading is a line of the text: it may be
    the sentence that introduces a list.
    """
    shared = some[0].path[: min(_shared(some[0].path, each.path) for each in some)]
    above = shared[:-1] if len(shared) > 1 else shared
    lines: list[str] = []
    marks: list[dict[str, Any]] = []
    before, length, said = above, 0, ""
    for each in some:
        for level in range(max(_shared(before, each.path), len(above)), len(each.path)):
            part = each.path[level]
            # The item that a list is nested in is a statement, too, and stands there already.
            if not said.startswith(part.rstrip(_CUT)):
                lines.append(f"{'  ' * (level - len(above))}{part}:")
                length += len(lines[-1]) + 1
        indent = "  " * (len(each.path) - len(above))
        lines.append(f"{indent}{each.text}")
        start, length = length + len(indent), length + len(lines[-1]) + 1
        before, said = each.path, bare(each.text)
        if each.spot in found:
            place = {"line_start": each.line_start, "line_end": each.line_end}
            mark = {"id": found[each.spot], "start": start, "end": length - 1}
            marks.append({**mark, **place})
    if len(lines) == 1:
        return None
    text = "\n".join(lines)
    return {
        "heading": _PART.join(above),
        "text": text,
        "line_start": min(each.line_start for each in some),
        "line_end": max(each.line_end for each in some),
        "marks": marks,
        "words": [list(each) for each in matches(text, question)],
    }


def repeats(shown: Claim, other: Claim) -> bool:
    """Tell whether a statement says nothing but what a shown one says; order matters.

    The same text, the same claim in other words, a part of what the shown one claims, or the same
    command with another remark. Of 4,730 pairs of neighbours in 101 real repositories that were not
    the same text 12 were found, and all of them rightly.
    """
    found = judge(shown, other, cosine=None)
    if found.relation in {Relation.SAME, Relation.CONTRADICTION}:
        return found.relation is Relation.SAME
    one, another = (read(each, standard()) for each in (shown, other))
    if one.foreign or apart(one, another) is not None:
        return False
    if one.command:
        return one.command == another.command
    return keeps(one, another) and reordered(shown.text, other.text) is None
