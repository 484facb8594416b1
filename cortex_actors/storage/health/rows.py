"""Whether what is noted of the past agrees with the present: beliefs with states.

Passages are compared with states in `passages.py`; what belongs to rows that are gone, in
`pages.py`.

What the ledger says of files: whose they are, what was read, and what waits to be read.

Which changes the vector index has applied, as the ledger says it.

Units of work that mend what the checks of the ledger find. What there is to do is looked for on a
reading connection; then each slice of it is one transaction of the writer's, a fraction of a second
long, in which it is made sure of once more: meanwhile it may have been mended, or its item may have
gone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, select

from cortex_actors.domain.hit import Diagnosis, Repair, Severity, error, note, warning
from cortex_actors.domain.memory import SearchPlace, name_index
from cortex_actors.storage import embeddings, projects
from cortex_actors.storage import passages as passage_rows
from cortex_actors.storage.health import passages as health_of_passages
from cortex_actors.storage.index import pending as indexing
from cortex_actors.storage.ledger.salvage import KINDS
from cortex_actors.storage.pipeline import reviews
from cortex_actors.storage.tables.columns import group_pairs
from cortex_actors.storage.tables.dialect import execute_for
from cortex_actors.storage.tables.schema import (
    WORDS,
    deliveries,
    events,
    insight_sources,
    vectors,
)
from cortex_actors.topics import FILE_CHANGED, SCAN_REQUESTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cortex_actors.domain.project import Project, Revocation
    from cortex_actors.storage.health.file import CheckupScope
    from cortex_actors.storage.projects import FileState


#: Active memories without a known beginning of their belief.
LACKING = (
    "SELECT id FROM memories AS m WHERE m.status = 'active' AND NOT EXISTS"
    " (SELECT 1 FROM beliefs AS b WHERE b.memory_id = m.id AND b.ended_at IS NULL)"
)

#: Memories that are still believed and are not active any more.
LASTING = (
    "SELECT m.id FROM beliefs AS b JOIN memories AS m ON m.id = b.memory_id"
    " WHERE b.ended_at IS NULL AND m.status <> 'active'"
)


def check_beliefs(opened: Connection, _scope: CheckupScope) -> Iterator[Diagnosis]:
    """Compare since when until when memories were believed with the states they are in."""
    if wrong := list_disagreeing(opened):
        text = f"{len(wrong):,} memories are believed and not active, or the other way round"
        yield error("beliefs", text, mend="cortex doctor --repair", repair=Repair.BELIEFS)
        return
    total = opened.exec_driver_sql("SELECT count(*) FROM beliefs").scalar_one()
    yield Diagnosis("beliefs", f"{total:,} stretches of time, as the memories are")


def list_disagreeing(opened: Connection, _model: str = "") -> list[str]:
    """Return the memories whose beliefs do not agree with the state that each is in."""
    queries = (LACKING, LASTING)
    return sorted({row[0] for query in queries for row in opened.exec_driver_sql(query)})


#: Who reads files.
_READER = "accumulator"


@dataclass(frozen=True, slots=True)
class LedgerFiles:
    """The ledger's view of every followed project's files, at one moment."""

    projects: tuple[Project, ...]
    #: By path, whatever project they were read for.
    files: Mapping[str, FileState]
    #: Paths that are the source of a known insight.
    spoken: frozenset[str]
    #: Paths that wait to be read, and whether all of them do.
    waiting: frozenset[str]
    scan: bool
    #: What was taken back: its files are not read.
    revoked: tuple[Revocation, ...] = ()
    #: By path, the lines of a file that another tool keeps up to date.
    left_out: Mapping[str, int] = field(default_factory=dict)

    def is_revoked(self, project_id: str, path: str) -> bool:
        """Tell whether a file was taken back."""
        return any(each.covers(project_id, path) for each in self.revoked)


def load_files(opened: Connection, _model: str = "") -> LedgerFiles:
    """Return what the ledger says of files."""
    followed = projects.list_followed(opened)
    states = {
        path: state
        for each in followed
        for path, state in projects.load_files(opened, each.id).items()
    }
    said = select(insight_sources.c.path).distinct().where(insight_sources.c.withdrawn_at.is_(None))
    waiting = select(deliveries.c.key).join(events, events.c.seq == deliveries.c.seq)
    changed = waiting.where(deliveries.c.consumer == _READER, events.c.topic == FILE_CHANGED)
    scans = waiting.where(events.c.topic == SCAN_REQUESTED).limit(1)
    return LedgerFiles(
        projects=tuple(followed),
        files=states,
        spoken=frozenset(opened.execute(said).scalars()),
        waiting=frozenset(opened.execute(changed).scalars()),
        scan=opened.execute(scans).first() is not None,
        revoked=tuple(reviews.list_revocations(opened)),
        left_out=projects.count_left_out(opened),
    )


def check_index(opened: Connection, scope: CheckupScope) -> Iterator[Diagnosis]:
    """Check which generation is in use, whose vectors it holds, and which changes wait for it."""
    state, pending = indexing.load_state(opened), indexing.count_pending(opened)
    if state is None:
        remedy = "the daemon begins one: cortex start"
        say = warning if scope.online else note
        yield say("index", "there is no generation of it yet", mend=remedy)
        return
    if scope.model and state.model != scope.model:
        text = (
            f"generation {state.generation} holds vectors of {state.model}, and {scope.model} "
            "answers"
        )
        remedy = "cortex doctor --repair begins another from the stored vectors"
        yield error("index", text, mend=remedy, repair=Repair.INDEX)
        return
    waits = f", {pending:,} changes wait for it" if pending else ""
    text = f"generation {state.generation} of {state.model}{waits}"
    yield Diagnosis("index", text, Severity.NOTE if pending else Severity.OK)


#: Items, or rows, of one unit: some 50 ms of the writer.
SLICE = 500

#: What rebuilds the passages of a kind of item, and drops those of what may not be found any more.
_REMAKE = {name: remake for _, collections, remake in KINDS for name in collections}


_OPEN = (
    "INSERT INTO beliefs (memory_id, began_at)"  # noqa: S608 - ours
    " SELECT m.id, coalesce((SELECT max(b.ended_at) FROM beliefs AS b WHERE b.memory_id = m.id),"
    " m.created_at) FROM memories AS m WHERE m.id IN :ids"
    f" AND m.id IN ({LACKING})"
    " ON CONFLICT (memory_id, began_at) DO UPDATE SET ended_at = NULL"
)
_CLOSE = (
    "UPDATE beliefs SET ended_at = max(began_at, (SELECT coalesce(m.merged_at, m.replaced_at,"  # noqa: S608 - ours
    " m.archived_at, m.layer_since) FROM memories AS m WHERE m.id = beliefs.memory_id))"
    f" WHERE ended_at IS NULL AND memory_id IN ({LASTING})"
    " AND memory_id IN :ids"
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
    """Rebuild the passages of some items."""
    for collection, ids in group_pairs(items).items():
        if collection in _REMAKE:
            _REMAKE[collection](connection, ids)
        else:  # of no known kind: written by hand
            passage_rows.drop(connection, collection, ids)


def _drop_damaged(connection: Connection, model: str, hashes: Sequence[bytes]) -> None:
    """Drop vectors, and have their passages wait to be embedded again."""
    still = health_of_passages.list_damaged(connection, model, hashes)
    embeddings.remake(connection, model, still)


def _remind(connection: Connection, model: str, lost: Sequence[tuple[str, str, str]]) -> None:
    """Queue passages for the embedder that are in no list."""
    still = set(health_of_passages.list_forgotten(connection, model, [each[1] for each in lost]))
    for each in lost:
        if each in still:
            collection, item_id, place = each
            indexing.note(connection, name_index(collection, SearchPlace(place)), put=[item_id])


def _drop_orphans(connection: Connection, model: str, seqs: Sequence[int]) -> None:
    """Drop vectors that are not needed, unless one is needed by now."""
    still = health_of_passages.list_orphans(connection, model, seqs)
    connection.execute(delete(vectors).where(vectors.c.seq.in_(still)))


#: What mends what, in the order in which that has to be done.
MENDS: Mapping[Repair, Mend] = {
    Repair.WORDS: Mend(
        "lists of words were rebuilt from the passages",
        lambda *_: list(WORDS),
        lambda c, *_: passage_rows.rebuild(c),
    ),
    Repair.BELIEFS: Mend("memories got their beliefs right", list_disagreeing, _mend_beliefs),
    Repair.PASSAGES: Mend(
        "items got their passages again",
        lambda c, _: sorted(
            {*health_of_passages.list_stray(c), *health_of_passages.list_lacking(c)}
        ),
        _remake,
    ),
    Repair.DAMAGED: Mend(
        "damaged vectors were dropped, to be made again",
        health_of_passages.list_damaged,
        _drop_damaged,
    ),
    Repair.FORGOTTEN: Mend(
        "passages wait to be embedded again", health_of_passages.list_forgotten, _remind
    ),
    Repair.ORPHANS: Mend(
        "vectors without use were dropped", health_of_passages.list_orphans, _drop_orphans
    ),
    Repair.INDEX: Mend(
        "new generation of the index was begun",
        lambda *_: ["index"],
        lambda c, model, _: indexing.rebuild(c, model),
    ),
}
