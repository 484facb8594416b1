"""The backlog of the indexer: texts without a vector, and changes that give way to others.

The index is told changes in their order, and one whose text has no vector ends the list, so that
`applied_seq` never passes something that was not applied. A text that no model takes would so end
it for ever. Its change is written down anew, behind all others: nothing is lost or passed over, and
the order of the others stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.storage import embeddings
from cortex_actors.storage.embeddings import INDEX
from cortex_actors.storage.schema import index_ops, passages
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

#: SQLite remembers it for AUTOINCREMENT, when the change itself has long been told.
_NEWEST = "SELECT seq FROM sqlite_sequence WHERE name = 'index_ops'"


def texts(
    connection: Connection, model: str, *, limit: int, complete: int
) -> tuple[int, list[tuple[str, str, bytes]]]:
    """Return the newest change there ever was, and what `indexing.unembedded` gives.

    Whatever has no vector came with a change. So nothing is looked for again (14 ms when 50,000
    changes wait) when `complete` is that change: then every text had its vector already.
    """
    found = connection.exec_driver_sql(_NEWEST).scalar()
    newest = int(found or 0)
    return newest, [] if newest == complete else embeddings.unembedded(connection, model, limit)


def defer(connection: Connection, hashes: Collection[bytes]) -> int:
    """Move the changes of texts behind all others; return how many others went past them.

    0 says that nothing else waits behind them, and then nothing was moved.
    """
    seqs = _seqs(connection, hashes)
    if not seqs:
        return 0
    query = select(index_ops.c.seq).where(index_ops.c.seq > seqs[0])
    passed = len(set(connection.execute(query).scalars()) - set(seqs))
    if passed:
        for some in chunks(seqs):
            columns = [index_ops.c.collection, index_ops.c.item_id, index_ops.c.op]
            again = select(*columns).where(index_ops.c.seq.in_(some)).order_by(index_ops.c.seq)
            connection.execute(insert(index_ops).from_select([c.name for c in columns], again))
            connection.execute(delete(index_ops).where(index_ops.c.seq.in_(some)))
    return passed


def _seqs(connection: Connection, hashes: Collection[bytes]) -> list[int]:
    """Return the changes of passages with those texts, in order."""
    found: set[int] = set()
    for some in chunks(hashes):
        query = (
            select(index_ops.c.seq)
            .join(passages, passages.c.item_id == index_ops.c.item_id)
            .where(passages.c.text_hash.in_(some), index_ops.c.collection == INDEX)
        )
        found.update(connection.execute(query).scalars())
    return sorted(found)
