"""Subjects: principles as they are linked, each with its vector and what its links were drawn of.

A principle has the words of an insight, whose id ends in the same digits: heading, places and what
was said about its contradictions are that insight's. Words that a language model wrote have none of
it. Every function takes the connection of a read transaction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors.domain.insight import Claim, Conflict, Decider, Granularity, Judgement, Relation
from cortex_actors.rules.linking import Subject
from cortex_actors.storage.embedded import stored_vectors
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.tables.columns import given_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection

    from cortex_actors.domain.principle import Principle
    from cortex_actors.storage.blobs import Matrix

_PRINCIPLES = "SELECT id, content, domains, tags, text_hash, linked FROM principles ORDER BY id"

#: What stands above the words, and whether they are a whole section.
_WORDS = (
    "SELECT id, heading, granularity FROM insights WHERE id IN (SELECT value FROM json_each(?))"
)

#: Where they hold, as far as files still say them.
_SCOPES = (
    "SELECT DISTINCT said_id, scope FROM insight_sources WHERE withdrawn_at IS NULL"
    " AND said_id IN (SELECT value FROM json_each(?))"
)

#: What was said about pairs of which both are among them.
_VERDICTS = (
    "SELECT insight_a, insight_b, type, status <> 'unresolved' AND kept_id IS NULL, decided_by,"
    " reason FROM contradictions"
    " WHERE insight_a IN (SELECT value FROM json_each(?1))"
    " AND insight_b IN (SELECT value FROM json_each(?1)) ORDER BY insight_a, insight_b"
)

#: What ids of principles and of insights begin with.
_PRINCIPLE, _INSIGHT = "pri_", "ins_"


@dataclass(frozen=True, slots=True)
class Node:
    """One principle that may be linked; `linked` is what its links were drawn of, if they were."""

    subject: Subject
    text_hash: bytes
    linked: bytes | None = None

    @property
    def id(self) -> str:
        """The principle's id."""
        return self.subject.id


@dataclass(frozen=True, slots=True)
class Shelf:
    """All principles as of one moment, by id, and the vectors of those that have one."""

    nodes: Mapping[str, Node]
    rows: Mapping[str, Matrix]


def shelf(
    connection: Connection,
    model: str,
    *,
    made: Sequence[Principle] = (),
    rows: Mapping[bytes, Matrix] | None = None,
    gone: Collection[str] = (),
) -> Shelf:
    """Return the principles as they will be with those that were `made` and without the `gone`.

    `rows` are vectors by the hash of their text that the ledger has not got yet.
    """
    known: dict[str, _Row] = {each.id: each for each in _known(connection)}
    known |= {each.id: _made(each, known.get(each.id)) for each in made}
    kept = [each for _, each in sorted(known.items()) if each.id not in gone]
    insights = [_insight(each.id) for each in kept]
    claims = _claims(connection, insights)
    verdicts = _verdicts(connection, insights)
    nodes = {each.id: _node(each, claims, verdicts) for each in kept}
    stored = stored_vectors(connection, model, [each.text_hash for each in kept])
    stored |= rows or {}
    found = {each.id: stored[each.text_hash] for each in kept if each.text_hash in stored}
    return Shelf(nodes, {each: np.asarray(row, np.float32) for each, row in found.items()})


@dataclass(frozen=True, slots=True)
class _Row:
    """What a principle itself says."""

    id: str
    content: str
    domains: frozenset[str]
    tags: frozenset[str]
    text_hash: bytes
    linked: bytes | None


@dataclass(frozen=True, slots=True)
class _Words:
    """What is known of the insight whose words a principle has."""

    heading: str | None
    is_section: bool
    scopes: frozenset[str]


_NOTHING = _Words(None, is_section=False, scopes=frozenset())


def _known(connection: Connection) -> list[_Row]:
    """Return what all principles of the ledger say."""
    return [
        _Row(
            name,
            given_text(content) or "",
            frozenset(json.loads(domains)),
            frozenset(json.loads(tags)),
            text_hash,
            linked,
        )
        for name, content, domains, tags, text_hash, linked in driver_of(connection).execute(
            _PRINCIPLES
        )
    ]


def _made(principle: Principle, before: _Row | None) -> _Row:
    """Return a principle that is about to be written."""
    return _Row(
        principle.id,
        principle.content,
        frozenset(principle.domains),
        frozenset(principle.tags),
        principle.text_hash,
        before.linked if before else None,
    )


def _claims(connection: Connection, insights: Sequence[str]) -> dict[str, _Words]:
    """Return what is known of insights, by the id of their principle."""
    driver, asked = driver_of(connection), (json.dumps(insights),)
    scopes: dict[str, set[str]] = {}
    for said, scope in driver.execute(_SCOPES, asked):
        scopes.setdefault(said, set()).add(given_text(scope) or "")
    return {
        _principle(name): _Words(
            given_text(heading),
            is_section=granularity == Granularity.SECTION,
            scopes=frozenset(scopes.get(name, ())),
        )
        for name, heading, granularity in driver.execute(_WORDS, asked)
    }


def _verdicts(
    connection: Connection, insights: Sequence[str]
) -> dict[str, list[tuple[str, Judgement]]]:
    """Return what was said about pairs, by the id of the principle that has the lesser insight."""
    found: dict[str, list[tuple[str, Judgement]]] = {}
    for row in driver_of(connection).execute(_VERDICTS, (json.dumps(insights),)):
        one, other = _principle(row[0]), _principle(row[1])
        found.setdefault(one, []).append((other, _judgement(row)))
    return found


def _judgement(row: sqlite3.Row | tuple[Any, ...]) -> Judgement:
    """Return what the ledger keeps of a pair, of which both hold where a person said so."""
    _, _, kind, is_peace, decider, reason = row
    if is_peace:
        return Judgement(Relation.RELATED, Decider.PERSON, "a person found that both may hold")
    return Judgement(
        Relation.CONTRADICTION, Decider(decider), given_text(reason) or "", Conflict(kind)
    )


def _node(
    row: _Row,
    claims: Mapping[str, _Words],
    verdicts: Mapping[str, Sequence[tuple[str, Judgement]]],
) -> Node:
    """Return a principle as it is linked; what holds in all of a project holds everywhere in it."""
    words = claims.get(row.id, _NOTHING)
    scope = "" if "" in words.scopes else min(words.scopes, default="")
    subject = Subject(
        row.id,
        Claim(row.content, words.heading, scope),
        row.domains,
        row.tags,
        tuple(verdicts.get(row.id, ())),
        is_section=words.is_section,
    )
    return Node(subject, row.text_hash, row.linked)


def _insight(principle_id: str) -> str:
    """Return the id of the insight whose words a principle has."""
    return _INSIGHT + principle_id.removeprefix(_PRINCIPLE)


def _principle(insight_id: str) -> str:
    """Return the id of the principle that has an insight's words."""
    return _PRINCIPLE + insight_id.removeprefix(_INSIGHT)
