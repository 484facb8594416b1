"""Forgetting: the only deletion there is of a memory, and a true one.

What was said goes with everything that tells of it: rows, what it was made of, the texts by which
it was found (its own, and those of others that had it in front), their words and vectors, what
models answered about it, the reasons why something was done with it. What is left is a change that
names its id. SQLite overwrites what is deleted (`secure_delete`), and `wipe` rewrites the words
that are only marked as gone; then the bytes are in the ledger's file no more. Every function
takes the connection of a transaction it is part of.

Probes: what the daemon remembers to try itself; see `checkup.roundtrip`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Table, delete, select

from cortex_actors.clock import SECOND
from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import PROBE, ChangeKind, MemoryStatus
from cortex_actors.errors import NotFound, Refused
from cortex_actors.storage import memory_history, memory_records, passages
from cortex_actors.storage.memory import memory_states, village
from cortex_actors.storage.memory_history import MemoryChange
from cortex_actors.storage.tables import schema
from cortex_actors.storage.tables.columns import drop_in, put_rows, select_in, split_chunks
from cortex_actors.storage.tables.dialect import execute_for
from cortex_actors.storage.tables.schema import WORDS, memories, metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


#: Pages of words that are rewritten at once: some 20 ms of the writer.
STEP = 500

#: Fewer rows than that changed in a step: nothing is left to be done (FTS5 says so).
_IDLE = 2

#: Under what `meta` keeps that words of forgotten memories are still to be rewritten, and how
#: far that is: a memory that is forgotten meanwhile makes it begin again, or its words would stay.
_DUE, _ASKED, _BEGUN = "words_to_wipe", b"1", b"2"

#: How far that is; nothing where no words are to be rewritten.
_HOW_FAR = select(schema.meta.c.value).where(schema.meta.c.name == _DUE)

#: Memories that were once made of some, by what was done: texts of a merge say what its parts say.
_WHOLES = (
    "SELECT DISTINCT m.id, m.status FROM memory_changes AS c"
    " JOIN memories AS m ON m.id = c.memory_id, :each(c.others) AS o WHERE c.kind = 'merge'"
    " AND o.value IN :ids"
    " AND m.id NOT IN :ids"
)

#: Microseconds before a memory was written down in which a model may have been asked about it.
_EARLIER = 3_600 * SECOND


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What went: those that were asked for, and everything they were made of."""

    ids: tuple[str, ...]
    parts: tuple[str, ...] = ()
    #: What was made of them once and was split: it said the same.
    wholes: tuple[str, ...] = ()
    #: Superseded memories whose successor went: they are archived now.
    archived: tuple[str, ...] = ()


def forget(connection: Connection, ids: Iterable[str], *, by: str, at: int) -> Forgotten:
    """Delete memories and whatever they were made of, for good.

    What was made of them once and was taken apart goes, too. Raises `NotFound`, and `Refused` for
    one that is part of a bigger memory, which says it, too.
    """
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return Forgotten(())
    _check(connection, wanted)
    parts = memory_history.list_parts(connection, wanted)
    wholes = _made_of(connection, {*wanted, *parts})
    gone = [*wanted, *sorted(parts), *sorted(wholes)]
    others = set(memory_records.list_following(connection, gone)) - set(gone)
    hashes = {
        found.text_hash
        for owner in (schema.memories.c.id, schema.passages.c.item_id)
        for found in select_in(connection, select(owner.table.c.text_hash), owner, [*gone, *others])
    }
    row = schema.memories.c
    found = select_in(connection, select(row.id).order_by(row.id), row.replaced_by, gone)
    staying = [each for (each,) in found if each not in set(gone)]
    archived = memory_states.put_away(connection, staying, at)
    query = select(row.id).where(row.agent_id == PROBE)
    probes = {each for (each,) in select_in(connection, query, row.id, wanted)}
    pieces = {each: memory_history.list_parts(connection, [each]) for each in wanted}
    _delete(connection, gone)
    memory_records.remake(connection, [*gone, *others])
    drop_vectors(connection, hashes)
    memory_history.clear_changes(connection, set(gone))
    forgotten = [
        MemoryChange(ChangeKind.FORGET, each, by=by, at=at, others=tuple(sorted(pieces[each])))
        for each in wanted
        if each not in probes
    ]
    why = "what replaced it was forgotten"
    away = [MemoryChange(ChangeKind.ARCHIVE, each, by=by, at=at, reason=why) for each in archived]
    memory_history.note(connection, *forgotten, *away)
    if probes < set(wanted):
        _note_due(connection, _ASKED)
    return Forgotten(tuple(wanted), tuple(sorted(parts)), tuple(sorted(wholes)), tuple(archived))


