"""Relations: what two texts that files say are to each other.

Statements are judged by the rules for statements, whole sections by the document's (one threshold
and one list of negations); a statement and a section are never compared. What the rules leave open
may be asked of a model.

Ruling: the thresholds and rules that hold, and a name for all of them together.

The name changes with everything a judgement depends on beside the two texts: then all that was
compared is compared again.

Linking: the links of principles follow what they say, at the cost of what changed.

What the links of a principle were drawn of is kept with it as a digest: its words and their
place, its fields, whether it has a vector, what was said about it, and how links are drawn. Where
that is another one now they are drawn again, for any cause: the organiser, a vector that came
late, another model, other thresholds.

Drawing: which links principles have, found for those that changed and those that are near them.

Each is linked with its nearest, and with those whose nearest it is; what contradicts and what is
needed is linked however many are nearer. So the links are a function of the principles alone, and
only those can have others that changed, or that are near one that did: what is drawn of them
is what drawing all of it again would give, and a test holds that.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cortex_actors.domain.insight import Claim, Conflict, Decider, Granularity, Judgement, Relation
from cortex_actors.domain.principle import Link, LinkType, Principle
from cortex_actors.domain.project import StatementKind
from cortex_actors.errors import ConfigurationError
from cortex_actors.rules import contradiction, linking
from cortex_actors.rules.clustering import COHERENCE, Pair, make_pair
from cortex_actors.rules.contradiction import (
    ConflictThresholds,
    ThresholdTable,
    find_opposition,
    find_slots,
)
from cortex_actors.rules.promotion import PromotionThresholds as Promotion
from cortex_actors.rules.proposals import Proposal, ProposalKind, propose
from cortex_actors.rules.sameness import CLUSTER, MERGE, SUSPECT, is_local
from cortex_actors.storage.pipeline import principle_lists, principles
from cortex_actors.storage.search.matrix import InsightVectors, Rows, cosine
from cortex_actors.text import lexicon
from cortex_actors.text.claims import read
from cortex_actors.text.lexicon import Lexicon, load_standard, read_wording

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from cortex_actors.runtime.threads import Threads
    from cortex_actors.sections import OrganisationSettings, ReconciliationSettings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.pipeline.insight_evidence import SpokenText
    from cortex_actors.storage.pipeline.principle_lists import PrincipleShelf

#: Cosine from which on two statements are neighbours in the graph of clusters, unless they differ.
#: At it one in twelve of 2,400 real statements has a neighbour, and at most five are together; at
#: 0.6 chains begin to hold hundreds.
EDGE = 0.75

#: What shows something or says what to type: only the same text is the same.
_UNCLAIMED = frozenset({StatementKind.COMMAND, StatementKind.EXAMPLE})

#: Why a conflict of two projects is none within either.
_ELSEWHERE = "in different projects"


class PairJudge(Protocol):
    """A model that may be asked what pairs of claims are to each other."""

    @property
    def is_there(self) -> bool:
        """Whether there is a model at all."""

    @property
    def named(self) -> str:
        """What its judgements depend on beside the texts."""

    def compare(
        self, pairs: Sequence[tuple[Claim, Claim, float | None]], *, run: str
    ) -> Awaitable[Sequence[Judgement | None]]:
        """Return a judgement for each pair, None where it has no opinion; raises nothing."""


@dataclass(slots=True)
class Relations:
    """Judges pairs, and remembers the slots of each text; it belongs to one run."""

    limits: ThresholdTable = field(default_factory=ThresholdTable)
    #: A user's own tables with the rules' own; None: these alone.
    lexicon: Lexicon | None = None
    _slots: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def least(self) -> float:
        """The least cosine from which on any two texts are compared."""
        return min(self.limits.judged, SUSPECT[0])

    def judge(self, left: SpokenText, right: SpokenText, cosine: float | None) -> Judgement:
        """Return what two texts are to each other, whichever comes first."""
        if left.granularity is not right.granularity:
            return Judgement(Relation.UNRELATED, Decider.RULES, "one is a section, one a statement")
        if left.granularity is Granularity.SECTION:
            return self._fitted(left, right, _of_sections(left, right, cosine))
        thresholds = self.limits.choose(left.domain, right.domain)
        # Who writes a list or a table means its rows to differ, and hardly to contradict each
        # other: between them more has to speak for either than between strangers.
        are_siblings = left.heading == right.heading and not left.paths.isdisjoint(right.paths)
        found = contradiction.judge(
            left.claim,
            right.claim,
            cosine=cosine,
            thresholds=thresholds,
            lexicon=self.lexicon,
            kinds=(left.kind, right.kind),
            siblings=are_siblings,
        )
        least = MERGE if are_siblings else thresholds.judged
        is_less = cosine is None or cosine < least or _are_set_apart(left, right, found=found)
        if found.relation is Relation.SAME and is_less:
            found = replace(found, relation=Relation.RELATED)
        return self._fitted(left, right, found)

    def is_open(self, left: SpokenText, right: SpokenText, found: Judgement) -> bool:
        """Whether the rules leave it to a model what two statements are to each other."""
        both = left.granularity is right.granularity is Granularity.STATEMENT
        # Then no answer would count: what only one person says is not shown.
        is_vain = (left.is_private or right.is_private) and not left.projects & right.projects
        is_asked = both and not is_vain
        return is_asked and found.relation is Relation.RELATED and found.decider is Decider.RULES

    def find_proposal(
        self, left: SpokenText, right: SpokenText, *, found: Judgement, cosine: float | None
    ) -> Proposal | None:
        """Return what two statements that the rules left open may be to each other.

        A contradiction is possible at one place of one project only.
        """
        kinds = {left.kind, right.kind}
        if cosine is None or kinds & _UNCLAIMED or not self.is_open(left, right, found):
            return None
        asked = propose(left.claim, right.claim, cosine=cosine, lexicon=self.lexicon)
        is_far = asked is not None and asked.kind is ProposalKind.CONTRADICTION
        return None if is_far and not left.places & right.places else asked

    def read_answer(self, left: SpokenText, right: SpokenText, found: Judgement) -> Judgement:
        """Return what a model or an agent says of an open pair, as far as it may say so.

        A language model was asked whether anything is lost, and counts, as an agent does: of 30
        true duplicates that it called the same the rules would have refused 17. An entailment model
        counts where the rules find no name or value that differs. None makes one of what
        contradicts.
        """
        said = found
        if found.decider not in {Decider.LLM, Decider.AGENT}:
            said = contradiction.limit_verdict(found, left.claim, right.claim, lexicon=self.lexicon)
        if said.relation is Relation.SAME:
            # Rows of a list, and examples, do not count as contradictions, and are not one either.
            against = contradiction.find_contradiction(
                left.claim, right.claim, lexicon=self.lexicon
            )
            said = said if against is None else _related(said, f"but {against.reason}")
            if left.projects == right.projects:
                said = replace(said, fuller=max(left.content, right.content, key=len))
        return self._fitted(left, right, said)

    def find_slots(self, text: SpokenText) -> frozenset[str]:
        """Return the slots of a text: the subjects on which it says something."""
        if text.granularity is Granularity.SECTION:
            return frozenset()
        if text.id not in self._slots:
            self._slots[text.id] = contradiction.find_slots(text.claim, lexicon=self.lexicon)
        return self._slots[text.id]

    def _is_local(self, *texts: SpokenText) -> bool:
        """Whether one of two texts is a fact of a few words, or an entry of a list."""
        facts = [each.claim for each in texts if each.kind is StatementKind.FACT]
        return any(is_local(read(each, self.lexicon or lexicon.load_standard())) for each in facts)

    def is_edge(self, left: SpokenText, score: float) -> bool:
        """Whether two insights of that cosine are neighbours in the graph of clusters."""
        return score >= (CLUSTER if left.granularity is Granularity.SECTION else EDGE)

    def _fitted(self, left: SpokenText, right: SpokenText, found: Judgement) -> Judgement:
        """Return a judgement with what follows from who says the two, and where.

        Two contradict each other at one place of one project that is followed. Two projects that
        choose differently are a difference: their conflict is contextual.
        """
        is_private = left.is_private or right.is_private
        if found.relation is Relation.SAME and is_private:
            return _related(found, "one private")
        if found.relation is Relation.SAME and {left.kind, right.kind} & _UNCLAIMED:
            return _related(found, "but no claims")
        if found.relation is Relation.SAME and self._is_local(left, right):
            return _related(found, "but no claim by itself")
        if not found.contradicts:
            return found
        if StatementKind.EXAMPLE in (left.kind, right.kind):
            # An example shows something: it does not ask for it.
            return _related(found, "one an example")
        if left.places & right.places:
            is_placed = found.conflict is not Conflict.CONTEXTUAL
            return found if is_placed else replace(found, conflict=Conflict.DIRECT)
        ours, theirs = ({project for project, _ in each.places} for each in (left, right))
        if ours & theirs:
            return _related(found, "in different parts of the project")
        if not ours or not theirs:
            return _related(found, "in a project that is not followed any more")
        if is_private:
            return Judgement(Relation.UNRELATED, found.decider, f"{_ELSEWHERE}, one private")
        reason = f"{found.reason}; {_ELSEWHERE}"
        return replace(found, conflict=Conflict.CONTEXTUAL, reason=reason)


def _are_set_apart(left: SpokenText, right: SpokenText, *, found: Judgement) -> bool:
    """Tell whether one file means two statements that are alike to be two.

    Rows of a checklist are alike from heading to heading, and each is about what its own names.
    What says more than another statement of its file adds to it. Equal words are one text twice.
    """
    if left.paths.isdisjoint(right.paths) or _words(left.content) == _words(right.content):
        return False
    one, other = (set(_words(each.heading or "")) for each in (left, right))
    return bool(found.fuller) or not (one <= other or other <= one)


def _words(text: str) -> list[str]:
    """Return the words of a text without signs, in lower case and one form."""
    return [each.stem for each in read_wording(text).spoken]


def _related(found: Judgement, why: str) -> Judgement:
    """Return a judgement that says too much as one that says less."""
    return Judgement(Relation.RELATED, found.decider, f"{found.reason}; {why}")


def _of_sections(left: SpokenText, right: SpokenText, cosine: float | None) -> Judgement:
    """Return what two sections are to each other, by the document's thresholds alone."""
    score = -1.0 if cosine is None else cosine
    first, second = sorted((left.content, right.content))
    against = find_opposition(first, second) if score >= SUSPECT[0] else None
    if against is not None:
        reason = f"one says {against.left!r}, the other {against.right!r}"
        return Judgement(Relation.CONTRADICTION, Decider.RULES, reason, Conflict.DIRECT)
    if score >= CLUSTER:
        return Judgement(Relation.SAME, Decider.RULES, f"nearly the same words ({score:.2f})")
    near = Relation.RELATED if score >= SUSPECT[0] else Relation.UNRELATED
    return Judgement(near, Decider.RULES, f"a cosine of {score:.2f}")


