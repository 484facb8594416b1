"""Reconciliation: what one run found, and how it is written.

Between the look and the commit files may have been read again. So what depends on a text being said
is checked once more: what is not said any more represents no text, and a text that has just begun
to count for one that now counts for another is alone until its own event has been handled. Those
events come anyway, and each leads to a run of its own.

Picture: the groups of a neighbourhood's texts once they are reconciled.

A function of the texts that are said and of nothing else: not of what was merged before, nor of
the order in which files were read. A neighbourhood that holds all there is gives the picture that
ever smaller changes lead to; a test compares the two.

Texts of one run, and what each is to the others as far as they were compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Claim, Conflict, Decider, Judgement, Relation
from cortex_actors.domain.project import StatementKind
from cortex_actors.rules import clustering
from cortex_actors.rules.clustering import Cluster, Pair, make_pair
from cortex_actors.rules.proposals import score_agreement
from cortex_actors.storage import insight_records
from cortex_actors.storage.pipeline import contradictions, insight_evidence, insights, verdicts
from cortex_actors.storage.pipeline.contradictions import Contradiction, Mark, make_id
from cortex_actors.storage.search.matrix import Near, cosine

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cortex_actors.pipeline.evidence import WeighedInsights
    from cortex_actors.pipeline.relations import Relations
    from cortex_actors.rules.proposals import Proposal
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection


@dataclass(frozen=True, slots=True)
class Groups:
    """Which text represents which, and what follows from that.

    Attributes:
        around: the texts.
        leads: text -> its representative, for all that were visited and are said.
        followers: representative -> all texts that count for it, itself among them, in order.

    """

    around: Neighbourhood
    leads: Mapping[str, str]
    followers: Mapping[str, Sequence[str]]

    @property
    def insights(self) -> Collection[str]:
        """Those that represent themselves."""
        return self.followers.keys()

    def load_clusters(self) -> list[Cluster]:
        """Return the clusters of the insights that were visited."""
        edges = {
            make_pair(one, other): score
            for one in self.insights
            for other, score in self.around.near.get(one, {}).items()
            if other in self.insights
        }
        return clustering.find_clusters(edges, self.around.rows)

    def load_contradictions(
        self, decided: Iterable[Contradiction], *, name: str, at: int
    ) -> list[Contradiction]:
        """Return the pairs of insights that cannot both hold, at least one of them visited.

        Whichever texts of theirs disagree: two texts of one project do so under whatever wording of
        another project speaks for them. `decided` are pairs about which a person has spoken:
        whatever texts say the same as theirs, they are not raised again.
        """
        closed = {self._insights(each.pair) for each in decided}
        best: dict[Pair, tuple[Pair, Judgement, float | None]] = {}
        for texts, (judged, score) in sorted(self.around.conflicts.items()):
            edge = self._insights(texts)
            are_live = all(_is_live(self.around, each) for each in (*texts, *edge))
            if not are_live or edge[0] == edge[1] or edge in closed:
                continue
            if edge not in best or _weight(judged) > _weight(best[edge][1]):
                best[edge] = texts, judged, score
        rows = []
        for edge, (texts, judged, score) in sorted(best.items()):
            # Every contradiction says of which kind it is.
            assert judged.conflict is not None  # noqa: S101
            row = Contradiction(
                id=make_id(*edge),
                insight_a=edge[0],
                insight_b=edge[1],
                type=str(judged.conflict),
                similarity=score,
                detected_by=name,
                decided_by=str(judged.decider),
                reason=judged.reason,
                detected_at=at,
                confidence=judged.confidence,
            )
            word = self.around.words.get(texts)
            if word is not None and word.keep is not None:
                # Said of texts that stood for other insights then.
                kept = self.find_insight(word.keep)
                row = replace(row, status="resolved", resolved_at=word.at, kept_id=kept)
            rows.append(row)
        return rows

    def load_proposals(self, *, at: int) -> list[verdicts.Proposed]:
        """Return what two insights may be to each other, of those that were visited."""
        return [
            verdicts.Proposed(
                id=verdicts.make_id(each.kind, edge),
                insight_a=edge[0],
                insight_b=edge[1],
                kind=each.kind,
                score=each.score,
                reason=each.reason,
                similarity=score,
                found_at=at,
            )
            for edge, (each, score) in sorted(self.around.proposed.items())
            if self._insights(edge) == edge and all(_is_live(self.around, side) for side in edge)
        ]

    def load_contradicted(self, current: Iterable[Contradiction]) -> set[str]:
        """Return the insights that something speaks against, as long as the other side is said.

        Two that are one insight by now do not speak against it, whatever a person decided before.
        """
        return {
            self.find_insight(side)
            for each in current
            for side, other in (each.pair, each.pair[::-1])
            if each.is_against(side)
            and _is_live(self.around, other)
            and self.find_insight(side) != self.find_insight(other)
        }

    def load_differing(self, current: Iterable[Contradiction]) -> set[str]:
        """Return the insights from which the choice of another project differs."""
        texts, differing = self.around.texts, set()
        for each in current:
            if each.is_open and not each.is_direct:
                leads = [self.find_insight(side) for side in each.pair]
                said = [self.followers.get(lead, [lead]) for lead in leads]
                # The projects that say either of the two.
                says = [{p for e in some if e in texts for p in texts[e].projects} for some in said]
                differing |= {leads[n] for n in (0, 1) if says[1 - n] - says[n]}
        return differing

    def load_agreements(self) -> dict[Pair, float]:
        """Return the pairs of insights that are near enough to be offered as one rule."""
        agreeing = self.around.agreeing.items()
        return {edge: score for edge, score in agreeing if self._insights(edge) == edge}

    def find_insight(self, text: str) -> str:
        """Return the insight that a text counts for, visited or not."""
        if text in self.leads:
            return self.leads[text]
        known = self.around.texts.get(text)
        return text if known is None or known.superseded_by is None else known.superseded_by

    def _insights(self, texts: Pair) -> Pair:
        """Return the insights that two texts count for, as a pair."""
        return make_pair(*map(self.find_insight, texts))


def load_groups(around: Neighbourhood) -> Groups:
    """Return the groups; of the texts that no other says more fully, the one of most voices leads.

    A fuller text represents what says less of it only where it adds no voice and no project: who
    says "X" does not say "X and Y". Of true duplicates a rule leads, then the shortest, and not
    what most files say: one project may have any number of them.
    """
    live = [each for each in around.visited if _is_live(around, each)]
    above = {each: _above(around, each) for each in live}
    order = sorted(live, key=lambda each: (bool(above[each]), *_place(around, each)))
    alike = {
        each: {
            other
            for other in around.same.get(each, ())
            if each in above.get(other, ())
            or around.fuller.isdisjoint({(each, other), (other, each)})
        }
        for each in live
    }
    leads = _lend(around, clustering.find_leaders(order, alike))
    followers: dict[str, list[str]] = {}
    for each in sorted(leads):
        followers.setdefault(leads[each], []).append(each)
    return Groups(around, leads, followers)


def _lend(around: Neighbourhood, leads: Mapping[str, str]) -> Mapping[str, str]:
    """Let what an agent called the same count for one, too, where that gives it no other voice.

    What two projects say becomes a principle: no word of an agent makes two of one.
    """
    voices: dict[str, set[str]] = {}
    for text, lead in leads.items():
        voices[lead] = voices.get(lead, set()) | around.texts[text].voices
    lent: dict[str, set[str]] = {}
    for text, others in around.lent.items():
        for one, other in ((leads.get(text), leads.get(each)) for each in others):
            if one and other and one != other and voices[other] <= voices[one]:
                lent.setdefault(one, set()).add(other)
    if not lent:
        return leads
    # Of equals the longer one represents both, so that nothing is lost.
    size = {each: len(around.texts[each].content) for each in voices}
    order = sorted(voices, key=lambda each: (-len(voices[each]), -size[each], each))
    found = clustering.find_leaders(order, lent)
    return {text: found[lead] for text, lead in leads.items()}


def _above(around: Neighbourhood, text: str) -> set[str]:
    """Return the texts that say all of a text and more, wherever that text is said."""
    said, texts = around.texts[text], around.texts
    return {
        each
        for each in around.same.get(text, ())
        if (text, each) in around.fuller
        and _is_live(around, each)
        and said.voices <= texts[each].voices
        and said.projects <= texts[each].projects
    }


def _weight(judged: Judgement) -> tuple[bool, bool, float]:
    """Return how much a contradiction weighs among those of the same two insights."""
    is_here = judged.conflict is not Conflict.CONTEXTUAL
    return is_here, judged.conflict is Conflict.DIRECT, judged.confidence


def _place(around: Neighbourhood, text: str) -> tuple[int, bool, int, int, str]:
    """Return the sort key of a text among those that may lead, the first of them first."""
    found = around.texts[text]
    is_no_rule = found.kind is not StatementKind.RULE
    return -len(found.voices), is_no_rule, len(found.content), -len(found.paths), text


def _is_live(around: Neighbourhood, text: str) -> bool:
    """Tell whether a text is known and said."""
    return text in around.texts and around.texts[text].is_live


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What one run found.

    Attributes:
        groups: the texts that were looked at, with their representatives.
        slots: insight -> the subjects on which it says something.
        found: contradictions of what was visited.
        detected: those of them that are new.
        altered: those that were known as another type.
        ended: those that do not hold any more.
        proposed: possible relations of what was visited, which are not shown by themselves.
        made: the clusters of what was visited.
        agreed: rules of two projects that are near each other, at least one of them visited.
        derived: insights, of those that were looked at, which principles come of.
        model: whose vectors were compared.

    """

    groups: Groups
    slots: Mapping[str, Collection[str]]
    found: Sequence[Contradiction]
    detected: Sequence[Contradiction]
    altered: Sequence[Contradiction]
    ended: Sequence[Contradiction]
    proposed: Sequence[verdicts.Proposed]
    made: Sequence[Cluster]
    agreed: Mapping[Pair, float]
    weighed: WeighedInsights
    derived: Sequence[str]
    mark: Mark
    model: str
    at: int

    @property
    def visited(self) -> Collection[str]:
        """Texts that were looked at."""
        return self.groups.around.visited

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of the audit row."""
        return {
            "compared": len(self.visited),
            "insights": self.weighed.looked_at,
            "merged": len(self.groups.leads) - len(self.groups.followers),
            "detected": len(self.detected),
            "ended": len(self.ended),
            "changed": len(self.weighed.changed),
            "candidates": len(self.weighed.candidates),
            "waiting": len(self.weighed.waiting),
        }

    def write(self, connection: Connection) -> None:
        """Write it, in the transaction that acknowledges what led to it."""
        # Let each text count for its representative, if both are still said.
        live, leads = insight_evidence.filter_live(connection, self.visited), self.groups.leads
        wanted: dict[str, str | None] = {
            said: lead if lead != said and {said, lead} <= live else None
            for said, lead in leads.items()
        }
        wanted |= dict.fromkeys(set(self.visited) - wanted.keys())
        following = [said for said, lead in wanted.items() if lead is not None]
        new = insights.load_followers(connection, following).keys() - wanted.keys()
        insights.assign(connection, {**wanted, **dict.fromkeys(new)})
        contradictions.replace(connection, self.found, self.ended)
        verdicts.propose(connection, self.proposed, visited=self.visited)
        differing = (*self.detected, *self.altered, *self.ended)
        sides = {side for each in differing for side in each.pair}
        insight_records.settle(connection, sides | {leads.get(side, side) for side in sides})
        contradictions.replace_clusters(
            connection, self.visited, self.made, model=self.model, at=self.at
        )
        insight_evidence.replace_slots(connection, self.visited, self.slots)
        insight_evidence.replace_agreements(connection, self.visited, found=self.agreed)
        insights.weigh(connection, self.weighed.changed)
        contradictions.write_mark(connection, self.mark)


class Neighbourhood:
    """Texts, and their relations to each other, as far as compared; it belongs to one run."""

    def __init__(
        self,
        relations: Relations,
        *,
        words: Mapping[Pair, verdicts.PairWord] | None = None,
        is_asking: bool = False,
    ) -> None:
        """Know no text yet; `is_asking`: a model may be asked what the rules leave open."""
        self.relations = relations
        #: What was said of two texts: a person's word goes before the rules and the models, an
        #: agent's before the models.
        self.words = words or {}
        #: Texts that were looked at, or met by one that was.
        self.texts: dict[str, insight_evidence.SpokenText] = {}
        self.rows: dict[str, Matrix] = {}
        #: Ids that were compared with everything.
        self.visited: set[str] = set()
        #: Who says the same, both ways.
        self.same: dict[str, set[str]] = {}
        #: Who an agent says does, both ways.
        self.lent: dict[str, set[str]] = {}
        #: Of those that do, each text with one that says all of it and more.
        self.fuller: set[tuple[str, str]] = set()
        #: Cosines of insights that are neighbours and do not disagree, both ways.
        self.near: dict[str, dict[str, float]] = {}
        #: Pairs that cannot both hold, with the cosine.
        self.conflicts: dict[Pair, tuple[Judgement, float | None]] = {}
        #: Rules of two projects that are about one thing, with the cosine.
        self.agreeing: dict[Pair, float] = {}
        #: Pairs that the rules leave open, until a model was asked.
        self.open: dict[Pair, float] = {}
        #: What those may be, with the cosine, unless it is decided already.
        self.proposed: dict[Pair, tuple[Proposal, float]] = {}
        self._is_asking = is_asking

    def find_connected(self, ids: Iterable[str]) -> set[str]:
        """Return what is next to those texts and was not visited."""
        found: set[str] = set()
        for each in ids:
            for some in (self.same, self.lent, self.near):
                found.update(some.get(each, ()))
        return found - self.visited

    def compare(self, ids: Sequence[str], near: Sequence[Sequence[Near]]) -> None:
        """Judge texts with their neighbours, each pair once (on a thread).

        Who is named may be one no more, or have had another vector: the ledger's vectors count.
        """
        some, least = set(ids), self.relations.least
        for one, found in zip(ids, near, strict=True):
            for other in {each.insight_id for each in found}:
                is_turn = one < other if other in some else other not in self.visited
                score = self.cosine(one, other) if is_turn and other in self.texts else None
                if score is not None and score >= least:
                    self.judge(one, other, score)
        self.visited |= some

    def compare_slots(self, sharing: Mapping[str, Iterable[str]], among: Collection[str]) -> None:
        """Judge insights with others that share a slot with them (on a thread).

        Those that are near were compared already; `among` are all whose turn it is some time.
        """
        least = self.relations.least
        for one, others in sharing.items():
            for other in others:
                score = self.cosine(one, other)
                is_turn = one < other or other not in among
                if is_turn and other in self.texts and (score is None or score < least):
                    self.judge(one, other, score, far=True)

    def find_spoken_of(self, ids: Iterable[str]) -> list[Pair]:
        """Return the pairs of which something was said, with one of those texts in each."""
        some = set(ids)
        return [each for each in self.words if not some.isdisjoint(each)]

    def judge_spoken(self, ids: Iterable[str]) -> None:
        """Judge texts with those of which a word was said with them, however far (on a thread)."""
        for one, other in self.find_spoken_of(ids):
            if one in self.texts and other in self.texts:
                self.judge(one, other, self.cosine(one, other))

    def judge(self, one: str, other: str, score: float | None, *, far: bool = False) -> None:
        """Judge two texts by what was said of them or the rules; far apart only a conflict counts.

        An agent's word counts where a model would be asked.
        """
        edge = make_pair(one, other)
        left, right = self.texts[edge[0]], self.texts[edge[1]]
        word = self.words.get(edge)
        if word is not None and word.decider is Decider.PERSON:
            self.note(edge, word.judgement, score)
            return
        found = self.relations.judge(left, right, score)
        if word is not None and self.relations.is_open(left, right, found):
            self._follow(edge, word, score=score)
            return
        asked = self.relations.find_proposal(left, right, found=found, cosine=score)
        if asked is not None and score is not None:
            self.proposed[edge] = asked, score
        if far and not found.contradicts and asked is None:
            return
        if self._is_asking and score is not None and self.relations.is_open(left, right, found):
            self.open[edge] = score
        self.note(edge, found, score)

    def _follow(self, edge: Pair, word: verdicts.PairWord, *, score: float | None) -> None:
        """Take an agent's word for two texts; what two projects say it offers, and no more."""
        left, right = self.texts[edge[0]], self.texts[edge[1]]
        said = self.relations.read_answer(left, right, word.judgement)
        self.note(edge, said, score)
        if word.relation is not Relation.SAME:
            self.agreeing.pop(edge, None)
        elif said.relation is Relation.SAME and score is not None and _may_agree(left, right):
            self.agreeing[edge] = 1.0

    def list_waiting(self) -> list[Pair]:
        """Return the open pairs in the order in which a model is asked about them.

        The likeliest proposals come first: a budget ends before the pairs do.
        """

        def turn(edge: Pair) -> tuple[float, float, Pair]:
            asked = self.proposed.get(edge)
            return -(asked[0].score if asked else 0.0), -self.open[edge], edge

        return sorted(self.open, key=turn)

    def make_questions(self, edges: Iterable[Pair]) -> list[tuple[Claim, Claim, float | None]]:
        """Return open pairs as a model is asked about them: two claims and their cosine."""
        sides = [(self.texts[one], self.texts[other], (one, other)) for one, other in edges]
        return [(left.claim, right.claim, self.open[edge]) for left, right, edge in sides]

    def take_answers(self, edges: Iterable[Pair], answers: Iterable[Judgement | None]) -> None:
        """Take a model's word for pairs that the rules left open; None where it has none."""
        for edge, found in zip(edges, answers, strict=True):
            if found is not None:
                self.proposed.pop(edge, None)
                left, right = self.texts[edge[0]], self.texts[edge[1]]
                said = self.relations.read_answer(left, right, found)
                self.note(edge, said, self.open[edge])

    def note(self, edge: Pair, found: Judgement, score: float | None) -> None:
        """Remember what two texts are to each other."""
        one, other = edge
        if found.contradicts:
            self.conflicts[edge] = (found, score)
            self.near.get(one, {}).pop(other, None)
            self.near.get(other, {}).pop(one, None)
            self.agreeing.pop(edge, None)
            return
        if found.relation is Relation.SAME:
            same = self.lent if found.decider is Decider.AGENT else self.same
            same.setdefault(one, set()).add(other)
            same.setdefault(other, set()).add(one)
            if found.fuller:
                is_first = self.texts[one].content == found.fuller
                self.fuller.add((other, one) if is_first else edge)
        if score is None:
            return
        left, right = self.texts[one], self.texts[other]
        if _may_agree(left, right):
            likeness = score_agreement(
                left.claim, right.claim, cosine=score, lexicon=self.relations.lexicon
            )
            if likeness is not None:
                self.agreeing[edge] = likeness
        if self.relations.is_edge(left, score):
            self.near.setdefault(one, {})[other] = score
            self.near.setdefault(other, {})[one] = score

    def cosine(self, one: str, other: str) -> float | None:
        """Return the cosine of two texts; None where one has no vector."""
        rows = self.rows
        return cosine(rows[one], rows[other]) if one in rows and other in rows else None


def _may_agree(one: insight_evidence.SpokenText, other: insight_evidence.SpokenText) -> bool:
    """Tell whether two texts are rules of two projects."""
    return (
        one.kind is other.kind is StatementKind.RULE
        and bool(one.voices and other.voices)
        and one.voices.isdisjoint(other.voices)
        and "" in one.scopes & other.scopes
    )
