"""Whether two texts say the opposite, by the words they negate with.

Cheap and blunt: it sees that one text says "always" and the other "never", and not what they say it
of. It is asked only about texts whose vectors already say that they are about one thing.

Why two statements cannot both be followed: families, numbers, negation, single changes.

What one statement forbids and the other wants, and single values in which they differ.

One reason for which two statements cannot both be followed.

What two statements are to each other, by rules alone.

Polarity before similarity: what contradicts is never merged, however alike. In this order: the
same text; places that exclude each other; a contradiction (families of alternatives, numbers and
versions, a single value that differs, one forbids what the other wants); the same claim; and else
related or unrelated, by the cosine and by shared topic slots.

From which likeness on two statements are compared or merged, by the domain they are of.

One model puts what is said of one field nearer together than what is said of another, so a home may
have thresholds of its own for a domain; `cortex contradictions calibrate` suggests them. What is
merged on ingest is merged by the thresholds of all, until the reconciler makes it what these say.

What a project chooses for itself: two projects that choose otherwise do not disagree.

One is built with npm and the other with pnpm, one runs on Python 3.11 and the other on 3.12; each
is right at home. How code is written, tested and reviewed is another matter: who keeps two projects
wants to know of that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from cortex_actors.domain.insight import Claim, Conflict, Decider, Judgement, Relation
from cortex_actors.domain.project import StatementKind
from cortex_actors.rules.sameness import Difference, align, differ, reordered, same
from cortex_actors.text import claims
from cortex_actors.text.claims import alike, read
from cortex_actors.text.lexicon import STOP_WORDS, standard, stem
from cortex_actors.text.polarity import Sense

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from cortex_actors.rules.sameness import Change
    from cortex_actors.text.claims import Part, Reading
    from cortex_actors.text.lexicon import Lexicon
    from cortex_actors.text.positions import Position


@dataclass(frozen=True, slots=True)
class Clash:
    """One reason for which two statements contradict each other.

    Attributes:
        least: the cosine from which on it counts; None where it counts whatever the cosine.

    """

    reason: str
    conflict: Conflict
    least: float | None
    confidence: float


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
    both = len(left.stems.keys() & right.stems.keys())
    is_one = both > 1 and both >= SHARED * min(len(left.stems), len(right.stems))
    if not is_one or _apart(left, right, lexicon):
        return
    if None not in {left.switched, right.switched} and left.switched is not right.switched:
        yield Clash("one says on, the other off", Conflict.DIRECT, ALIKE, 0.7)
    if left.order * right.order < 0:
        yield Clash("one says before, the other after", Conflict.DIRECT, ALIKE, 0.6)
    for thing in sorted(left.amounts.keys() & right.amounts.keys()):
        if left.amounts[thing] != right.amounts[thing]:
            yield Clash(f"they count {thing} differently", Conflict.DIRECT, ALIKE, 0.6)


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
    # The same way round whichever statement comes first.
    reason = " against ".join(sorted((values[0].left, values[0].right)))
    yield Clash(reason, Conflict.DIRECT, ALIKE, confidence)


def _speaks_of(change: Change) -> bool:
    """Whether two statements that are else alike speak of different things there."""
    telling = [
        sum(each not in STOP_WORDS for each in words.split())
        for words in (change.left, change.right)
    ]
    named = change.kind is not Difference.WORDS
    return all(telling) or max(telling) > FEWEST or (any(telling) and named)


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
    # Both want the same in a family: a denial beside it is of something else.
    if any(
        left.positions[slot].choice & right.positions[slot].wanted
        or left.positions[slot].wanted & right.positions[slot].choice
        for slot in left.positions.keys() & right.positions.keys()
    ):
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
    is_brief = max(len(one.stems), len(other.stems)) <= BRIEF
    return is_brief and bool(part.names or there.stems == (denied,))


def _weight(stems: Iterable[str], part: Part) -> int:
    """Return how much words say; code says twice as much."""
    return sum(2 if each in part.names else 1 for each in stems)


#: Cosine from which stands count that are not all that is said, and commands that run alternatives;
#: and from which stands count that are said in phrases, which stand in for many things.
RUN, FAR = 0.5, 0.3


#: What "for everything" is for: no place of its own.
EVERYWHERE = frozenset({"everyth", "anyth", "all", "any", "every", "whole", "entir", "alway"})

#: Words of a statement that says little beside a number.
SHORT = 10


def clashes(left: Reading, right: Reading, *, lexicon: Lexicon) -> Iterator[Clash]:
    """Yield every reason, the surest first."""
    # Families of alternatives of which the two choose different members.
    for slot in sorted(left.positions.keys() & right.positions.keys()):
        one, other = left.positions[slot], right.positions[slot]
        if one.thing and other.thing and one.thing != other.thing:
            continue
        least = _least(one, other)
        denied = sorted(_denied(one, other) | _denied(other, one))
        if denied:
            reason = f"{slot}: one wants {denied[0]}, the other forbids it"
            yield Clash(reason, Conflict.DIRECT, least, 0.9)
        elif one.excludes(one.choice, other.choice):
            yield Clash(_against(slot, one.choice, other.choice), Conflict.DIRECT, least, 0.85)
        elif one.excludes(_chosen(one), _chosen(other)):
            run = least if one.choice or other.choice else RUN
            yield Clash(_against(slot, _chosen(one), _chosen(other)), Conflict.DIRECT, run, 0.7)
    yield from _numbers(left, right)
    yield from differences(left, right, lexicon=lexicon)
    yield from denials(left, right)


def apart(left: Reading, right: Reading) -> str | None:
    """Return where two statements hold when that is at different places, or None."""
    for dimension, here in left.places.items():
        there = right.places.get(dimension, frozenset())
        if there and not here & there:
            return " / ".join(sorted((", ".join(sorted(here)), ", ".join(sorted(there)))))
    for one, other in ((left, right), (right, left)):
        several = one.places.get("language", frozenset())
        if len(several) > 1 and "language" not in other.places:
            return f"{', '.join(sorted(several))} alone"
    here, there = _aims(left), _aims(right)
    if here and there and (not here & there or here < there or there < here):
        return " / ".join(sorted((" ".join(sorted(here)), " ".join(sorted(there)))))
    return None


def _aims(reading: Reading) -> frozenset[str]:
    """Return what a statement says it is for: "for page components"."""
    aims = [part.stems for part in reading.parts if part.purpose]
    brief = len(aims) == 1 and len(aims[0]) <= BRIEF and len(reading.stems) <= 2 * BRIEF
    return frozenset(aims[0] if brief else ()) - EVERYWHERE


def _least(one: Position, other: Position) -> float | None:
    """Return the cosine from which two stands count: far apart only what is all that is said."""
    if not (one.central and other.central):
        return RUN
    return FAR if one.family.phrases else None


def _denied(one: Position, other: Position) -> set[str]:
    """Return what one statement wants and the other speaks against."""
    if one.wanted & other.wanted:
        return set()
    return one.wanted & (one.stated | one.implied) & other.forbidden & other.stated


def _chosen(position: Position) -> frozenset[str]:
    """Return what a statement chooses by saying so or by running it."""
    run = position.implied & position.wanted
    return position.choice or frozenset(run if len(run) == 1 else ())


def _against(slot: str, one: frozenset[str], other: frozenset[str]) -> str:
    """Return a reason that is the same whichever statement comes first."""
    these, those = sorted((", ".join(sorted(one)), ", ".join(sorted(other))))
    return f"{slot}: {these} against {those}"


def _numbers(left: Reading, right: Reading) -> Iterator[Clash]:
    """Yield measures and versions that no value satisfies for both."""
    for slot in sorted(left.ranges.keys() & right.ranges.keys()):
        one, other = left.ranges[slot], right.ranges[slot]
        inside = one.meets(other)
        alike = inside and (one.is_exact or other.is_exact)
        broad = slot.startswith("version") and one.refines(other)
        if one.bounds() == other.bounds() or alike or broad:
            continue
        kind = Conflict.PARTIAL if inside else Conflict.DIRECT
        brief = max(len(left.stems), len(right.stems)) <= SHORT
        least = None if brief else RUN
        yield Clash(f"{slot}: {one.shown} against {other.shown}", kind, least, 0.85)


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


class _Side(Enum):
    """Which side of a pair a text is on."""

    WORD = auto()
    OPPOSITE = auto()


@dataclass(frozen=True, slots=True)
class Opposition:
    """The phrases by which two texts disagree: the first text's, then the second's."""

    left: str
    right: str


def contradicts(left: str, right: str) -> bool:
    """Whether one text says a word and the other its opposite; the order does not matter."""
    return opposition(left, right) is not None


def opposition(left: str, right: str) -> Opposition | None:
    """Return the first pair of phrases by which the texts disagree, or None.

    Texts that are both on both sides of a pair do not disagree on it: the same text twice agrees.
    """
    one, other = _plain(left), _plain(right)
    for word, opposite in _PATTERNS:
        here, there = _sides(one, word, opposite), _sides(other, word, opposite)
        if here.keys() == there.keys():
            continue
        for side, against in ((_Side.WORD, _Side.OPPOSITE), (_Side.OPPOSITE, _Side.WORD)):
            if side in here and against in there:
                return Opposition(here[side], there[against])
    return None


def _sides(text: str, word: re.Pattern[str], opposite: re.Pattern[str]) -> dict[_Side, str]:
    """Return the sides a text is on, with the phrase that says so."""
    against = opposite.search(text)
    # Taken out first, so that the word inside its own negation is not met again.
    said = word.search(opposite.sub(" ", text))
    found = {_Side.WORD: said, _Side.OPPOSITE: against}
    return {side: match[0] for side, match in found.items() if match is not None}


def _plain(text: str) -> str:
    """Return the text in lower case, "don't" as "do not", one space between words."""
    return " ".join(_SHORT.sub(r"\1 not", text.lower()).split())


def _any_of(*phrases: str) -> re.Pattern[str]:
    """Return a pattern for whole phrases; the longest is tried first."""
    ordered = sorted(phrases, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, ordered))})\b")


_PATTERNS = tuple((_any_of(word), _any_of(*opposites)) for word, opposites in PAIRS)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cosines of one embedding model from which on a likeness means something.

    Attributes:
        merge: two statements are one, unless they contradict or differ in a value.
        cluster: two statements of a cluster are one, under the same condition.
        judged: two statements may be one if the rules find the same claim in both.
        floor: two statements may be about one thing; below it a shared slot is needed.

    """

    merge: float = 0.92
    cluster: float = 0.88
    judged: float = 0.5
    floor: float = 0.3


