"""Groups of texts: one for all that say the same, clusters of what is nearly the same.

Both are functions of the texts, the likenesses between them and an order, never of what came first:
looking again at a part of the graph that is connected to nothing else finds what looking at
all of it would find.

Which of two statements says for more what the other one says for less.

Three things show it: where they hold (their scope, and places in their words), of which fields they
are, and whether all that one says is said by the other, which says more. Where two of them show
opposite ways nothing is shown.

What a statement says has to come first: "after the tests pass", "before deploying", "needs X".

One principle depends on another where its words name a thing that has to be there, or be done,
before, and the other one is about that thing. Linear in the texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.text.claims import ClaimReading, find_weighty_stem, read
from cortex_actors.text.lexicon import Lexicon, Sense, Word, find_senses

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cortex_actors.domain.insight import Claim, Judgement


#: Least mean cosine between the members of a cluster. Below it they are a chain, in which each is
#: near the next and the ends have nothing to do with each other: it is cut where it is weakest.
COHERENCE = 0.6

#: By how much more alike two have to be at each cut of a chain.
STEP = 0.02

#: An edge of the graph: two items, the lesser first.
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Texts that say nearly the same.

    Attributes:
        members: their ids, in order; at least two.
        medoid: the member nearest to the centre, the least id where several are.
        centroid: the mean of their vectors, of length 1.
        coherence: the mean cosine of two members.

    """

    members: tuple[str, ...]
    medoid: str
    centroid: NDArray[np.float32]
    coherence: float


def make_pair(left: str, right: str) -> Pair:
    """Return an edge."""
    return (left, right) if left < right else (right, left)


