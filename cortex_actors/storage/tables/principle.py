"""Principles, the insights they come of, and how they stand to one another."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    text,
)
from sqlalchemy.types import REAL

from cortex_actors.domain.principle import PrincipleCategory
from cortex_actors.storage.tables.columns import (
    Text,
    at_least,
    digest,
    filled,
    hex_digest,
    id_of_content,
    metadata,
    one_of,
    share,
)
from cortex_actors.storage.tables.insight import DECIDERS

#: Whether a principle is given out: `decaying` ones are when nothing better is, `pruned` ones not;
#: neither is deleted, and both come back when they are observed again.
PRINCIPLE_STATES = ("active", "decaying", "pruned")

#: What a principle was made of: one insight, the centre of a cluster, or all of a cluster together.
PRINCIPLE_ORIGINS = ("single", "cluster", "synthesis")

LINK_TYPES = ("reinforces", "generalizes", "specializes", "contradicts", "depends_on", "related")

#: Frequency, recency and links are counted from derivations, observations and links.
principles = Table(
    "principles",
    metadata,
    Column("id", Text, primary_key=True),
    Column("content", Text, nullable=False),
    Column("content_hash", Text, nullable=False, unique=True),
    # What a longer explanation says, where one was written.
    Column("elaboration", Text),
    Column("category", Text, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("domains", JSON, nullable=False),
    Column("confidence", REAL, nullable=False),
    # How good the sources are (Cerno: 0.5 until somebody says otherwise).
    Column("quality", REAL, nullable=False, server_default=text("0.5")),
    Column("rank", REAL, nullable=False),
    Column("status", Text, nullable=False),
    Column("created_at", Integer, nullable=False),
    # What was embedded; with the model's id it finds the vector.
    Column("text_hash", LargeBinary, nullable=False),
    Column("origin", Text, nullable=False, server_default=text("'single'")),
    # Runs of decay in a row that found that it should be pruned.
    Column("strikes", Integer, nullable=False, server_default=text("0")),
    # Digest of all that its links were drawn from; NULL where they are to be drawn anew.
    Column("linked", LargeBinary),
    id_of_content("pri_"),
    hex_digest("content_hash"),
    one_of("category", PrincipleCategory),
    share("confidence"),
    share("quality"),
    share("rank"),
    one_of("status", PRINCIPLE_STATES),
    digest("text_hash"),
    one_of("origin", PRINCIPLE_ORIGINS),
    at_least("strikes", 0),
    digest("linked"),
)
Index("principles_by_rank", principles.c.status, principles.c.rank)

derivations = Table(
    "derivations",
    metadata,
    Column("principle_id", Text, ForeignKey("principles.id"), primary_key=True),
    Column("insight_id", Text, ForeignKey("insights.id"), primary_key=True),
    Column("weight", REAL, nullable=False),
    share("weight"),
    sqlite_with_rowid=False,
)
Index("derivations_by_insight", derivations.c.insight_id)

#: The lesser id is the source, so that a pair is linked once in each way: "a specializes b" is said
#: for "b generalizes a". Only what depends on another has no such opposite, and keeps its order.
principle_links = Table(
    "principle_links",
    metadata,
    Column("source_id", Text, ForeignKey("principles.id"), primary_key=True),
    Column("target_id", Text, ForeignKey("principles.id"), primary_key=True),
    Column("type", Text, primary_key=True),
    Column("strength", REAL, nullable=False),
    Column("decided_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("linked_at", Integer, nullable=False),
    one_of("type", LINK_TYPES),
    CheckConstraint(
        "source_id < target_id OR (type = 'depends_on' AND source_id <> target_id)",
        name="lesser_is_the_source",
    ),
    share("strength"),
    one_of("decided_by", DECIDERS),
    filled("reason"),
    sqlite_with_rowid=False,
)
Index("principle_links_by_target", principle_links.c.target_id)