#: Share of groups of three letters in common from which texts in another script are one.
LETTERS = 0.9

#: What shows something and asks for nothing.
_SHOWING = frozenset({StatementKind.COMMAND, StatementKind.EXAMPLE})

#: Calibrated for the default model, all-MiniLM-L6-v2.
DEFAULTS = Thresholds()


def judge(
    left: Claim,
    right: Claim,
    *,
    cosine: float | None,
    thresholds: Thresholds = DEFAULTS,
    lexicon: Lexicon | None = None,
    kinds: tuple[StatementKind, StatementKind] | None = None,
    siblings: bool = False,
) -> Judgement:
    """Return what two statements are to each other; the order does not matter.

    Without a cosine only what the texts themselves show is found. `Relation.SAME` is the only
    relation under which two statements may be merged. `kinds` are those of the two statements where
    they are known; `siblings` says that both are under the same headings of one file.
    """
    tables = lexicon or standard()
    # One of them may stand under no heading.
    first, second = sorted((left, right), key=lambda one: (one.text, one.heading or "", one.scope))
    if " ".join(first.text.split()) == " ".join(second.text.split()):
        return _said(Relation.SAME, "the same text")
    one, other = read(first, tables), read(second, tables)
    score = 0.0 if cosine is None else cosine
    places = apart(one, other)
    asks = _may_contradict(kinds) and not places
    found = _clash(one, other, cosine, tables) if asks else None
    if found is not None and not (siblings and not _topics(one) & _topics(other)):
        return _placed(found, first, second)
    shared = sorted(_topics(one) & _topics(other))
    if places is None and (score >= thresholds.judged or cosine is None):
        why = _same(one, other, score, thresholds, tables)
        if why is not None and reordered(first.text, second.text) is None:
            return _said(Relation.SAME, why)
    if score >= thresholds.floor or shared:
        return _said(Relation.RELATED, _related(places, shared, score))
    return _said(Relation.UNRELATED, f"cosine {score:.2f} and no topic in common")


