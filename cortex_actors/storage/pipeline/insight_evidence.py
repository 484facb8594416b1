"""Voices: who says an insight independently of one another.

Two checkouts of one repository are one voice. What came from elsewhere (an import, another store)
is none: its author did not work here. Neither is a file that is one person's own.

Slots: the subjects on which live insights say something, by which possible opponents are found.

Spoken: the texts that files say now, each with what comparing and weighing it takes.

Every distinct text has its row, whichever insight it counts for; so what is read here does not
depend on what was merged so far. Every function takes the connection of a read transaction.

Merits: what promotion asks about insights beside themselves.

Every function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import Claim, Granularity
from cortex_actors.domain.project import Decision, StatementKind, Trust
from cortex_actors.rules import promotion
from cortex_actors.storage import insight_records
from cortex_actors.storage.pipeline import contradictions, principles, reviews
from cortex_actors.storage.pipeline.insights import filter_private, load_followers
from cortex_actors.storage.tables.columns import (
    decode_text,
    encode_text,
    group_pairs,
    make_entity,
    put_rows,
    select_in,
)
from cortex_actors.storage.tables.dialect import execute, execute_for, execute_many
from cortex_actors.storage.tables.schema import agreements, insights
from cortex_actors.text.hazards import find_caution

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


_VOICES = (
    "SELECT DISTINCT s.insight_id, coalesce(p.origin, p.id) FROM insight_sources AS s"
    " JOIN projects AS p ON p.id = s.project_id"
    " WHERE s.insight_id IN :ids AND s.withdrawn_at IS NULL"
    " AND s.trust IN ('file', 'agent') AND s.path NOT LIKE '%.local.md'"
    # A skill is most often a copy of another author's, and holds for its own task.
    " AND s.path NOT LIKE '%/SKILL.md'"
)


def load_voices(connection: Connection, ids: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the voices that say each insight now, or a text that counts for it.

    A voice is a repository, or a project of none. Insights without a voice are left out.
    """
    rows = execute_for(connection, _VOICES, ids)
    found = group_pairs((insight_id, decode_text(voice) or "") for insight_id, voice in rows)
    return {insight_id: frozenset(some) for insight_id, some in found.items()}


#: How files end that count as no voice of a project: one person's own, and skills.
_VOICELESS = (insight_records.PRIVATE, "/skill.md")

_SHARING = "SELECT slot, insight_id FROM insight_slots WHERE slot IN :ids"
_FORGET = "DELETE FROM insight_slots WHERE insight_id IN :ids"
_NOTE = "INSERT INTO insight_slots (slot, insight_id) VALUES (?, ?)"


def load_sharing(connection: Connection, slots: Collection[str]) -> dict[str, set[str]]:
    """Return slot -> the insights that say something on it."""
    rows = execute_for(connection, _SHARING, slots)
    found = group_pairs((decode_text(slot) or "", insight_id) for slot, insight_id in rows)
    return {slot: set(some) for slot, some in found.items()}


def replace_slots(
    connection: Connection, ids: Collection[str], slots: Mapping[str, Collection[str]]
) -> None:
    """Let those insights have these slots and no other."""
    execute_for(connection, _FORGET, ids)
    rows = [(encode_text(slot), each) for each, some in slots.items() for slot in sorted(some)]
    execute_many(connection, _NOTE, rows)


def load_slotted(connection: Connection) -> set[str]:
    """Return the ids of all insights that have slots."""
    return _ids(connection, "SELECT DISTINCT insight_id FROM insight_slots")


#: Trusts that can speak for a text on their own.
_VOCAL = frozenset({Trust.FILE, Trust.AGENT})

_TEXTS = (
    "SELECT id, content, heading, granularity, domain, superseded_by, review IS NULL AS is_free,"
    " category, status, confidence, kind, content_hash, text_hash, tags, verdict FROM insights"
    " WHERE id IN :ids"
)

#: Places, those included at which the text stood before: what was observed there still counts.
_PLACES = (
    "SELECT s.said_id, s.path, s.project_id, s.scope, s.withdrawn_at IS NULL, s.trust,"
    " coalesce(p.origin, p.id), w.at, p.active FROM insight_sources AS s"
    " JOIN projects AS p ON p.id = s.project_id"
    " LEFT JOIN said_since AS w ON w.said_id = s.said_id AND w.project_id = s.project_id"
    " WHERE s.said_id IN :ids"
)
_REVISIONS = (
    "SELECT s.said_id, s.path, s.project_id, min(o.at), max(o.at) FROM insight_sources AS s"
    " JOIN observations AS o ON o.source_id = s.id"
    " WHERE s.said_id IN :ids"
    " GROUP BY s.said_id, s.path, s.project_id, o.at / 86400000000"
)
_SCANS = (
    "SELECT project_id, group_concat(at) FROM (SELECT project_id, at FROM scans"
    " WHERE project_id IN :ids ORDER BY project_id, day)"
    " GROUP BY project_id"
)

