"""Principles: the rows, what is written of them, and which of them are given out.

Every function takes the connection of a transaction it is part of. What principles come of is in
`derivations`, their relations are in `links`, how they fade in `fading`.

Derivations: which insights a principle comes of, and how much it owes to each.

Every function takes the connection of a transaction it is part of.

Links: relations between principles, one row for each pair.

Every function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, select

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.principle import Derivation, Link, LinkType, Principle
from cortex_actors.domain.project import StatementKind
from cortex_actors.rules.standalone import Standalone, make_standalone
from cortex_actors.storage.embeddings import Matrix, load_vectors
from cortex_actors.storage.insight_records import STANDS
from cortex_actors.storage.pipeline import reviews
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.dialect import execute, execute_for, execute_many
from cortex_actors.storage.tables.schema import derivations, principle_links, principles

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


#: The principles that come of those insights, or of texts that these represent by now.
_COMING = (
    "WITH asked(id) AS (SELECT value FROM :each(?1) AS j)"
    " SELECT d.principle_id FROM derivations AS d JOIN asked ON d.insight_id = asked.id"
    " UNION SELECT d.principle_id FROM asked CROSS JOIN insights AS i ON i.superseded_by = asked.id"
    " CROSS JOIN derivations AS d ON d.insight_id = i.id"
)


def derive(connection: Connection, made: Sequence[Derivation]) -> None:
    """Let the principles that are named come of these insights and of no other."""
    named = {each.principle_id for each in made}
    columns.drop_in(connection, derivations.c.principle_id, named)
    columns.put_rows(connection, derivations, map(asdict, made))


def load_derivations(
    connection: Connection, principle_ids: Iterable[str]
) -> dict[str, list[Derivation]]:
    """Return what principles come of, by principle; the insight it owes most to first."""
    query = select(derivations).order_by(derivations.c.weight.desc(), derivations.c.insight_id)
    rows = columns.select_in(connection, query, derivations.c.principle_id, principle_ids)
    return columns.group_pairs((row.principle_id, Derivation(*row)) for row in rows)


def find_coming_of(connection: Connection, insight_ids: Iterable[str]) -> set[str]:
    """Return the principles that come of those insights, or of texts that count for one of them."""
    return {each for (each,) in execute_for(connection, _COMING, insight_ids)}


def load_derived(connection: Connection, ids: Iterable[str] | None = None) -> set[str]:
    """Return the ids of insights (of those, or of all) that are principles already."""
    query = select(derivations.c.insight_id)
    if ids is None:
        return set(connection.execute(query).scalars())
    rows = columns.select_in(connection, query, derivations.c.insight_id, ids)
    return {row.insight_id for row in rows}


_COLUMNS = "source_id, target_id, type, strength, decided_by, reason"

#: Links with one of those ends; asked as two, because for OR SQLite may walk all links there are.
_OF = (
    f"SELECT {_COLUMNS} FROM principle_links"  # noqa: S608 - names above
    " WHERE source_id IN :ids"
    f" UNION SELECT {_COLUMNS} FROM principle_links"
    " WHERE target_id IN :ids"
)

#: A link to a principle that has gone meanwhile is not written.
_INSERT = (
    f"INSERT INTO principle_links ({_COLUMNS}, linked_at) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7"  # noqa: S608 - names above
    " WHERE EXISTS (SELECT 1 FROM principles WHERE id = ?1)"
    " AND EXISTS (SELECT 1 FROM principles WHERE id = ?2)"
    " ON CONFLICT (source_id, target_id, type) DO UPDATE SET strength = excluded.strength,"
    " decided_by = excluded.decided_by, reason = excluded.reason"
)

_DELETE = "DELETE FROM principle_links WHERE source_id = ? AND target_id = ? AND type = ?"

#: A principle that loses a neighbour may have another one now.
_DUE = (
    "UPDATE principles SET linked = NULL WHERE id IN ("
    "SELECT target_id FROM principle_links WHERE source_id IN :ids"
    " UNION"
    " SELECT source_id FROM principle_links WHERE target_id IN :ids)"
)


def load_links(connection: Connection, ids: Iterable[str]) -> dict[str, list[Link]]:
    """Return the links of each of those principles, as read from it, the strongest first.

    Principles without a link are left out.
    """
    wanted = set(ids)
    found = columns.group_pairs(
        (end, each.view_from(end))
        for each in load_touching(connection, wanted)
        for end in wanted.intersection(each.pair)
    )
    for end, some in found.items():
        some.sort(key=lambda each, end=end: (-each.strength, each.find_other_end(end)))  # type: ignore[misc]
    return found


def load_touching(connection: Connection, ids: Collection[str]) -> list[Link]:
    """Return the links with one of those ends, as they are kept, in order."""
    links = map(_link, execute_for(connection, _OF, ids))
    return sorted(links, key=lambda each: (each.pair, each.type))


def load_opposed(connection: Connection) -> list[tuple[str, str]]:
    """Return the pairs of principles that contradict each other, in order."""
    query = "SELECT source_id, target_id FROM principle_links WHERE type = ? ORDER BY 1, 2"
    found = execute(connection, query, str(LinkType.CONTRADICTS))
    return [(str(source), str(target)) for source, target in found]


def replace_links(
    connection: Connection, gone: Collection[Link], found: Collection[Link], *, at: int
) -> None:
    """Delete links and write others; one that was there keeps the time at which it was drawn.

    A link with an end that is no principle any more is left out.
    """
    execute_many(connection, _DELETE, [_key(each) for each in gone])
    rows = [
        (*_key(each), each.strength, str(each.decided_by), columns.encode_text(each.reason), at)
        for each in found
    ]
    execute_many(connection, _INSERT, rows)


def cut(connection: Connection, ids: Collection[str]) -> None:
    """Delete the links of principles; those that lose one are queued to be linked again."""
    execute_for(connection, _DUE, ids)
    for end in (principle_links.c.source_id, principle_links.c.target_id):
        columns.drop_in(connection, end, ids)


def note_drawn(connection: Connection, drawn: Iterable[tuple[str, bytes]]) -> None:
    """Write down of what the links of principles were drawn: (id, digest)."""
    execute_many(connection, "UPDATE principles SET linked = ?2 WHERE id = ?1", list(drawn))


def _key(link: Link) -> tuple[str, str, str]:
    """Return what names a link, as it is kept."""
    kept = link.normalise()
    return kept.source_id, kept.target_id, str(kept.type)


def _link(row: tuple[Any, ...]) -> Link:
    """Return a row as a link."""
    source, target, kind, strength, decider, reason = row
    return Link(
        source,
        target,
        LinkType(kind),
        strength,
        Decider(decider),
        columns.decode_text(reason) or "",
    )


#: The name under which principles are asked; they are found without passages.
COLLECTION = "cortex_principles"

#: What is updated of a principle that is there; rank, status and strikes are fading's.
_AGAIN = (
    *("content", "elaboration", "category", "tags", "domains"),
    *("confidence", "quality", "origin", "text_hash"),
)

#: Whether a person decided against an insight (`i`), or what says the same, for another that is
#: said. What is only disputed is given: one file must not silence what ten say.
_LOST = (
    "EXISTS (SELECT 1 FROM insights AS m JOIN contradictions AS c ON m.id IN (c.insight_a,"  # noqa: S608 - ours
    " c.insight_b) AND c.kept_id <> m.id JOIN insights AS k ON k.id = c.kept_id"
    " JOIN insights AS o ON o.id = coalesce(k.superseded_by, k.id)"
    f" WHERE (m.id = i.id OR m.superseded_by = i.id) AND o.id <> i.id AND {STANDS.format(i='o')})"
)

#: Principles that are given to projects: active, neither taken back nor rejected, and some file
#: that more than one person may read says one of the insights they come of, which no person has
#: turned down. What was only imported, or came from another store, is given when a person has
#: approved of it.
_GIVEN = (
    "SELECT p.id FROM principles AS p WHERE p.status = 'active'"  # noqa: S608 - ours
    " AND NOT EXISTS (SELECT 1 FROM revocations AS r WHERE r.kind = 'principle' AND r.key = p.id"
    " AND r.ended_at IS NULL)"
    " AND NOT EXISTS (SELECT 1 FROM approvals AS a WHERE a.principle_id = p.id"
    " AND a.decision = 'rejected')"
    " AND EXISTS (SELECT 1 FROM derivations AS d JOIN insights AS said ON said.id = d.insight_id"
    " JOIN insights AS i ON i.id = coalesce(said.superseded_by, said.id)"
    " JOIN insight_sources AS s ON s.insight_id = i.id"
    " WHERE d.principle_id = p.id AND i.status IN ('active', 'contradicted')"
    " AND s.withdrawn_at IS NULL AND s.path NOT LIKE '%.local.md'"
    " AND (s.trust IN ('file', 'agent') OR EXISTS (SELECT 1 FROM reviews AS w"
    " WHERE w.insight_id IN (i.id, said.id) AND w.decision = 'approved'))"
    " AND NOT EXISTS (SELECT 1 FROM reviews AS v"
    " WHERE v.insight_id IN (i.id, said.id) AND v.decision = 'rejected')"
    f" AND (i.status = 'active' OR NOT {_LOST}))"
    " ORDER BY p.rank DESC, p.id"
)

#: All of them that is chosen by or written; a vector's text and model say which one it is, and
#: without an approval it is written into no other project.
_NAMED = _GIVEN.replace(
    "p.id FROM principles AS p",
    "p.id, p.content, p.domains, p.rank, p.confidence, p.text_hash, EXISTS (SELECT 1 FROM vectors"
    " AS x WHERE x.model = ?1 AND x.text_hash = p.text_hash), EXISTS (SELECT 1 FROM approvals AS a"
    " WHERE a.principle_id = p.id AND a.decision = 'approved' AND a.ended_at IS NULL)"
    " FROM principles AS p",
    1,
)

#: Where a principle's insights are said, and whether in its own words.
_PLACES = (
    "SELECT d.principle_id, said.content_hash = p.content_hash, s.kind, s.heading, s.scope, j.name"
    " FROM derivations AS d JOIN principles AS p ON p.id = d.principle_id"
    " JOIN insights AS i ON i.id = d.insight_id"
    " JOIN insight_sources AS s ON s.insight_id = coalesce(i.superseded_by, i.id)"
    " JOIN insights AS said ON said.id = s.said_id JOIN projects AS j ON j.id = s.project_id"
    " WHERE d.principle_id IN :ids AND s.withdrawn_at IS NULL"
    " ORDER BY d.principle_id, s.path, s.line_start, s.id"
)

_STILL = _GIVEN.replace(" ORDER BY", " AND p.id IN :ids ORDER BY", 1)

_WITHOUT_SOURCE = (
    "SELECT p.id FROM principles AS p"
    " WHERE NOT EXISTS (SELECT 1 FROM derivations AS d WHERE d.principle_id = p.id)"
    " AND NOT EXISTS (SELECT 1 FROM revocations AS r WHERE r.kind = 'principle' AND r.key = p.id"
    " AND r.ended_at IS NULL)"
)

_UNEMBEDDED = (
    "SELECT p.text_hash, p.content FROM principles AS p WHERE p.origin = 'synthesis'"
    " AND NOT EXISTS (SELECT 1 FROM vectors AS v WHERE v.model = ?1 AND v.text_hash = p.text_hash)"
    " ORDER BY p.id LIMIT ?2"
)


def add(connection: Connection, made: Sequence[Principle]) -> None:
    """Write principles; one that is there gets its sources updated, but not its rank and status."""
    columns.put_rows(
        connection, principles, (columns.as_row(principles, each) for each in made), change=_AGAIN
    )


def forget(connection: Connection, principle_ids: Iterable[str]) -> None:
    """Delete principles with their derivations and links: they shall never be given out again."""
    gone = list(principle_ids)
    cut(connection, gone)
    columns.drop_in(connection, derivations.c.principle_id, gone)
    columns.drop_in(connection, principles.c.id, gone)


def load_principles(connection: Connection, principle_ids: Iterable[str]) -> dict[str, Principle]:
    """Return principles by id; ids that are not known are left out."""
    rows = columns.select_in(connection, select(principles), principles.c.id, principle_ids)
    return {row.id: columns.make_entity(Principle, row) for row in rows}


def load_given(connection: Connection, model: str) -> tuple[list[Principle], Matrix]:
    """Return the principles that projects may be given, best ranked first, with their vectors.

    A row of zeros is one that has no vector of the model. Two of them may contradict each other.
    """
    names = [each for (each,) in execute(connection, _GIVEN)]
    known = load_principles(connection, names)
    found = [known[each] for each in names]
    rows = load_vectors(connection, model, list({each.text_hash for each in found}))
    width = len(next(iter(rows.values()))) if rows else 0
    nothing = np.zeros(width, np.float32)
    made = [rows.get(each.text_hash, nothing) for each in found]
    return found, np.stack(made) if made else np.zeros((0, width), np.float32)


@dataclass(frozen=True, slots=True)
class PrinciplePlace:
    """A place at which a principle is said; `is_own` where that is in its own words."""

    is_own: bool
    kind: StatementKind | None
    heading: str
    scope: str
    project: str


def load_places(connection: Connection, ids: Iterable[str]) -> dict[str, list[PrinciplePlace]]:
    """Return where files say principles now, by path and line."""
    found: dict[str, list[PrinciplePlace]] = {}
    for name, is_own, kind, *texts in execute_for(connection, _PLACES, ids):
        said = [columns.decode_text(each) or "" for each in texts]
        does = StatementKind(kind) if kind else None
        found.setdefault(name, []).append(PrinciplePlace(bool(is_own), does, *said))
    return found


def word_principle(principle: Principle, places: Sequence[PrinciplePlace]) -> Standalone:
    """Return a principle as a bullet says it, given the places that say it, the first first."""
    own = next((each for each in places if each.is_own), None)
    heading, kind = (own.heading, own.kind) if own is not None else (None, None)
    return make_standalone(
        principle.content, heading, kind, names=frozenset(e.project for e in places)
    )


def list_unapproved(connection: Connection) -> list[str]:
    """Return the ids of principles that projects are given once a person approves, best first."""
    names = [each for (each,) in execute(connection, _GIVEN)]
    allowed = reviews.load_approved(connection)
    return [each for each in names if each not in allowed]


def hash_given(connection: Connection, model: str) -> str:
    """Return the name of all that `given` returns, for a fraction of what reading that costs."""
    found = sha256()
    rows = execute(connection, _NAMED, model).fetchall()
    for row in (*rows, *execute_for(connection, _PLACES, (name for name, *_ in rows))):
        found.update(repr(row).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def filter_given(connection: Connection, principle_ids: Iterable[str]) -> set[str]:
    """Return those of some principles that projects may be given now."""
    return {each for (each,) in execute_for(connection, _STILL, principle_ids)}


def load_unembedded(connection: Connection, model: str, limit: int) -> dict[bytes, str]:
    """Return texts that have no vector of a model, by hash: a model wrote them, and no file.

    Whatever a file says is embedded because it has a passage; these have none.
    """
    rows = execute(connection, _UNEMBEDDED, model, limit)
    return {digest: columns.decode_text(text) or "" for digest, text in rows}


def find_without_source(connection: Connection) -> set[str]:
    """Return the principles that come of nothing any more and were not taken back."""
    return {each for (each,) in execute(connection, _WITHOUT_SOURCE)}


def list_ids(connection: Connection) -> list[str]:
    """Return the ids of all principles, in order."""
    return list(connection.execute(select(principles.c.id).order_by(principles.c.id)).scalars())


def count(connection: Connection) -> int:
    """Return how many principles there are."""
    return columns.count_rows(connection, principles)