log = logging.getLogger("cortex.reconciler")

#: Which form of comparing this is: another number has everything compared again after an update.
FORM = 5


class Ruling:
    """What one reconciler judges by.

    Attributes:
        limits: the thresholds.
        promotion: what becoming a principle asks for.
        trouble: what is wrong with the user's own rules; then those from before hold.

    """

    def __init__(
        self,
        settings: ReconciliationSettings,
        model: str,
        tables: Path | None = None,
        *,
        judge: str = "",
    ) -> None:
        """Judge by the settings; `tables` are a user's own rules, which `read` reads.

        `model` is whose vectors are compared, `judge` names the model that may be asked.
        """

        def limits(own: Mapping[str, float]) -> ConflictThresholds:
            said = {"cluster": settings.cluster, "judged": settings.judged, **own}
            # What may be one cluster may be merged.
            return ConflictThresholds(merge=said["cluster"], floor=settings.floor, **said)

        domains = {n: e.model_dump(exclude_none=True) for n, e in settings.domains.items()}
        self.limits = ThresholdTable(
            limits({}), {name: limits(own) for name, own in domains.items()}
        )
        self.promotion = Promotion(
            confidence=settings.promotion_confidence,
            observations=settings.promotion_observations,
            age=settings.promotion_age_days,
            projects=settings.promotion_projects,
        )
        self.trouble = ""
        self._names = (model, judge)
        self._tables = tables
        self._text = ""
        self._lexicon: Lexicon | None = None
        self._digest = b""

    @property
    def digest(self) -> bytes:
        """What names everything that a judgement depends on beside the texts."""
        if not self._digest:
            self.read()
        return self._digest

    def make_relations(self) -> Relations:
        """Return a fresh judge of pairs."""
        return Relations(self.limits, self._lexicon)

    def read(self) -> None:
        """Read the user's own rules, if they are others than before (on a thread).

        The first time, the product's own tables are read, too, which takes half a second.
        """
        try:
            text = self._said()
            if text != self._text or self.trouble:
                self._lexicon = (
                    lexicon.load_extended(text, origin=str(self._tables)) if text else None
                )
                self._text, self._digest, self.trouble = text, b"", ""
        except ConfigurationError as error:
            if self.trouble != str(error):
                log.warning("%s", error)
            self.trouble = str(error)
        self._digest = self._digest or self._named()

    def _said(self) -> str:
        """Return the text of the user's file; nothing where there is none."""
        if self._tables is None:
            return ""
        try:
            return self._tables.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"cannot read the rules in {self._tables}: {error}; mend the file or remove it"
            ) from error

    def _named(self) -> bytes:
        """Return the name of all that is judged by."""
        own = {name: asdict(each) for name, each in sorted(self.limits.by_domain.items())}
        tables = (self._lexicon or lexicon.load_standard()).digest
        limits = (asdict(self.limits.default), own, EDGE, COHERENCE)
        parts = (FORM, *self._names, limits, tables)
        return hashlib.sha256(json.dumps(parts).encode()).digest()


