"""What the rows about memories must say, whatever was cut off, killed or told twice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.simulation.audit import Rows

#: What leads from a memory to what it is part of, and so on, without an end.
_CIRCLES = (
    "WITH RECURSIVE way(part, whole, steps) AS ("
    " SELECT id, merged_into, 1 FROM memories WHERE merged_into IS NOT NULL UNION ALL"
    " SELECT part, merged_into, steps + 1 FROM way JOIN memories ON id = whole"
    " WHERE merged_into IS NOT NULL AND steps < 1000) SELECT part FROM way WHERE steps > 900"
)

#: What is wrong at any moment -> rows for which it is.
ALWAYS = {
    "a text is remembered twice in one scope": "SELECT realm, agent_id, thread, project_id, text,"
    " count(*) FROM memories WHERE status = 'active' AND type IN ('fact', 'observation')"
    " AND realm <> 'bridge' GROUP BY 1, 2, 3, 4, 5 HAVING count(*) > 1",
    "an active memory is not believed since some moment": "SELECT id FROM memories"
    " WHERE status = 'active' AND (SELECT count(*) FROM beliefs WHERE memory_id = id"
    " AND ended_at IS NULL) <> 1",
    "what is not active is believed": "SELECT id, status FROM memories JOIN beliefs"
    " ON memory_id = id WHERE ended_at IS NULL AND status <> 'active'",
    "two beliefs of one memory overlap": "SELECT a.memory_id, a.began_at, b.began_at"
    " FROM beliefs a JOIN beliefs b ON a.memory_id = b.memory_id AND a.began_at < b.began_at"
    " WHERE a.ended_at IS NULL OR a.ended_at > b.began_at",
    "an active memory cannot be found": "SELECT id FROM memories WHERE status = 'active'"
    " AND id NOT IN (SELECT item_id FROM passages)",
    "a memory is found and not active": "SELECT item_id FROM passages"
    " WHERE item_id GLOB 'mem_*'"
    " AND item_id NOT IN (SELECT id FROM memories WHERE status = 'active')",
    "a memory is part of itself": _CIRCLES,
    "a whole has one part, or a gap among them": "SELECT merged_into, count(*), max(merged_as)"
    " FROM memories WHERE merged_into IS NOT NULL GROUP BY 1"
    " HAVING count(*) <> max(merged_as) + 1",
    "a part is of another scope than its whole": "SELECT p.id, w.id FROM memories p"
    " JOIN memories w ON w.id = p.merged_into"
    " WHERE (p.realm, p.agent_id, p.thread, p.project_id)"
    " <> (w.realm, w.agent_id, w.thread, w.project_id)",
    "a memory has no attention": "SELECT id FROM memories"
    " WHERE id NOT IN (SELECT memory_id FROM memory_attention)",
    "a merge of nothing that is there is on record": "SELECT id, memory_id FROM memory_changes"
    " WHERE kind = 'merge' AND undone_at IS NULL AND memory_id IN (SELECT id FROM memories)"
    " AND NOT EXISTS (SELECT 1 FROM memories p WHERE p.merged_into = memory_id)",
    "a pair that was parted is one": "SELECT left_id, right_id FROM memory_apart"
    " JOIN memories l ON l.id = left_id JOIN memories r ON r.id = right_id"
    " WHERE l.merged_into = r.merged_into AND l.merged_by <> 'person'",
}

#: What is wrong in a ledger that has come to rest -> rows for which it is.
AT_REST = {
    "an active memory has no vector": "SELECT id FROM memories m WHERE status = 'active'"
    " AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.text_hash = m.text_hash)",
    "a memory waits to be compared": "SELECT id FROM memories"
    " WHERE merge_due = 1 AND status = 'active'",
    "a probe is left": "SELECT id FROM memories WHERE agent_id = 'CORTEX-PROBE'",
    "a probe has left a trace": "SELECT seq FROM events WHERE payload LIKE '%CORTEX-PROBE%'",
}


def problems(disk: Rows) -> Iterator[str]:
    """Yield what is wrong with the memories of a ledger at any moment."""
    yield from _found(disk, ALWAYS)


def unsettled(disk: Rows) -> Iterator[str]:
    """Yield what is wrong with those of one at rest."""
    yield from _found(disk, AT_REST)


def lost(disk: Rows, kept: Iterable[str]) -> Iterator[str]:
    """Yield memories that were acknowledged, that nobody forgot, and that are not there."""
    there = {name for (name,) in disk.query("SELECT id FROM memories")}
    yield from (f"the memory {each} was acknowledged and is lost" for each in set(kept) - there)


def doubted(disk: Rows, asked: Iterable[str]) -> set[str]:
    """Return what forgetting some memories may have taken with them.

    What they were made of goes, however deep, and what any of that was once made into and split.
    Merges are read afterwards: the ledger may have merged between the question and its answer.
    """
    merges = [
        (whole, set(json.loads(parts)))
        for whole, parts in disk.query(
            "SELECT memory_id, others FROM memory_changes WHERE kind = 'merge'"
        )
    ]
    found = set(asked)
    for _ in merges:
        found |= {each for whole, parts in merges if whole in found for each in parts}
    for _ in merges:
        found |= {whole for whole, parts in merges if parts & found}
    return found


def left(disk: Rows, words: Iterable[str]) -> Iterator[str]:
    """Yield where a word still stands that was forgotten, in any column of any table."""
    wanted = list(words)
    tables = [
        name
        for (name,) in disk.query(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'words_*'"
        )
    ]
    for table in tables:
        columns = [row[1] for row in disk.query(f"PRAGMA table_info({table})")]
        for column in columns:
            for (value,) in disk.query(f'SELECT "{column}" FROM {table}'):  # noqa: S608 - ours
                text = value.decode(errors="ignore") if isinstance(value, bytes) else str(value)
                yield from (
                    f"{each!r} was forgotten and stands in {table}.{column}"
                    for each in wanted
                    if each in text
                )
    terms = {term for (term,) in disk.query("SELECT term FROM words_alone_terms")}
    yield from (f"{each!r} was forgotten and is a word still" for each in wanted if each in terms)


def _found(disk: Rows, rules: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong, with the first rows."""
    for what, query in rules.items():
        if rows := disk.query(query):
            yield f"{what}: {rows[:3]} ({len(rows)} in all)"
