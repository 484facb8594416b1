"""Verdicts: what people, agents and models decided about texts, so that no one is asked twice.

An answer of a model is found by its question. What a person said of two texts is found by their
content hashes: it holds as often as the texts come back, whichever insight they count for, and
before whatever the rules and the models say. An agent's word is found in the same way, and counts
where a model's would; taken back, its row stays and says so.

Handouts: which pairs an agent was given to judge.

Proposals: pairs of insights about which a decision is worth asking for; they have no effect.

Decided pairs of statements are what thresholds can be calibrated by.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, Row, and_, delete, or_, select

from cortex_actors.domain.agent import OWNER
from cortex_actors.domain.insight import (
    AgentVerdict,
    Claim,
    Conflict,
    Decider,
    Granularity,
    Judgement,
    Relation,
    make_insight_id,
)
from cortex_actors.errors import BadInput
from cortex_actors.rules.calibration import Decided, Label
from cortex_actors.rules.clustering import Pair, make_pair
from cortex_actors.rules.proposals import ProposalKind
from cortex_actors.storage.embeddings import Matrix, load_vectors
from cortex_actors.storage.insight_records import select_of_project
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.schema import handouts, insights, proposals, verdicts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Verdict:
    """One answer, kept.

    Attributes:
        decider: the layer that decided; `name` is the model's, or who said it.
        question: what was asked.
        one: of a comparison the content hash of a text, `other` that of the greater one.
        relation: what the two are to each other; None where the layer is not sure.
        at: UTC microseconds.

    """

    key: bytes
    decider: str
    name: str
    question: str
    answer: Mapping[str, Any]
    at: int
    one: str | None = None
    other: str | None = None
    relation: str | None = None


def load_answers(connection: Connection, keys: Iterable[bytes]) -> dict[bytes, Mapping[str, Any]]:
    """Return the answers that are kept under these keys."""
    query = select(verdicts.c.key, verdicts.c.answer)
    return {
        row.key: row.answer for row in columns.select_in(connection, query, verdicts.c.key, keys)
    }


def keep(connection: Connection, rows: Sequence[Verdict]) -> None:
    """Keep answers; one that is there already stays, because it is the one that was acted on."""
    columns.put_rows(connection, verdicts, map(asdict, rows), change=())


def prune(connection: Connection, most: int, limit: int) -> int:
    """Delete a model's oldest answers beyond the `most` newest, `limit` at once; return how many.

    What a person or an agent said is never asked for again, and stays.
    """
    models = verdicts.c.decider.not_in((Decider.AGENT, Decider.PERSON))
    over = columns.count_rows(connection, verdicts, models) - most
    if over <= 0:
        return 0
    old = select(verdicts.c.key).where(models).order_by(verdicts.c.at).limit(min(over, limit))
    return connection.execute(delete(verdicts).where(verdicts.c.key.in_(old))).rowcount


@dataclass(frozen=True, slots=True)
class PairWord:
    """What a person or an agent said of two texts.

    Attributes:
        relation: what they are to each other.
        keep: the insight that holds, where a person kept one.
        by: who said so; `reason` is why, in an agent's own words.
        said: their word for it.

    """

    relation: Relation
    keep: str | None = None
    at: int = 0
    decider: Decider = Decider.PERSON
    by: str = OWNER.by
    reason: str = ""
    said: str = ""

    @property
    def judgement(self) -> Judgement:
        """What the two are to each other by it; of a person's both hold unless one was kept."""
        relation, why = self.relation, "a person said so"
        if self.decider is Decider.AGENT:
            why = f"{self.by}: {self.reason or 'no reason given'}"
        elif relation is Relation.CONTRADICTION and self.keep is None:
            relation = Relation.RELATED
        conflict = Conflict.DIRECT if relation is Relation.CONTRADICTION else None
        return Judgement(relation, self.decider, why, conflict)


#: Pairs of texts that one decision is kept for: the texts of two insights have few wordings, and a
#: decision costs milliseconds.
WORDINGS = 400


