"""Trust: what a person said about candidates, and which sources count no more."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, Table

from cortex_actors.storage.tables.columns import Text, filled, metadata, one_of

#: What a person may say about what could become a principle.
REVIEW_DECISIONS = ("approved", "rejected")

#: How a person said so: in the review, by accepting a diff, or by asking for a write before there
#: were approvals.
APPROVAL_WAYS = ("review", "diff", "earlier")

#: What can be taken back, with all that came of it.
REVOCATION_KINDS = ("project", "path", "insight", "principle")

reviews = Table(
    "reviews",
    metadata,
    Column("insight_id", Text, ForeignKey("insights.id"), primary_key=True),
    Column("decision", Text, nullable=False),
    Column("at", Integer, nullable=False),
    Column("note", Text),
    one_of("decision", REVIEW_DECISIONS),
    filled("note"),
)

#: Whether a principle may be written into files of other projects. A principle's id is made of its
#: text's hash: other words are another id, about which nobody has decided.
approvals = Table(
    "approvals",
    metadata,
    # No foreign key: a decision outlasts the principle.
    Column("principle_id", Text, primary_key=True),
    Column("decision", Text, nullable=False),
    Column("decided_by", Text, nullable=False),
    Column("way", Text, nullable=False),
    Column("at", Integer, nullable=False),
    Column("note", Text),
    # When what it is about was revoked; lifting that revocation makes it count again.
    Column("ended_at", Integer),
    one_of("decision", REVIEW_DECISIONS),
    filled("decided_by"),
    one_of("way", APPROVAL_WAYS),
    filled("note"),
)

#: What a person took back; it counts until that is lifted.
revocations = Table(
    "revocations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    # An id, or a file's path. No foreign key: what it names may be gone because of it.
    Column("key", Text, nullable=False),
    Column("note", Text),
    Column("at", Integer, nullable=False),
    Column("ended_at", Integer),
    one_of("kind", REVOCATION_KINDS),
    filled("key"),
    filled("note"),
    sqlite_autoincrement=True,
)
Index(
    "revocations_open",
    revocations.c.kind,
    revocations.c.key,
    unique=True,
    sqlite_where=revocations.c.ended_at.is_(None),
)
