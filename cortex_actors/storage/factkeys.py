"""Fact keys: statements and principles as facts that have an address.

The key of a statement is its heading with those above it, and of what has none the words it begins
with: something a person can ask for by its name, in any case, and without the headings above. Only
what is everybody's is found here, and every function takes a connection and only reads.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select

from cortex_actors.storage import principles
from cortex_actors.storage.insightrows import live, of_project, shared
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import insights
from cortex_actors.storage.schema import principles as principle_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import ColumnElement, Connection

#: What stands between a heading and the one above it.
_ABOVE: Final = " > "

#: Words that make a key of a text without a heading.
WORDS: Final = 8

#: The principles that come of insights, whichever text stands for these by now.
_COMING = (
    "SELECT coalesce(said.superseded_by, said.id), d.principle_id FROM derivations AS d"
    " JOIN insights AS said ON said.id = d.insight_id"
    " WHERE coalesce(said.superseded_by, said.id) IN (SELECT value FROM json_each(?))"
    " ORDER BY d.weight, d.principle_id DESC"
)


def key(text: str, heading: str | None = None) -> str:
    """Return the key of a text."""
    return heading or " ".join(text.split()[:WORDS])


def principles_at(connection: Connection, wanted: str, *, limit: int) -> list[str]:
    """Return the principles given to projects whose key that is, the highest ranked first."""
    if not wanted:
        return []
    rows = principle_rows.c
    query = select(rows.id, rows.content).where(_begins(rows.content, wanted))
    found = [
        row.id
        for row in connection.execute(query.order_by(rows.rank.desc(), rows.id))
        if _same(key(row.content), wanted)
    ]
    given = principles.still_given(connection, found) if found else set()
    return [each for each in found if each in given][:limit]


def statements_at(
    connection: Connection, wanted: str, *, project_id: str | None, limit: int
) -> list[str]:
    """Return the insights whose key that is, of a project or of all, most believed first."""
    if not wanted:
        return []
    rows = insights.c
    # SQLite has no case but ASCII's: what it lets through is looked at again.
    headed = func.substr(rows.heading, -len(wanted)).ilike(_literal(wanted), escape="/")
    plain = func.coalesce(rows.heading, "") == ""
    query = select(rows.id, rows.heading, rows.content).where(live(), shared())
    query = query.where(headed | (plain & _begins(rows.content, wanted)))
    if project_id is not None:
        query = query.where(rows.id.in_(of_project(project_id)))
    found = connection.execute(query.order_by(rows.confidence.desc(), rows.id))
    return [row.id for row in found if _is_key(row.content, row.heading, wanted)][:limit]


def principles_of(connection: Connection, insight_ids: Iterable[str]) -> dict[str, str]:
    """Return the principle that an insight has become, by insight, where it is given to projects.

    Of several it is the one to which it gives most.
    """
    asked = (json.dumps(list(insight_ids)),)
    pairs = driver_of(connection).execute(_COMING, asked).fetchall()
    given = principles.still_given(connection, {each for _, each in pairs}) if pairs else set()
    return {insight: each for insight, each in pairs if each in given}


def count(connection: Connection) -> dict[str, int]:
    """Return how many facts everybody may be told: principles, and statements of projects."""
    given = func.count().filter(principle_rows.c.status == "active")
    said = select(func.count()).select_from(insights).where(live(), shared())
    return {
        "principles": int(connection.execute(select(given)).scalar_one()),
        "statements": int(connection.execute(said).scalar_one()),
    }


def _is_key(text: str, heading: str | None, wanted: str) -> bool:
    """Tell whether a text is asked for by its key, or by the last of its headings."""
    whole = key(text, heading)
    return _same(whole, wanted) or _same(whole.rpartition(_ABOVE)[2], wanted)


def _same(one: str, other: str) -> bool:
    """Tell whether two keys are one."""
    return one.casefold() == other.casefold()


def _literal(text: str) -> str:
    """Return a text as a pattern that matches it alone."""
    return text.replace("/", "//").replace("%", "/%").replace("_", "/_")


def _begins(column: ColumnElement[str], words: str) -> ColumnElement[bool]:
    """Return the condition that a text begins with the first of those words."""
    first, _, _ = words.partition(" ")
    begun = func.substr(func.ltrim(column), 1, len(first))
    found: ColumnElement[bool] = begun.ilike(_literal(first), escape="/")
    return found