#: Types that are found in the words of two, however many are nearer to either.
_SPOKEN = frozenset({LinkType.CONTRADICTS, LinkType.DEPENDS_ON})


@dataclass(frozen=True, slots=True)
class Linked:
    """How links change; nothing of it is written yet."""

    gone: tuple[Link, ...] = ()
    found: tuple[Link, ...] = ()
    #: Principle -> digest of what its links were drawn of.
    digests: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def ends(self) -> set[str]:
        """The principles that have another link than before."""
        return {end for each in (*self.gone, *self.found) for end in each.pair}

    def write(self, connection: Connection, *, at: int) -> set[str]:
        """Write it, after the principles; return who has other links than before.

        A link to a principle that has gone meanwhile is left out.
        """
        principles.replace_links(connection, self.gone, self.found, at=at)
        principles.note_drawn(connection, self.digests.items())
        return self.ends


@dataclass(slots=True)
class Survey:
    """Principles near each other, as far as compared; it belongs to one run, on a thread."""

    shelf: PrincipleShelf
    thresholds: linking.LinkThresholds
    lexicon: Lexicon
    #: Cosines of pairs that are worth a look.
    cosines: dict[Pair, float] = field(default_factory=dict)
    #: The nearest of each that was looked at.
    nearest: dict[str, list[str]] = field(default_factory=dict)
    texts: InsightVectors = field(init=False)

    def __post_init__(self) -> None:
        """Put all vectors side by side, to be compared with."""
        ids = list(self.shelf.rows)
        every = np.concatenate([self.shelf.rows[e] for e in ids] or [np.zeros(0, np.float32)])
        rows = every.reshape(max(len(ids), 1), -1)
        self.texts = InsightVectors((Rows(ids, rows, np.arange(len(ids), dtype=np.intp)),))

    def look(self, ids: Iterable[str]) -> None:
        """Find who is near those that were not looked at."""
        asked = [each for each in ids if each in self.shelf.rows and each not in self.nearest]
        if not asked:
            return
        rows = np.stack([self.shelf.rows[each] for each in asked])
        found = self.texts.find_near(rows, self.thresholds.related)
        for one, near in zip(asked, found, strict=True):
            others = [each for each in near if each.insight_id != one]
            self.cosines |= {make_pair(one, each.insight_id): each.cosine for each in others}
            some = [each for each in others if self._may(one, each.insight_id, each.cosine)]
            some.sort(key=lambda each: (-each.cosine, each.insight_id))
            self.nearest[one] = [e.insight_id for e in some[: self.thresholds.neighbours]]

    def find_near(self, ids: AbstractSet[str]) -> set[str]:
        """Return the principles looked at before that may count those among their nearest."""
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
        score, rows = self.cosines.get(edge), self.shelf.rows
        # Those that are not near have a cosine, too, unless one has no vector.
        if score is None and rows.keys() >= set(edge):
            score = cosine(rows[edge[0]], rows[edge[1]])
        return linking.link(
            one,
            other,
            score,
            near=self.is_chosen(edge),
            thresholds=self.thresholds,
            lexicon=self.lexicon,
        )

    def _may(self, one: str, other: str, score: float) -> bool:
        left, right = (self.shelf.nodes[each].subject for each in (one, other))
        return linking.may_link(left, right, score, thresholds=self.thresholds)


