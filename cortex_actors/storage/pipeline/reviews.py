"""Reviews: what a person said about what could become a principle.

An insight has one review at most, the newest. It outlives the insight: text that
comes back finds it. Every function takes the connection of a transaction it is part of.

Revocations: the sources that count no more, until that is lifted.

A row says that a person took something back; what that does to what was learned is `revoking`'s.
A unit of work that learns, promotes or gives out a text asks here, in its own transaction: what
was looked up before may be revoked by then. Every function takes the connection of a transaction
it is part of.

Approvals: what a person said about writing principles into files of other projects.

A principle has one at most, the newest. Its id is made of its text's hash, so that a decision is
about a text: other words are another principle. Every function takes the connection of a
transaction it is part of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Select, delete, insert, select, update

from cortex_actors.domain import project
from cortex_actors.storage import projects
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.dialect import execute, execute_for
from cortex_actors.storage.tables.schema import approvals, reviews, revocations

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Asked for each file that is read, so it goes to the driver.
_REVOKED = "SELECT key FROM revocations WHERE kind = ? AND ended_at IS NULL"


def decide(connection: Connection, review: project.Review) -> None:
    """Write a review down, in place of an earlier one."""
    columns.put_rows(connection, reviews, [columns.as_row(reviews, review)])


def withdraw(connection: Connection, insight_id: str) -> None:
    """Forget what a person said about an insight."""
    connection.execute(delete(reviews).where(reviews.c.insight_id == insight_id))


def load_reviews(connection: Connection, ids: Iterable[str]) -> dict[str, project.Review]:
    """Return the reviews of those insights, by id; those without one are left out."""
    rows = columns.select_in(connection, select(reviews), reviews.c.insight_id, ids)
    return {row.insight_id: columns.make_entity(project.Review, row) for row in rows}


def load_decided(connection: Connection, decision: project.Decision) -> set[str]:
    """Return the ids of all insights about which a person said that."""
    return {each.insight_id for each in list_reviews(connection, decision)}


def load_decisions(connection: Connection) -> dict[str, project.Decision]:
    """Return what persons have said, by insight: a few hundred rows, whatever was learned."""
    query = select(reviews.c.insight_id, reviews.c.decision)
    return {name: project.Decision(word) for name, word in connection.execute(query)}


def list_reviews(connection: Connection, decision: project.Decision) -> list[project.Review]:
    """Return the reviews that said so, newest first; a person made each of them."""
    query = select(reviews).where(reviews.c.decision == str(decision))
    query = query.order_by(reviews.c.at.desc(), reviews.c.insight_id)
    return [columns.make_entity(project.Review, row) for row in connection.execute(query)]


def begin(
    connection: Connection, kind: project.SourceKind, key: str, *, at: int, note: str | None = None
) -> bool:
    """Let a source count no more; False when it does not count already."""
    if find(connection, kind, key) is not None:
        return False
    row = {"kind": str(kind), "key": key, "note": note, "at": at}
    connection.execute(insert(revocations).values(row))
    return True


def end(connection: Connection, kind: project.SourceKind, key: str, *, at: int) -> bool:
    """Let a source count again; False when it was not taken back."""
    statement = (
        update(revocations)
        .where(revocations.c.kind == str(kind), revocations.c.key == key)
        .where(revocations.c.ended_at.is_(None))
        .values({"ended_at": at})
    )
    return connection.execute(statement).rowcount == 1


def find(connection: Connection, kind: project.SourceKind, key: str) -> project.Revocation | None:
    """Return how a source was taken back; None when it counts."""
    query = _open().where(revocations.c.kind == str(kind), revocations.c.key == key)
    row = connection.execute(query).one_or_none()
    return None if row is None else columns.make_entity(project.Revocation, row)


def list_revocations(connection: Connection) -> list[project.Revocation]:
    """Return everything that is taken back now, newest first."""
    query = _open().order_by(revocations.c.id.desc())
    return [columns.make_entity(project.Revocation, row) for row in connection.execute(query)]


def find_bar(connection: Connection, project_id: str, path: str) -> project.Revocation | None:
    """Return what keeps a project's file from being taken in; None when nothing does.

    That is its project, the file itself, or a folder that holds it. Following a folder around a
    project makes its files no other's: the innermost project that was ever followed counts, too.
    """
    files = (project.SourceKind.PROJECT, project.SourceKind.PATH)
    if not any(_keys(connection, each, None) for each in files):
        return None
    rows = connection.execute(_open().where(revocations.c.kind.in_(files)))
    standing = [columns.make_entity(project.Revocation, row) for row in rows]
    inner = project.find_innermost(projects.list_ever(connection), path)
    owners = {project_id} | ({inner.id} if inner is not None else set())
    return next((e for e in standing if any(e.covers(each, path) for each in owners)), None)


def load_revoked_insights(connection: Connection, ids: Iterable[str] | None = None) -> set[str]:
    """Return the ids of the texts (of those, or all) that are taken back, in any file."""
    return _keys(connection, project.SourceKind.INSIGHT, ids)


def load_revoked_principles(connection: Connection, ids: Iterable[str] | None = None) -> set[str]:
    """Return the ids of the principles (of those, or all) that are withdrawn."""
    return _keys(connection, project.SourceKind.PRINCIPLE, ids)


def select_revoked(kind: project.SourceKind) -> Select[Any]:
    """Return the query for the keys of what is taken back now, of a kind."""
    return _open().where(revocations.c.kind == str(kind)).with_only_columns(revocations.c.key)


def _keys(connection: Connection, kind: project.SourceKind, ids: Iterable[str] | None) -> set[str]:
    """Return what of a kind is taken back; a person names a few, never thousands."""
    rows = execute(connection, _REVOKED, str(kind))
    found = {columns.decode_text(key) or "" for (key,) in rows}
    return found if ids is None else found.intersection(ids)


def _open() -> Select[Any]:
    """Return the query for what is taken back now."""
    return select(revocations).where(revocations.c.ended_at.is_(None))


#: The one project in which principles are said, for those that no other one has ever said.
_HOMES = (
    "SELECT d.principle_id, min(s.project_id) FROM derivations AS d"
    " JOIN insights AS i ON i.id = d.insight_id"
    " JOIN insight_sources AS s ON s.insight_id = coalesce(i.superseded_by, i.id)"
    " WHERE d.principle_id IN :ids GROUP BY d.principle_id"
    " HAVING count(DISTINCT s.project_id) = 1"
    " AND min(CASE s.trust WHEN 'file' THEN 1 ELSE 0 END) = 1"
)


def decide_approval(connection: Connection, made: project.Approval) -> None:
    """Write a decision down, in place of an earlier one."""
    columns.put_rows(connection, approvals, [columns.as_row(approvals, made, ended_at=None)])


def load_approvals(connection: Connection, ids: Iterable[str]) -> dict[str, project.Approval]:
    """Return the decisions about those principles, by id, also those that have ended."""
    rows = columns.select_in(connection, select(approvals), approvals.c.principle_id, ids)
    return {row.principle_id: columns.make_entity(project.Approval, row) for row in rows}


def load_approved(connection: Connection) -> set[str]:
    """Return the ids of all principles that a person approved."""
    return {each.principle_id for each in list_approvals(connection, project.Decision.APPROVED)}


def list_approvals(connection: Connection, decision: project.Decision) -> list[project.Approval]:
    """Return the decisions that said so and count now, newest first."""
    query = select(approvals).where(approvals.c.decision == str(decision))
    query = query.where(approvals.c.ended_at.is_(None))
    order = (approvals.c.at.desc(), approvals.c.principle_id)
    return [
        columns.make_entity(project.Approval, row)
        for row in connection.execute(query.order_by(*order))
    ]


def load_homes(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return, of those principles, the project of each that no other one has ever said."""
    return dict(execute_for(connection, _HOMES, ids))


def end_approvals(connection: Connection, ids: Iterable[str], *, at: int) -> None:
    """Let approvals count no more, because a person took back what they are about."""
    ours = approvals.c.decision == str(project.Decision.APPROVED), approvals.c.ended_at.is_(None)
    columns.change_in(connection, approvals.c.principle_id, ids, {"ended_at": at}, *ours)


def restore(connection: Connection, *, ended_at: int) -> None:
    """Let those count again that ended at that moment: its revocation was lifted."""
    columns.change_in(connection, approvals.c.ended_at, [ended_at], {"ended_at": None})