def say(
    connection: Connection,
    two: Pair,
    *,
    relation: Relation,
    said: str,
    at: int,
    keep: str | None = None,
    by: str = OWNER.by,
    note: str | None = None,
) -> None:
    """Keep what a person said of two insights, for each two texts that they represent now.

    An earlier word is replaced, and nothing is proposed about the two any more. `said` is the
    person's own word for it; `keep` the insight that holds.
    """
    left, right = (_texts(connection, each) for each in two)
    rows = []
    for here, there in [(a, b) for a in left for b in right if a != b][:WORDINGS]:
        holds = {two[0]: here, two[1]: there}.get(keep or "")
        one, other = make_pair(here, there)
        key = hashlib.sha256(f"{Decider.PERSON}|{one}|{other}".encode()).digest()
        answer = {"said": said, "keep": holds, "note": note}
        made = Verdict(key, Decider.PERSON, by, "compare", answer, at, one, other, str(relation))
        rows.append(made)
    columns.put_rows(connection, verdicts, map(asdict, rows))
    one, other = make_pair(*two)
    both = proposals.c.insight_a == one, proposals.c.insight_b == other
    connection.execute(delete(proposals).where(*both))


def retract(connection: Connection, two: Pair) -> None:
    """Take back what a person said of two insights, and of the texts that they represent."""
    left, right = (_texts(connection, each) for each in two)
    for some, others in ((left, right), (right, left)):
        gone = and_(verdicts.c.one.in_(some), verdicts.c.other.in_(others))
        connection.execute(delete(verdicts).where(verdicts.c.decider == Decider.PERSON, gone))


def load_of_people(connection: Connection) -> dict[Pair, PairWord]:
    """Return what people said, by the ids of the two texts."""
    return _words(connection, Decider.PERSON)


def load_words(connection: Connection) -> dict[Pair, PairWord]:
    """Return what people said, and of the other pairs what agents did, by the ids of the texts."""
    return {**_words(connection, Decider.AGENT), **load_of_people(connection)}


def _words(connection: Connection, decider: Decider) -> dict[Pair, PairWord]:
    """Return what was said and holds, by the ids of the two texts."""
    query = select(verdicts).where(
        verdicts.c.decider == decider, verdicts.c.one.is_not(None), verdicts.c.relation.is_not(None)
    )
    return {
        make_pair(make_insight_id(row.one), make_insight_id(row.other)): PairWord(
            Relation(row.relation),
            make_insight_id(row.answer["keep"]) if row.answer.get("keep") else None,
            *(row.at, decider, row.name, row.answer.get("note") or "", row.answer["said"]),
        )
        for row in connection.execute(query.order_by(verdicts.c.at))
    }


def _texts(connection: Connection, insight: str) -> list[str]:
    """Return the content hashes of an insight and of those that count for it, its own first."""
    which = or_(insights.c.id == insight, insights.c.superseded_by == insight)
    order = insights.c.id != insight, insights.c.id
    query = select(insights.c.content_hash).where(which).order_by(*order)
    return list(connection.execute(query).scalars())


#: Proposals of one run that are kept, the likeliest: a person looks at dozens, a model at as many
#: as its budget has, and a project of 2,000 statements has some hundred.
PROPOSED = 2_000


class PairKind(StrEnum):
    """What is asked about a pair: two kinds of proposals, and whether an offer's two are one."""

    CONTRADICTION = ProposalKind.CONTRADICTION.value
    DUPLICATE = ProposalKind.DUPLICATE.value
    OFFER = "offer"


#: How ids begin; that of a possible contradiction is the contradiction's.
_PREFIXES = {
    PairKind.CONTRADICTION: "con_",
    PairKind.DUPLICATE: "dup_",
    PairKind.OFFER: "off_",
}


@dataclass(frozen=True, slots=True)
class Proposed:
    """Two insights and what they may be to each other; see `rules.proposals`."""

    id: str
    insight_a: str
    insight_b: str
    kind: ProposalKind
    score: float
    reason: str
    similarity: float | None
    found_at: int

    @property
    def pair(self) -> Pair:
        """The two."""
        return self.insight_a, self.insight_b


def make_id(kind: ProposalKind | PairKind, two: Pair) -> str:
    """Return the id of a pair of that kind: the same whenever it is found."""
    digest = hashlib.sha256("|".join(sorted(two)).encode()).hexdigest()
    return _PREFIXES[PairKind(kind)] + digest[:20]


def propose(connection: Connection, some: Iterable[Proposed], *, visited: Collection[str]) -> None:
    """Put proposals in place of those about any of the insights that were visited."""
    for ids in columns.split_chunks(visited):
        sides = or_(proposals.c.insight_a.in_(ids), proposals.c.insight_b.in_(ids))
        connection.execute(delete(proposals).where(sides))
    best = sorted(some, key=lambda each: (-each.score, each.id))[:PROPOSED]
    columns.put_rows(connection, proposals, map(asdict, best))


