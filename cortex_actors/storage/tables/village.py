"""What agents say to one another: posts that wait to be compared, and what was found to agree."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, Table
from sqlalchemy.types import REAL

from cortex_actors.domain.memory import Convergence
from cortex_actors.storage.tables.columns import Text, cosine, metadata, one_of

#: Posts of the village and of bridges that were not compared with what other agents say yet; the
#: row goes when they were.
posts_due = Table(
    "posts_due",
    metadata,
    Column("memory_id", Text, ForeignKey("memories.id"), primary_key=True),
    sqlite_with_rowid=False,
)

#: What several agents were found to say alike; a group of posts is told of once, for ever.
convergences = Table(
    "convergences",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("likeness", REAL, nullable=False),
    Column("found_at", Integer, nullable=False),
    one_of("kind", Convergence),
    cosine("likeness"),
    sqlite_autoincrement=True,
)

convergence_memories = Table(
    "convergence_memories",
    metadata,
    Column("convergence_id", Integer, ForeignKey("convergences.id"), primary_key=True),
    Column("memory_id", Text, ForeignKey("memories.id"), primary_key=True),
    sqlite_with_rowid=False,
)
Index("convergence_memories_by_memory", convergence_memories.c.memory_id)
