"""Insights: what files say, with its evidence and status.

Every function takes the connection of a transaction it is part of. An insight is live while a file
still says it; how often it was observed, and by whom, is counted whenever it is asked.

Facing: sets heading and category of an insight from its first source (by path, then line).

The same words may be under several headings, in one file as a rule and in another as an example.
Which of them an insight has must not depend on which file was read first: it is the first by path
and line of those that say it now.

Insights on whose category no keyword spoke, and what a second opinion makes of them.

Places of insights, and the revisions of files in which they were seen there.

Every function takes the connection of a transaction it is part of. A source lives until its file
no longer says it; it is never deleted, so that text which comes back is the source it was.

Merging: texts that say the same count as one, and every text stays.

A merge is a pointer from a text to the one that represents it, and the sources that count for that
one; taking the pointer away is all it needs to undo it. No pointer leads to a text that has one
itself, and `insight_sources.insight_id` is always where the pointer of `said_id` leads. Only what
files say now is merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import Connection, func, select, update

from cortex_actors.domain.insight import Granularity, Insight, InsightSource, InsightStatus
from cortex_actors.rules.classification import classify
from cortex_actors.storage import insight_records
from cortex_actors.storage.embeddings import Matrix, load_vectors, make_text
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.dialect import execute, execute_for, execute_many
from cortex_actors.storage.tables.schema import insight_sources, insights, observations, reviews

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.domain.insight import Category


#: The first place of each statement, where it is another than the one that is shown.
_FIRST = (
    "SELECT p.said_id, i.content, p.heading, p.kind FROM insights AS i"
    " JOIN insight_sources AS p ON p.said_id = i.id AND p.withdrawn_at IS NULL"
    " WHERE i.id IN :ids AND i.granularity = 'statement'"
    " AND (i.heading IS NOT p.heading OR i.kind IS NOT p.kind)"
    " AND NOT EXISTS (SELECT 1 FROM insight_sources AS o WHERE o.said_id = p.said_id"
    " AND o.withdrawn_at IS NULL AND (o.path, o.line_start, o.ordinal)"
    " < (p.path, p.line_start, p.ordinal))"
)


def set_headings(connection: Connection, ids: Iterable[str]) -> None:
    """Set heading and category of statements from the first place that says them."""
    rows = []
    for insight_id, content, heading, kind in execute_for(connection, _FIRST, ids):
        taken = classify(content, heading)
        said = {name: getattr(taken, name) for name in ("category", "tags", "domain")}
        place = {"one": insight_id, "heading": heading, "kind": kind}
        rows.append({**place, **said, "verdict": taken.confidence})
    columns.change_rows(connection, insights, rows)


#: What no two sources share: the fragment, and which of its statements.
Spot: TypeAlias = tuple[str, int]

#: What is updated of a spot that is known.
_PLACED = (
    *("insight_id", "said_id", "project_id", "heading", "kind", "scope"),
    *("line_start", "line_end", "withdrawn_at"),
)

#: Observations of a spot at which another text is read now: of the same bytes, by another reader.
_OTHERWISE = (
    "DELETE FROM observations WHERE source_id IN (SELECT id FROM insight_sources"
    " WHERE fragment_id = ? AND ordinal = ? AND said_id <> ?)"
)

#: Notes since when a project says texts that none of its files said until now. (`+`: in every other
#: home SQLite would look at all that the project says, for each of the texts.)
_BEGIN = (
    "INSERT INTO said_since (said_id, project_id, at)"
    " SELECT j.value, ?2, ?3 FROM :each(?1) AS j"
    " WHERE NOT EXISTS (SELECT 1 FROM insight_sources AS s WHERE s.said_id = j.value"
    " AND +s.project_id = ?2 AND s.withdrawn_at IS NULL)"
    " ON CONFLICT (said_id, project_id) DO UPDATE SET at = excluded.at"
)

_SAID = (
    "SELECT value FROM :each(?1) AS j WHERE EXISTS (SELECT 1 FROM insight_sources"
    " WHERE said_id = value AND withdrawn_at IS NULL)"
)

#: Insights that are said by files of one person alone, whatever project these are of.
_PRIVATE = (
    "SELECT said_id FROM insight_sources WHERE withdrawn_at IS NULL"
    " AND said_id IN :ids"
    " GROUP BY said_id HAVING min(CASE WHEN path LIKE '%.local.md' THEN 1 ELSE 0 END) = 1"
)

#: Where a file says what now; and which texts in the name of another project.
_SPOTS = (
    "SELECT fragment_id, ordinal, id, said_id FROM insight_sources"
    " WHERE path = ? AND withdrawn_at IS NULL"
)
_STRANGERS = (
    "SELECT said_id, insight_id FROM insight_sources"
    " WHERE path = ? AND withdrawn_at IS NULL AND project_id <> ?"
)

_KNOWN = "SELECT id FROM insights WHERE id IN :ids"

#: A place of a file that was not seen in a revision.
_UNSEEN = (
    "SELECT 1 FROM insight_sources AS s WHERE s.path = ? AND s.withdrawn_at IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM observations AS o WHERE o.source_id = s.id"
    " AND o.file_hash = ?) LIMIT 1"
)


def load_live_sources(connection: Connection, path: str) -> dict[Spot, str]:
    """Return what a file says now: the insight whose text is at each spot."""
    return {spot: said for spot, (_, said) in _spots(connection, path).items()}


def _spots(connection: Connection, path: str) -> dict[Spot, tuple[int, str]]:
    """Return the number of each place at which a file says something now, and which text."""
    rows = execute(connection, _SPOTS, columns.encode_text(path))
    return {(fragment, ordinal): (number, said) for fragment, ordinal, number, said in rows}


def find_strangers(connection: Connection, path: str, project_id: str) -> set[str]:
    """Return the ids of insights that a file says now in the name of another project."""
    rows = execute(connection, _STRANGERS, columns.encode_text(path), project_id)
    return {each for row in rows for each in row}


def has_seen(connection: Connection, path: str, revision: str) -> bool:
    """Tell whether everything that a file says now was seen in that revision of it already."""
    asked = (columns.encode_text(path), revision)
    return execute(connection, _UNSEEN, *asked).fetchone() is None


def filter_said(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Return those of the texts that some file says now."""
    return {each for (each,) in execute_for(connection, _SAID, ids)}