def find_affected(survey: Survey, due: AbstractSet[str], before: Iterable[Link]) -> set[str]:
    """Return those that are due, and those that may have others as nearest because of them.

    `before` are the links of those that are due, as they are.
    """
    survey.look(sorted(due))
    known = survey.shelf.nodes
    left = {end for each in before for end in each.pair if end in known}
    return set(due) | left | survey.find_near(due)


def draw_links(
    survey: Survey, due: AbstractSet[str], around: AbstractSet[str], before: Sequence[Link]
) -> Linked:
    """Return how the links of those `around` change; `before` are theirs, as they are."""
    survey.look(sorted(around))
    old = {each.pair: each for each in before}
    # Those outside that may still count one inside among their nearest.
    hosts = {end for edge in old if not survey.is_chosen(edge) for end in edge} - around
    survey.look(sorted(hosts & survey.shelf.nodes.keys()))
    found = {}
    # What may be linked: near, known, of one topic, or spoken of.
    nodes = survey.shelf.nodes
    spoken = {make_pair(one, other) for one in nodes for other, _ in nodes[one].subject.verdicts}
    edges = {make_pair(one, other) for one in around for other in survey.nearest.get(one, ())}
    edges |= {edge for edge in survey.cosines if not due.isdisjoint(edge)}
    edges |= {edge for edge in spoken if nodes.keys() >= set(edge) and due & set(edge)}
    edges |= {edge for edge in old if nodes.keys() >= set(edge)}
    for edge in sorted(edges.union(_sharing(survey, due))):
        is_known = edge in old and not set(edge) & set(due)
        # What the words of both say stays; everything else as long as they are near.
        stays = is_known and (old[edge].type in _SPOKEN or survey.is_chosen(edge))
        made = old[edge] if stays else survey.link(edge)
        if made is not None:
            found[edge] = made
    gone = [each for edge, each in old.items() if not _is_as(each, found.get(edge))]
    new = [each for edge, each in found.items() if not _is_as(each, old.get(edge))]
    return Linked(tuple(gone), tuple(new))


