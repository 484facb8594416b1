"""Where a statement stands in each family of alternatives: what it wants there, what it forbids.

A statement takes a stand where an early clause that says little else names a member. One that is
run, as in `npm ci`, or named after "if", is only mentioned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_actors.text.lexicon import STOP_WORDS
from cortex_actors.text.polarity import Sense

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_actors.text.lexicon import Family, Lexicon, Member, Word, Wording


#: Words of a clause that says little beside what it names, and words before it at most.
_BRIEF, _EARLY = 9, 12

#: What ends a clause.
_CLAUSE = frozenset(".;!?()\u2014:|")


@dataclass(slots=True)
class Position:
    """Where one statement stands in one family.

    Attributes:
        wanted, forbidden: names of members, by what the statement does with them.
        words: stems by which it names them.

    """

    family: Family
    wanted: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)

    @property
    def choice(self) -> frozenset[str]:
        """What it wants; empty where it wants several."""
        return frozenset(self.wanted if len(self.wanted) == 1 else ())


def positions(
    said: Wording, senses: Sequence[Sense], *, around: str, lexicon: Lexicon
) -> dict[str, Position]:
    """Return slot -> where a statement stands there; `around` is what stands above it."""
    found: dict[str, Position] = {}
    texts: set[str] = set()
    for first, last, member in _mentions(said.words, lexicon):
        texts = texts or {each.text for each in said.words} | {*around.lower().split()}
        family, sense = member.family, senses[last]
        if not family.unless.isdisjoint(texts) or (family.needs and family.needs.isdisjoint(texts)):
            continue
        if sense in {Sense.BESIDE, Sense.ONLY} or not _is_central(said.words, first, last):
            continue
        if first and said.words[first - 1].text in lexicon.cues["aside"]:
            continue
        position = found.setdefault(family.slot, Position(family))
        (position.wanted if sense is Sense.WANTED else position.forbidden).add(member.name)
        position.words.update(each.stem for each in said.words[first : last + 1])
    for each in found.values():
        # What a statement both wants and forbids is left out.
        both = each.wanted & each.forbidden
        each.wanted -= both
        each.forbidden -= both
    return {slot: each for slot, each in found.items() if each.wanted or each.forbidden}


def _mentions(words: Sequence[Word], lexicon: Lexicon) -> Iterator[tuple[int, int, Member]]:
    """Yield the first and last word of each place where a member is named."""
    number = 0
    while number < len(words):
        for member in lexicon.members.get(words[number].stem, ()):
            end = number + len(member.stems)
            if tuple(each.stem for each in words[number:end]) == member.stems:
                if not _is_run(words, end - 1):
                    yield number, end - 1, member
                number = end - 1
                break
        number += 1


def _is_run(words: Sequence[Word], last: int) -> bool:
    """Whether a word in backticks is followed by more of its code: `pnpm build`."""
    after = words[last + 1 : last + 2]
    return bool(after) and after[0].code == words[last].code > 0


def _is_central(words: Sequence[Word], first: int, last: int) -> bool:
    """Whether the clause that names something says little else, and comes early."""
    since, until = first, last + 1
    while since and words[since - 1].text not in _CLAUSE:
        since -= 1
    while until < len(words) and words[until].text not in _CLAUSE:
        until += 1
    says = sum(each.is_word and each.text not in STOP_WORDS for each in words[since:until])
    return since <= _EARLY and says <= _BRIEF
