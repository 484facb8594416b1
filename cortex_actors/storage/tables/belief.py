"""What becomes of memories: when they held, what was done with them, what does not go together."""

from __future__ import annotations

from sqlalchemy import JSON, CheckConstraint, Column, ForeignKey, Index, Integer, Table, text

from cortex_actors.domain.memory import ChangeKind
from cortex_actors.storage.tables.columns import Text, filled, metadata, one_of
from cortex_actors.storage.tables.insight import DECIDERS

#: Since when until when a memory was active: what was believed on a date is asked here alone.
beliefs = Table(
    "beliefs",
    metadata,
    Column("memory_id", Text, ForeignKey("memories.id"), primary_key=True),
    Column("began_at", Integer, primary_key=True),
    # NULL while it is active.
    Column("ended_at", Integer),
    CheckConstraint("ended_at >= began_at", name="began_is_not_behind_ended"),
    sqlite_with_rowid=False,
)
Index("beliefs_by_moment", beliefs.c.began_at)
Index("beliefs_open", beliefs.c.memory_id, unique=True, sqlite_where=beliefs.c.ended_at.is_(None))

#: What was done with memories, and what has to be known to undo it: never a text. No foreign key:
#: that a memory was forgotten is kept after it has gone.
memory_changes = Table(
    "memory_changes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("memory_id", Text, nullable=False),
    # The other memories it was about.
    Column("others", JSON, nullable=False, server_default=text("'[]'")),
    Column("before", JSON, nullable=False, server_default=text("'{}'")),
    # The owner, an agent, or the actor that did it.
    Column("by", Text, nullable=False),
    Column("reason", Text),
    Column("at", Integer, nullable=False),
    Column("undone_at", Integer),
    Column("undone_by", Text),
    one_of("kind", ChangeKind),
    filled("memory_id"),
    filled("by"),
    filled("reason"),
    CheckConstraint("(undone_at IS NULL) = (undone_by IS NULL)", name="undone_says_by_whom"),
    sqlite_autoincrement=True,
)
Index("memory_changes_by_memory", memory_changes.c.memory_id)

#: Pairs that a split parted: they are not merged by themselves again.
memory_apart = Table(
    "memory_apart",
    metadata,
    Column("left_id", Text, ForeignKey("memories.id"), primary_key=True),
    Column("right_id", Text, ForeignKey("memories.id"), primary_key=True),
    Column("at", Integer, nullable=False),
    Column("reason", Text),
    CheckConstraint("left_id < right_id", name="left_is_the_lesser"),
    filled("reason"),
    sqlite_with_rowid=False,
)
Index("memory_apart_by_right", memory_apart.c.right_id)

#: Pairs that cannot both hold; `ended_at` when somebody decided, or one of the two is gone.
memory_conflicts = Table(
    "memory_conflicts",
    metadata,
    Column("left_id", Text, ForeignKey("memories.id"), primary_key=True),
    Column("right_id", Text, ForeignKey("memories.id"), primary_key=True),
    Column("decided_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("found_at", Integer, nullable=False),
    Column("ended_at", Integer),
    CheckConstraint("left_id < right_id", name="left_is_the_lesser"),
    one_of("decided_by", DECIDERS),
    filled("reason"),
    sqlite_with_rowid=False,
)
Index("memory_conflicts_by_right", memory_conflicts.c.right_id)