def find_leaders(order: Sequence[str], alike: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return for each item its leader.

    The first in the order leads, and all that are like it count for it; then the first of the
    others. So every item is like its leader, and no two leaders are like each other. Taking away
    an item that leads no other changes nothing for the rest.
    """
    known, found = set(order), dict[str, str]()
    for each in order:
        if each not in found:
            found[each] = each
            for other in alike.get(each, ()):
                if other in known:
                    found.setdefault(other, each)
    return found


def find_components(items: Iterable[str], edges: Iterable[Pair]) -> list[tuple[str, ...]]:
    """Return the connected parts of a graph, each in order, by their first items."""
    near: dict[str, list[str]] = {each: [] for each in items}
    for left, right in edges:
        near[left].append(right)
        near[right].append(left)
    found: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for each in sorted(near):
        if each not in seen:
            part = _reached(each, near)
            seen |= part
            found.append(tuple(sorted(part)))
    return found


def find_clusters(
    edges: Mapping[Pair, float], rows: Mapping[str, NDArray[np.float32]]
) -> list[Cluster]:
    """Return the clusters of a graph whose edges are cosines; an item without edges is in none.

    Takes the time of the edges, and for a chain that of each cut.
    """
    found: list[Cluster] = []
    waiting: list[tuple[Mapping[Pair, float], float]] = [(edges, -1.0)]
    while waiting:
        some, level = waiting.pop()
        for members in find_components({each for edge in some for each in edge}, some):
            made = _cluster(members, rows)
            if made.coherence >= COHERENCE:
                found.append(made)
                continue
            inside = set(members)
            within = {edge: cosine for edge, cosine in some.items() if edge[0] in inside}
            level = max(level, min(within.values())) + STEP
            waiting.append(({e: c for e, c in within.items() if c >= level}, level))
    return sorted(found, key=lambda each: each.members)


def _reached(start: str, near: Mapping[str, Sequence[str]]) -> set[str]:
    """Return everything that an item is connected with."""
    seen, waiting = {start}, [start]
    while waiting:
        for other in near[waiting.pop()]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def _cluster(members: tuple[str, ...], rows: Mapping[str, NDArray[np.float32]]) -> Cluster:
    """Return members as a cluster; their order is that of their ids, and so is the rounding."""
    matrix = np.stack([rows[each] for each in members]).astype(np.float64)
    total = matrix.sum(axis=0)
    count = len(members)
    # The sum of all cosines is the square of the summed vectors' length, with each one's own in it.
    own = float(np.einsum("ij,ij->", matrix, matrix))
    mean = (float(np.dot(total, total)) - own) / (count * (count - 1))
    length = float(np.linalg.norm(total)) or 1.0
    nearest = int(np.argmax(np.round(matrix @ total, 9)))
    centroid = (total / length).astype(np.float32)
    return Cluster(members, members[nearest], centroid, min(max(mean, -1.0), 1.0))


#: Share of the wider statement's words that the narrower one says too, before where they hold
#: compares them: else they hold at different places and are about different things.
COMMON = 0.6

#: Words that two have in common at least: one is in many.
FEWEST = 2

#: How many times as much the narrower one may say: what a page contains is contained by chance.
LONGER = 3

#: Words that a reason names.
NAMED = 6

#: Senses that go together: what is wanted is also wanted under a condition.
_TOWARDS = frozenset({Sense.WANTED, Sense.ONLY, Sense.BESIDE})


@dataclass(frozen=True, slots=True)
class Subject:
    """A principle as it is linked.

    Attributes:
        claim: what it says, under which heading, and where it holds.
        verdicts: what was decided about it and others, by the other's id: that counts for
            more than the rules.
        is_section: whether it is a whole section and no statement; the two are never compared.

    """

    id: str
    claim: Claim
    domains: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    verdicts: tuple[tuple[str, Judgement], ...] = ()
    is_section: bool = False

    def find_verdict(self, other: str) -> Judgement | None:
        """Return what was decided about it and another one."""
        return next((said for name, said in self.verdicts if name == other), None)


@dataclass(frozen=True, slots=True)
class Wider:
    """Which of the two says it for more, and why."""

    is_first: bool
    reason: str


def find_wider(one: Subject, other: Subject, *, is_close: bool, lexicon: Lexicon) -> Wider | None:
    """Return which of two says for more what the other says for less; None if neither does.

    Fields count only for two that `is_close`: else they are merely other things.
    """
    left, right = read(one.claim, lexicon), read(other.claim, lexicon)
    by_words = [
        *_by_scope(one.claim.scope, other.claim.scope),
        *_by_place(left, right),
        *(_by_field(one.domains, other.domains) if is_close else ()),
    ]
    both = {True: (left, right), False: (right, left)}
    found = [each for each in by_words if _says(*both[each.is_first])]
    for is_first, (some, all_) in both.items():
        if more := ", ".join(_beyond(some, all_, lexicon)[:NAMED]):
            why = f"all that one says is said by the other, which adds {more}"
            found.append(Wider(is_first, why))
    return found[0] if len({each.is_first for each in found}) == 1 else None


def _by_scope(one: str, other: str) -> Iterator[Wider]:
    """Yield the one that holds everywhere in a project."""
    if bool(one) is not bool(other):
        yield Wider(not one, f"one holds only in {one or other}")


def _by_place(left: ClaimReading, right: ClaimReading) -> Iterator[Wider]:
    """Yield the one whose words do not limit it where the other's do."""
    only_left = left.places.keys() - right.places.keys()
    only_right = right.places.keys() - left.places.keys()
    both = left.places.keys() & right.places.keys()
    if bool(only_left) is bool(only_right) or any(
        left.places[each] != right.places[each] for each in both
    ):
        return
    limited = left if only_left else right
    where = sorted({each for key in only_left or only_right for each in limited.places[key]})
    yield Wider(bool(only_right), f"one holds only for {', '.join(where)}")


def _by_field(one: frozenset[str], other: frozenset[str]) -> Iterator[Wider]:
    """Yield the one that is of more fields, or of none in particular."""
    first, second = _is_wider(one, other), _is_wider(other, one)
    if first is not second:
        narrow = other if first else one
        yield Wider(first, f"one is about {', '.join(sorted(narrow))} alone")


def _is_wider(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether fields hold others and more; without any it is about all of them."""
    return bool(other) and (not one or one > other)


def _says(wide: ClaimReading, narrow: ClaimReading) -> bool:
    """Tell whether a statement says most of what another one says."""
    common = len(wide.stems.keys() & narrow.stems.keys())
    return common >= FEWEST and common >= COMMON * len(wide.stems)


def _beyond(some: ClaimReading, more: ClaimReading, lexicon: Lexicon) -> list[str]:
    """Return what a statement says beside all that another one says; empty if it does not."""
    if not FEWEST <= len(some.stems) < len(more.stems) <= LONGER * len(some.stems):
        return []
    if not some.stems.keys() <= more.stems.keys():
        return []
    wanted, turned = some.stems, more.stems
    if any((wanted[stem] in _TOWARDS) is not (turned[stem] in _TOWARDS) for stem in wanted):
        return []
    beyond = more.stems.keys() - some.stems.keys()
    said = [word.text for word in more.wording.words if find_weighty_stem(word, lexicon) in beyond]
    return list(dict.fromkeys(said))


#: What follows has to come first, and what follows comes later.
_FIRST = frozenset("after once until requires require needs need depends relies nach".split())
_LATER = frozenset("before prior vor".split())

#: Words after which "needs" or "requires" asks for something to be done, and names no thing.
_VERBAL = frozenset({"to", "be", "not"})

#: Signs and words that end what is named.
_ENDS = frozenset(".;:!?()\u2014,")
_JOINS = frozenset("and or so then when if because unless run use".split())

#: Words that only suppose what they name, and those that point to something elsewhere.
_SUPPOSING = frozenset("if when whenever unless whether where in case wenn falls".split())
_POINTING = frozenset("this that these those it them they any".split())

#: Words that name no thing: whatever is done is a change of something.
_GENERAL = frozenset(
    "change changes changing edit edits editing modification modifications modifying update updates"
    " work task tasks file files".split()
)

#: Senses of what may not be, or not before something else has been.
_FORBIDDING = frozenset({Sense.AGAINST, Sense.BARRED})

#: Stems of what is named at most: more are a story.
_MOST = 4

#: Share of what a text says first that must be what is named: else it is about another thing.
ABOUT = 0.5


@dataclass(frozen=True, slots=True)
class OrderedThing:
    """Something that a statement puts in order.

    Attributes:
        words: the words that say so, as they are written there.
        thing: the stems of what is named.
        comes_first: whether what is named comes before what the statement asks for.

    """

    words: str
    thing: frozenset[str]
    comes_first: bool


def find_needs(claim: Claim, lexicon: Lexicon) -> tuple[OrderedThing, ...]:
    """Return what a statement puts in order, as it says it."""
    said = read(claim, lexicon).wording
    if not any(word.text in _FIRST or word.text in _LATER for word in said.words):
        return ()
    return tuple(_found(said.words, find_senses(said, lexicon), lexicon))


def measure_share(need: OrderedThing, other: Claim, lexicon: Lexicon) -> float:
    """Return how far a statement asks for what another one names, 0 to 1; 0 where it does not.

    Naming it by the way is not asking for it, and neither is being against it.
    """
    first = _first(read(other, lexicon), lexicon)
    if not (first and need.thing <= first):
        return 0.0
    share = len(need.thing) / len(first)
    return share if share >= ABOUT else 0.0


def _found(
    words: Sequence[Word], turned: Sequence[Sense], lexicon: Lexicon
) -> Iterator[OrderedThing]:
    """Yield what each word names that puts something in order."""
    is_supposed = False
    for number, word in enumerate(words):
        if word.code:
            continue
        is_supposed = word.text in _SUPPOSING or (is_supposed and word.text not in _ENDS)
        if is_supposed or not _is_cue(words, number):
            continue
        is_against = not _FORBIDDING.isdisjoint(turned[max(0, number - 1) : number + 1])
        if is_against and word.text not in _LATER | {"until"}:
            continue
        named = list(_named(words[number + 1 :], lexicon))
        thing = frozenset(stem for _, stem in named if stem)
        telling = {each for each, stem in named if stem} - _GENERAL
        if telling and len(thing) <= _MOST and _POINTING.isdisjoint(dict(named)):
            said = " ".join([word.text, *(each for each, _ in named)])
            yield OrderedThing(said, thing, comes_first=word.text in _FIRST or is_against)


def _is_cue(words: Sequence[Word], number: int) -> bool:
    """Tell whether a word puts what follows it in order."""
    after = words[number + 1].text if number + 1 < len(words) else ""
    text = words[number].text
    return text in _FIRST | _LATER and after not in _VERBAL and f"{text} {after}" != "after all"


def _named(words: Sequence[Word], lexicon: Lexicon) -> Iterator[tuple[str, str | None]]:
    """Yield the words of what is named, up to the end of the clause, with their stems."""
    is_named = False
    for word in words:
        if not word.code and (word.text in _ENDS or (word.text in _JOINS and is_named)):
            return
        stem = find_weighty_stem(word, lexicon)
        is_named = is_named or stem is not None
        yield word.text, stem


def _first(reading: ClaimReading, lexicon: Lexicon) -> frozenset[str]:
    """Return the stems of what a statement asks for first; empty if it is against that.

    A label says nothing yet, and neither does what is only put in order: "before committing,".
    """
    found: dict[str, Sense] = {}
    is_named = False
    words = reading.wording.words
    for number, (word, sense) in enumerate(
        zip(words, find_senses(reading.wording, lexicon), strict=True)
    ):
        if not word.code and word.text in _ENDS:
            if found.keys() - reading.label:
                break
            found, is_named = {}, False
            continue
        is_named = is_named or (not word.code and _is_cue(words, number))
        stem = find_weighty_stem(word, lexicon)
        if stem is not None and not is_named:
            found[stem] = sense
    return frozenset(found) if set(found.values()) <= {Sense.WANTED} else frozenset()
