"""What two statements are to each other, by rules alone.

Polarity before similarity: what contradicts is never merged, however alike. In this order: the
same text; places that exclude each other; a contradiction, if it is sure; the same claim; and else
related or unrelated, by the cosine and by shared topic slots.

Sure is what two brief statements say by their grammar: an order not to do what the other orders,
X instead of Y against Y instead of X, one number, word or choice in which they differ and little
else. A wrong contradiction costs more than a missed one (docs/contradictions.md).

Sections are compared by pairs of phrases, cheap and blunt, and only where their vectors already say
that they are about one thing.

From which likeness on two statements are compared or merged, by the domain they are of: one model
puts what is said of one field nearer together than what is said of another, so a home may have
thresholds of its own for a domain; `cortex contradictions calibrate` suggests them. What is merged
on ingest is merged by the thresholds of all, until the reconciler makes it what these say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum, auto
from itertools import islice, pairwise, product
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Claim, Conflict, Decider, Judgement, Relation
from cortex_actors.domain.project import StatementKind
from cortex_actors.rules.sameness import find_difference, find_reordering, keeps
from cortex_actors.text.claims import PORT, ClaimPart, ClaimReading, read, spell_in_digits
from cortex_actors.text.lexicon import Lexicon, Sense, load_standard, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Family(StrEnum):
    """By which kind of rule two statements contradict each other.

    A prohibition of what the other wants; X not Y against Y not X; two alternatives; versions and
    ports; the one number, word or name in which two statements differ.
    """

    DENIAL = auto()
    EXCHANGE = auto()
    ALTERNATIVE = auto()
    NUMBER = auto()
    VALUE = auto()


@dataclass(frozen=True, slots=True)
class Clash:
    """One reason for which two statements contradict each other."""

    family: Family
    reason: str
    conflict: Conflict = Conflict.DIRECT
    confidence: float = 0.8


#: Words of a statement at most that is compared: one that says more says several things.
LONG = 18

#: Words that two statements have in common at least.
FEWEST = 2

#: Words of two statements at most that are about the one thing they share.
BRIEF = 4

#: Share of a prohibition's words that the other statement may lack, and its own clause; share of
#: what the other statement wants that is forbidden, at least.
LACKING, ELSEWHERE, WANTED = 0.25, 0.4, 0.34

#: Words of its own that a statement of two which choose differently may have; the other has none.
OWN = 3

#: Stems that tell how a number bounds what it counts.
LIMITS = frozenset({"maximum", "minimum", "length"})

#: Words of a title at most; a dash ends it.
TITLE, _DASH = 6, "\u2014"

#: Words with which a statement begins that is about using something.
_USING = frozenset({"use", "always"})


def find_clashes(
    left: ClaimReading,
    right: ClaimReading,
    *,
    lexicon: Lexicon,
    are_rules: tuple[bool, bool] = (True, True),
    siblings: bool = False,
) -> Iterator[Clash]:
    """Yield every sure reason why two statements cannot both be followed, the surest first.

    Entries of one list name different things: of them only orders, ports and what has one label
    are compared.
    """
    if left.unfinished or right.unfinished or left.wording.plain == right.wording.plain:
        return
    both = all(are_rules)
    yield from _titles(left, right)
    yield from _swapped(left, right, lexicon, are_rules, siblings=siblings)
    if _are_rows(left.label, right.label):
        return
    if both and max(len(left.stems), len(right.stems)) <= LONG:
        yield from _exchanged(left, right)
    for one, other, kinds in ((left, right, are_rules), (right, left, are_rules[::-1])):
        yield from _banned(one, other, lexicon, are_rules=kinds)
        yield from _forbidden(one, other, lexicon, kinds)
    yield from _numbers(left, right, are_rows=siblings and not both and not left.label)


def _titles(left: ClaimReading, right: ClaimReading) -> Iterator[Clash]:
    """Yield what one of two statements of one title denies: "No worktrees - ...", no `v2/`."""
    (one, is_no), (other, is_other_no) = _title(left), _title(right)
    if not one or one != other:
        return
    if is_no is not is_other_no:
        reason = f"one says no to {' '.join(sorted(one))}, the other wants it"
        yield Clash(Family.DENIAL, reason)
    for some, others in ((left, right), (right, left)):
        denied = {each for part in some.parts if part.sense is Sense.AGAINST for each in part.names}
        if denied and all(others.stems.get(each) is Sense.WANTED for each in denied):
            yield Clash(Family.DENIAL, f"one denies {', '.join(sorted(denied))}, the other has it")


def _title(reading: ClaimReading) -> tuple[frozenset[str], bool]:
    """Return the words before a dash near the beginning, and whether they are denied."""
    words = reading.wording.words
    ends = (n for n, word in enumerate(words[:TITLE]) if word.text == _DASH)
    title = words[: next(ends, 0)]
    stems = frozenset(word.stem for word in title if word.stem in reading.stems)
    return stems, bool(title) and title[0].text == "no"


def _forbidden(
    one: ClaimReading, other: ClaimReading, lexicon: Lexicon, are_rules: tuple[bool, bool]
) -> Iterator[Clash]:
    """Yield what one statement orders not to do and the other wants done."""
    if max(len(one.stems), len(other.stems)) > LONG or not are_rules[0]:
        return
    said = {word.text for word in other.wording.words if not word.code}
    if said & lexicon.cues["exempting"]:
        return
    against = {stem for stem, its in other.stems.items() if its in {Sense.AGAINST, Sense.BARRED}}
    for number, part in enumerate(one.parts):
        if not part.orders or not part.stems or part.stems[0] in against:
            continue
        is_barred = part.sense is Sense.BARRED
        if is_barred and not _is_freed(one, other, lexicon):
            continue
        before = one.parts[:number]
        given = part.condition if not is_barred else frozenset[str]()
        given = given.union(*(each.stems for each in before if each.sense is Sense.BESIDE))
        for there in other.parts:
            if there.sense is not Sense.WANTED or not there.stems:
                continue
            if not are_rules[1] and not _begins(other, part.stems[0]):
                continue
            around = {stem for each in before for stem in each.stems}
            if found := _ordered(part, there, other, around, given):
                kind = Conflict.PARTIAL if is_barred else Conflict.DIRECT
                yield Clash(Family.DENIAL, f"one forbids what the other wants: {found}", kind)


def _banned(
    one: ClaimReading, other: ClaimReading, lexicon: Lexicon, *, are_rules: tuple[bool, bool]
) -> Iterator[Clash]:
    """Yield what one statement is wholly against, or wants another thing than, and the other uses.

    "No X", "Y instead of X" against "Use X".
    """
    words, parts = other.wording.spoken, other.parts
    begins = {each.text for each in words[:FEWEST]} & (_USING | lexicon.cues["preferring"])
    if not all(are_rules) or not begins or not parts or parts[0].sense is not Sense.WANTED:
        return
    passive = set(map(stem, lexicon.cues["forbidden"]))
    rival = next((no for _, no in _compared(one)), None)
    is_free = not (one.conditional or other.conditional or one.excepting or other.excepting)
    for part in one.parts:
        alone = all(
            each.sense in {part.sense, Sense.ONLY} or passive.issuperset(each.stems)
            for each in one.parts
            if each.sentence == part.sentence
        )
        said = [each for each in part.stems if each in one.bare]
        size, is_barred = len(said), part.sense is Sense.BARRED
        is_rival = part is rival and is_free and len(other.bare - one.bare) <= FEWEST
        if not size or part.condition or not (is_rival or (alone and part.orders)):
            continue
        if is_barred and begins == {"use"} and not _is_freed(one, other, lexicon):
            continue
        if {*parts[0].stems[:size]} == {*said}:
            kind = Conflict.PARTIAL if is_barred else Conflict.DIRECT
            yield Clash(
                Family.DENIAL, f"one forbids {part.find_words(said)}, the other uses it", kind
            )


def _is_freed(one: ClaimReading, other: ClaimReading, lexicon: Lexicon) -> bool:
    """Whether a statement lets be what another one forbids but under a condition."""
    words, others = ({each.text for each in some.wording.words} for some in (one, other))
    tied = {each for part in one.parts if part.sense is Sense.ONLY for each in part.stems}
    is_tied = bool(tied & other.stems.keys() and words & others & lexicon.cues["until"])
    return is_tied or bool(others & lexicon.cues["permitting"])


def _begins(reading: ClaimReading, stem: str) -> bool:
    """Whether a statement begins with a verb as it is ordered: "Reorder", no "Reordering"."""
    first, parts = reading.wording.words[0].text, reading.parts
    return parts[0].stems[:1] == (stem,) and not first.endswith(("ing", "ed", "s"))


def _ordered(
    part: ClaimPart,
    there: ClaimPart,
    other: ClaimReading,
    around: set[str],
    given: frozenset[str],
) -> str | None:
    """Return what a part forbids and a part of another statement wants, or None."""
    wanted, forbidden = set(there.stems), dict.fromkeys(part.stems)
    both = [each for each in forbidden if each in wanted]
    # What is forbidden comes first; where that is all, the thing is named before it.
    if part.stems[0] not in wanted or part.stems[0] in there.doing - part.doing:
        return None
    # Another command of one tool is another thing.
    if part.names - there.names and there.names - part.names:
        return None
    context = (around & wanted) - set(both)
    if len(both) < FEWEST and not context:
        return None
    needed = [each for each in forbidden if each not in part.listed]
    lacking = sum(each not in other.stems for each in needed)
    elsewhere = sum(each not in wanted for each in needed)
    if lacking > LACKING * len(forbidden) or elsewhere > ELSEWHERE * len(forbidden):
        return None
    if part.listed and part.listed.isdisjoint(wanted):
        return None
    if len(given & other.stems.keys()) * 2 < len(given) or not part.manner <= other.stems.keys():
        return None
    covered = wanted & (forbidden.keys() | given | context)
    return part.find_words(both) if len(covered) >= WANTED * len(wanted) else None


def _exchanged(left: ClaimReading, right: ClaimReading) -> Iterator[Clash]:
    """Yield two things of which each statement wants one and not the other."""
    for (one, no_one), (other, no_other) in product(_compared(left), _compared(right)):
        wanted, unwanted = {*one.stems} - {*no_one.stems}, {*no_one.stems} - {*one.stems}
        its, not_its = {*other.stems} - {*no_other.stems}, {*no_other.stems} - {*other.stems}
        this, that = wanted & not_its, unwanted & its
        here = 2 * len(this) >= min(len(wanted), len(not_its))
        if this and that and here and 2 * len(that) >= min(len(its), len(unwanted)):
            reason = _against({one.find_words(this)}, {no_one.find_words(that)})
            yield Clash(Family.EXCHANGE, reason, confidence=0.9)


def _compared(reading: ClaimReading) -> list[tuple[ClaimPart, ClaimPart]]:
    """Return what a statement wants first and what instead of which: "X, not Y", "Y over X"."""
    both = pairwise(reading.parts)
    found = ((a, b) for a, b in both if (a.sense, b.sense) == (Sense.WANTED, Sense.AGAINST))
    return [*islice(found, 1)]


def _numbers(left: ClaimReading, right: ClaimReading, *, are_rows: bool) -> Iterator[Clash]:
    """Yield versions and ports that no value satisfies for both.

    Entries of a list are for different things, unless they agree on another number.
    """
    both = sorted(left.ranges.keys() & right.ranges.keys())
    agree = any(left.ranges[each].get_bounds() == right.ranges[each].get_bounds() for each in both)
    for slot in both if agree or not are_rows else ():
        one, other = left.ranges[slot], right.ranges[slot]
        words = {*slot.split(), *map(stem, slot.split()), *left.numbers, *right.numbers}
        less, more = _own(left, right, words, words)
        # "Server" names several in one project: then little else may be said beside the port.
        is_named = slot.startswith(PORT) and (slot != f"{PORT}server" or more <= OWN)
        if not one.meets(other) and (is_named or (not less and more <= OWN)):
            shown = " against ".join(sorted((one.shown, other.shown)))
            yield Clash(Family.NUMBER, f"{slot}: {shown}")


@dataclass(frozen=True, slots=True)
class _Swap:
    """One word of a statement in whose place another one has another word.

    Attributes:
        both: words that both statements have beside it, at least.
        own: words that one of them alone may have beside it, at most.
        idle: words that do not count.
        slot: what the two words are alternatives of.

    """

    family: Family
    one: str
    other: str
    both: int
    own: int
    idle: frozenset[str] = frozenset()
    slot: str = ""


def _swapped(
    left: ClaimReading,
    right: ClaimReading,
    lexicon: Lexicon,
    are_rules: tuple[bool, bool],
    *,
    siblings: bool,
) -> Iterator[Clash]:
    """Yield the word in which two statements differ where one says nothing else of its own."""
    for swap in _swaps(left, right, lexicon, are_rules, siblings=siblings):
        these, those = {stem(swap.one)}, {stem(swap.other)}
        # Who is against one of the two agrees with who wants the other.
        if any(not side.is_wanted(word) for side, word in ((left, swap.one), (right, swap.other))):
            continue
        if _are_rows(left.label - these, right.label - those):
            continue
        less, more = _own(left, right, these | swap.idle, those | swap.idle)
        shared = (left.stems.keys() - these) & (right.stems.keys() - those)
        if len(shared) >= swap.both and not less and more <= swap.own:
            yield Clash(swap.family, swap.slot + _against({swap.one}, {swap.other}))


def _swaps(
    left: ClaimReading,
    right: ClaimReading,
    lexicon: Lexicon,
    are_rules: tuple[bool, bool],
    *,
    siblings: bool,
) -> Iterator[_Swap]:
    """Yield alternatives, opposites, numbers and code of one label in which two statements differ.

    Entries of a list differ in all of these, unless they have one label.
    """
    one_label = bool(left.label) and left.label == right.label
    if siblings and not all(are_rules) and not one_label:
        return
    for slot in sorted(left.positions.keys() & right.positions.keys()):
        these, those = left.positions[slot].wanted, right.positions[slot].wanted
        if len(these) == len(those) == 1 and these != those:
            own = OWN if any(are_rules) else 1
            yield _Swap(Family.ALTERNATIVE, min(these), min(those), 0, own, slot=f"{slot}: ")
    if all(are_rules) or one_label:
        least = 1 if max(len(left.stems), len(right.stems)) <= BRIEF else FEWEST
        for one, other in _opposites(left, right, lexicon):
            yield _Swap(Family.VALUE, one, other, least, OWN)
    if siblings:
        return
    known = {*map(spell_in_digits, left.numbers)} & {*map(spell_in_digits, right.numbers)}
    mine, its = (
        [n for n in some.numbers if spell_in_digits(n) not in known] for some in (left, right)
    )
    if len(mine) == len(its) == 1:
        yield _Swap(Family.VALUE, mine[0], its[0], FEWEST, 0, LIMITS)
    one, other = _code(left), _code(right)
    if (
        one
        and other
        and one_label
        and all(are_rules)
        and one not in right.names
        and other not in left.names
    ):
        yield _Swap(Family.VALUE, one, other, 1, LONG)


def _opposites(
    left: ClaimReading, right: ClaimReading, lexicon: Lexicon
) -> Iterator[tuple[str, str]]:
    """Yield a word of each of two statements which is the other one's opposite."""
    words, others = ({each.text for each in some.wording.words} for some in (left, right))
    for one in sorted(words - others):
        for other in sorted(lexicon.antonyms.get(one, frozenset()) & (others - words)):
            yield one, other


