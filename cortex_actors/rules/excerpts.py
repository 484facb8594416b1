"""Excerpts: what of a section is shown around a statement that was found; what repeats it. Pure.

A statement alone is often no answer: what introduces it, the command of the line before and the
next entry of its list belong to it. An excerpt is made of the statements that the ledger has of a
section, in their order, and of what they stand under. What was kept back or taken out of a file is
no statement, and so it is in no excerpt.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from cortex_actors.domain.insight import Claim, InsightSource, Relation
from cortex_actors.rules.contradiction import apart, judge
from cortex_actors.rules.sameness import keeps, reordered
from cortex_actors.text.claims import read
from cortex_actors.text.lexicon import standard
from cortex_actors.text.statements import bare
from cortex_actors.text.terms import matches

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence


#: A fragment, and which of its statements.
Spot: TypeAlias = tuple[str, int]

#: Characters of an excerpt's statements: five of six of the 2,887 lists and paragraphs under one
#: heading in 101 real repositories have fewer, half of them 231 at most. Ten hits of this length
#: are about 1,500 tokens.
ROOM: Final = 600

#: Lines from one statement to the next of the same list or fence: one may have a comment above it.
_NEXT: Final = 2

#: What ends a part of a heading that was too long.
_CUT: Final = "\u2026"


class Standing(NamedTuple):
    """A statement: where it stands, and what it says there."""

    place: InsightSource
    text: str

    @property
    def path(self) -> list[str]:
        """What it stands under, outermost first."""
        return self.place.heading.split(" > ") if self.place.heading else []


def around(
    section: Sequence[Standing], spot: Spot, *, taken: Container[Spot] = ()
) -> Sequence[Standing]:
    """Return a statement with those around it that belong to it, in their order.

    `section` holds the statements of its fragment in their order; nothing where it lacks the spot.
    What is nearer comes first, while there is room. What is `taken` is shown elsewhere and ends the
    excerpt.
    """
    at = next((number for number, each in enumerate(section) if each.place.spot == spot), -1)
    if at < 0:
        return ()
    room, ends, sides = ROOM - len(section[at].text), {-1: at, 1: at}, {-1, 1}
    while sides:
        side = min(sides, key=lambda each: (abs(ends[each] - at), each))
        number = ends[side] + side
        other = section[number] if 0 <= number < len(section) else None
        if (
            other is None
            or other.place.spot in taken
            or len(other.text) > room
            or not _belongs(section[at], other, edge=section[ends[side]].place)
        ):
            sides.remove(side)
        else:
            ends[side], room = number, room - len(other.text)
    return section[ends[-1] : ends[1] + 1]


def _belongs(own: Standing, other: Standing, *, edge: InsightSource) -> bool:
    """Tell whether another statement is shown: under the same, or directly beside what is shown."""
    place, shared = other.place, _shared(own.path, other.path)
    gap = max(place.line_start - edge.line_end, edge.line_start - place.line_end)
    return shared in (own.path, other.path) or gap <= _NEXT


def _shared(*paths: Sequence[str]) -> list[str]:
    """Return what paths have in common, from the outermost part on."""
    parts = zip(*paths, strict=False)
    return [each[0] for each in takewhile(lambda some: len(set(some)) == 1, parts)]


def excerpt(
    some: Sequence[Standing], found: Mapping[Spot, str], *, question: str
) -> dict[str, Any]:
    """Return an excerpt as plain JSON values.

    `heading` is what stands above all of it, `marks` where the found statements are (by id: their
    lines in the file, their characters in `text` from `start` up to `end`), `words` the characters
    of the words that the question has, too. An innermost heading is a line of the text: it may be
    the sentence that introduces a list.
    """
    shared = _shared(*(each.path for each in some))
    above = shared[:-1] or shared
    text, marks, before, said = "", [], above, ""
    for place, what in some:
        path = Standing(place, what).path
        for level in range(max(len(_shared(before, path)), len(above)), len(path)):
            # The item that a list is nested in is a statement, too, and stands there already.
            if not said.startswith(path[level].rstrip(_CUT)):
                text += f"{'  ' * (level - len(above))}{path[level]}:\n"
        text += "  " * (len(path) - len(above))
        if name := found.get(place.spot):
            lines = {"line_start": place.line_start, "line_end": place.line_end}
            marks.append({"id": name, "start": len(text), "end": len(text) + len(what), **lines})
        text, before, said = f"{text}{what}\n", path, bare(what)
    return {
        "heading": " > ".join(above),
        "text": text.rstrip("\n"),
        "line_start": some[0].place.line_start,
        "line_end": max(each.place.line_end for each in some),
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