def find_proposal(connection: Connection, name: str) -> Proposed | None:
    """Return a proposal by its id, or by a beginning that only one has; None for no such."""
    query = select(proposals).where(proposals.c.id.startswith(name, autoescape=True)).limit(2)
    rows = connection.execute(query).all()
    if len(rows) > 1:
        raise BadInput(f"{name} means several pairs; give more of the id")
    return columns.make_entity(Proposed, rows[0]) if rows else None


def list_proposals(connection: Connection, project_id: str | None = None) -> list[Proposed]:
    """Return all proposals, or those about what a project says, the likeliest first."""
    query = select(proposals).order_by(proposals.c.score.desc(), proposals.c.id)
    if project_id is not None:
        said = select_of_project(project_id)
        query = query.where(or_(proposals.c.insight_a.in_(said), proposals.c.insight_b.in_(said)))
    return [columns.make_entity(Proposed, row) for row in connection.execute(query)]


def find_decided_pair(connection: Connection, name: str) -> Pair | None:
    """Return the two texts about which was decided, by the id of their pair or proposal."""
    meant = [
        two
        for two in load_words(connection)
        if any(make_id(kind, two).startswith(name) for kind in PairKind)
    ]
    if len(meant) > 1:
        raise BadInput(f"{name} means several pairs; give more of the id")
    return meant[0] if meant else None


#: What an agent says -> what the two are to each other; None where it says nothing about that.
_RELATIONS = {
    AgentVerdict.SAME: Relation.SAME,
    AgentVerdict.CONTRADICT: Relation.CONTRADICTION,
    AgentVerdict.APART: Relation.RELATED,
    AgentVerdict.UNSURE: None,
}


@dataclass(frozen=True, slots=True)
class Handout:
    """A pair that an agent was given to judge, and when, in UTC microseconds."""

    item: str
    agent: str
    kind: PairKind
    insight_a: str
    insight_b: str
    at: int

    @property
    def pair(self) -> Pair:
        """The two."""
        return self.insight_a, self.insight_b


@dataclass(frozen=True, slots=True)
class AgentWord:
    """What an agent said of a pair.

    Attributes:
        key: of its row.
        pair: the ids of the two texts.
        undone_at: when it was taken back, UTC microseconds, and by whom.

    """

    key: bytes
    item: str
    kind: PairKind
    pair: Pair
    agent: str
    said: AgentVerdict
    reason: str | None
    at: int
    undone_at: int | None = None
    undone_by: str | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)


def hand_out(connection: Connection, some: Iterable[Handout], *, since: int) -> None:
    """Note what an agent is given; what was handed out before a time is forgotten."""
    connection.execute(delete(handouts).where(handouts.c.at < since))
    columns.put_rows(connection, handouts, map(asdict, some))


def load_handed(connection: Connection, agent: str) -> dict[str, Handout]:
    """Return the pairs that an agent was given and has not judged, by their ids."""
    rows = connection.execute(select(handouts).where(handouts.c.agent == agent))
    return {row.item: columns.make_entity(Handout, row) for row in rows}


def give(
    connection: Connection, handout: Handout, *, said: AgentVerdict, at: int, reason: str | None
) -> None:
    """Keep what an agent said of a pair that it was given.

    Nothing is proposed about the two any more, unless it was not sure, and no agent gets them.
    """
    known = select(insights.c.id, insights.c.content_hash)
    rows = columns.select_in(connection, known, insights.c.id, handout.pair)
    one, other = make_pair(*(row.content_hash for row in rows))
    text = f"{Decider.AGENT}|{one}|{other}|{handout.agent}|{at}"
    relation = _RELATIONS[said]
    answer = {"said": said, "note": reason, "item": handout.item, "kind": handout.kind}
    key = hashlib.sha256(text.encode()).digest()
    made = Verdict(key, Decider.AGENT, handout.agent, "compare", answer, at, one, other, relation)
    columns.put_rows(connection, verdicts, [asdict(made)])
    connection.execute(delete(handouts).where(handouts.c.item == handout.item))
    if relation is not None:
        connection.execute(delete(proposals).where(proposals.c.id == handout.item))