def filter_private(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Return those of the texts that only files of one person say (`CLAUDE.local.md`).

    They stay in their project: no text of others is merged with them.
    """
    return {each for (each,) in execute_for(connection, _PRIVATE, ids)}


def hand_over(connection: Connection, path: str, *, project_id: str, at: int) -> None:
    """Make what a file says now a project's: a folder inside one may have become its own."""
    said = load_live_sources(connection, path).values()
    note_beginning(connection, set(said), project_id=project_id, at=at)
    connection.execute(
        update(insight_sources)
        .where(insight_sources.c.path == path, insight_sources.c.withdrawn_at.is_(None))
        .where(insight_sources.c.project_id != project_id)
        .values({"project_id": project_id})
    )


def note_beginning(
    connection: Connection, said: Iterable[str], *, project_id: str, at: int
) -> None:
    """Note since when a project says texts; what it says already keeps its time."""
    execute_for(connection, _BEGIN, said, project_id, at)


def attach(
    connection: Connection,
    found: Sequence[InsightSource],
    *,
    project_id: str,
    at: int,
    counted: Mapping[str, str],
) -> None:
    """Write the places of insights; the same fragment may have moved to other lines.

    `counted` names the insight for which a text counts, where that is another one.
    """
    more = {"project_id": project_id, "seen_at": at, "withdrawn_at": None}
    key = ("fragment_id", "ordinal")

    def row(each: InsightSource) -> dict[str, Any]:
        whole = counted.get(each.said, each.said)
        return columns.as_row(insight_sources, each, insight_id=whole, said_id=each.said, **more)

    execute_many(connection, _OTHERWISE, ((*each.spot, each.said) for each in found))
    columns.put_rows(connection, insight_sources, map(row, found), change=_PLACED, key=key)


def observe(connection: Connection, path: str, found: Iterable[InsightSource], at: int) -> None:
    """Note in which revision a file says what; a revision that is read again is one observation."""
    known = _spots(connection, path)
    rows = (
        {"source_id": known[each.spot][0], "file_hash": each.file_hash, "at": at} for each in found
    )
    columns.put_rows(connection, observations, rows, change=())


def withdraw(connection: Connection, spots: Iterable[Spot], at: int) -> None:
    """Note that a file no longer says what stood at those spots."""
    gone = "UPDATE insight_sources SET withdrawn_at = ? WHERE fragment_id = ? AND ordinal = ?"
    execute_many(connection, gone, ((at, *spot) for spot in spots))


_POINT = (
    "UPDATE insights SET superseded_by = ?2, status = CASE coalesce(?2, '') WHEN ''"
    " THEN 'active' ELSE 'superseded' END WHERE id = ?1"
)
_COUNT = "UPDATE insight_sources SET insight_id = ?2 WHERE said_id = ?1 AND insight_id <> ?2"

_POINTS = "SELECT id, superseded_by FROM insights WHERE superseded_by IS NOT NULL AND id IN :ids"
_FOLLOW = "SELECT id, superseded_by FROM insights WHERE superseded_by IN :ids"


def load_representatives(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return which insight represents each of those that is represented by another one."""
    return dict(execute_for(connection, _POINTS, ids))


def load_followers(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the texts that one of those insights represents, with which."""
    return dict(execute_for(connection, _FOLLOW, ids))


def assign(connection: Connection, wanted: Mapping[str, str | None]) -> set[str]:
    """Let each text count for the insight that is to represent it (None: itself).

    Returns the ids whose pointer, or whose sources, changed; they are settled. A representative
    must follow no other text in the end: name all texts of the groups that change.
    """
    changed = _point(connection, wanted)
    insight_records.settle(connection, changed)
    return changed


def join(connection: Connection, same: Mapping[str, str]) -> set[str]:
    """Let new texts count for an insight that was found to say the same, as long as it does.

    Returns the ids that changed, not yet settled. Between the finding and now its file may have
    changed, or it may count for another one itself: then that one counts.
    """
    whole = load_representatives(connection, same.values())
    wanted = {said: whole.get(other, other) for said, other in same.items()}
    both = (*wanted, *wanted.values())
    said_now = insight_records.filter_ids(
        connection, insight_records.STANDS.format(i="i"), ids=both
    )
    leads = set(load_followers(connection, wanted).values())
    taken = {
        said: other
        for said, other in wanted.items()
        if {said, other} <= said_now and said not in leads and other not in wanted
    }
    return _point(connection, {said: other for said, other in taken.items() if said != other})


def release(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Dissolve the groups of texts that no file says any more.

    Returns the ids that changed, not yet settled. The followers of such a text represent
    themselves again, until the next comparison.
    """
    texts = set(ids)
    silent = texts - filter_said(connection, texts)
    alone: dict[str, str | None] = dict.fromkeys(silent)
    return _point(connection, alone | dict.fromkeys(load_followers(connection, silent)))


def _point(connection: Connection, wanted: Mapping[str, str | None]) -> set[str]:
    """Write pointers, and let the sources count for where they lead; return who changed."""
    before = load_representatives(connection, wanted)
    whole = {said: None if other == said else other for said, other in wanted.items()}
    moved = {said: other for said, other in whole.items() if before.get(said) != other}
    rows = sorted(moved.items())
    execute_many(connection, _POINT, rows)
    execute_many(connection, _COUNT, [(said, other or said) for said, other in rows])
    found = set(moved) | {other for other in moved.values() if other}
    return found | {before[said] for said in moved if said in before}


#: What is written of an insight that is known: what of it depends on the granularity, where that
#: is another one now.
_SEEN_AGAIN = {
    name: "CASE WHEN insights.granularity = excluded.granularity"
    f" THEN insights.{name} ELSE excluded.{name} END"
    for name in ("content", "heading", "kind", "text_hash", "granularity")
}

#: When insights were seen last that a file was just observed to say; a file that is only read again
#: says nothing new.
_SEEN = (
    "UPDATE insights SET last_seen_at = ?1 WHERE last_seen_at < ?1 AND id IN (SELECT s.said_id"
    " FROM insight_sources AS s JOIN observations AS o ON o.source_id = s.id AND o.at = ?1"
    " WHERE s.path = ?2 AND s.withdrawn_at IS NULL)"
)

#: What a new insight's confidence is until the reconciler has weighed it (Cerno: 0.5).
FIRST_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a file says, as the accumulator read it.

    Attributes:
        text_hash: the SHA-256 of what is embedded of it.
        verdict: how sure the classifier is, 0 to 1.
        review: why a person has to look at it first; None for what may be used.

    """

    insight_id: str
    content: str
    content_hash: str
    category: str
    tags: tuple[str, ...]
    domain: str | None
    text_hash: bytes
    source: InsightSource
    granularity: Granularity = Granularity.SECTION
    verdict: float | None = None
    review: str | None = None
    confidence: float = FIRST_CONFIDENCE

    @property
    def embedded(self) -> str:
        """What is embedded of it: a statement alone, a section with its heading."""
        if self.granularity is Granularity.STATEMENT:
            return self.content
        return make_text(self.source.heading, self.content)


def compare_file(
    connection: Connection, path: str, project_id: str, findings: Sequence[Finding]
) -> list[str]:
    """Return what learning those findings would change.

    That is what the file begins or ceases to say, what says the same as one of these, and
    everything where the file has come to another project.
    """
    before = set(load_live_sources(connection, path).values())
    other = before ^ {finding.insight_id for finding in findings}
    changed = {*other, *load_representatives(connection, other).values()}
    changed |= load_followers(connection, other).keys()
    changed |= find_strangers(connection, path, project_id)
    return sorted(changed)


def learn(
    connection: Connection,
    findings: Sequence[Finding],
    *,
    project_id: str,
    path: str,
    at: int,
    same: Mapping[str, str] | None = None,
) -> dict[str, int]:
    """Make the sources of one file those findings; return numbers for the audit.

    `same` names, for texts that no file said, a live insight that says the same. What the file no
    longer says is withdrawn; an insight that no file says any more leaves the index and stays in
    the ledger.
    """
    spots = load_live_sources(connection, path)
    before = set(spots.values())
    found = [finding.source for finding in findings]
    said = {each.said for each in found}
    new = said - {each for (each,) in execute_for(connection, _KNOWN, said)}
    _keep(connection, findings, at)
    counted = load_representatives(connection, said)
    note_beginning(connection, said, project_id=project_id, at=at)
    attach(connection, found, project_id=project_id, at=at, counted=counted)
    observe(connection, path, found, at)
    withdraw(connection, spots.keys() - {each.spot for each in found}, at)
    execute(connection, _SEEN, at, columns.encode_text(path))
    set_headings(connection, before | said)
    parted = release(connection, before)
    joined = join(connection, same or {})
    insight_records.settle(connection, before | said | parted | joined)
    return {"new": len(new), "withdrawn": len(before - said), "merged": len(joined & said)}


def silence(connection: Connection, path: str, at: int) -> list[str]:
    """Withdraw everything a vanished file said; return the ids of insights that changed."""
    before = load_live_sources(connection, path)
    return sorted(withdraw_said(connection, before, set(before.values()), at=at))


def withdraw_said(
    connection: Connection, spots: Iterable[Spot], said: set[str], *, at: int
) -> set[str]:
    """Withdraw the texts at those spots; return the ids of insights that changed."""
    withdraw(connection, spots, at)
    set_headings(connection, said)
    changed = said | release(connection, said)
    insight_records.settle(connection, changed)
    return changed


def count(connection: Connection, project_id: str | None = None) -> int:
    """Return how many insights are live, or how many of those a project says."""
    live = insight_records.match_live()
    if project_id is not None:
        live &= insights.c.id.in_(insight_records.select_of_project(project_id))
    return columns.count_rows(connection, insights, live)


def count_waiting(connection: Connection) -> int:
    """Return how many insights wait for a person to look at them."""
    waits = insights.c.status == InsightStatus.PENDING_REVIEW
    open_ = insights.c.id.not_in(select(reviews.c.insight_id))
    return columns.count_rows(connection, insights, waits, open_)


def count_by_project(connection: Connection) -> dict[str, int]:
    """Return how many live insights each project says, by project id."""
    query = (
        select(insight_sources.c.project_id, func.count(insight_sources.c.insight_id.distinct()))
        .join(insights, insights.c.id == insight_sources.c.insight_id)
        .where(insight_sources.c.withdrawn_at.is_(None))
        .where(insight_records.match_live())
        .group_by(insight_sources.c.project_id)
    )
    return dict(connection.execute(query).all())


def load_live(connection: Connection, ids: Iterable[str]) -> dict[str, Insight]:
    """Return the live insights among those ids."""
    query = insight_records.select_evidence().where(insight_records.match_live_among())
    rows = columns.select_in(connection, query, insights.c.id, ids)
    return {row.id: insight_records.make_insight(row) for row in rows}


def list_ids(connection: Connection, project_id: str) -> list[str]:
    """Return the ids of the insights that a project says now."""
    return [
        row.insight_id for row in connection.execute(insight_records.select_of_project(project_id))
    ]


def load_sources(
    connection: Connection, ids: Iterable[str], *, first: str | None = None
) -> dict[str, list[InsightSource]]:
    """Return the places of insights now, by path and line; places in the project `first` lead."""
    query = (
        insight_records.select_places()
        .order_by(insight_sources.c.project_id != (first or ""))
        .order_by(insight_sources.c.path, insight_sources.c.line_start, insight_sources.c.ordinal)
    )
    rows = columns.select_in(connection, query, insight_sources.c.insight_id, ids)
    return columns.group_pairs((row.insight_id, insight_records.make_source(row)) for row in rows)


def weigh(connection: Connection, confidences: Iterable[tuple[str, float]]) -> None:
    """Write how far each insight is believed."""
    rows = ({"one": insight_id, "confidence": weight} for insight_id, weight in confidences)
    columns.change_rows(connection, insights, rows)


def _keep(connection: Connection, findings: Sequence[Finding], at: int) -> None:
    """Write insights, or note that they were seen again."""
    new = {"status": InsightStatus.WITHDRAWN, "first_seen_at": at, "last_seen_at": at}

    def row(each: Finding) -> dict[str, Any]:
        own = {"id": each.insight_id, "heading": each.source.heading, "kind": each.source.kind}
        return columns.as_row(insights, each, **own, **new)

    columns.put_rows(connection, insights, map(row, findings), change=_SEEN_AGAIN)


#: How sure the classifier is of a category for which no keyword spoke.
UNSURE = 0.0


@dataclass(frozen=True, slots=True)
class Opinion:
    """What an insight is taken for, and how surely."""

    insight_id: str
    category: Category
    verdict: float


def load_undecided(connection: Connection, model: str, ids: Iterable[str]) -> dict[str, Matrix]:
    """Return the vectors of the statements among those on which no keyword spoke."""
    query = select(insights.c.id, insights.c.text_hash).where(
        insights.c.verdict == UNSURE, insights.c.granularity == Granularity.STATEMENT
    )
    found: dict[str, Matrix] = {}
    for some in columns.split_chunks(sorted(ids)):
        hashes = dict(connection.execute(query.where(insights.c.id.in_(some))).all())
        rows = load_vectors(connection, model, list(hashes.values()))
        found |= {name: rows[digest] for name, digest in hashes.items() if digest in rows}
    return found


def write_opinions(connection: Connection, opinions: Sequence[Opinion]) -> None:
    """Write opinions, where still no keyword speaks."""
    rows = (
        {"one": each.insight_id, "category": str(each.category), "verdict": each.verdict}
        for each in opinions
    )
    columns.change_rows(connection, insights, rows, insights.c.verdict == UNSURE)
