"""The doctor sees a text that a disk has changed, which SQLite's own check does not."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.insight import hash_section, hash_statement, make_insight_id
from cortex_actors.domain.principle import make_principle_id

if TYPE_CHECKING:
    from tests.checkup.support import Case

#: What is said in the rows below, and the hashes of it.
SAID = "Say it."
OWN, SECTION = hash_statement(SAID), hash_section(SAID)


def digest(text: str) -> bytes:
    """Return the hash of what is embedded."""
    return sha256(text.encode()).digest()


#: Rows beside those that a home has learned, as they are stored: table -> columns.
ROWS: dict[str, dict[str, object]] = {
    "insights": {
        "id": make_insight_id(SECTION),
        "content": SAID,
        "content_hash": SECTION,
        "heading": "Top",
        "category": "fact",
        "tags": "[]",
        "confidence": 0.5,
        "status": "withdrawn",
        "first_seen_at": 1,
        "last_seen_at": 1,
        "text_hash": digest(f"Top\n{SAID}"),
    },
    "principles": {
        "id": make_principle_id(OWN),
        "content": SAID,
        "content_hash": OWN,
        "category": "learning",
        "tags": "[]",
        "domains": "[]",
        "confidence": 0.5,
        "rank": 0.5,
        "status": "active",
        "created_at": 1,
        "text_hash": digest(SAID),
    },
    "agents": {"id": "A", "display_name": "A", "symbol": "A", "registered_at": 1},
    "memories": {
        "id": f"mem_{0:026d}",
        "realm": "private",
        "agent_id": "A",
        "layer": "working",
        "type": "fact",
        "text": SAID,
        "abstract": "a",
        "summary": "s",
        "status": "archived",
        "text_hash": digest(SAID),
        "created_at": 1,
        "layer_since": 1,
        "archived_at": 1,
    },
    "knowledge_chunks": {
        "id": "kb_1",
        "source": "/a",
        "ordinal": 0,
        "topic": "a",
        "title": "A",
        "text": SAID,
        "headings": '["One", "Two"]',
        "text_hash": digest(f"A\nOne > Two\n{SAID}"),
        "status": "withdrawn",
        "read_at": 1,
    },
}

#: Stored texts that have a hash: table, column, and which rows.
TEXTS = [
    ("insights", "content", "granularity = 'statement'"),
    ("insights", "content", "granularity = 'section'"),
    ("insights", "heading", "granularity = 'section'"),
    ("principles", "content", "1"),
    ("memories", "text", "1"),
    ("knowledge_chunks", "title", "1"),
    ("knowledge_chunks", "headings", "1"),
    ("knowledge_chunks", "text", "1"),
    ("passages", "text", "1"),
]


@pytest.mark.parametrize(("table", "column", "which"), TEXTS)
def test_flipped(case: Case, table: str, column: str, which: str) -> None:
    """A letter that has changed in a stored text is found, in whatever table, and its row named."""
    for name, row in ROWS.items():
        marks = ", ".join("?" * len(row))
        case.run(f"INSERT INTO {name} ({', '.join(row)}) VALUES ({marks})", *row.values())  # noqa: S608
    before = case.ill()
    number = case.ask(f"SELECT min(rowid) FROM {table} WHERE {which}")  # noqa: S608 - ours
    case.run(f"UPDATE {table} SET {column} = 'x' || {column} WHERE rowid = {number}")  # noqa: S608
    key = "item_id" if table == "passages" else "id"
    found = case.ill()["texts"].found

    assert "texts" not in before
    assert f"1 of {table} are not as they were stored" in found
    assert found.endswith(case.ask(f"SELECT {key} FROM {table} WHERE rowid = {number}"))  # noqa: S608
    assert "pages" not in case.ill()


def test_hash(case: Case) -> None:
    """A hash that has changed is found as well: nobody can say which of the two it was."""
    case.run("UPDATE passages SET text_hash = zeroblob(32)")

    assert " and " in case.ill()["texts"].found