def _sharing(survey: Survey, due: AbstractSet[str]) -> Iterator[Pair]:
    """Yield pairs that share a slot, one of them due."""
    found = {
        each: find_slots(node.subject.claim, lexicon=survey.lexicon)
        for each, node in survey.shelf.nodes.items()
        if not node.subject.is_section
    }
    by_slot: dict[str, list[str]] = {}
    for each in due:
        for slot in found.get(each, ()):
            by_slot.setdefault(slot, []).append(each)
    for each, some in found.items():
        for slot in some & by_slot.keys():
            yield from (make_pair(each, other) for other in by_slot[slot] if other != each)


def _is_as(one: Link, other: Link | None) -> bool:
    """Tell whether two links are one."""
    return other is not None and one.normalise() == other.normalise()


@dataclass(frozen=True, slots=True)
class Linker:
    """Finds the links of principles, by vectors of that model; the caller writes them."""

    records: Records
    threads: Threads
    model: str
    settings: OrganisationSettings

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
        read, run = self.records.read, self.threads.run
        tables = lexicon if lexicon is not None else await run(load_standard)
        shelf = await read(
            lambda c: principle_lists.load_shelf(c, self.model, made=made, rows=rows, gone=gone)
        )
        digests = await run(self._digests, shelf, tables)
        due = {name for name, now in digests.items() if now != shelf.nodes[name].linked}
        # Who loses a neighbour that goes is due as well.
        lost = await read(lambda c: principles.load_touching(c, gone)) if gone else ()
        due |= {end for each in lost for end in each.pair if end in shelf.nodes}
        if not due:
            return Linked()
        survey = Survey(shelf, self.settings.linking, tables)
        before = await read(lambda c: principles.load_touching(c, due))
        around = await run(find_affected, survey, due, before)
        before = await read(lambda c: principles.load_touching(c, {*around, *gone}))
        found = await run(draw_links, survey, due, around, before)
        return replace(found, digests={name: digests[name] for name in due})

    def _digests(self, shelf: PrincipleShelf, lexicon: Lexicon) -> dict[str, bytes]:
        """Return the digest of all that each principle's links are drawn of (on a thread)."""
        limits = asdict(self.settings.linking)
        how = json.dumps([linking.VERSION, lexicon.digest, self.model, limits]).encode()
        found = {}
        for name, node in shelf.nodes.items():
            what, claim = node.subject, node.subject.claim
            said = [(n, *map(str, (v.relation, v.decider, v.reason))) for n, v in what.verdicts]
            of = (sorted(what.domains), sorted(what.tags), said, what.is_section)
            parts = ((claim.text, claim.heading, claim.scope), *of, name in shelf.rows)
            text = json.dumps([*parts, node.text_hash.hex()])
            found[name] = hashlib.sha256(how + text.encode("utf-8", "surrogatepass")).digest()
        return found
