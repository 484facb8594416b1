"""Knowledge: documents that were given to read, in pieces."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    Table,
    text,
)

from cortex_actors.domain.project import Trust
from cortex_actors.storage.tables.columns import (
    Text,
    at_least,
    digest,
    filled,
    metadata,
    one_of,
    yes_or_no,
)

KNOWLEDGE_STATES = ("active", "withdrawn")

#: One row for each piece of a document, in the order of the document.
knowledge_chunks = Table(
    "knowledge_chunks",
    metadata,
    Column("id", Text, primary_key=True),
    # A file's path or an address.
    Column("source", Text, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("topic", Text, nullable=False),
    Column("title", Text, nullable=False),
    # The headings above it, outermost first.
    Column("headings", JSON, nullable=False, server_default=text("'[]'")),
    Column("text", Text, nullable=False),
    Column("is_code", Integer, nullable=False, server_default=text("0")),
    Column("code_language", Text),
    Column("tags", JSON, nullable=False, server_default=text("'[]'")),
    Column("cross_refs", JSON, nullable=False, server_default=text("'[]'")),
    Column("text_hash", LargeBinary, nullable=False),
    Column("status", Text, nullable=False, server_default=text("'active'")),
    Column("read_at", Integer, nullable=False),
    CheckConstraint("id GLOB 'kb_*'", name="id_is_of_knowledge"),
    at_least("ordinal", 0),
    filled("text"),
    yes_or_no("is_code"),
    CheckConstraint("code_language IS NULL OR is_code = 1", name="only_code_has_a_language"),
    digest("text_hash"),
    one_of("status", KNOWLEDGE_STATES),
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
    metadata,
    # A file's path or an address.
    Column("source", Text, primary_key=True),
    # SHA-256 of its bytes.
    Column("content_hash", LargeBinary, nullable=False),
    # The version of what read it.
    Column("read_as", Integer, nullable=False),
    Column("topic", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("tags", JSON, nullable=False, server_default=text("'[]'")),
    # Bytes.
    Column("size", Integer, nullable=False),
    # Secrets that were taken out.
    Column("redacted", Integer, nullable=False, server_default=text("0")),
    Column("saved_by", Text, nullable=False, server_default=text("'owner'")),
    Column("trust", Text, nullable=False, server_default=text("'file'")),
    Column("read_at", Integer, nullable=False),
    Column("withdrawn_at", Integer),
    filled("source"),
    digest("content_hash"),
    at_least("read_as", 1),
    at_least("size", 0),
    at_least("redacted", 0),
    filled("saved_by"),
    one_of("trust", Trust),
)
Index("documents_by_topic", documents.c.topic)