def _may_contradict(kinds: tuple[StatementKind, StatementKind] | None) -> bool:
    """Whether statements of these kinds are compared at all: commands and examples ask nothing."""
    return kinds is None or _SHOWING.isdisjoint(kinds)


def gate(left: Claim, right: Claim, *, lexicon: Lexicon | None = None) -> Judgement | None:
    """Return the contradiction of two statements whatever their cosine, or None."""
    tables = lexicon or standard()
    first, second = sorted((left, right))
    one, other = read(first, tables), read(second, tables)
    if apart(one, other):
        return None
    found = _clash(one, other, None, tables)
    return None if found is None else _placed(found, first, second)


def believed(
    said: Judgement, left: Claim, right: Claim, *, lexicon: Lexicon | None = None
) -> Judgement:
    """Return what a model says of two statements, as far as the rules let that stand.

    Two that differ in a number, a name, a switch or their place are not one claim, whoever says so:
    merged, one of them would be lost.
    """
    if said.relation is not Relation.SAME:
        return said
    tables = lexicon or standard()
    one, other = (read(each, tables) for each in sorted((left, right)))
    why = apart(one, other) or differ(one, other, lexicon=tables)
    why = why or reordered(left.text, right.text)
    if why is None:
        return said
    return Judgement(Relation.RELATED, said.decider, f"{said.reason}; but {why}")


