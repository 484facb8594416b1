"""Memories: what agents said, what was merged into what, and what changes when one is read.

What becomes of memories: when they held, what was done with them, what does not go together.

Agents, and the crumbs they leave for their next session.

What agents say to one another: posts that wait to be compared, and what was found to agree.

Knowledge: documents that were given to read, in pieces.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    UniqueConstraint,
    and_,
    text,
)
from sqlalchemy.types import REAL

from cortex_actors.domain import memory
from cortex_actors.domain.project import Trust
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.knowledge import DECIDERS

#: What is said once: the same dialogue may be said again.
MERGEABLE = (memory.MemoryType.FACT, memory.MemoryType.OBSERVATION)

#: Attention that the most generous formula gives.
_MOST_ATTENTION = 2

memories = Table(
    "memories",
    columns.metadata,
    *columns.id_of_moment("mem_", primary_key=True),
    *columns.one_of("realm", memory.Realm, nullable=False),
    Column("agent_id", columns.Text, ForeignKey("agents.id"), nullable=False),
    # Empty for none, so that what must be unique within a thread is unique without one, too.
    Column("thread", columns.Text, nullable=False, server_default=text("''")),
    *columns.one_of("layer", memory.Layer, nullable=False),
    *columns.one_of("type", memory.MemoryType, nullable=False),
    *columns.filled("text", nullable=False),
    Column("abstract", columns.Text, nullable=False),
    Column("summary", columns.Text, nullable=False),
    # SHA-256 of what is embedded; equal texts have equal ones.
    *columns.digest("text_hash", nullable=False),
    *columns.one_of("status", memory.MemoryStatus, nullable=False, server_default=text("'active'")),
    # The memory it is part of now, in which place (0 is what the merge began with), since when,
    # which layer decided and why. Following this leads to the active memory, for ever.
    Column("merged_into", columns.Text, ForeignKey("memories.id")),
    *columns.at_least("merged_as", 0),
    Column("merged_at", Integer),
    *columns.one_of("merged_by", DECIDERS),
    Column("merged_why", columns.Text),
    Column("created_at", Integer, nullable=False),
    # When it came to its layer.
    Column("layer_since", Integer, nullable=False),
    # Who spoke; `text` begins with it then.
    Column("role", columns.Text, nullable=False, server_default=text("''")),
    # Who had it saved: the owner, or the agent whose token it was.
    *columns.filled("saved_by", nullable=False, server_default=text("'owner'")),
    *columns.one_of("trust", Trust, nullable=False, server_default=text("'agent'")),
    # When what it tells of began and ended.
    Column("said_from", Integer),
    Column("said_until", Integer),
    Column("promoted_at", Integer),
    # Since when it is kept as it is: never merged, never faded.
    Column("pinned_at", Integer),
    # What holds instead, and since when.
    Column("replaced_by", columns.Text, ForeignKey("memories.id")),
    Column("replaced_at", Integer),
    Column("archived_at", Integer),
    # 1 while it has still to be compared with the others: it was saved without a vector.
    *columns.yes_or_no("merge_due", nullable=False, server_default=text("0")),
    UniqueConstraint("merged_into", "merged_as"),
    CheckConstraint("(status = 'merged') = (merged_into IS NOT NULL)", name="merged_has_a_whole"),
    CheckConstraint(
        "(merged_into IS NULL) = (merged_as IS NULL) AND "
        "(merged_into IS NULL) = (merged_at IS NULL) AND "
        "(merged_into IS NULL) = (merged_by IS NULL)",
        name="merge_says_how",
    ),
    CheckConstraint("merged_into <> id", name="merged_into_another"),
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
        memories.c.realm != memory.Realm.BRIDGE,
    ),
)

memory_tags = Table(
    "memory_tags",
    columns.metadata,
    Column("memory_id", columns.Text, ForeignKey("memories.id"), primary_key=True),
    *columns.filled("tag", primary_key=True),
    sqlite_with_rowid=False,
)
Index("memory_tags_by_tag", memory_tags.c.tag)

#: Whom a memory is about or for; of a bridge, who may read it beside its author.
memory_agents = Table(
    "memory_agents",
    columns.metadata,
    Column("memory_id", columns.Text, ForeignKey("memories.id"), primary_key=True),
    Column("agent_id", columns.Text, ForeignKey("agents.id"), primary_key=True),
    sqlite_with_rowid=False,
)
Index("memory_agents_by_agent", memory_agents.c.agent_id)

#: Which memories a post answers.
memory_replies = Table(
    "memory_replies",
    columns.metadata,
    Column("memory_id", columns.Text, ForeignKey("memories.id"), primary_key=True),
    Column("replied_id", columns.Text, ForeignKey("memories.id"), primary_key=True),
    CheckConstraint("memory_id <> replied_id", name="replies_to_another"),
    sqlite_with_rowid=False,
)
Index("memory_replies_by_replied", memory_replies.c.replied_id)

#: What changes when a memory is read, apart from its text: written later, many at once, and a
#: crash may lose the last of it. Attention is what the formula gave at `weighed_at`.
memory_attention = Table(
    "memory_attention",
    columns.metadata,
    Column("memory_id", columns.Text, ForeignKey("memories.id"), primary_key=True),
    *columns.at_least("access_count", 0, nullable=False, server_default=text("0")),
    # NULL until it is read for the first time.
    Column("accessed_at", Integer),
    Column("attention", REAL, nullable=False),
    Column("weighed_at", Integer, nullable=False),
    # When it will be old enough for the next layer; NULL while it does not wait for that.
    Column("due_at", Integer),
    CheckConstraint(f"attention BETWEEN 0 AND {_MOST_ATTENTION}", name="attention_is_in_range"),
    sqlite_with_rowid=False,
)
Index(
    "memory_attention_due",
    memory_attention.c.due_at,
    sqlite_where=memory_attention.c.due_at.is_not(None),
)


#: Since when until when a memory was active: what was believed on a date is asked here alone.
beliefs = Table(
    "beliefs",
    columns.metadata,
    Column("memory_id", columns.Text, ForeignKey("memories.id"), primary_key=True),
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
    columns.metadata,
    Column("id", Integer, primary_key=True),
    *columns.one_of("kind", memory.ChangeKind, nullable=False),
    *columns.filled("memory_id", nullable=False),
    # The other memories it was about.
    Column("others", JSON, nullable=False, server_default=text("'[]'")),
    Column("before", JSON, nullable=False, server_default=text("'{}'")),
    # The owner, an agent, or the actor that did it.
    *columns.filled("by", nullable=False),
    *columns.filled("reason"),
    Column("at", Integer, nullable=False),
    Column("undone_at", Integer),
    Column("undone_by", columns.Text),
    CheckConstraint("(undone_at IS NULL) = (undone_by IS NULL)", name="undone_says_by_whom"),
    sqlite_autoincrement=True,
)
Index("memory_changes_by_memory", memory_changes.c.memory_id)

#: Pairs that a split parted: they are not merged by themselves again.
memory_apart = Table(
    "memory_apart",
    columns.metadata,
    Column("left_id", columns.Text, ForeignKey("memories.id"), primary_key=True),
    Column("right_id", columns.Text, ForeignKey("memories.id"), primary_key=True),
    Column("at", Integer, nullable=False),
    *columns.filled("reason"),
    CheckConstraint("left_id < right_id", name="left_is_the_lesser"),
    sqlite_with_rowid=False,
)
Index("memory_apart_by_right", memory_apart.c.right_id)

#: Pairs that cannot both hold; `ended_at` when somebody decided, or one of the two is gone.
memory_conflicts = Table(
    "memory_conflicts",
    columns.metadata,
    Column("left_id", columns.Text, ForeignKey("memories.id"), primary_key=True),
    Column("right_id", columns.Text, ForeignKey("memories.id"), primary_key=True),
    *columns.one_of("decided_by", DECIDERS, nullable=False),
    *columns.filled("reason", nullable=False),
    Column("found_at", Integer, nullable=False),
    Column("ended_at", Integer),
    CheckConstraint("left_id < right_id", name="left_is_the_lesser"),
    sqlite_with_rowid=False,
)
Index("memory_conflicts_by_right", memory_conflicts.c.right_id)


CRUMB_TYPES = ("orientation", "technical", "emotional", "task")
PRIORITIES = ("HIGH", "MEDIUM", "LOW")

#: A colour as a page writes it.
_COLOR = "#" + "[0-9A-Fa-f]" * 6

#: Who remembers and posts: an id, and the profile that others see.
agents = Table(
    "agents",
    columns.metadata,
    Column("id", columns.Text, primary_key=True),
    *columns.filled("display_name", nullable=False),
    *columns.filled("symbol", nullable=False),
    Column("color", columns.Text, nullable=False, server_default=text("'#888888'")),
    Column("generation", Integer, nullable=False, server_default=text("0")),
    Column("lineage", columns.Text),
    Column("specialization", columns.Text),
    Column("origin_story", columns.Text),
    Column("registered_at", Integer, nullable=False),
    CheckConstraint(
        "length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Z0-9_-]*'", name="id_is_a_name"
    ),
    CheckConstraint(f"color GLOB '{_COLOR}'", name="color_is_hexadecimal"),
)

#: Whether something is unfinished is asked of `unfinished`: an empty list is `[]`.
crumbs = Table(
    "crumbs",
    columns.metadata,
    *columns.id_of_moment("crm_", primary_key=True),
    Column("agent_id", columns.Text, ForeignKey("agents.id"), nullable=False),
    *columns.filled("session_id", nullable=False),
    *columns.one_of("type", CRUMB_TYPES, nullable=False, server_default=text("'orientation'")),
    *columns.one_of("priority", PRIORITIES, nullable=False, server_default=text("'MEDIUM'")),
    *columns.filled("summary", nullable=False),
    Column("discoveries", JSON, nullable=False, server_default=text("'[]'")),
    Column("emotional_state", JSON, nullable=False, server_default=text("'{}'")),
    Column("unfinished", JSON, nullable=False, server_default=text("'[]'")),
    # Kind of thing -> what to look up.
    Column("links", JSON, nullable=False, server_default=text("'{}'")),
    Column("if_disoriented", JSON, nullable=False, server_default=text("'[]'")),
    Column("left_at", Integer, nullable=False),
    # Who had it left: the owner, or the agent whose token it was; `import` for one from a file.
    *columns.filled("saved_by", nullable=False, server_default=text("'owner'")),
)
Index("crumbs_by_agent", crumbs.c.agent_id, crumbs.c.left_at)
Index("crumbs_by_session", crumbs.c.session_id)


#: Posts of the village and of bridges that were not compared with what other agents say yet; the
#: row goes when they were.
posts_due = Table(
    "posts_due",
    columns.metadata,
    Column("memory_id", columns.Text, ForeignKey("memories.id"), primary_key=True),
    sqlite_with_rowid=False,
)

#: What several agents were found to say alike; a group of posts is told of once, for ever.
convergences = Table(
    "convergences",
    columns.metadata,
    Column("id", Integer, primary_key=True),
    *columns.one_of("kind", memory.Convergence, nullable=False),
    *columns.cosine("likeness", nullable=False),
    Column("found_at", Integer, nullable=False),
    sqlite_autoincrement=True,
)

convergence_memories = Table(
    "convergence_memories",
    columns.metadata,
    Column("convergence_id", Integer, ForeignKey("convergences.id"), primary_key=True),
    Column("memory_id", columns.Text, ForeignKey("memories.id"), primary_key=True),
    sqlite_with_rowid=False,
)
Index("convergence_memories_by_memory", convergence_memories.c.memory_id)


KNOWLEDGE_STATES = ("active", "withdrawn")

#: One row for each piece of a document, in the order of the document.
knowledge_chunks = Table(
    "knowledge_chunks",
    columns.metadata,
    Column("id", columns.Text, primary_key=True),
    # A file's path or an address.
    Column("source", columns.Text, nullable=False),
    *columns.at_least("ordinal", 0, nullable=False),
    Column("topic", columns.Text, nullable=False),
    Column("title", columns.Text, nullable=False),
    # The headings above it, outermost first.
    Column("headings", JSON, nullable=False, server_default=text("'[]'")),
    *columns.filled("text", nullable=False),
    *columns.yes_or_no("is_code", nullable=False, server_default=text("0")),
    Column("code_language", columns.Text),
    Column("tags", JSON, nullable=False, server_default=text("'[]'")),
    Column("cross_refs", JSON, nullable=False, server_default=text("'[]'")),
    *columns.digest("text_hash", nullable=False),
    *columns.one_of("status", KNOWLEDGE_STATES, nullable=False, server_default=text("'active'")),
    Column("read_at", Integer, nullable=False),
    CheckConstraint("id GLOB 'kb_*'", name="id_is_of_knowledge"),
    CheckConstraint("code_language IS NULL OR is_code = 1", name="only_code_has_a_language"),
)
# What a document no longer says keeps its row, and its place goes to another.
Index(
    "knowledge_chunks_in_place",
    knowledge_chunks.c.source,
    knowledge_chunks.c.ordinal,
    unique=True,
    sqlite_where=knowledge_chunks.c.status == "active",
)
Index("knowledge_chunks_by_topic", knowledge_chunks.c.topic)
Index("knowledge_chunks_by_text", knowledge_chunks.c.text_hash)

#: One row for each document that was read: one that has not changed costs a hash.
documents = Table(
    "documents",
    columns.metadata,
    # A file's path or an address.
    *columns.filled("source", primary_key=True),
    # SHA-256 of its bytes.
    *columns.digest("content_hash", nullable=False),
    # The version of what read it.
    *columns.at_least("read_as", 1, nullable=False),
    Column("topic", columns.Text, nullable=False),
    Column("title", columns.Text, nullable=False),
    Column("tags", JSON, nullable=False, server_default=text("'[]'")),
    # Bytes.
    *columns.at_least("size", 0, nullable=False),
    # Secrets that were taken out.
    *columns.at_least("redacted", 0, nullable=False, server_default=text("0")),
    *columns.filled("saved_by", nullable=False, server_default=text("'owner'")),
    *columns.one_of("trust", Trust, nullable=False, server_default=text("'file'")),
    Column("read_at", Integer, nullable=False),
    Column("withdrawn_at", Integer),
)
Index("documents_by_topic", documents.c.topic)
