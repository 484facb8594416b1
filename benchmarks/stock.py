"""A ledger that has been used for long: memories and insights with stored vectors, all made up."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors.clock import SystemClock, make_ulid
from cortex_actors.embedding.factory import DIMENSION, HashingProvider
from cortex_actors.storage.ledger import connection
from cortex_actors.storage.ledger.connection import migrate

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from pathlib import Path

_AGENT = "INSERT INTO agents (id, display_name, symbol, registered_at) VALUES (?, ?, ?, ?)"

_MEMORY = (
    "INSERT INTO memories (id, realm, agent_id, layer, type, text, abstract, summary, text_hash, "
    "created_at, layer_since) VALUES (?, 'private', 'BENCH', 'working', 'fact', ?, ?, ?, ?, ?, ?)"
)

_INSIGHT = (
    "INSERT INTO insights (id, content, content_hash, category, tags, confidence, status, "
    "first_seen_at, last_seen_at, text_hash) VALUES (?, ?, ?, 'fact', '[]', 0.5, 'active', ?, ?, ?)"
)

_VECTOR = "INSERT INTO vectors (model, text_hash, vector) VALUES (?, ?, ?)"

#: The index is to be told of every insight, as after learning it.
_INDEX = "INSERT INTO index_ops (collection, item_id, op) VALUES (?, ?, 'put')"

#: Where the index keeps insights.
_COLLECTION = "cortex_insights"


def stock(path: Path, rows: int) -> None:
    """Make a ledger with so many memories, as many insights, and a unit vector for each of both."""
    engine = connection.open_writing(path)
    migrate(engine, path)
    driver = connection.find_driver(engine)
    at = SystemClock().now()
    driver.execute("BEGIN IMMEDIATE")
    driver.execute(_AGENT, ("BENCH", "Bench", "B", at))
    texts = [
        f"What number {number} says is told here, in a sentence or two." for number in range(rows)
    ]
    driver.executemany(_MEMORY, (_memory(text, at) for text in texts))
    driver.executemany(_INSIGHT, (_insight(text, at) for text in texts))
    driver.executemany(_VECTOR, _vectors(texts))
    ids = ((_COLLECTION, _insight(text, at)[0]) for text in texts)
    driver.executemany(_INDEX, ids)
    driver.execute("COMMIT")
    engine.dispose()


def acknowledged(driver: sqlite3.Connection) -> set[str]:
    """Return the ids of the events that a ledger holds."""
    return {row[0] for row in driver.execute("SELECT id FROM events")}


def _memory(text: str, at: int) -> tuple[Any, ...]:
    """Return a memory's columns."""
    return f"mem_{make_ulid(at)}", text, text[:40], text[:40], _digest("memory", text), at, at


def _insight(text: str, at: int) -> tuple[Any, ...]:
    """Return an insight's columns."""
    content_hash = hashlib.sha256(text.encode()).hexdigest()
    return f"ins_{content_hash[:20]}", text, content_hash, at, at, _digest("insight", text)


def _vectors(texts: list[str]) -> Iterable[tuple[str, bytes, bytes]]:
    """Give a vector for every memory and every insight."""
    chance = np.random.default_rng(1)
    model = HashingProvider().model_id
    for kind in ("memory", "insight"):
        for text in texts:
            vector = chance.standard_normal(DIMENSION, dtype=np.float32)
            yield model, _digest(kind, text), (vector / np.linalg.norm(vector)).tobytes()


def _digest(kind: str, text: str) -> bytes:
    """Return what finds a text's vector."""
    return hashlib.sha256(f"{kind} {text}".encode()).digest()