_SAID = "SELECT DISTINCT said_id FROM insight_sources WHERE withdrawn_at IS NULL"

#: Texts of a model's vectors that came behind one. The plus has SQLite begin at that one: by the
#: model it would walk all vectors there are, in each run.
_LATE = (
    "SELECT DISTINCT i.id FROM vectors AS v JOIN passages AS p ON p.text_hash = v.text_hash"
    " JOIN insights AS i ON i.id = p.item_id AND i.text_hash = v.text_hash"
    " WHERE v.seq > ? AND +v.model = ? AND p.collection = 'cortex_insights'"
)


@dataclass(slots=True)
class SpokenText:
    """A text, and who says it.

    Attributes:
        projects: ids of the projects that say it now.
        places: (project, scope) of those that say it and are followed still.
        paths: the files that say it now.
        revisions: (file, project, day) -> first and last revision of that day that said it, UTC
            microseconds; of files that no longer say it, too.
        since: project -> since when it says it without interruption, UTC microseconds.
        scans: project -> when it was scanned, once a day, in order; shared by all its texts.
        is_private: only files of one person say it.
        is_free: nothing keeps it back for a person to look at first.
        text_hash: the SHA-256 of what is embedded of it.
        trusts: where it came from.
        voices: what says it independently: two checkouts of one repository are one voice, and
            neither what was imported nor a file of one person has any.

    """

    id: str
    content: str
    heading: str | None
    granularity: Granularity
    domain: str | None
    superseded_by: str | None
    is_free: bool
    category: str
    status: str
    confidence: float
    kind: StatementKind | None
    projects: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    scopes: set[str] = field(default_factory=set)
    places: set[tuple[str, str]] = field(default_factory=set)
    revisions: dict[tuple[str, str, int], tuple[int, int]] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)
    scans: Mapping[str, Sequence[int]] = field(default_factory=dict)
    is_private: bool = False
    content_hash: str = ""
    text_hash: bytes = b""
    tags: tuple[str, ...] = ()
    verdict: float | None = None
    trusts: set[str] = field(default_factory=set)
    voices: set[str] = field(default_factory=set)

    @property
    def is_live(self) -> bool:
        """Whether a file says it and nothing keeps it back."""
        return self.is_free and bool(self.paths)

    @property
    def claim(self) -> Claim:
        """The text as it is judged; what holds in all of one project holds everywhere in it."""
        scope = "" if "" in self.scopes else min(self.scopes, default="")
        return Claim(self.content, self.heading, scope)