def list_given(
    connection: Connection, item: str | None = None, *, limit: int | None = None, skip: int = 0
) -> list[AgentWord]:
    """Return what agents said, the newest first, and what was taken back, too.

    `item` is the id of the pair, or the beginning of it; None for all pairs.
    """
    query = select(verdicts).where(verdicts.c.decider == Decider.AGENT)
    if item is not None:
        query = query.where(verdicts.c.answer["item"].as_string().startswith(item, autoescape=True))
    query = query.order_by(verdicts.c.at.desc(), verdicts.c.key).limit(limit).offset(skip)
    return [
        AgentWord(
            key=row.key,
            item=row.answer["item"],
            kind=PairKind(row.answer["kind"]),
            pair=make_pair(make_insight_id(row.one), make_insight_id(row.other)),
            agent=row.name,
            said=AgentVerdict(row.answer["said"]),
            reason=row.answer["note"],
            at=row.at,
            undone_at=row.answer.get("undone_at"),
            undone_by=row.answer.get("undone_by"),
            answer=row.answer,
        )
        for row in connection.execute(query)
    ]


def count_given(connection: Connection, since: int = 0) -> int:
    """Return how many verdicts agents gave since a time, those included that were taken back."""
    return columns.count_rows(
        connection, verdicts, verdicts.c.decider == Decider.AGENT, verdicts.c.at >= since
    )


def load_judged(connection: Connection) -> set[Pair]:
    """Return the pairs of which a person or an agent has said something that was not taken back."""
    said = {each.pair for each in list_given(connection) if each.undone_at is None}
    return said.union(load_of_people(connection))


def take_back(connection: Connection, some: Iterable[AgentWord], *, by: str, at: int) -> None:
    """Let what agents said have no effect any more; that it was said stays."""
    for each in some:
        answer = {**each.answer, "undone_at": at, "undone_by": by}
        columns.change_in(
            connection, verdicts.c.key, [each.key], {"relation": None, "answer": answer}
        )


#: Decided pairs that are taken, the newest: more do not change the figures, and cost seconds.
MOST = 1_000

#: What was decided -> what calibration takes it for. Whether a pair that a person dismissed
#: is one claim is not known.
_LABELS = {
    Relation.CONTRADICTION: Label.CONTRADICTION,
    Relation.SAME: Label.DUPLICATE,
    Relation.RELATED: Label.DISTINCT,
    Relation.UNRELATED: Label.DISTINCT,
}


def load_pairs(connection: Connection, model: str) -> list[Decided]:
    """Return the pairs of statements about which was decided, with the model's vectors.

    A person's word for two texts goes before an agent's, and that before a model's.
    """
    decider = verdicts.c.decider
    query = (
        select(verdicts)
        .where(verdicts.c.one.is_not(None), verdicts.c.relation.is_not(None))
        .order_by(decider != Decider.PERSON, decider != Decider.AGENT)
        .order_by(verdicts.c.at.desc(), verdicts.c.key)
        .limit(MOST)
    )
    labels: dict[tuple[str, str], Label] = {}
    for row in connection.execute(query):
        is_dismissed = row.answer.get("said") == "dismissed"
        label = Label.HARMLESS if is_dismissed else _LABELS[Relation(row.relation)]
        labels.setdefault((row.one, row.other), label)
    sides = sorted({side for two in labels for side in two})
    wanted = select(insights).where(insights.c.granularity == Granularity.STATEMENT)
    rows = columns.select_in(connection, wanted, insights.c.id, map(make_insight_id, sides))
    texts = {row.content_hash: row for row in rows}
    vectors = load_vectors(connection, model, list({row.text_hash for row in texts.values()}))
    made = (
        _decided(texts.get(one), texts.get(other), label, vectors)
        for (one, other), label in labels.items()
    )
    return [each for each in made if each is not None]


def _decided(
    left: Row[Any] | None, right: Row[Any] | None, label: Label, rows: Mapping[bytes, Matrix]
) -> Decided | None:
    """Return a pair with its cosine; None where a text or a vector is not there."""
    if left is None or right is None:
        return None
    one, other = rows.get(left.text_hash), rows.get(right.text_hash)
    if one is None or other is None:
        return None
    return Decided(
        left=Claim(left.content, left.heading),
        right=Claim(right.content, right.heading),
        cosine=float(np.dot(one, other)),
        label=label,
        domain=left.domain if left.domain == right.domain else None,
    )