def slots(claim: Claim, *, lexicon: Lexicon | None = None) -> frozenset[str]:
    """Return the topic slots of a statement: what it takes a stand on, whatever the stand.

    Two statements that share a slot are worth comparing whatever their cosine.
    """
    found = read(claim, lexicon or standard())
    return frozenset(_topics(found))


def _topics(found: Reading) -> set[str]:
    return {slot for slot, each in found.positions.items() if each.speaks} | set(found.ranges)


def _clash(
    one: Reading, other: Reading, cosine: float | None, lexicon: Lexicon
) -> Judgement | None:
    """Return the first contradiction that counts at a cosine."""
    for each in clashes(one, other, lexicon=lexicon):
        if each.least is None or cosine is None or cosine >= each.least:
            return Judgement(
                Relation.CONTRADICTION, Decider.RULES, each.reason, each.conflict, each.confidence
            )
    return None


def _placed(found: Judgement, first: Claim, second: Claim) -> Judgement:
    """Return a contradiction as contextual where the two hold at different places."""
    if first.scope == second.scope:
        return found
    return Judgement(
        found.relation, found.decider, found.reason, Conflict.CONTEXTUAL, found.confidence
    )


def _same(
    one: Reading, other: Reading, score: float, thresholds: Thresholds, lexicon: Lexicon
) -> str | None:
    """Return why two statements are one claim, or None.

    A model that knows one script finds any two texts of another one alike: those are compared by
    their letters.
    """
    if (one.foreign or other.foreign) and alike(one.wording.plain, other.wording.plain) < LETTERS:
        return None
    if differ(one, other, lexicon=lexicon) is not None:
        return None
    if score >= thresholds.merge:
        return f"nearly the same words: cosine {score:.2f}"
    return same(one, other, score)


def _related(places: str | None, shared: list[str], score: float) -> str:
    if places is not None:
        return f"they hold at different places: {places}"
    return f"both speak of {', '.join(shared)}" if shared else f"cosine {score:.2f}"


def _said(relation: Relation, reason: str) -> Judgement:
    return Judgement(relation, Decider.RULES, reason)


@dataclass(frozen=True, slots=True)
class Limits:
    """The thresholds that hold, and those of the domains that have their own."""

    default: Thresholds = DEFAULTS
    by_domain: Mapping[str, Thresholds] = field(default_factory=dict)

    def of(self, left: str | None, right: str | None) -> Thresholds:
        """Return the thresholds of a pair; a domain's own hold only within it."""
        if left is None or left != right:
            return self.default
        return self.by_domain.get(left, self.default)

    @property
    def judged(self) -> float:
        """The least cosine from which on any two statements are handed to the rules."""
        return min(each.judged for each in (self.default, *self.by_domain.values()))


#: Slots of tools, libraries and services (`tables/families.toml`).
CHOSEN: Final = frozenset(
    "js-package-manager js-runtime python-package-manager jvm-build-tool ruby-version-manager "
    "node-version-manager lockfile python-test-runner js-test-runner browser-test-runner "
    "react-components module-system python-formatter python-types js-formatter js-linter "
    "commit-hooks css state data-fetching http-client python-http-client js-orm database bundler "
    "validation dates task-runner hosting ci containers pr-base".split()
)

#: How slots begin that stand for the version of something, or for a number that is given for it.
GIVEN: Final = ("version of ", "port ", "default ")


def is_chosen(slot: str) -> bool:
    """Tell whether a slot is about what a project chooses for itself."""
    return slot in CHOSEN or slot.startswith(GIVEN)


def are_chosen(slots: Collection[str]) -> bool:
    """Tell whether there are slots, and all are about what a project chooses for itself."""
    return bool(slots) and all(map(is_chosen, slots))
