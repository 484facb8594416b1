"""Insights: what is said, where, how often, and how insights stand to one another."""

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
    UniqueConstraint,
    text,
)
from sqlalchemy.types import REAL

from cortex_actors.domain.insight import Category, InsightStatus
from cortex_actors.storage.tables.columns import (
    Text,
    at_least,
    cosine,
    digest,
    filled,
    hex_digest,
    id_of_content,
    metadata,
    one_of,
    share,
)

#: How two statements disagree, and how far that is settled.
CONTRADICTION_TYPES = ("direct", "partial", "contextual")
CONTRADICTION_STATES = ("unresolved", "resolved", "dismissed")

#: Which layer gave a verdict: rules, the entailment model, the language model, or a person.
DECIDERS = ("rules", "nli", "llm", "person")

#: What an insight is, and of which kind a statement is.
GRANULARITIES = ("section", "statement")
STATEMENT_KINDS = ("rule", "fact", "command", "example")

#: Where a text came from: a file of a project's, an agent, a file that was imported, another store.
TRUSTS = ("file", "agent", "import", "remote")

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
    # The insight that says the same and for which its sources count.
    Column("superseded_by", Text, ForeignKey("insights.id")),
    # What it is: a whole section, or one statement, and then of which kind.
    Column("granularity", Text, nullable=False, server_default=text("'section'")),
    Column("kind", Text),
    # How sure the classifier is of the category.
    Column("verdict", REAL),
    # Why a person has to look at it first.
    Column("review", Text),
    id_of_content("ins_"),
    hex_digest("content_hash"),
    one_of("category", Category),
    share("confidence"),
    one_of("status", InsightStatus),
    CheckConstraint("first_seen_at <= last_seen_at", name="first_is_not_after_last"),
    digest("text_hash"),
    CheckConstraint(
        "(status = 'superseded') = (superseded_by IS NOT NULL)", name="superseded_has_a_successor"
    ),
    CheckConstraint("superseded_by <> id", name="superseded_by_another"),
    one_of("granularity", GRANULARITIES),
    one_of("kind", STATEMENT_KINDS),
    share("verdict"),
    filled("review"),
)
Index("insights_by_status", insights.c.status, insights.c.confidence)
Index("insights_by_superseding", insights.c.superseded_by)

insight_sources = Table(
    "insight_sources",
    metadata,
    Column("id", Integer, primary_key=True),
    # For which insight it counts, and whose text stands there: another one's after a merge.
    Column("insight_id", Text, ForeignKey("insights.id"), nullable=False),
    Column("said_id", Text, ForeignKey("insights.id"), nullable=False),
    Column("fragment_id", Text, nullable=False),
    Column("ordinal", Integer, nullable=False, server_default=text("0")),
    Column("project_id", Text, ForeignKey("projects.id"), nullable=False),
    Column("path", Text, nullable=False),
    Column("heading", Text),
    # Of which kind the statement is there.
    Column("kind", Text),
    # Where in the project it holds: the folder of a nested file or the globs of its front matter.
    Column("scope", Text, nullable=False, server_default=text("''")),
    Column("line_start", Integer, nullable=False),
    Column("line_end", Integer, nullable=False),
    Column("seen_at", Integer, nullable=False),
    Column("withdrawn_at", Integer),
    Column("trust", Text, nullable=False, server_default=text("'file'")),
    UniqueConstraint("fragment_id", "ordinal"),
    at_least("ordinal", 0),
    at_least("line_start", 1),
    one_of("kind", STATEMENT_KINDS),
    CheckConstraint("line_start <= line_end", name="start_is_not_behind_end"),
    one_of("trust", TRUSTS),
)
Index("insight_sources_by_insight", insight_sources.c.insight_id)
Index("insight_sources_by_said", insight_sources.c.said_id)
Index("insight_sources_by_path", insight_sources.c.path)
Index("insight_sources_by_project", insight_sources.c.project_id)

#: One row for each revision of a file that said it; an insight is observed as often.
observations = Table(
    "observations",
    metadata,
    Column("source_id", Integer, ForeignKey("insight_sources.id"), primary_key=True),
    Column("file_hash", Text, primary_key=True),
    Column("at", Integer, nullable=False),
    sqlite_with_rowid=False,
)

#: A pair that cannot both hold. The lesser id comes first, so that a pair is there once.
contradictions = Table(
    "contradictions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("insight_a", Text, ForeignKey("insights.id"), nullable=False),
    Column("insight_b", Text, ForeignKey("insights.id"), nullable=False),
    Column("type", Text, nullable=False),
    # NULL where it was found without vectors.
    Column("similarity", REAL),
    # The actor that came upon it, the layer that decided, and why.
    Column("detected_by", Text, nullable=False),
    Column("decided_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("detected_at", Integer, nullable=False),
    Column("status", Text, nullable=False, server_default=text("'unresolved'")),
    Column("resolved_at", Integer),
    # Which of the two holds, where one does; who said so, and why.
    Column("kept_id", Text, ForeignKey("insights.id")),
    Column("resolution", Text),
    UniqueConstraint("insight_a", "insight_b"),
    CheckConstraint("insight_a < insight_b", name="lesser_comes_first"),
    one_of("type", CONTRADICTION_TYPES),
    cosine("similarity"),
    one_of("decided_by", DECIDERS),
    filled("reason"),
    one_of("status", CONTRADICTION_STATES),
    CheckConstraint("(status = 'unresolved') = (resolved_at IS NULL)", name="settled_at_some_time"),
    CheckConstraint(
        "kept_id IS NULL OR (status = 'resolved' AND kept_id IN (insight_a, insight_b))",
        name="kept_is_one_of_the_two",
    ),
)
Index("contradictions_by_other", contradictions.c.insight_b)
Index("contradictions_by_kept", contradictions.c.kept_id)
Index("contradictions_by_status", contradictions.c.status)

#: What says nearly the same. Centre and coherence are of one model's vectors.
clusters = Table(
    "clusters",
    metadata,
    Column("id", Text, primary_key=True),
    Column("medoid_id", Text, ForeignKey("insights.id"), nullable=False),
    Column("model", Text, nullable=False),
    Column("centroid", LargeBinary, nullable=False),
    Column("coherence", REAL, nullable=False),
    Column("made_at", Integer, nullable=False),
    cosine("coherence"),
)
Index("clusters_by_medoid", clusters.c.medoid_id)

#: A partition: an insight is in one cluster at most.
cluster_insights = Table(
    "cluster_insights",
    metadata,
    Column("insight_id", Text, ForeignKey("insights.id"), primary_key=True),
    Column("cluster_id", Text, ForeignKey("clusters.id"), nullable=False),
    sqlite_with_rowid=False,
)
Index("cluster_insights_by_cluster", cluster_insights.c.cluster_id)

#: What live insights speak of: two of one slot may contradict however far apart their vectors are.
insight_slots = Table(
    "insight_slots",
    metadata,
    Column("slot", Text, primary_key=True),
    Column("insight_id", Text, ForeignKey("insights.id"), primary_key=True),
    filled("slot"),
    sqlite_with_rowid=False,
)
Index("insight_slots_by_insight", insight_slots.c.insight_id)
