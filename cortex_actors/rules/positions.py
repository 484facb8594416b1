"""Where a statement stands in each family of alternatives: what it wants there, what it forbids."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_actors.rules.places import Places
from cortex_actors.rules.polarity import Sense

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from cortex_actors.rules.lexicon import Family, Lexicon
    from cortex_actors.rules.wording import Word, Wording

#: Words before a command that make it a choice.
_CHOOSING = frozenset({"use", "uses", "using", "prefer", "with", "via"})


@dataclass(slots=True)
class Position:
    """Where one statement stands in one family.

    Attributes:
        wanted, forbidden, tied: names of members, by what the statement does with them.
        stated: members it speaks of; the others it only mentions, as in a command.
        implied: members it chooses only by running them.
        words: stems by which it names them.
        listed: whether one is named among others, as in "npm, pnpm and yarn".
        thing: which of what is named it is about, "style" of "style files"; empty for all.
        central: whether a clause that names one says little else, and comes early.

    """

    family: Family
    wanted: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)
    tied: set[str] = field(default_factory=set)
    stated: set[str] = field(default_factory=set)
    implied: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    central: bool = False
    thing: str = ""
    listed: bool = False

    def note(self, place: Places, first: int, last: int) -> None:
        """Note where a member is named."""
        self.central = self.central or place.central(first, last)
        self.words.update(each.stem for each in place.words(first, last))

    @property
    def speaks(self) -> bool:
        """Whether the statement takes a stand here."""
        return bool(self.stated & (self.wanted | self.forbidden | self.tied))

    @property
    def choice(self) -> frozenset[str]:
        """What it speaks of and wants; empty where it wants several that exclude each other."""
        found = self.stated & self.wanted
        alone = len(found) == 1 and not (self.listed and len(self.wanted) > 1)
        sole = alone or self.forbidden or self.family.compatible
        return frozenset(found if sole else ())

    def excludes(self, one: frozenset[str], other: frozenset[str]) -> bool:
        """Whether two choices of this family cannot both be followed."""
        if not one or not other or one & other:
            return False
        pairs = (frozenset((a, b)) for a in one for b in other)
        return any(pair not in self.family.compatible for pair in pairs)


def positions(
    said: Wording, senses: Sequence[Sense], *, around: str, lexicon: Lexicon
) -> dict[str, Position]:
    """Return slot -> where a statement stands there; `around` is what stands above it."""
    found: dict[str, Position] = {}
    place = Places(said.words, lexicon)
    above = around.lower()
    for family in lexicon.families:
        if not any(map(said.plain.__contains__, family.anchors)):
            continue
        if family.needs and not _has(family.needs, said, above):
            continue
        position = _position(family, said, senses, place)
        _clear(position)
        if position.wanted or position.forbidden or position.tied:
            found[family.slot] = position
    return found


def _has(needs: frozenset[str], said: Wording, around: str) -> bool:
    """Whether a word that a family needs stands in a text or above it."""
    return any(word.text in needs or word.stem in needs for word in said.words) or any(
        word in needs for word in around.replace("-", " ").split()
    )


def _mentions(
    pattern: re.Pattern[str] | None, said: Wording, starts: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield the first and last word of each place where a pattern is found."""
    if pattern is None:
        return
    for match in pattern.finditer(said.plain):
        first = bisect_right(starts, match.start() + 1) - 1
        last = bisect_left(starts, match.end()) - 1
        if 0 <= first <= last:
            yield first, last


def _position(family: Family, said: Wording, senses: Sequence[Sense], place: Places) -> Position:
    """Return where a statement stands in one family."""
    position = Position(family)
    own = family.near and _has(family.needs, said, "")
    for member in family.members:
        for first, last in _mentions(member.names, said, place.starts):
            thing = place.near(family.needs, first, last) if own else ""
            if thing is None or place.says(family.unless, first, last):
                continue
            position.thing = thing
            where = (first, last)
            _name(position, member.name, said.words, where, senses=senses, place=place)
    for name, first, last in _stands(family, said, place.starts):
        if place.is_alternative(first) or (place.narrowed(last) and place.turned(first, last)):
            continue
        position.stated.add(name)
        position.note(place, first, last)
        _take(position, name, _free(senses[first]))
    return position


def _name(
    position: Position,
    name: str,
    words: Sequence[Word],
    where: tuple[int, int],
    *,
    senses: Sequence[Sense],
    place: Places,
) -> None:
    """Note one place where a member is named, and whether it is chosen there."""
    family, (first, last) = position.family, where
    if _is_command(words, first):
        if not family.commands:
            return
        if _is_chosen(words, first):
            position.implied.add(name)
    elif (family.phrases and last > first) or (
        place.is_head(family, last) and place.chosen(first, last)
    ):
        position.stated.add(name)
    position.listed = position.listed or place.listed(first, last)
    banned = senses[last] is Sense.AGAINST and place.narrowed(last)
    _take(position, name, Sense.ONLY if banned else senses[last])
    position.note(place, first, last)


def _stands(family: Family, said: Wording, starts: Sequence[int]) -> Iterator[tuple[str, int, int]]:
    """Yield stands and where they begin; one inside a longer one of another member is none.

    "Never push without asking" holds "without asking", and says the opposite.
    """
    found = [
        (first, last, member.name)
        for member in family.members
        for first, last in _mentions(member.stands, said, starts)
    ]
    for first, last, name in found:
        longer = any(
            other != name and begin <= first and last <= end and end - begin > last - first
            for begin, end, other in found
        )
        if not longer:
            yield name, first, last


def _take(position: Position, name: str, sense: Sense) -> None:
    """Note what a statement does with a member at one place."""
    if sense is Sense.WANTED:
        position.wanted.add(name)
    elif sense in {Sense.AGAINST, Sense.BARRED}:
        position.forbidden.add(name)
    elif sense is Sense.ONLY:
        position.tied.add(name)


def _free(sense: Sense) -> Sense:
    """Return the sense of a stand: its condition is part of it."""
    return Sense.WANTED if sense in {Sense.ONLY, Sense.BARRED} else sense


def _is_command(words: Sequence[Word], first: int) -> bool:
    """Whether a word in backticks is followed by more of its code: `pnpm build`."""
    if first + 1 >= len(words) or not words[first + 1].is_word:
        return False
    return words[first].code == words[first + 1].code > 0


def _is_chosen(words: Sequence[Word], first: int) -> bool:
    """Whether a command is what a statement says to use: "use `npm ci`", "`uv sync` not pip"."""
    before = first - 1
    while before >= 0 and words[before].code == words[first].code:
        before -= 1
    return before >= 0 and words[before].text in _CHOOSING


def _clear(position: Position) -> None:
    """Leave out what a statement both wants and forbids, and what it wants and ties.

    Where there is no third way, who forbids one member wants the other.
    """
    both = position.wanted & position.forbidden
    position.wanted -= both
    position.forbidden -= both
    position.tied -= position.wanted | position.forbidden
    names = {member.name for member in position.family.members}
    if position.family.closed and position.forbidden and not position.wanted:
        others = names - position.forbidden
        position.wanted |= others
        if position.forbidden & position.stated:
            position.stated |= others
