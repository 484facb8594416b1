"""Vectors, the models that make them, and what the vector index has been told."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
)

from cortex_actors.storage.tables.columns import Text, at_least, metadata, one_of

#: `coming` while its vectors are being made, `active` when they answer, `retired` afterwards.
MODEL_STATES = ("coming", "active", "retired")

#: Which models have made vectors; those of two are never compared.
embedding_models = Table(
    "embedding_models",
    metadata,
    Column("id", Text, primary_key=True),
    Column("dimension", Integer, nullable=False),
    Column("state", Text, nullable=False),
    # When it came to that state.
    Column("since", Integer, nullable=False),
    # By which its provider is made again; NULL where a ledger's earlier version did not say.
    Column("provider", Text),
    Column("name", Text),
    at_least("dimension", 1),
    one_of("state", MODEL_STATES),
)
# One answers, and one at most is on its way.
Index(
    "embedding_models_in_use",
    embedding_models.c.state,
    unique=True,
    sqlite_where=embedding_models.c.state != "retired",
)

vectors = Table(
    "vectors",
    metadata,
    # Grows for ever, so that whoever holds vectors in memory asks for those that came since. The
    # vectors do not lie in the tree of what is unique, on purpose: asking whether there is one
    # would read them all (18 times as slow at 100,000).
    Column("seq", Integer, primary_key=True),
    Column("model", Text, nullable=False),
    Column("text_hash", LargeBinary, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    UniqueConstraint("model", "text_hash"),
    sqlite_autoincrement=True,
)

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
