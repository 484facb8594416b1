"""Where a statement stands in each family of alternatives: what it wants there, what it forbids.

Where in a statement things are named, and whether it takes a stand on what it names.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_actors.text.lexicon import STOP_WORDS
from cortex_actors.text.polarity import Sense

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from cortex_actors.text.lexicon import Family, Lexicon, Word, Wording


#: Words after a member that make nothing else of it.
_OPEN = STOP_WORDS | frozenset(
    """
    within inside everywhere through without across like such as never exclusively directly must may
    instead rather unless via always preferred required throughout consistently whenever since
    possible either
    """.split()
)

#: Words of a statement up to which whatever it names is what it is about.
_SHORT = 7

#: Words of a clause among which a thing is named first: "Double quotes (enforced by ...)".
_FIRST = 3

#: Words between a thing and the word that chooses it.
_NEAR = 4

#: Words of a clause that says little beside what it names, and words before it at most.
_BRIEF, _EARLY = 9, 12

#: Signs around a thing that is one of a list, and signs that begin a clause.
_LISTING = frozenset({"+", "/", "&"})
_LISTED = frozenset({",", ")", "and", "or", "&"})
#: Words before a thing that are no kind of it.
_ALL = STOP_WORDS | frozenset(
    "use using always prefer name keep source code new file case kebab-case camelcase pascalcase "
    "snake_case react typescript python go all every".split()
)
_PARTS = frozenset(",.;!?()\u2014:|")
_CLAUSE = frozenset(".;!?()\u2014:|")


class Places:
    """Where in a statement things are named, and whether it chooses what is named there."""

    def __init__(self, words: Sequence[Word], lexicon: Lexicon) -> None:
        self.starts = [word.start for word in words]
        self._words = words
        cues = lexicon.cues
        self._choosing = cues["against"] | cues["towards"] | cues["contrast"] | cues["preferring"]
        self._narrowing, self._against = cues["narrowing"], cues["against"]
        self._after = cues["allowed"] | cues["forbidden"] | cues["preferring"] | cues["contrast"]
        self._contrast = cues["contrast"] | cues["towards"]
        self._aside, self._pairs = cues["aside"], cues["contrasts"]
        self._short = sum(each.is_word for each in words) <= _SHORT

    def listed(self, first: int, last: int) -> bool:
        """Whether something is named as one of several: "ruff + mypy", "npm, pnpm and yarn"."""
        before = self._words[first - 1].text if first else ""
        after = self._words[last + 1].text if last + 1 < len(self._words) else ""
        if before in _LISTING or after in _LISTING or self._heads_list(last):
            return True
        among = after in _LISTED and (before == "," or after == ",")
        return before in {",", "("} and among

    def _heads_list(self, last: int) -> bool:
        """Whether something is the first of several: "ESLint, Prettier, and Jest configs"."""
        after = [each.text for each in self._words[last + 1 : last + 4]]
        return after[:1] == [","] and after[-1] in {",", "and", "or"} and after[1:] != after[-1:]

    def words(self, first: int, last: int) -> Sequence[Word]:
        """Return the words of a place."""
        return self._words[first : last + 1]

    def chosen(self, first: int, last: int) -> bool:
        """Whether the statement takes a stand on what it names, instead of mentioning it."""
        words = self._words
        if self.listed(first, last):
            return False
        if first and words[first - 1].text in self._aside and not self._is_contrasted(first):
            return False
        before = words[max(self._since(first), first - _NEAR) : first]
        after = words[last + 1 : min(self._until(last), last + 1 + _NEAR)]
        return (
            self._short
            or any(each.text in self._choosing for each in before)
            or any(each.text in self._after for each in after)
            or self._leads(first)
        )

    def _is_contrasted(self, first: int) -> bool:
        """Whether "instead of" or its like stands before a word."""
        return " ".join(each.text for each in self._words[max(0, first - 2) : first]) in self._pairs

    def is_head(self, family: Family, last: int) -> bool:
        """Whether a member is what is spoken of, not part of the name of something else."""
        after = self._words[last + 1 : last + 5]
        for number, word in enumerate(after):
            two = " ".join(each.text for each in after[number : number + 2])
            if word.text in family.nouns or two in family.nouns or word.text == "manager":
                continue
            ends = not word.is_word or word.code > 0 or word.text[0].isdigit()
            return ends or word.text in _OPEN or word.text in self._contrast
        return True

    def central(self, first: int, last: int) -> bool:
        """Whether the clause that names something says little else, and comes first."""
        since, until = self._since(first), self._until(last)
        says = sum(
            each.is_word and each.text not in STOP_WORDS for each in self._words[since:until]
        )
        return since <= _EARLY and says <= _BRIEF

    def _since(self, number: int) -> int:
        """Return where the clause of a word begins."""
        while number and self._words[number - 1].text not in _CLAUSE:
            number -= 1
        return number

    def _until(self, number: int) -> int:
        """Return where the clause of a word ends."""
        number += 1
        while number < len(self._words) and self._words[number].text not in _CLAUSE:
            number += 1
        return number

    def near(self, needs: frozenset[str], first: int, last: int) -> str | None:
        """Return which of some things the same part of the sentence is about; None for none.

        "Style files are kebab-case" is about style; "all files" and "files" are about all, "".
        """
        begin, end = first, last + 1
        while begin and self._words[begin - 1].text not in _PARTS:
            begin -= 1
        while end < len(self._words) and self._words[end].text not in _PARTS:
            end += 1
        label = begin > 1 and self._words[begin - 1].text == ":"
        for number in range(self._since(begin - 1) if label else begin, end):
            if self._words[number].text in needs:
                before = self._words[number - 1] if number else None
                plain = before is None or not before.is_word or before.text in _ALL
                return "" if plain or first <= number - 1 <= last else before.text if before else ""
        return None

    def says(self, some: frozenset[str], first: int, last: int) -> bool:
        """Whether the clause that names something has one of some words."""
        if not some:
            return False
        clause = self._words[self._since(first) : self._until(last)]
        return any(each.text in some for each in clause)

    def narrowed(self, last: int) -> bool:
        """Whether only some of what is named is spoken of: "comments that restate the code"."""
        return last + 1 < len(self._words) and self._words[last + 1].text in self._narrowing

    def is_alternative(self, first: int) -> bool:
        """Whether something is only one of two ways: "one short line, or no comment"."""
        return first > 0 and self._words[first - 1].text == "or"

    def turned(self, first: int, last: int) -> bool:
        """Whether a word against something stands in a place."""
        return any(each.text in self._against for each in self._words[first : last + 1])

    def _leads(self, first: int) -> bool:
        """Whether something is named among the first words of its clause."""
        since = first
        while since and self._words[since - 1].text not in _CLAUSE and first - since < _FIRST:
            since -= 1
        explains = since > 0 and self._words[since - 1].text == "("
        return first - since < _FIRST and not explains


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
        # Leave out what a statement both wants and forbids, and what it wants and ties. Where
        # there is no third way, who forbids one member wants the other.
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
        # The condition of a stand is part of it.
        is_tied = senses[first] in {Sense.ONLY, Sense.BARRED}
        _take(position, name, Sense.WANTED if is_tied else senses[first])
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
