"""What one statement forbids and the other wants, and single values in which they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Conflict
from cortex_actors.rules.alignment import Difference, align
from cortex_actors.rules.clash import Clash
from cortex_actors.text import claims
from cortex_actors.text.lexicon import STOP_WORDS, stem
from cortex_actors.text.polarity import Sense

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cortex_actors.rules.alignment import Change
    from cortex_actors.text.claims import Part, Reading
    from cortex_actors.text.lexicon import Lexicon

#: Cosine from which a single value that differs counts, and words that are the same at least.
ALIKE, FEWEST = 0.5, 2

#: Cosine from which a prohibition of what the other wants counts.
DENIED = 0.5

#: Share of what a prohibition's words weigh that the other statement must want.
COVERED = 0.75

#: Words of a prohibition that is said in one breath; the other statement may have twice as many.
LONG = 7

#: Words that two statements have at most which are about the one word they share.
BRIEF = 5

#: Share of the shorter statement's words that the other one has, where they differ in a switch, in
#: the order or in an amount alone; and the cosine from which a word of its own may be on each side.
SHARED, SURE = 0.5, 0.65


def differences(left: Reading, right: Reading, *, lexicon: Lexicon) -> Iterator[Clash]:
    """Yield single values, switches, orders and amounts in which two statements differ."""
    yield from _changes(left, right, lexicon)
    if not _about_one(left, right) or _apart(left, right, lexicon):
        return
    if None not in {left.switched, right.switched} and left.switched is not right.switched:
        yield Clash("one says on, the other off", Conflict.DIRECT, ALIKE, 0.7)
    if left.order * right.order < 0:
        yield Clash("one says before, the other after", Conflict.DIRECT, ALIKE, 0.6)
    for thing in sorted(left.amounts.keys() & right.amounts.keys()):
        if left.amounts[thing] != right.amounts[thing]:
            yield Clash(f"they count {thing} differently", Conflict.DIRECT, ALIKE, 0.6)


def _about_one(left: Reading, right: Reading) -> bool:
    """Whether two statements are about one thing, by their words."""
    one, other = left.stems.keys(), right.stems.keys()
    both = len(one & other)
    return both > 1 and both >= SHARED * min(len(one), len(other))


def _apart(left: Reading, right: Reading, lexicon: Lexicon) -> bool:
    """Whether each has a word of its own that may be what it speaks of."""
    switches = {stem(word) for word in lexicon.cues["yes"] | lexicon.cues["no"]}
    one, other = (
        {each for each in some.stems if not claims.counts(each) and each not in switches}
        for some in (left, right)
    )
    words, others = ({each.text for each in some.wording.words} for some in (left, right))
    told = any(
        lexicon.distinct.get(each, frozenset())
        & (others - words) - lexicon.antonyms.get(each, set())
        for each in words - others
    )
    return told or (bool(one - other) and bool(other - one))


def _changes(left: Reading, right: Reading, lexicon: Lexicon) -> Iterator[Clash]:
    """Yield the single place where two statements that are else the same differ in a value."""
    found = align(left, right, lexicon=lexicon)
    if not found.is_close or found.shared < FEWEST or left.foreign or right.foreign:
        return
    values = [each for each in found.changes if _is_value(each)]
    if not values or any(_speaks_of(each) for each in found.changes if each not in values):
        return
    confidence = 0.8 if found.ratio >= SURE else 0.6
    yield Clash(_pair(values[0]), Conflict.DIRECT, ALIKE, confidence)


def _speaks_of(change: Change) -> bool:
    """Whether two statements that are else alike speak of different things there."""
    telling = [
        sum(each not in STOP_WORDS for each in words.split())
        for words in (change.left, change.right)
    ]
    named = change.kind is not Difference.WORDS
    return all(telling) or max(telling) > FEWEST or (any(telling) and named)


def _pair(change: Change) -> str:
    """Return what differs, the same way round whichever statement comes first."""
    return " against ".join(sorted((change.left, change.right)))


def _is_value(change: Change) -> bool:
    """Whether what differs is a value: a number, a switch, or another tool for one command.

    Names, paths and identifiers are none: they are what rows of a table and entries of a list
    differ in.
    """
    one, other = change.left.split(), change.right.split()
    if change.kind in {Difference.SWITCH, Difference.OPPOSITE}:
        return True
    if change.kind is Difference.NUMBER:
        return len(one) == len(other) == 1
    named = change.kind in {Difference.NAME, Difference.PLACE}
    return named and change.tool and max(len(one), len(other)) <= FEWEST


def denials(left: Reading, right: Reading) -> Iterator[Clash]:
    """Yield what one statement forbids and the other wants."""
    if _agree(left, right):
        return
    for one, other in ((left, right), (right, left)):
        for part in one.parts:
            barred = part.sense is Sense.BARRED and other.universal and not other.excepting
            if part.sense is not Sense.AGAINST and not barred:
                continue
            found = _wants(part, one, other)
            if found:
                reason = f"one forbids what the other wants: {found}"
                kind = Conflict.PARTIAL if barred else Conflict.DIRECT
                yield Clash(reason, kind, ALIKE if barred else DENIED, 0.6)


def _agree(left: Reading, right: Reading) -> bool:
    """Whether two statements want the same in a family: a denial beside it is of something else."""
    return any(
        left.positions[slot].choice & right.positions[slot].wanted
        or left.positions[slot].wanted & right.positions[slot].choice
        for slot in left.positions.keys() & right.positions.keys()
    )


def _wants(part: Part, one: Reading, other: Reading) -> str | None:
    """Return what a part forbids and another statement wants, or None."""
    denied = [each for each in dict.fromkeys(part.stems) if one.stems.get(each) is part.sense]
    if not denied or not part.manner <= other.stems.keys():
        return None
    if not part.orders or len(part.stems) > LONG or len(other.stems) > 2 * LONG:
        return None
    for number, there in enumerate(other.parts):
        near = {each for some in other.parts[number : number + 2] for each in some.stems}
        every = [each for each in dict.fromkeys(part.stems) if each in near]
        if there.sense is not Sense.WANTED or there.purpose or not there.opens:
            continue
        if denied[0] != there.stems[0] and not (
            denied[0] in there.stems and denied[0] in part.names
        ):
            continue
        if len(every) > 1 and _weight(every, part) >= COVERED * _weight(
            dict.fromkeys(part.stems), part
        ):
            return " ".join(every)
        if part.stems == (denied[0],) and _is_of(denied[0], part, there, one, other):
            return denied[0]
    return None


def _is_of(denied: str, part: Part, there: Part, one: Reading, other: Reading) -> bool:
    """Whether the one word that is forbidden is what both statements are about."""
    if other.permitting and there.stems[0] == denied:
        return True
    return bool(part.names or there.stems == (denied,)) and _is_brief(one, other)


def _weight(stems: Iterable[str], part: Part) -> int:
    """Return how much words say; code says twice as much."""
    return sum(2 if each in part.names else 1 for each in stems)


def _is_brief(one: Reading, other: Reading) -> bool:
    """Whether two statements say so little that one word is what both are about."""
    return max(len(one.stems), len(other.stems)) <= BRIEF
