"""Memories: what agents said, what was merged into what, and what changes when one is read."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
    and_,
    text,
)
from sqlalchemy.types import REAL

from cortex_actors.domain.memory import Layer, MemoryStatus, MemoryType, Realm
from cortex_actors.domain.project import Trust
from cortex_actors.storage.tables.columns import (
    Text,
    at_least,
    digest,
    filled,
    id_of_moment,
    metadata,
    one_of,
    yes_or_no,
)
from cortex_actors.storage.tables.insight import DECIDERS

#: What is said once: the same dialogue may be said again.
MERGEABLE = (MemoryType.FACT, MemoryType.OBSERVATION)

#: Attention that the most generous formula gives.
_MOST_ATTENTION = 2

memories = Table(
    "memories",
    metadata,
    Column("id", Text, primary_key=True),
    Column("realm", Text, nullable=False),
    Column("agent_id", Text, ForeignKey("agents.id"), nullable=False),
    # Empty for none, so that what must be unique within a thread is unique without one, too.
    Column("thread", Text, nullable=False, server_default=text("''")),
    Column("layer", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("abstract", Text, nullable=False),
    Column("summary", Text, nullable=False),
    # SHA-256 of what is embedded; equal texts have equal ones.
    Column("text_hash", LargeBinary, nullable=False),
    Column("status", Text, nullable=False, server_default=text("'active'")),
    # The memory it is part of now, in which place (0 is what the merge began with), since when,
    # which layer decided and why. Following this leads to the active memory, for ever.
    Column("merged_into", Text, ForeignKey("memories.id")),
    Column("merged_as", Integer),
    Column("merged_at", Integer),
    Column("merged_by", Text),
    Column("merged_why", Text),
    Column("created_at", Integer, nullable=False),
    # When it came to its layer.
    Column("layer_since", Integer, nullable=False),
    # Who spoke; `text` begins with it then.
    Column("role", Text, nullable=False, server_default=text("''")),
    # Who had it saved: the owner, or the agent whose token it was.
    Column("saved_by", Text, nullable=False, server_default=text("'owner'")),
    Column("trust", Text, nullable=False, server_default=text("'agent'")),
    # When what it tells of began and ended.
    Column("said_from", Integer),
    Column("said_until", Integer),
    Column("promoted_at", Integer),
    # Since when it is kept as it is: never merged, never faded.
    Column("pinned_at", Integer),
    # What holds instead, and since when.
    Column("replaced_by", Text, ForeignKey("memories.id")),
    Column("replaced_at", Integer),
    Column("archived_at", Integer),
    # 1 while it has still to be compared with the others: it was saved without a vector.
    Column("merge_due", Integer, nullable=False, server_default=text("0")),
    UniqueConstraint("merged_into", "merged_as"),
    id_of_moment("mem_"),
    one_of("realm", Realm),
    one_of("layer", Layer),
    one_of("type", MemoryType),
    filled("text"),
    digest("text_hash"),
    one_of("status", MemoryStatus),
    CheckConstraint("(status = 'merged') = (merged_into IS NOT NULL)", name="merged_has_a_whole"),
    CheckConstraint(
        "(merged_into IS NULL) = (merged_as IS NULL) AND "
        "(merged_into IS NULL) = (merged_at IS NULL) AND "
        "(merged_into IS NULL) = (merged_by IS NULL)",
        name="merge_says_how",
    ),
    CheckConstraint("merged_into <> id", name="merged_into_another"),
    at_least("merged_as", 0),
    one_of("merged_by", DECIDERS),
    filled("saved_by"),
    one_of("trust", Trust),
    CheckConstraint(
        "(said_from IS NULL) = (said_until IS NULL) AND (said_from IS NULL OR "
        "said_from <= said_until)",
        name="said_from_is_not_behind_until",
    ),
    CheckConstraint(
        "(status = 'superseded') = (replaced_by IS NOT NULL) AND "
        "(replaced_by IS NULL) = (replaced_at IS NULL)",
        name="superseded_says_by_what",
    ),
    CheckConstraint("replaced_by <> id", name="replaced_by_another"),
    CheckConstraint("(status = 'archived') = (archived_at IS NOT NULL)", name="archived_says_when"),
    yes_or_no("merge_due"),
)
Index("memories_by_agent", memories.c.agent_id, memories.c.realm, memories.c.created_at)
Index("memories_by_thread", memories.c.thread, memories.c.created_at)
Index("memories_by_text", memories.c.text_hash)
Index("memories_replaced", memories.c.replaced_by)
Index("memories_due", memories.c.id, sqlite_where=memories.c.merge_due == text("1"))
# What somebody remembers twice is one memory.
Index(
    "memories_said_once",
    memories.c.realm,
    memories.c.agent_id,
    memories.c.thread,
    memories.c.text_hash,
    unique=True,
    # On a bridge the same words to other readers are another memory.
    sqlite_where=and_(
        memories.c.status == "active",
        memories.c.type.in_(MERGEABLE),
        memories.c.realm != Realm.BRIDGE,
    ),
)

memory_tags = Table(
    "memory_tags",
    metadata,
    Column("memory_id", Text, ForeignKey("memories.id"), primary_key=True),
    Column("tag", Text, primary_key=True),
    filled("tag"),
    sqlite_with_rowid=False,
)
Index("memory_tags_by_tag", memory_tags.c.tag)

#: Whom a memory is about or for; of a bridge, who may read it beside its author.
memory_agents = Table(
    "memory_agents",
    metadata,
    Column("memory_id", Text, ForeignKey("memories.id"), primary_key=True),
    Column("agent_id", Text, ForeignKey("agents.id"), primary_key=True),
    sqlite_with_rowid=False,
)
Index("memory_agents_by_agent", memory_agents.c.agent_id)

#: Which memories a post answers.
memory_replies = Table(
    "memory_replies",
    metadata,
    Column("memory_id", Text, ForeignKey("memories.id"), primary_key=True),
    Column("replied_id", Text, ForeignKey("memories.id"), primary_key=True),
    CheckConstraint("memory_id <> replied_id", name="replies_to_another"),
    sqlite_with_rowid=False,
)
Index("memory_replies_by_replied", memory_replies.c.replied_id)

#: What changes when a memory is read, apart from its text: written later, many at once, and a
#: crash may lose the last of it. Attention is what the formula gave at `weighed_at`.
memory_attention = Table(
    "memory_attention",
    metadata,
    Column("memory_id", Text, ForeignKey("memories.id"), primary_key=True),
    Column("access_count", Integer, nullable=False, server_default=text("0")),
    # NULL until it is read for the first time.
    Column("accessed_at", Integer),
    Column("attention", REAL, nullable=False),
    Column("weighed_at", Integer, nullable=False),
    # When it will be old enough for the next layer; NULL while it does not wait for that.
    Column("due_at", Integer),
    at_least("access_count", 0),
    CheckConstraint(f"attention BETWEEN 0 AND {_MOST_ATTENTION}", name="attention_is_in_range"),
    sqlite_with_rowid=False,
)
Index(
    "memory_attention_due",
    memory_attention.c.due_at,
    sqlite_where=memory_attention.c.due_at.is_not(None),
)
