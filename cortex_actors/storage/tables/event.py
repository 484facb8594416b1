"""Durable events, and who has still to handle them."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, Index, Integer, Table, text

from cortex_actors.storage.tables.columns import Text, at_least, filled, id_of_moment, metadata

events = Table(
    "events",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("topic", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("at", Integer, nullable=False),
    Column("source", Text, nullable=False),
    # What the publisher calls this event, so that saying it again is saying it once.
    Column("idempotency_key", Text),
    id_of_moment("evt_"),
    filled("idempotency_key"),
    sqlite_autoincrement=True,
)
# Only of those that have one: most have none, and an entry for each would cost every publish.
Index(
    "events_by_idempotency_key",
    events.c.idempotency_key,
    unique=True,
    sqlite_where=events.c.idempotency_key.is_not(None),
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
    at_least("attempts", 0),
    at_least("due_at", 0),
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
    at_least("attempts", 1),
    sqlite_with_rowid=False,
)
Index("dead_letters_by_seq", dead_letters.c.seq)
