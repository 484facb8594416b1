"""Linking: the links of principles follow what they say, at the cost of what changed.

What the links of a principle were drawn of is kept with it as a digest: its words and where they
stand, its fields, whether it has a vector, what was said about it, and how links are drawn. Where
that is another one now they are drawn anew, whoever changed it: the organiser, a vector that came
late, another model, other thresholds.

Drawing: which links principles have, found for those that changed and whoever is near them.

Each is linked with its nearest, and with those whose nearest it is; what contradicts and what is
needed is linked however many stand nearer. So the links are a function of the principles alone, and
only those can have others that changed, or that have somebody near who did: what is drawn of them
is what drawing all of it anew would give, and a test holds that.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.domain.principle import LinkType
from cortex_actors.rules import linking
from cortex_actors.rules.clustering import Pair, pair
from cortex_actors.rules.contradiction import slots
from cortex_actors.storage import principle_lists, principles
from cortex_actors.storage.search.matrix import Rows, Texts, cosine
from cortex_actors.text.lexicon import standard

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from cortex_actors.domain.principle import Link, Principle
    from cortex_actors.rules.linking import Thresholds
    from cortex_actors.runtime.threads import Threads
    from cortex_actors.sections import OrganisationSettings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.principle_lists import Node, Shelf
    from cortex_actors.text.lexicon import Lexicon


#: Types that are found in the words of two, however many stand nearer to either.
_SPOKEN = frozenset({LinkType.CONTRADICTS, LinkType.DEPENDS_ON})


@dataclass(frozen=True, slots=True)
class Drawn:
    """How links change."""

    gone: tuple[Link, ...] = ()
    found: tuple[Link, ...] = ()

    @property
    def ends(self) -> set[str]:
        """Whoever has another link than before."""
        return {end for each in (*self.gone, *self.found) for end in each.pair}


@dataclass(slots=True)
class Survey:
    """Who is near whom, as far as anybody looked; it belongs to one run, on a thread."""

    shelf: Shelf
    thresholds: Thresholds
    lexicon: Lexicon
    #: Cosines of pairs that are worth a look.
    cosines: dict[Pair, float] = field(default_factory=dict)
    #: The nearest of each that was looked at.
    nearest: dict[str, list[str]] = field(default_factory=dict)
    texts: Texts = field(init=False)

    def __post_init__(self) -> None:
        """Put all vectors side by side, to be compared with."""
        ids = list(self.shelf.rows)
        rows = [self.shelf.rows[each] for each in ids] or [np.zeros(0, np.float32)]
        self.texts = Texts((Rows(ids, np.stack(rows), np.arange(len(ids), dtype=np.intp)),))

    def look(self, ids: Iterable[str]) -> None:
        """Find who is near those that were not looked at."""
        asked = [each for each in ids if each in self.shelf.rows and each not in self.nearest]
        if not asked:
            return
        rows = np.stack([self.shelf.rows[each] for each in asked])
        found = self.texts.near(rows, self.thresholds.related)
        for one, near in zip(asked, found, strict=True):
            others = [each for each in near if each.insight_id != one]
            for other in others:
                self.cosines[pair(one, other.insight_id)] = other.cosine
            self.nearest[one] = self._first(one, [each.insight_id for each in others])

    def near(self, ids: AbstractSet[str]) -> set[str]:
        """Return whoever those may count among their nearest; they were looked at before."""
        return {
            other
            for edge, score in self.cosines.items()
            for one, other in (edge, edge[::-1])
            if one in ids and self._may(one, other, score)
        }

    def is_chosen(self, edge: Pair) -> bool:
        """Tell whether one of two is among the nearest of the other, as far as they were seen."""
        one, other = edge
        return other in self.nearest.get(one, ()) or one in self.nearest.get(other, ())

    def link(self, edge: Pair) -> Link | None:
        """Return the link of two."""
        one, other = (self.shelf.nodes[each].subject for each in edge)
        return linking.link(
            one,
            other,
            self._cosine(edge),
            near=self.is_chosen(edge),
            thresholds=self.thresholds,
            lexicon=self.lexicon,
        )

    def _cosine(self, edge: Pair) -> float | None:
        """Return the cosine of two, whether or not they are near; None where one has no vector."""
        known = self.cosines.get(edge)
        rows = self.shelf.rows
        if known is not None or not (edge[0] in rows and edge[1] in rows):
            return known
        return cosine(rows[edge[0]], rows[edge[1]])

    def _first(self, one: str, others: Sequence[str]) -> list[str]:
        """Return the nearest of those that may be linked with one."""
        scores = {each: self.cosines[pair(one, each)] for each in others}
        some = [each for each, score in scores.items() if self._may(one, each, score)]
        some.sort(key=lambda each: (-scores[each], each))
        return some[: self.thresholds.neighbours]

    def _may(self, one: str, other: str, score: float) -> bool:
        left, right = (self.shelf.nodes[each].subject for each in (one, other))
        return linking.may_link(left, right, score, thresholds=self.thresholds)


def affected(survey: Survey, due: AbstractSet[str], before: Iterable[Link]) -> set[str]:
    """Return those that are due, and whoever may have others among its nearest because of them.

    `before` are the links of those that are due, as they are.
    """
    survey.look(sorted(due))
    known = survey.shelf.nodes
    left = {end for each in before for end in each.pair if end in known}
    return set(due) | left | survey.near(due)


def drawn(
    survey: Survey, due: AbstractSet[str], around: AbstractSet[str], before: Sequence[Link]
) -> Drawn:
    """Return how the links of those `around` change; `before` are theirs, as they are."""
    survey.look(sorted(around))
    old = {each.pair: each for each in before}
    outside = {end for edge in old for end in edge} - set(around)
    survey.look(sorted(_hosts(survey, old, outside)))
    found = {}
    for edge in sorted(_edges(survey, due, around, old)):
        is_known = edge in old and not set(edge) & set(due)
        # What stands in the words of both stays; everything else as long as they are near.
        stays = is_known and (old[edge].type in _SPOKEN or survey.is_chosen(edge))
        made = old[edge] if stays else survey.link(edge)
        if made is not None:
            found[edge] = made
    gone = [each for edge, each in old.items() if not _is_as(each, found.get(edge))]
    new = [each for edge, each in found.items() if not _is_as(each, old.get(edge))]
    return Drawn(tuple(gone), tuple(new))


def _hosts(survey: Survey, old: Mapping[Pair, Link], outside: AbstractSet[str]) -> Iterator[str]:
    """Yield those outside that may still count one inside among their nearest."""
    for edge in old:
        if not survey.is_chosen(edge):
            yield from outside & set(edge) & survey.shelf.nodes.keys()


def _edges(
    survey: Survey, due: AbstractSet[str], around: AbstractSet[str], old: Mapping[Pair, Link]
) -> set[Pair]:
    """Return the pairs that may be linked: near, known, of one topic, or spoken of."""
    edges = {pair(one, other) for one in around for other in survey.nearest.get(one, ())}
    edges |= {edge for edge in survey.cosines if not due.isdisjoint(edge)}
    edges |= {edge for edge in old if survey.shelf.nodes.keys() >= set(edge)}
    return edges | set(_sharing(survey, due)) | set(_spoken_of(survey, due))


def _spoken_of(survey: Survey, due: AbstractSet[str]) -> Iterator[Pair]:
    """Yield pairs about which somebody has said something, one of them due."""
    nodes = survey.shelf.nodes
    for each, node in nodes.items():
        for other, _ in node.subject.verdicts:
            if other in nodes and (each in due or other in due):
                yield pair(each, other)


def _sharing(survey: Survey, due: AbstractSet[str]) -> Iterator[Pair]:
    """Yield pairs that take a stand on one thing, one of them due."""
    found = {
        each: slots(node.subject.claim, lexicon=survey.lexicon)
        for each, node in survey.shelf.nodes.items()
        if not node.subject.is_section
    }
    by_slot: dict[str, list[str]] = {}
    for each in due:
        for slot in found.get(each, ()):
            by_slot.setdefault(slot, []).append(each)
    for each, some in found.items():
        for slot in some & by_slot.keys():
            yield from (pair(each, other) for other in by_slot[slot] if other != each)


def _is_as(one: Link, other: Link | None) -> bool:
    """Tell whether two links are one."""
    return other is not None and one.kept() == other.kept()


@dataclass(frozen=True, slots=True)
class Linked:
    """What one look found; nothing of it is written yet."""

    drawn: Drawn = field(default_factory=Drawn)
    #: Principle -> digest of what its links were drawn of.
    digests: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Return the numbers of an audit row."""
        return {"linked": len(self.drawn.found), "unlinked": len(self.drawn.gone)}

    def write(self, connection: Connection, *, at: int) -> set[str]:
        """Write it, after the principles; return who has other links than before.

        A link to a principle that has gone meanwhile is left out.
        """
        principles.replace_links(connection, self.drawn.gone, self.drawn.found, at=at)
        principles.note(connection, self.digests.items())
        return self.drawn.ends


