"""Convergence: several agents say alike, whatever was asked.

Messages are compared with one another, never with a question alone: two that are both near "tabs or
spaces" may want the opposite. A group is messages every two of which are alike, by at least two
agents; what one agent says twice makes no agreement.

Vectors put "always" and "never" close together, so two messages stay apart, however alike, where
the rules find that they contradict each other, that one is against what the other is for, that each
has a number or name, or holds at a place, of its own, or that they have the same words in another
order.
(Measured with all-MiniLM-L6-v2 at .7: docs/agents.md.)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, TypeAlias

from cortex_actors.domain.insight import Claim
from cortex_actors.domain.memory import ConvergenceLevel
from cortex_actors.rules.contradiction import find_separate_places, judge
from cortex_actors.rules.sameness import find_opposed_stance, find_reordering
from cortex_actors.text.claims import read
from cortex_actors.text.lexicon import Lexicon, load_standard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


#: Agents that make a harmony, and a consensus.
HARMONY, CONSENSUS = 2, 3

#: The word in an answer for a group in which no agent agrees with another.
NONE: Final = "NONE"

#: Characters of a message that an answer shows, and what follows them if it goes on.
PREVIEW, MORE = 100, "..."

#: Returns the cosine of two messages, given by their places.
Likeness: TypeAlias = "Callable[[int, int], float]"


@dataclass(frozen=True, slots=True)
class Voice:
    """One message: which, whose, and what it says."""

    id: str
    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class AgreeingGroup:
    """Messages that say alike.

    Attributes:
        voices: in the order in which they were given.
        likeness: the least cosine of any two.

    """

    voices: tuple[Voice, ...]
    likeness: float

    @property
    def agents(self) -> tuple[str, ...]:
        """Who says so, by id."""
        return tuple(sorted({each.agent for each in self.voices}))

    @property
    def kind(self) -> ConvergenceLevel:
        """How many say so."""
        many = len(self.agents) >= CONSENSUS
        return ConvergenceLevel.CONSENSUS if many else ConvergenceLevel.HARMONY


@dataclass(frozen=True, slots=True)
class Apart:
    """Two messages that are near each other and say the opposite; `reason` says how."""

    left: Voice
    right: Voice
    likeness: float
    reason: str


@dataclass(frozen=True, slots=True)
class ConvergenceResult:
    """What was found among some messages: what agrees, most agents first, and what does not."""

    groups: tuple[AgreeingGroup, ...] = ()
    apart: tuple[Apart, ...] = ()


def find_groups(
    voices: Sequence[Voice], alike: Likeness, *, threshold: float, min_agents: int = HARMONY
) -> ConvergenceResult:
    """Return the groups among some messages; each message counts in one group at most.

    That is the one of most agents, then of most messages, then of the closest. Takes a millisecond
    for 20 messages that are all alike.
    """
    near, apart = _near(voices, alike, threshold)
    groups: list[AgreeingGroup] = []
    left = set(range(len(voices)))
    while best := _best(voices, _within(near, left), alike, least=min_agents):
        groups.append(best[1])
        left -= best[0]
    return ConvergenceResult(tuple(groups), tuple(apart))


def find_group(
    voices: Sequence[Voice], alike: Likeness, *, threshold: float
) -> AgreeingGroup | None:
    """Return the group of the first of some messages; None where no other agrees with it."""
    near, _ = _near(voices, alike, threshold)
    beside = {0, *near[0]} if near else set()
    found = _best(voices, _within(near, beside), alike, least=HARMONY, holding=0)
    return found[1] if found else None


def find_opposition(
    left: str, right: str, cosine: float, *, lexicon: Lexicon | None = None
) -> str | None:
    """Return why two texts cannot both be followed, or None; the order does not matter."""
    tables = lexicon or load_standard()
    first, second = sorted((Claim(left), Claim(right)), key=lambda claim: claim.text)
    found = judge(first, second, cosine=cosine, lexicon=tables)
    if found.contradicts or first == second:
        return found.reason if found.contradicts else None
    one, other = read(first, tables), read(second, tables)
    for mine, its in ((one.numbers, other.numbers), (one.names, other.names)):
        if mine - its and its - mine:
            return "they name different things"
    elsewhere = "they hold at different places" if find_separate_places(one, other) else None
    return find_opposed_stance(one, other) or find_reordering(left, right) or elsewhere


def preview(text: str) -> str:
    """Return the beginning of a message on one line."""
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW else line[:PREVIEW] + MORE


def _near(
    voices: Sequence[Voice], alike: Likeness, threshold: float
) -> tuple[dict[int, set[int]], list[Apart]]:
    """Return for each message those that say alike, and the pairs that only seem to."""
    near: dict[int, set[int]] = {place: set() for place in range(len(voices))}
    apart: list[Apart] = []
    for one, other in combinations(range(len(voices)), 2):
        cosine = alike(one, other)
        if cosine < threshold:
            continue
        reason = find_opposition(voices[one].text, voices[other].text, cosine)
        if reason is None:
            near[one].add(other)
            near[other].add(one)
        elif voices[one].agent != voices[other].agent:
            apart.append(Apart(voices[one], voices[other], cosine, reason))
    return near, apart


def _within(near: Mapping[int, set[int]], places: set[int]) -> dict[int, set[int]]:
    """Return who is near whom among some messages."""
    return {place: near[place] & places for place in sorted(places)}


def _best(
    voices: Sequence[Voice],
    near: Mapping[int, set[int]],
    alike: Likeness,
    *,
    least: int,
    holding: int | None = None,
) -> tuple[set[int], AgreeingGroup] | None:
    """Return the group of most agents, with its places; None where none has so many."""
    found = [
        (places, _group(voices, places, alike))
        for places in _cliques(set(), set(near), set(), near)
        if len({voices[place].agent for place in places}) >= max(HARMONY, least)
        and (holding is None or holding in places)
    ]
    return min(found, key=_order, default=None)


def _order(found: tuple[set[int], AgreeingGroup]) -> tuple[int, int, float, list[int]]:
    places, group = found
    return -len(group.agents), -len(places), -group.likeness, sorted(places)


def _group(voices: Sequence[Voice], places: set[int], alike: Likeness) -> AgreeingGroup:
    ordered = sorted(places)
    least = min(alike(one, other) for one, other in combinations(ordered, 2))
    return AgreeingGroup(tuple(voices[place] for place in ordered), least)


def _cliques(
    taken: set[int], open_: set[int], done: set[int], near: Mapping[int, set[int]]
) -> Iterator[set[int]]:
    """Yield the largest sets in which every two are near (Bron and Kerbosch 1973, with a pivot).

    Of 20 messages at most 1,459: 3 ** (20 / 3).
    """
    if not open_ and not done:
        yield taken
        return
    pivot = max(sorted(open_ | done), key=lambda place: len(near[place] & open_))
    for place in sorted(open_ - near[pivot]):
        beside = near[place]
        yield from _cliques(taken | {place}, open_ & beside, done & beside, near)
        open_, done = open_ - {place}, done | {place}
