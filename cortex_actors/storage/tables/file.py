"""Files: as they were last seen, and what was written into them."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Integer, LargeBinary, Table, text

from cortex_actors.storage.tables.columns import Text, at_least, filled, metadata, one_of

#: How far a write is: `pending` until the file is known to be whole, then `done`, or `abandoned`
#: when somebody else wrote first; a person may have a `done` one `undone`.
WRITE_STATES = ("pending", "done", "abandoned", "undone")

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
    # Granularity and version of the reader: another one reads the same bytes again.
    Column("read_as", Text, nullable=False, server_default=text("'section/1'")),
    at_least("size", 0),
    filled("read_as"),
)
Index("file_states_by_project", file_states.c.project_id)

#: The resolver's journal: a row is committed before the file is touched, so that a write which was
#: cut off is finished or taken back at the next start, and each can be undone.
file_writes = Table(
    "file_writes",
    metadata,
    Column("seq", Integer, primary_key=True),
    # The run's audit row comes with its end, after this one.
    Column("run_id", Text, nullable=False),
    Column("project_id", Text, ForeignKey("projects.id"), nullable=False),
    Column("path", Text, nullable=False),
    Column("agent", Text, nullable=False),
    # The file as a human left it; NULL when there was none.
    Column("before_sha256", Text),
    Column("before_bytes", LargeBinary),
    Column("after_sha256", Text, nullable=False),
    # The name beside the file under which the new bytes wait, and then the displaced ones.
    Column("aside", Text, nullable=False),
    # What the exchange really displaced, when that was not `before_bytes`: a human's text, kept.
    Column("displaced", LargeBinary),
    Column("state", Text, nullable=False, server_default=text("'pending'")),
    Column("began_at", Integer, nullable=False),
    Column("ended_at", Integer),
    one_of("state", WRITE_STATES),
    CheckConstraint("(before_bytes IS NULL) = (before_sha256 IS NULL)", name="before_has_its_hash"),
    CheckConstraint("(state = 'pending') = (ended_at IS NULL)", name="what_ended_is_not_pending"),
    sqlite_autoincrement=True,
)
Index("file_writes_by_path", file_writes.c.path)
Index("file_writes_by_project", file_writes.c.project_id)
# Nobody begins a write where another has not ended.
Index(
    "file_writes_pending",
    file_writes.c.path,
    unique=True,
    sqlite_where=file_writes.c.state == "pending",
)