def _code(reading: ClaimReading) -> str:
    """Return the first word of a statement that is code; "" for none."""
    return next((each.text for each in reading.wording.spoken if each.code), "")


def _own(
    left: ClaimReading, right: ClaimReading, here: set[str], there: set[str]
) -> tuple[int, int]:
    """Return how much each of two statements says beside some words, the lesser first."""
    less, more = sorted(
        len(_beside(some, words) - other.stems.keys() - words)
        for some, other, words in ((left, right, here), (right, left, there))
    )
    return less, more


def _beside(reading: ClaimReading, words: set[str]) -> set[str]:
    """Return the stems outside parentheses of the sentences that have one of some words."""
    some = [part for part in reading.parts if not words.isdisjoint(part.stems)]
    which = {part.sentence for part in some or reading.parts}
    return {
        each
        for part in reading.parts
        if part.sentence in which
        for each in (*part.stems, *part.condition)
    } & reading.bare


def _are_rows(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two labels name different things."""
    return bool(one and other) and not (one <= other or other <= one)


def find_separate_places(left: ClaimReading, right: ClaimReading) -> str | None:
    """Return where two statements hold when that is at different places, or None."""
    for dimension, here in left.places.items():
        there = right.places.get(dimension, frozenset())
        if there and not here & there:
            return " / ".join(sorted((", ".join(sorted(here)), ", ".join(sorted(there)))))
    for one, other in ((left, right), (right, left)):
        several = one.places.get("language", frozenset())
        if len(several) > 1 and "language" not in other.places:
            return f"{', '.join(sorted(several))} alone"
        if not one.within <= other.stems.keys():
            return f"{' '.join(sorted(one.within))} alone"
    return None


def _against(one: Iterable[str], other: Iterable[str]) -> str:
    """Return a reason that is the same whichever statement comes first."""
    return " against ".join(sorted((", ".join(sorted(one)), ", ".join(sorted(other)))))


#: A word -> phrases that say the opposite. A negated word is not the word: "should not" holds no
#: "should", and "do not use" is no "use".
PAIRS = (
    ("always", ("never", "not always")),
    ("use", ("avoid", "avoid use", "avoid the use", "never use", "not use")),
    ("should", ("should not", "should never")),
    ("prefer", ("avoid", "never prefer", "not prefer")),
    ("must", ("must not", "must never")),
    ("enable", ("disable", "never enable", "not enable")),
)

#: "don't" and its like, so that the table needs only "not".
_SHORT = re.compile(r"\b(do|does|should|must)n['\u2019]t\b")


@dataclass(frozen=True, slots=True)
class Opposition:
    """The phrases by which two texts disagree: the first text's, then the second's."""

    left: str
    right: str


def contradicts(left: str, right: str) -> bool:
    """Whether one text says a word and the other its opposite; the order does not matter."""
    return find_opposition(left, right) is not None


def find_opposition(left: str, right: str) -> Opposition | None:
    """Return the first pair of phrases by which the texts disagree, or None.

    Texts that are both on both sides of a pair do not disagree on it: the same text twice agrees.
    """
    for word, opposite in _PATTERNS:
        one, other = (_sides(_plain(text), word, opposite) for text in (left, right))
        if tuple(map(bool, one)) == tuple(map(bool, other)):
            continue
        for said, against in ((one[0], other[1]), (one[1], other[0])):
            if said and against:
                return Opposition(said, against)
    return None


def _sides(text: str, word: re.Pattern[str], opposite: re.Pattern[str]) -> tuple[str, str]:
    """Return the phrases by which a text is on the side of a word, and of its opposite."""
    # Taken out first, so that the word inside its own negation is not met again.
    found = word.search(opposite.sub(" ", text)), opposite.search(text)
    said, against = (match[0] if match else "" for match in found)
    return said, against


def _plain(text: str) -> str:
    """Return the text in lower case, "don't" as "do not", one space between words."""
    return " ".join(_SHORT.sub(r"\1 not", text.lower()).split())


def _any_of(*phrases: str) -> re.Pattern[str]:
    """Return a pattern for whole phrases; the longest is tried first."""
    ordered = sorted(phrases, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, ordered))})\b")


_PATTERNS = tuple((_any_of(word), _any_of(*opposites)) for word, opposites in PAIRS)


@dataclass(frozen=True, slots=True)
class ConflictThresholds:
    """Cosines of one embedding model from which on a likeness means something.

    Attributes:
        merge: of two statements one may replace the other that says less.
        cluster: the same within a cluster.
        judged: two statements may be one if the rules find the same claim in both.
        floor: two statements may be about one thing; below it a shared slot is needed.

    """

    merge: float = 0.92
    cluster: float = 0.88
    judged: float = 0.5
    floor: float = 0.3


#: What shows something and asks for nothing.
_SHOWING = frozenset({StatementKind.COMMAND, StatementKind.EXAMPLE})

#: Calibrated for the default model, all-MiniLM-L6-v2.
DEFAULTS = ConflictThresholds()


def judge(
    left: Claim,
    right: Claim,
    *,
    cosine: float | None,
    thresholds: ConflictThresholds = DEFAULTS,
    lexicon: Lexicon | None = None,
    kinds: tuple[StatementKind | None, StatementKind | None] | None = None,
    siblings: bool = False,
) -> Judgement:
    """Return what two statements are to each other; the order does not matter.

    Without a cosine only what the texts themselves show is found. `Relation.SAME` is the only
    relation under which two statements may be merged. `kinds` are those of the two statements where
    they are known; `siblings` says that both are under the same headings of one file.
    """
    tables = lexicon or load_standard()
    first, second = sorted((left, right), key=_place)
    if " ".join(first.text.split()) == " ".join(second.text.split()):
        return _said(Relation.SAME, "the same text")
    found = find_contradiction(left, right, lexicon=tables, kinds=kinds, siblings=siblings)
    if found is not None:
        return found
    one, other = read(first, tables), read(second, tables)
    score = 0.0 if cosine is None else cosine
    places = find_separate_places(one, other)
    shared = sorted(_topics(one) & _topics(other))
    asks = places is None and (kinds is None or _SHOWING.isdisjoint(kinds))
    if asks and (score >= thresholds.judged or cosine is None):
        same = _same(first, second, score, thresholds=thresholds, lexicon=tables)
        if same is not None and find_reordering(first.text, second.text) is None:
            return same
    if score >= thresholds.floor or shared:
        return _said(Relation.RELATED, _related(places, shared, score))
    return _said(Relation.UNRELATED, f"cosine {score:.2f} and no topic in common")


def find_contradiction(
    left: Claim,
    right: Claim,
    *,
    lexicon: Lexicon | None = None,
    kinds: tuple[StatementKind | None, StatementKind | None] | None = None,
    siblings: bool = False,
) -> Judgement | None:
    """Return the contradiction of two statements whatever their cosine, or None.

    Statements of unknown kinds are taken for rules; commands and examples contradict nothing.
    """
    tables = lexicon or load_standard()
    first, second = sorted((left, right), key=_place)
    one, other = read(first, tables), read(second, tables)
    if (kinds is not None and not _SHOWING.isdisjoint(kinds)) or find_separate_places(one, other):
        return None
    here, there = (each in {None, StatementKind.RULE} for each in kinds or (None, None))
    are_rules = (here, there) if first is left else (there, here)
    for each in find_clashes(one, other, lexicon=tables, are_rules=are_rules, siblings=siblings):
        conflict = each.conflict if first.scope == second.scope else Conflict.CONTEXTUAL
        return Judgement(
            Relation.CONTRADICTION, Decider.RULES, each.reason, conflict, each.confidence
        )
    return None


def _place(claim: Claim) -> tuple[str, str, str]:
    """Return the sort key of statements; one of them may be under no heading."""
    return claim.text, claim.heading or "", claim.scope


def limit_verdict(
    said: Judgement, left: Claim, right: Claim, *, lexicon: Lexicon | None = None
) -> Judgement:
    """Return what a model says of two statements, as far as the rules accept it.

    Two that differ in a number, a name, a switch or their place are not one claim, in any verdict:
    merged, one of them would be lost.
    """
    if said.relation is not Relation.SAME:
        return said
    tables = lexicon or load_standard()
    one, other = (read(each, tables) for each in sorted((left, right)))
    why = find_separate_places(one, other) or find_difference(one, other, lexicon=tables)
    why = why or find_reordering(left.text, right.text)
    if why is None:
        return said
    return Judgement(Relation.RELATED, said.decider, f"{said.reason}; but {why}")


def agrees(left: Claim, right: Claim, *, lexicon: Lexicon | None = None) -> bool:
    """Tell whether two statements that are near each other may say the same in other words.

    They neither contradict each other nor differ in a fact. They may have claims of their own, so
    that none of them replaces the other one. A model that knows one script finds any two texts of
    another one alike: of these the words are the same.
    """
    tables = lexicon or load_standard()
    one, other = (read(each, tables) for each in sorted((left, right)))
    if one.foreign or other.foreign:
        return keeps(one, other) and keeps(other, one)
    near = _said(Relation.SAME, "near")
    is_one = limit_verdict(near, left, right, lexicon=tables).relation is Relation.SAME
    return is_one and find_contradiction(left, right, lexicon=tables) is None


def repeats(shown: Claim, other: Claim, *, within: bool = False) -> bool:
    """Tell whether a statement says nothing but what a shown one says; order matters.

    The same claim in other words or a part of what the shown one claims; `within` one project also
    the same command with another remark: in two, `make test` does two things. Of 4,730 pairs of
    neighbours in 101 real repositories that were not the same text 12 claims were found, and all of
    them rightly.
    """
    tables = load_standard()
    one, another = (read(each, tables) for each in (shown, other))
    is_command = within and one.command and one.command == another.command
    return (
        (is_command or keeps(one, another))
        and (not one.foreign or keeps(another, one))
        and find_separate_places(one, another) is None
        and find_reordering(shown.text, other.text) is None
        and find_contradiction(shown, other) is None
    )


def find_slots(claim: Claim, *, lexicon: Lexicon | None = None) -> frozenset[str]:
    """Return the topic slots of a statement: the subjects on which it says something.

    Two statements that share a slot are worth comparing whatever their cosine.
    """
    found = read(claim, lexicon or load_standard())
    return frozenset(_topics(found))


def _topics(found: ClaimReading) -> set[str]:
    return found.positions.keys() | found.ranges.keys()


def _same(
    left: Claim, right: Claim, score: float, *, thresholds: ConflictThresholds, lexicon: Lexicon
) -> Judgement | None:
    """Return two statements as one claim, or None: the same words, or nearly so and one more."""
    one, other = read(left, lexicon), read(right, lexicon)
    is_all, is_less = keeps(one, other), keeps(other, one)
    if is_all and is_less:
        return _said(Relation.SAME, "the same words in another form")
    if score < thresholds.merge or not (is_all or is_less):
        return None
    why = f"one says all that the other does: cosine {score:.2f}"
    return Judgement(Relation.SAME, Decider.RULES, why, fuller=left.text if is_all else right.text)


def _related(places: str | None, shared: list[str], score: float) -> str:
    if places is not None:
        return f"they hold at different places: {places}"
    return f"both speak of {', '.join(shared)}" if shared else f"cosine {score:.2f}"


def _said(relation: Relation, reason: str) -> Judgement:
    return Judgement(relation, Decider.RULES, reason)


@dataclass(frozen=True, slots=True)
class ThresholdTable:
    """The thresholds that hold, and those of the domains that have their own."""

    default: ConflictThresholds = DEFAULTS
    by_domain: Mapping[str, ConflictThresholds] = field(default_factory=dict)

    def choose(self, left: str | None, right: str | None) -> ConflictThresholds:
        """Return the thresholds of a pair; a domain's own hold only within it."""
        if left is None or left != right:
            return self.default
        return self.by_domain.get(left, self.default)

    @property
    def judged(self) -> float:
        """The least cosine from which on any two statements are handed to the rules."""
        return min(each.judged for each in (self.default, *self.by_domain.values()))