def wipe(connection: Connection) -> bool:
    """Rewrite some of the words without those that are gone; False when none are left.

    Several may do it at once, and after a crash the next call goes on with it. Does nothing when no
    memory was forgotten since the last time.
    """
    due = connection.execute(_HOW_FAR).scalar()
    if due is None:
        return False
    steps = -STEP if due == _ASKED else STEP
    changed = [passages.wipe(connection, words, steps=steps) for words in WORDS]
    if max(changed) >= _IDLE:
        _note_due(connection, _BEGUN)
        return True
    connection.execute(delete(schema.meta).where(schema.meta.c.name == _DUE))
    return False


def is_due(connection: Connection) -> bool:
    """Tell whether words of forgotten memories are still to be rewritten."""
    return connection.execute(_HOW_FAR).scalar() is not None


def list_references() -> Iterator[tuple[Table, str]]:
    """Yield every (table, column) of the schema that names a memory, but for `memories` itself."""
    for table in metadata.sorted_tables:
        for column in table.columns if table is not schema.memories else ():
            if any(key.column is schema.memories.c.id for key in column.foreign_keys):
                yield table, column.name


def _check(connection: Connection, wanted: Sequence[str]) -> None:
    """Raise for memories that cannot be forgotten."""
    row = schema.memories.c
    rows = select_in(connection, select(row.id, row.merged_into), row.id, wanted)
    found: dict[str, str | None] = {each.id: each.merged_into for each in rows}
    whole = memory_history.find_wholes(connection, wanted)
    for each in wanted:
        if each not in found:
            raise NotFound(f"there is no memory {each}; list them with: cortex memory list --all")
        if found[each] is not None and whole[each] not in wanted:
            message = f"cannot forget {each}: it is part of {whole[each]}, which says it, too;"
            raise Refused(f"{message} forget that, or take it apart: cortex memory split")


def _made_of(connection: Connection, ids: set[str]) -> set[str]:
    """Return the memories that were made of some, or of what was, and were taken apart since.

    Raises `Refused` for one that came back since: what it says is in use; and for one that was
    given other parts since, which the caller did not ask to forget.
    """
    found: set[str] = set()
    while True:
        rows = execute_for(connection, _WHOLES, ids | found).fetchall()
        for each, status in rows:
            if status != MemoryStatus.ARCHIVED:
                message = f"cannot forget that alone: {each}, which was made of it, says it, too;"
                raise Refused(f"{message} archive that, or forget both")
        if not rows:
            break
        found |= {each for each, _ in rows}
    others = memory_history.list_parts(connection, found) - ids
    for whole in memory_history.find_wholes(connection, sorted(others)[:1]).values():
        message = f"cannot forget that alone: {whole}, which was made of it, has other parts by"
        raise Refused(f"{message} now; restore that and split it, or forget both")
    return found


def _delete(connection: Connection, gone: Sequence[str]) -> None:
    """Delete the rows of memories, those that name them first.

    And what a language model has said since the first of them was written down: its answers repeat
    texts, and are kept by a hash of the question; they can be asked for again.
    """
    row, said = schema.memories.c, schema.verdicts.c
    created = (each for (each,) in select_in(connection, select(row.created_at), row.id, gone))
    theirs = delete(schema.verdicts).where(said.decider == Decider.LLM)
    connection.execute(theirs.where(said.at >= min(created) - _EARLIER))
    village.forget(connection, gone)
    for table, column in list_references():
        drop_in(connection, table.c[column], gone)
    # In one statement: parts and wholes name one another, and are looked at when it ends.
    query = "DELETE FROM memories WHERE id IN :ids"
    execute_for(connection, query, gone)


def drop_vectors(connection: Connection, hashes: Iterable[bytes]) -> None:
    """Delete the vectors of texts that exist no more."""
    every = [each for each in metadata.sorted_tables if "text_hash" in each.c]
    for some in split_chunks(sorted(hashes)):
        needed: set[bytes] = set()
        for table in every:
            if table is not schema.vectors:
                query = select(table.c.text_hash).where(table.c.text_hash.in_(some))
                needed.update(connection.execute(query).scalars())
        free = [each for each in some if each not in needed]
        connection.execute(delete(schema.vectors).where(schema.vectors.c.text_hash.in_(free)))


def _note_due(connection: Connection, how_far: bytes) -> None:
    """Note that words are to be rewritten, and how far that is."""
    put_rows(connection, schema.meta, [{"name": _DUE, "value": how_far}])


def list_probes(connection: Connection) -> list[str]:
    """Return the ids of the probes that are there, oldest first: a crash left them.

    What is part of another one goes with it, so wholes alone are named.
    """
    query = select(memories.c.id).where(
        memories.c.agent_id == PROBE, memories.c.status != MemoryStatus.MERGED
    )
    return list(connection.execute(query.order_by(memories.c.id)).scalars())
