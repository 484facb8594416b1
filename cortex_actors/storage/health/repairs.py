"""Units of work that mend what the checks of the ledger find.

What there is to do is looked for on a reading connection; then each slice of it is one transaction
of the writer's, a fraction of a second long, in which it is made sure of once more: meanwhile it
may have been mended, or its item may have gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete

from cortex_actors.domain.hit import Repair
from cortex_actors.domain.memory import Place, index_of
from cortex_actors.storage import embeddings
from cortex_actors.storage import passages as passage_rows
from cortex_actors.storage.health import passages as health_of_passages
from cortex_actors.storage.health import rows
from cortex_actors.storage.index import pending
from cortex_actors.storage.ledger.connection import execute_for
from cortex_actors.storage.ledger.salvage import KINDS
from cortex_actors.storage.tables.columns import grouped
from cortex_actors.storage.tables.schema import WORDS, vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


#: Items, or rows, of one unit: some 50 ms of the writer.
SLICE = 500

#: Who makes the passages of a kind of item anew, and drops those of what may not be found any more.
_REMAKE = {name: remake for _, collections, remake in KINDS for name in collections}


_OPEN = (
    "INSERT INTO beliefs (memory_id, began_at)"  # noqa: S608 - ours
    " SELECT m.id, coalesce((SELECT max(b.ended_at) FROM beliefs AS b WHERE b.memory_id = m.id),"
    " m.created_at) FROM memories AS m WHERE m.id IN (SELECT value FROM json_each(?))"
    f" AND m.id IN ({rows.LACKING})"
    " ON CONFLICT (memory_id, began_at) DO UPDATE SET ended_at = NULL"
)
_CLOSE = (
    "UPDATE beliefs SET ended_at = max(began_at, (SELECT coalesce(m.merged_at, m.replaced_at,"  # noqa: S608 - ours
    " m.archived_at, m.layer_since) FROM memories AS m WHERE m.id = beliefs.memory_id))"
    f" WHERE ended_at IS NULL AND memory_id IN ({rows.LASTING})"
    " AND memory_id IN (SELECT value FROM json_each(?))"
)


@dataclass(frozen=True, slots=True)
class Mend:
    """How one kind of damage is mended; `did` completes "300 ..."."""

    did: str
    #: Returns what there is to do, as it is now.
    find: Callable[[Connection, str], Sequence[Any]]
    #: Does some of it, in the transaction of the connection.
    work: Callable[[Connection, str, Sequence[Any]], object]
    slice: int = SLICE


def _mend_beliefs(connection: Connection, _model: str, ids: Sequence[str]) -> None:
    """Make the beliefs of memories agree with their states, as well as rows tell of it."""
    execute_for(connection, _CLOSE, ids)
    execute_for(connection, _OPEN, ids)


def _remake(connection: Connection, _model: str, items: Sequence[tuple[str, str]]) -> None:
    """Make the passages of some items anew."""
    for collection, ids in grouped(items).items():
        if collection in _REMAKE:
            _REMAKE[collection](connection, ids)
        else:  # nobody's: written by hand
            passage_rows.drop(connection, collection, ids)


def _drop_damaged(connection: Connection, model: str, hashes: Sequence[bytes]) -> None:
    """Drop vectors, and have their passages wait to be embedded again."""
    still = health_of_passages.examine(connection, model, among=hashes).hashes
    embeddings.remake(connection, model, still)


def _remind(connection: Connection, model: str, lost: Sequence[tuple[str, str, str]]) -> None:
    """Have passages wait to be embedded that nobody would embed."""
    still = set(health_of_passages.forgotten(connection, model, [each[1] for each in lost]))
    for each in lost:
        if each in still:
            collection, item_id, place = each
            pending.note(connection, index_of(collection, Place(place)), put=[item_id])


def _drop_orphans(connection: Connection, model: str, seqs: Sequence[int]) -> None:
    """Drop vectors that nobody needs, unless somebody does now."""
    still = health_of_passages.orphans(connection, model, seqs)
    connection.execute(delete(vectors).where(vectors.c.seq.in_(still)))


#: What mends what, in the order in which that has to be done.
MENDS: Mapping[Repair, Mend] = {
    Repair.WORDS: Mend(
        "lists of words were made anew from the passages",
        lambda *_: list(WORDS),
        lambda c, *_: passage_rows.rebuild(c),
    ),
    Repair.BELIEFS: Mend("memories got their beliefs right", rows.disagreeing, _mend_beliefs),
    Repair.PASSAGES: Mend(
        "items got their passages anew",
        lambda c, _: sorted({*health_of_passages.stray(c), *health_of_passages.lacking(c)}),
        _remake,
    ),
    Repair.DAMAGED: Mend(
        "damaged vectors were dropped, to be made again",
        lambda c, model: health_of_passages.examine(c, model).hashes,
        _drop_damaged,
    ),
    Repair.FORGOTTEN: Mend(
        "passages wait to be embedded again", health_of_passages.forgotten, _remind
    ),
    Repair.ORPHANS: Mend(
        "vectors without use were dropped", health_of_passages.orphans, _drop_orphans
    ),
    Repair.INDEX: Mend(
        "new generation of the index was begun",
        lambda *_: ["index"],
        lambda c, model, _: pending.rebuild(c, model),
    ),
}