class Linker:
    """Finds the links of principles; whoever asks writes them."""

    def __init__(
        self, records: Records, threads: Threads, *, model: str, settings: OrganisationSettings
    ) -> None:
        """Compare vectors of that model, on those threads."""
        self._records = records
        self._threads = threads
        self._model = model
        self._thresholds = settings.linking

    async def find(
        self,
        made: Sequence[Principle] = (),
        *,
        rows: Mapping[bytes, Matrix] | None = None,
        gone: Collection[str] = (),
        lexicon: Lexicon | None = None,
    ) -> Linked:
        """Return how links change once principles are `made`, and others `gone`.

        `rows` are vectors that the ledger has not got yet, by the hash of their text; `lexicon` is
        the user's own rules with the product's. With nothing given, what is due in the ledger is
        drawn. Reads only.
        """
        shelf = await self._records.read(
            lambda c: principle_lists.shelf(c, self._model, made=made, rows=rows, gone=gone)
        )
        tables = lexicon if lexicon is not None else await self._threads.run(standard)
        digests = await self._threads.run(self._digests, shelf, tables)
        due = {name for name, now in digests.items() if now != shelf.nodes[name].linked}
        due |= await self._left(gone, shelf)
        if not due:
            return Linked()
        survey = Survey(shelf, self._thresholds, tables)
        known = await self._records.read(lambda c: principles.touching(c, due))
        around = await self._threads.run(affected, survey, due, known)
        before = await self._records.read(lambda c: principles.touching(c, {*around, *gone}))
        found = await self._threads.run(drawn, survey, due, around, before)
        return Linked(found, {name: digests[name] for name in due})

    async def _left(self, gone: Collection[str], shelf: Shelf) -> set[str]:
        """Return who loses a neighbour that goes."""
        if not gone:
            return set()
        lost = await self._records.read(lambda c: principles.touching(c, gone))
        return {end for each in lost for end in each.pair if end in shelf.nodes}

    def _digests(self, shelf: Shelf, lexicon: Lexicon) -> dict[str, bytes]:
        """Return the digest of each principle (on a thread)."""
        how = json.dumps(
            [linking.VERSION, lexicon.digest, self._model, asdict(self._thresholds)]
        ).encode()
        nodes = shelf.nodes.values()
        return {each.id: _digest(each, how, each.id in shelf.rows) for each in nodes}


def _digest(node: Node, how: bytes, has_vector: bool) -> bytes:  # noqa: FBT001 - one of three
    """Return the digest of all that a principle's links are drawn of."""
    subject = node.subject
    said = [(name, *map(str, (v.relation, v.decider, v.reason))) for name, v in subject.verdicts]
    claim = (subject.claim.text, subject.claim.heading, subject.claim.scope)
    parts = (claim, sorted(subject.domains), sorted(subject.tags), said, subject.is_section)
    text = json.dumps([*parts, has_vector, node.text_hash.hex()])
    return hashlib.sha256(how + text.encode("utf-8", "surrogatepass")).digest()