def load_texts(connection: Connection, ids: Iterable[str]) -> dict[str, SpokenText]:
    """Return those texts; ids that are not known are left out."""
    asked = sorted(set(ids))
    texts = execute_for(connection, _TEXTS, asked)
    names = [name for name, *_ in texts.description]
    found = {row[0]: _spoken(dict(zip(names, row, strict=True))) for row in texts}
    scans: dict[str, Sequence[int]] = {}
    places = execute_for(connection, _PLACES, asked)
    for said, path, project, scope, is_live, trust, origin, since, is_followed in places:
        if is_live:
            text, file = found[said], decode_text(path) or ""
            text.scans = scans
            if since is not None:
                text.since[project] = since
            text.paths.add(file)
            text.projects.add(project)
            text.scopes.add(decode_text(scope) or "")
            if is_followed:
                text.places.add((project, decode_text(scope) or ""))
            text.trusts.add(trust)
            if trust in _VOCAL and not file.lower().endswith(_VOICELESS):
                text.voices.add(decode_text(origin) or "")
    for said, path, project, first, last in execute_for(connection, _REVISIONS, asked):
        found[said].revisions[decode_text(path) or "", project, first // DAY] = (first, last)
    rows = execute_for(connection, _SCANS, (each for text in found.values() for each in text.since))
    scans |= {project: [*map(int, times.split(","))] for project, times in rows}
    for said in filter_private(connection, found):
        found[said].is_private = True
    return found


_OF_SEVERAL = (
    "SELECT insight_id FROM insight_sources WHERE withdrawn_at IS NULL"
    " GROUP BY insight_id HAVING count(DISTINCT project_id) > 1"
)


def load_shared(connection: Connection) -> set[str]:
    """Return the ids of all insights that several projects say."""
    return _ids(connection, _OF_SEVERAL)


_FORGET_AGREEMENTS = "DELETE FROM agreements WHERE left_id IN :ids OR right_id IN :ids"


def replace_agreements(
    connection: Connection, ids: Collection[str], *, found: Mapping[tuple[str, str], float]
) -> None:
    """Let those insights agree with these others and no more; the lesser id comes first."""
    execute_for(connection, _FORGET_AGREEMENTS, ids)
    rows = ({"left_id": a, "right_id": b, "score": found[a, b]} for a, b in sorted(found))
    put_rows(connection, agreements, rows)


def list_agreements(connection: Connection) -> list[tuple[str, str]]:
    """Return the rules of two projects that say nearly the same, the most alike first."""
    query = select(agreements.c.left_id, agreements.c.right_id)
    order = agreements.c.score.desc(), agreements.c.left_id, agreements.c.right_id
    return [(left, right) for left, right in connection.execute(query.order_by(*order))]


def load_said(connection: Connection) -> set[str]:
    """Return the ids of all texts that files say now."""
    return _ids(connection, _SAID)


def is_any(connection: Connection) -> bool:
    """Tell whether files say anything."""
    return execute(connection, f"{_SAID} LIMIT 1").fetchone() is not None


def list_standing(connection: Connection) -> list[str]:
    """Return the ids of all insights that represent what files say."""
    query = "SELECT id FROM insights WHERE status IN ('active', 'contradicted')"
    return sorted(_ids(connection, query))


def load_sure(connection: Connection, confidence: float) -> set[str]:
    """Return the ids of the insights that nothing speaks against and that are believed so far."""
    query = "SELECT id FROM insights WHERE status = 'active' AND confidence >= ?"
    return _ids(connection, query, confidence)


def filter_active(connection: Connection, ids: Collection[str]) -> set[str]:
    """Return those of the insights that files say and that nothing speaks against."""
    return insight_records.filter_ids(connection, "i.status = 'active'", ids=ids)


def filter_said(connection: Connection, ids: Collection[str]) -> set[str]:
    """Return those of the insights that files say, whether or not something speaks against them."""
    return insight_records.filter_ids(connection, "i.status IN ('active', 'contradicted')", ids=ids)


def filter_live(connection: Connection, ids: Collection[str]) -> set[str]:
    """Return those of the texts that a file says now and that wait for no review."""
    said = "SELECT 1 FROM insight_sources AS s WHERE s.said_id = i.id AND s.withdrawn_at IS NULL"
    return insight_records.filter_ids(connection, f"i.review IS NULL AND EXISTS ({said})", ids=ids)


def find_late(connection: Connection, model: str, after: int) -> tuple[set[str], int]:
    """Return the texts whose vector came behind number `after`, and the number of the newest.

    The numbers of vectors grow for ever, so nothing that came meanwhile is missed.
    """
    query = "SELECT coalesce(max(seq), 0) FROM vectors"
    newest = int(execute(connection, query).fetchone()[0])
    if newest <= after:
        return set(), newest
    return _ids(connection, _LATE, after, model), newest


def _ids(connection: Connection, query: str, *values: object) -> set[str]:
    """Return the ids that a query finds."""
    return {each for (each,) in execute(connection, query, *values)}


def _spoken(row: dict[str, Any]) -> SpokenText:
    """Return a row as a text, without its places."""
    content, heading = (decode_text(row[name]) for name in ("content", "heading"))
    tags = tuple(json.loads(row["tags"]))
    return make_entity(SpokenText, row, content=content or "", heading=heading, tags=tags)


def load_merits(
    connection: Connection, ids: Iterable[str]
) -> dict[str, promotion.PromotionStanding]:
    """Return what promotion asks about insights beside themselves.

    What speaks against a text that counts for an insight speaks against the insight, as long as
    the other side is said.
    """
    wanted = list(dict.fromkeys(ids))
    open_ones = insight_records.filter_ids(connection, "i.status = 'contradicted'", ids=wanted)
    stands_for = load_followers(connection, wanted)
    against = contradictions.load_contradictions(connection, [*wanted, *stands_for])
    derived = principles.load_derived(connection, wanted)
    counts = dict.fromkeys(wanted, 0)
    for side, some in against.items():
        counts[stands_for.get(side, side)] += sum(each.is_against(side) for each in some)
    spoken_by, said = load_voices(connection, wanted), _decisions(connection, wanted, stands_for)
    texts = select_in(connection, select(insights.c.id, insights.c.content), insights.c.id, wanted)
    why = {row.id: find_caution(row.content) for row in texts}
    differing = contradictions.count_differing(connection, wanted)
    private = filter_private(connection, wanted)
    return {
        each: promotion.PromotionStanding(
            open_contradictions=counts[each] if each in open_ones else 0,
            derivations=int(each in derived),
            voices=len(spoken_by.get(each, ())),
            decision=promotion.combine_decisions(*said[each], is_wary=why.get(each) is not None),
            wary=why.get(each),
            is_private=each in private,
            differences=differing.get(each, 0),
        )
        for each in wanted
    }


def _decisions(
    connection: Connection, ids: Iterable[str], stands_for: Mapping[str, str]
) -> dict[str, tuple[Decision | None, list[Decision]]]:
    """Return what persons said of insights, and of the texts that count for each."""
    said = reviews.load_reviews(connection, [*ids, *stands_for])
    found: dict[str, tuple[Decision | None, list[Decision]]] = {
        each: (said[each].decision if each in said else None, []) for each in ids
    }
    for text, lead in stands_for.items():
        if text in said:
            found[lead][1].append(said[text].decision)
    return found
