"""Whether everything that may be found has its passages, and nothing else has any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.hit import Diagnosis, Repair, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection

    from cortex_actors.storage.health.scope import Scope

#: What may be found, kind by kind: collection, id and the hash of the item's own text.
KINDS: Mapping[str, str] = {
    "insights": (
        "SELECT 'cortex_insights' AS collection, id, text_hash FROM insights "
        "WHERE status IN ('active', 'contradicted')"
    ),
    "memories": (
        "SELECT CASE realm WHEN 'private' THEN 'cortex_private' "
        "WHEN 'village' THEN 'cortex_village' ELSE 'cortex_bridges' END AS collection, "
        "id, text_hash FROM memories WHERE status = 'active'"
    ),
    "knowledge": (
        "SELECT 'cortex_knowledge' AS collection, id, text_hash FROM knowledge_chunks "
        "WHERE status = 'active'"
    ),
    # A crumb is never changed, and has no hash of its own: that it has a passage is all.
    "crumbs": (
        "SELECT 'cortex_crumbs' AS collection, c.id, coalesce((SELECT p.text_hash FROM passages "
        "AS p WHERE p.collection = 'cortex_crumbs' AND p.item_id = c.id AND p.place = 'both'), "
        "zeroblob(32)) AS text_hash FROM crumbs AS c"
    ),
}

#: An item's own passage, which is missing, or is that of another text; and the two of an item that
#: has a predecessor, of which one is missing.
_LACKING = (
    "SELECT i.collection, i.id FROM ({items}) AS i LEFT JOIN passages AS p "
    "ON p.collection = i.collection AND p.item_id = i.id AND p.place IN ('alone', 'both') "
    "WHERE p.id IS NULL OR p.text_hash <> i.text_hash OR (p.place = 'alone' AND NOT EXISTS "
    "(SELECT 1 FROM passages AS q WHERE q.collection = i.collection AND q.item_id = i.id "
    "AND q.place = 'paired'))"
)

_STRAY = (
    "SELECT p.collection, p.item_id FROM passages AS p WHERE NOT EXISTS "
    "(SELECT 1 FROM ({items}) AS i WHERE i.collection = p.collection AND i.id = p.item_id)"
)


def lacking(opened: Connection) -> list[tuple[str, str]]:
    """Return (collection, id) of what may be found and lacks a passage, or has another text's."""
    return [
        (row[0], row[1])
        for items in KINDS.values()
        for row in opened.exec_driver_sql(_LACKING.format(items=items))
    ]


def stray(opened: Connection) -> list[tuple[str, str]]:
    """Return (collection, id) of what has passages and may not be found."""
    query = _STRAY.format(items=" UNION ALL ".join(KINDS.values()))
    return sorted({(row[0], row[1]) for row in opened.exec_driver_sql(query)})


def passages(opened: Connection, _scope: Scope) -> Iterator[Diagnosis]:
    """Compare the passages with what may be found."""
    total = opened.exec_driver_sql("SELECT count(*) FROM passages").scalar_one()
    without, stale = lacking(opened), stray(opened)
    if without:
        yield Diagnosis(
            "passages",
            f"{len(without)} {_of(without)} cannot be found: their passages are missing or are "
            "those of another text",
            Severity.ERROR,
            "cortex doctor --repair",
            Repair.PASSAGES,
        )
    if stale:
        yield Diagnosis(
            "passages",
            f"{len(stale)} {_of(stale)} have passages and may not be found any more",
            Severity.ERROR,
            "cortex doctor --repair",
            Repair.PASSAGES,
        )
    if not (without or stale):
        yield Diagnosis("passages", f"{total:,} of everything that may be found")


def _of(items: list[tuple[str, str]]) -> str:
    """Return what kinds of items these are, in words."""
    return "items of " + ", ".join(sorted({collection for collection, _ in items}))
