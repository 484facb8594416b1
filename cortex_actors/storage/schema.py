"""The ledger's tables, as the code sees them; migrations make them, a test compares the two.

Times are UTC microseconds. Constraints live here, not in code: what must be unique is unique in the
schema. Numbers that can be counted are counted (an insight's observations are rows), because a
counter that is incremented is wrong after the first replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
    text,
)
from sqlalchemy import (
    Text as Utf8,
)
from sqlalchemy.types import REAL, TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy import Dialect

#: What `PRAGMA user_version` holds when this code and the ledger agree.
SCHEMA_VERSION = 1

metadata = MetaData()


class Text(TypeDecorator[str]):
    """Text that may hold a file's name whose bytes are not UTF-8; such a value is kept as a blob.

    Refusing it would be worse: one folder with such a name would crash its watcher for ever.
    """

    impl = Utf8
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | bytes | None:
        """Return what the driver takes."""
        if value is None or value.isascii():
            return value
        encoded = value.encode("utf-8", "surrogateescape")
        return value if encoded.decode("utf-8", "replace") == value else encoded

    def process_result_value(self, value: str | bytes | None, dialect: Dialect) -> str | None:
        """Return what was given."""
        return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


#: The one row that says who may write: a daemon that was paused and superseded has an old epoch.
owner = Table(
    "owner",
    metadata,
    Column("one", Integer, CheckConstraint("one = 1"), primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", Integer, nullable=False),
)

projects = Table(
    "projects",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("root", Text, nullable=False, unique=True),
    Column("added_at", Integer, nullable=False),
    Column("active", Integer, nullable=False, server_default=text("1")),
)

insights = Table(
    "insights",
    metadata,
    Column("id", Text, primary_key=True),
    Column("content", Text, nullable=False),
    Column("content_hash", Text, nullable=False, unique=True),
    Column("heading", Text),
    Column("category", Text, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("domain", Text),
    Column("confidence", REAL, nullable=False),
    Column("status", Text, nullable=False),
    Column("first_seen_at", Integer, nullable=False),
    Column("last_seen_at", Integer, nullable=False),
    # What was embedded: SHA-256 of heading and content. With the model's id it finds the vector.
    Column("text_hash", LargeBinary, nullable=False),
    CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence_is_a_share"),
)
Index("insights_by_status", insights.c.status, insights.c.confidence)

insight_sources = Table(
    "insight_sources",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("insight_id", Text, ForeignKey("insights.id"), nullable=False),
    Column("fragment_id", Text, nullable=False),
    Column("ordinal", Integer, nullable=False, server_default=text("0")),
    Column("project_id", Text, ForeignKey("projects.id"), nullable=False),
    Column("path", Text, nullable=False),
    Column("heading", Text),
    Column("line_start", Integer, nullable=False),
    Column("line_end", Integer, nullable=False),
    Column("seen_at", Integer, nullable=False),
    Column("withdrawn_at", Integer),
    UniqueConstraint("fragment_id", "ordinal"),
)
Index("insight_sources_by_insight", insight_sources.c.insight_id)
Index("insight_sources_by_path", insight_sources.c.path)

#: One row for each revision of a file that said it; an insight is observed as often.
observations = Table(
    "observations",
    metadata,
    Column("source_id", Integer, ForeignKey("insight_sources.id"), primary_key=True),
    Column("file_hash", Text, primary_key=True),
    Column("at", Integer, nullable=False),
    sqlite_with_rowid=False,
)

principles = Table(
    "principles",
    metadata,
    Column("id", Text, primary_key=True),
    Column("content", Text, nullable=False),
    Column("content_hash", Text, nullable=False, unique=True),
    Column("category", Text, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("domains", JSON, nullable=False),
    Column("confidence", REAL, nullable=False),
    Column("rank", REAL, nullable=False),
    Column("status", Text, nullable=False),
    Column("created_at", Integer, nullable=False),
)

derivations = Table(
    "derivations",
    metadata,
    Column("principle_id", Text, ForeignKey("principles.id"), primary_key=True),
    Column("insight_id", Text, ForeignKey("insights.id"), primary_key=True),
    Column("weight", REAL, nullable=False),
    sqlite_with_rowid=False,
)
Index("derivations_by_insight", derivations.c.insight_id)

#: The audit: one row for each run of an actor of the pipeline.
runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("project_id", Text),
    Column("path", Text),
    Column("state", Text, nullable=False),
    Column("started_at", Integer, nullable=False),
    Column("finished_at", Integer, nullable=False),
    Column("counts", JSON, nullable=False),
    Column("error", Text),
)
Index("runs_by_time", runs.c.kind, runs.c.finished_at)

file_states = Table(
    "file_states",
    metadata,
    Column("path", Text, primary_key=True),
    Column("project_id", Text, ForeignKey("projects.id"), nullable=False),
    Column("size", Integer, nullable=False),
    Column("mtime_ns", Integer, nullable=False),
    Column("ctime_ns", Integer, nullable=False),
    Column("inode", Integer, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("seen_at", Integer, nullable=False),
    # Why the file could not be read this time; what it said before still stands.
    Column("error", Text),
)
Index("file_states_by_project", file_states.c.project_id)

vectors = Table(
    "vectors",
    metadata,
    Column("model", Text, primary_key=True),
    Column("text_hash", LargeBinary, primary_key=True),
    Column("vector", LargeBinary, nullable=False),
    # With a rowid, on purpose: the vectors would else lie in the key's own tree, and asking whether
    # there is one would read them all (18 times as slow at 100,000).
)

events = Table(
    "events",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("topic", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("at", Integer, nullable=False),
    Column("source", Text, nullable=False),
    sqlite_autoincrement=True,
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("consumer", Text, primary_key=True),
    Column("seq", Integer, ForeignKey("events.seq"), primary_key=True),
    Column("key", Text),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    # Not handed out before this time.
    Column("due_at", Integer, nullable=False, server_default=text("0")),
    Column("error", Text),
    sqlite_with_rowid=False,
)
Index("deliveries_by_key", deliveries.c.consumer, deliveries.c.key)
Index(
    "deliveries_by_due",
    deliveries.c.consumer,
    deliveries.c.due_at,
    sqlite_where=deliveries.c.due_at > 0,
)
# A foreign key is looked up from both ends: without these, removing an event reads everything.
Index("deliveries_by_seq", deliveries.c.seq)

dead_letters = Table(
    "dead_letters",
    metadata,
    Column("consumer", Text, primary_key=True),
    Column("seq", Integer, ForeignKey("events.seq"), primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("at", Integer, nullable=False),
    sqlite_with_rowid=False,
)
Index("dead_letters_by_seq", dead_letters.c.seq)

#: What the vector index has still to be told, in order.
index_ops = Table(
    "index_ops",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("collection", Text, nullable=False),
    Column("item_id", Text, nullable=False),
    Column("op", Text, CheckConstraint("op IN ('put', 'drop')"), nullable=False),
    sqlite_autoincrement=True,
)

Index("index_ops_by_item", index_ops.c.item_id)

#: Which generation of the index is in use, and up to where it has been told.
index_state = Table(
    "index_state",
    metadata,
    Column("one", Integer, CheckConstraint("one = 1"), primary_key=True),
    Column("generation", Integer, nullable=False),
    # In the folder's name, too: a ledger that was replaced or restored knows no earlier folder.
    Column("token", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("applied_seq", Integer, nullable=False),
)
