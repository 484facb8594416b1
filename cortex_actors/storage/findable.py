"""Findable: everything that may be found, made anew from the rows that say so.

A ledger that was brought back has rows that its passages know nothing of, and none of its words
can be trusted. What is made here is what the units of work that wrote those rows would have made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from cortex_actors.storage import crumbs, knowledge, memories, passages, standing
from cortex_actors.storage.schema import insights as insight_rows
from cortex_actors.storage.schema import passages as passage_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def refill(connection: Connection) -> int:
    """Let be found what may be, and nothing else, by all its words; return how much that is.

    What the vector index has to be told of it is written down. Takes seconds at 50,000, and the
    transaction of a writer: it is for ledgers that nobody uses yet.
    """
    passages.rebuild(connection)  # first: a change of words that are damaged would fail
    every = select(insight_rows.c.id).order_by(insight_rows.c.id)
    found = _remade(
        connection,
        (standing.COLLECTION,),
        connection.execute(every).scalars(),
        standing.remake,
    )
    realms = list(memories.COLLECTIONS.values())
    found += _remade(connection, realms, memories.active_ids(connection), memories.remake)
    pieces = knowledge.active_ids(connection)
    found += _remade(connection, (knowledge.COLLECTION,), pieces, knowledge.remake)
    left = crumbs.all_ids(connection)
    found += _remade(connection, (crumbs.COLLECTION,), left, crumbs.remake)
    return found


def _remade(
    connection: Connection,
    collections: Sequence[str],
    ids: Iterable[str],
    remake: Callable[[Connection, Iterable[str]], int],
) -> int:
    """Make the passages of those items anew, and take away what else lies in their collections."""
    known = select(passage_rows.c.item_id).where(passage_rows.c.collection.in_(collections))
    left = connection.execute(known.order_by(passage_rows.c.id)).scalars()
    return remake(connection, list(dict.fromkeys([*ids, *left])))
