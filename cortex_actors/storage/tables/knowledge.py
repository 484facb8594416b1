"""Insights: what is said, where, how often, and how insights stand to one another.

Principles, the insights they come of, and how they stand to one another.

Projects, and the audit of what was done in them.

Files: as they were last seen, and what was written into them.

Alerts: what somebody should look at in an instruction file.

Trust: what a person said about candidates, and which sources count no more.

Resolutions: what stands in our section of each instruction file, or why it does not.
"""

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

from cortex_actors.domain.insight import Category, InsightStatus
from cortex_actors.domain.principle import PrincipleCategory
from cortex_actors.storage.tables import columns

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
    columns.metadata,
    *columns.id_of_content("ins_", primary_key=True),
    Column("content", columns.Text, nullable=False),
    *columns.hex_digest("content_hash", nullable=False, unique=True),
    Column("heading", columns.Text),
    *columns.one_of("category", Category, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("domain", columns.Text),
    *columns.share("confidence", nullable=False),
    *columns.one_of("status", InsightStatus, nullable=False),
    Column("first_seen_at", Integer, nullable=False),
    Column("last_seen_at", Integer, nullable=False),
    # What was embedded: SHA-256 of heading and content. With the model's id it finds the vector.
    *columns.digest("text_hash", nullable=False),
    # The insight that says the same and for which its sources count.
    Column("superseded_by", columns.Text, ForeignKey("insights.id")),
    # What it is: a whole section, or one statement, and then of which kind.
    *columns.one_of("granularity", GRANULARITIES, nullable=False, server_default=text("'section'")),
    *columns.one_of("kind", STATEMENT_KINDS),
    # How sure the classifier is of the category.
    *columns.share("verdict"),
    # Why a person has to look at it first.
    *columns.filled("review"),
    CheckConstraint("first_seen_at <= last_seen_at", name="first_is_not_after_last"),
    CheckConstraint(
        "(status = 'superseded') = (superseded_by IS NOT NULL)", name="superseded_has_a_successor"
    ),
    CheckConstraint("superseded_by <> id", name="superseded_by_another"),
)
Index("insights_by_status", insights.c.status, insights.c.confidence)
Index("insights_by_superseding", insights.c.superseded_by)

insight_sources = Table(
    "insight_sources",
    columns.metadata,
    Column("id", Integer, primary_key=True),
    # For which insight it counts, and whose text stands there: another one's after a merge.
    Column("insight_id", columns.Text, ForeignKey("insights.id"), nullable=False),
    Column("said_id", columns.Text, ForeignKey("insights.id"), nullable=False),
    Column("fragment_id", columns.Text, nullable=False),
    *columns.at_least("ordinal", 0, nullable=False, server_default=text("0")),
    Column("project_id", columns.Text, ForeignKey("projects.id"), nullable=False),
    Column("path", columns.Text, nullable=False),
    Column("heading", columns.Text),
    # Of which kind the statement is there.
    *columns.one_of("kind", STATEMENT_KINDS),
    # Where in the project it holds: the folder of a nested file or the globs of its front matter.
    Column("scope", columns.Text, nullable=False, server_default=text("''")),
    *columns.at_least("line_start", 1, nullable=False),
    Column("line_end", Integer, nullable=False),
    Column("seen_at", Integer, nullable=False),
    Column("withdrawn_at", Integer),
    *columns.one_of("trust", TRUSTS, nullable=False, server_default=text("'file'")),
    UniqueConstraint("fragment_id", "ordinal"),
    CheckConstraint("line_start <= line_end", name="start_is_not_behind_end"),
)
Index("insight_sources_by_insight", insight_sources.c.insight_id)
Index("insight_sources_by_said", insight_sources.c.said_id)
Index("insight_sources_by_path", insight_sources.c.path)
Index("insight_sources_by_project", insight_sources.c.project_id)

#: One row for each revision of a file that said it; an insight is observed as often.
observations = Table(
    "observations",
    columns.metadata,
    Column("source_id", Integer, ForeignKey("insight_sources.id"), primary_key=True),
    Column("file_hash", columns.Text, primary_key=True),
    Column("at", Integer, nullable=False),
    sqlite_with_rowid=False,
)

#: A pair that cannot both hold. The lesser id comes first, so that a pair is there once.
contradictions = Table(
    "contradictions",
    columns.metadata,
    Column("id", columns.Text, primary_key=True),
    Column("insight_a", columns.Text, ForeignKey("insights.id"), nullable=False),
    Column("insight_b", columns.Text, ForeignKey("insights.id"), nullable=False),
    *columns.one_of("type", CONTRADICTION_TYPES, nullable=False),
    # NULL where it was found without vectors.
    *columns.cosine("similarity"),
    # The actor that came upon it, the layer that decided, and why.
    Column("detected_by", columns.Text, nullable=False),
    *columns.one_of("decided_by", DECIDERS, nullable=False),
    *columns.filled("reason", nullable=False),
    Column("detected_at", Integer, nullable=False),
    *columns.one_of(
        "status", CONTRADICTION_STATES, nullable=False, server_default=text("'unresolved'")
    ),
    Column("resolved_at", Integer),
    # Which of the two holds, where one does; who said so, and why.
    Column("kept_id", columns.Text, ForeignKey("insights.id")),
    Column("resolution", columns.Text),
    UniqueConstraint("insight_a", "insight_b"),
    CheckConstraint("insight_a < insight_b", name="lesser_comes_first"),
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
    columns.metadata,
    Column("id", columns.Text, primary_key=True),
    Column("medoid_id", columns.Text, ForeignKey("insights.id"), nullable=False),
    Column("model", columns.Text, nullable=False),
    Column("centroid", LargeBinary, nullable=False),
    *columns.cosine("coherence", nullable=False),
    Column("made_at", Integer, nullable=False),
)
Index("clusters_by_medoid", clusters.c.medoid_id)

#: A partition: an insight is in one cluster at most.
cluster_insights = Table(
    "cluster_insights",
    columns.metadata,
    Column("insight_id", columns.Text, ForeignKey("insights.id"), primary_key=True),
    Column("cluster_id", columns.Text, ForeignKey("clusters.id"), nullable=False),
    sqlite_with_rowid=False,
)
Index("cluster_insights_by_cluster", cluster_insights.c.cluster_id)

#: What live insights speak of: two of one slot may contradict however far apart their vectors are.
insight_slots = Table(
    "insight_slots",
    columns.metadata,
    *columns.filled("slot", primary_key=True),
    Column("insight_id", columns.Text, ForeignKey("insights.id"), primary_key=True),
    sqlite_with_rowid=False,
)
Index("insight_slots_by_insight", insight_slots.c.insight_id)


#: Whether a principle is given out: `decaying` ones are when nothing better is, `pruned` ones not;
#: neither is deleted, and both come back when they are observed again.
PRINCIPLE_STATES = ("active", "decaying", "pruned")

#: What a principle was made of: one insight, the centre of a cluster, or all of a cluster together.
PRINCIPLE_ORIGINS = ("single", "cluster", "synthesis")

LINK_TYPES = ("reinforces", "generalizes", "specializes", "contradicts", "depends_on", "related")

#: Frequency, recency and links are counted from derivations, observations and links.
principles = Table(
    "principles",
    columns.metadata,
    *columns.id_of_content("pri_", primary_key=True),
    Column("content", columns.Text, nullable=False),
    *columns.hex_digest("content_hash", nullable=False, unique=True),
    # What a longer explanation says, where one was written.
    Column("elaboration", columns.Text),
    *columns.one_of("category", PrincipleCategory, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("domains", JSON, nullable=False),
    *columns.share("confidence", nullable=False),
    # How good the sources are (Cerno: 0.5 until somebody says otherwise).
    *columns.share("quality", nullable=False, server_default=text("0.5")),
    *columns.share("rank", nullable=False),
    *columns.one_of("status", PRINCIPLE_STATES, nullable=False),
    Column("created_at", Integer, nullable=False),
    # What was embedded; with the model's id it finds the vector.
    *columns.digest("text_hash", nullable=False),
    *columns.one_of("origin", PRINCIPLE_ORIGINS, nullable=False, server_default=text("'single'")),
    # Runs of decay in a row that found that it should be pruned.
    *columns.at_least("strikes", 0, nullable=False, server_default=text("0")),
    # Digest of all that its links were drawn from; NULL where they are to be drawn anew.
    *columns.digest("linked"),
)
Index("principles_by_rank", principles.c.status, principles.c.rank)

derivations = Table(
    "derivations",
    columns.metadata,
    Column("principle_id", columns.Text, ForeignKey("principles.id"), primary_key=True),
    Column("insight_id", columns.Text, ForeignKey("insights.id"), primary_key=True),
    *columns.share("weight", nullable=False),
    sqlite_with_rowid=False,
)
Index("derivations_by_insight", derivations.c.insight_id)

#: The lesser id is the source, so that a pair is linked once in each way: "a specializes b" is said
#: for "b generalizes a". Only what depends on another has no such opposite, and keeps its order.
principle_links = Table(
    "principle_links",
    columns.metadata,
    Column("source_id", columns.Text, ForeignKey("principles.id"), primary_key=True),
    Column("target_id", columns.Text, ForeignKey("principles.id"), primary_key=True),
    *columns.one_of("type", LINK_TYPES, primary_key=True),
    *columns.share("strength", nullable=False),
    *columns.one_of("decided_by", DECIDERS, nullable=False),
    *columns.filled("reason", nullable=False),
    Column("linked_at", Integer, nullable=False),
    CheckConstraint(
        "source_id < target_id OR (type = 'depends_on' AND source_id <> target_id)",
        name="lesser_is_the_source",
    ),
    sqlite_with_rowid=False,
)
Index("principle_links_by_target", principle_links.c.target_id)


#: How a run ends; it is written when it has ended, with what it did.
RUN_STATES = ("completed", "unchanged", "failed")

#: Watched projects.
projects = Table(
    "projects",
    columns.metadata,
    Column("id", columns.Text, primary_key=True),
    Column("name", columns.Text, nullable=False),
    Column("root", columns.Text, nullable=False, unique=True),
    Column("added_at", Integer, nullable=False),
    *columns.yes_or_no("active", nullable=False, server_default=text("1")),
    # Whether the resolver writes into its files by itself; somebody has said so.
    *columns.yes_or_no("resolves", nullable=False, server_default=text("0")),
    # Which repository it is a checkout of, where that is known: two checkouts of one are one voice.
    Column("origin", columns.Text),
)

#: The audit: one row for each run of an actor of the pipeline, its name as `kind`.
runs = Table(
    "runs",
    columns.metadata,
    Column("id", columns.Text, primary_key=True),
    Column("kind", columns.Text, nullable=False),
    # No foreign key: a run fails because its project is not known, and says so.
    Column("project_id", columns.Text),
    Column("path", columns.Text),
    # Of a resolution: for whom it was written, and whether only to be looked at.
    Column("agent", columns.Text),
    *columns.yes_or_no("dry_run", nullable=False, server_default=text("0")),
    *columns.one_of("state", RUN_STATES, nullable=False),
    Column("started_at", Integer, nullable=False),
    Column("finished_at", Integer, nullable=False),
    Column("counts", JSON, nullable=False),
    Column("error", columns.Text),
)
Index("runs_by_time", runs.c.kind, runs.c.finished_at)
# For pruning, which keeps the last run of each path.
Index("runs_by_path", runs.c.kind, runs.c.path, runs.c.finished_at)


#: How far a write is: `pending` until the file is known to be whole, then `done`, or `abandoned`
#: when somebody else wrote first; a person may have a `done` one `undone`.
WRITE_STATES = ("pending", "done", "abandoned", "undone")

file_states = Table(
    "file_states",
    columns.metadata,
    Column("path", columns.Text, primary_key=True),
    Column("project_id", columns.Text, ForeignKey("projects.id"), nullable=False),
    *columns.at_least("size", 0, nullable=False),
    Column("mtime_ns", Integer, nullable=False),
    Column("ctime_ns", Integer, nullable=False),
    Column("inode", Integer, nullable=False),
    Column("sha256", columns.Text, nullable=False),
    Column("seen_at", Integer, nullable=False),
    # Why the file could not be read this time; what it said before still stands.
    Column("error", columns.Text),
    # Granularity and version of the reader: another one reads the same bytes again.
    *columns.filled("read_as", nullable=False, server_default=text("'section/1'")),
)
Index("file_states_by_project", file_states.c.project_id)

#: The resolver's journal: a row is committed before the file is touched, so that a write which was
#: cut off is finished or taken back at the next start, and each can be undone.
file_writes = Table(
    "file_writes",
    columns.metadata,
    Column("seq", Integer, primary_key=True),
    # The run's audit row comes with its end, after this one.
    Column("run_id", columns.Text, nullable=False),
    Column("project_id", columns.Text, ForeignKey("projects.id"), nullable=False),
    Column("path", columns.Text, nullable=False),
    Column("agent", columns.Text, nullable=False),
    # The file as a human left it; NULL when there was none.
    Column("before_sha256", columns.Text),
    Column("before_bytes", LargeBinary),
    Column("after_sha256", columns.Text, nullable=False),
    # The name beside the file under which the new bytes wait, and then the displaced ones.
    Column("aside", columns.Text, nullable=False),
    # What the exchange really displaced, when that was not `before_bytes`: a human's text, kept.
    Column("displaced", LargeBinary),
    *columns.one_of("state", WRITE_STATES, nullable=False, server_default=text("'pending'")),
    Column("began_at", Integer, nullable=False),
    Column("ended_at", Integer),
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


#: What was met: characters that nobody sees, something secret, words meant to take an agent over.
ALERT_KINDS = ("hidden_unicode", "secret", "injection")

#: One row for each thing found in a fragment; it ends when the fragment no longer says it.
alerts = Table(
    "alerts",
    columns.metadata,
    Column("id", Integer, primary_key=True),
    *columns.one_of("kind", ALERT_KINDS, nullable=False),
    Column("project_id", columns.Text, ForeignKey("projects.id"), nullable=False),
    Column("path", columns.Text, nullable=False),
    Column("fragment_id", columns.Text, nullable=False),
    *columns.at_least("line_start", 1, nullable=False),
    Column("line_end", Integer, nullable=False),
    *columns.filled("detail", nullable=False),
    # Of a secret, never the secret: tells whether two places hold the same one.
    Column("fingerprint", columns.Text),
    Column("found_at", Integer, nullable=False),
    Column("ended_at", Integer),
    UniqueConstraint("path", "fragment_id", "kind", "detail"),
    CheckConstraint("line_start <= line_end", name="start_is_not_behind_end"),
    sqlite_autoincrement=True,
)
Index("alerts_by_project", alerts.c.project_id)
Index("alerts_open", alerts.c.path, sqlite_where=alerts.c.ended_at.is_(None))


#: What a person may say about what could become a principle.
REVIEW_DECISIONS = ("approved", "rejected")

#: How a person said so: in the review, by accepting a diff, or by asking for a write before there
#: were approvals.
APPROVAL_WAYS = ("review", "diff", "earlier")

#: What can be taken back, with all that came of it.
REVOCATION_KINDS = ("project", "path", "insight", "principle")

reviews = Table(
    "reviews",
    columns.metadata,
    Column("insight_id", columns.Text, ForeignKey("insights.id"), primary_key=True),
    *columns.one_of("decision", REVIEW_DECISIONS, nullable=False),
    Column("at", Integer, nullable=False),
    *columns.filled("note"),
)

#: Whether a principle may be written into files of other projects. A principle's id is made of its
#: text's hash: other words are another id, about which nobody has decided.
approvals = Table(
    "approvals",
    columns.metadata,
    # No foreign key: a decision outlasts the principle.
    Column("principle_id", columns.Text, primary_key=True),
    *columns.one_of("decision", REVIEW_DECISIONS, nullable=False),
    *columns.filled("decided_by", nullable=False),
    *columns.one_of("way", APPROVAL_WAYS, nullable=False),
    Column("at", Integer, nullable=False),
    *columns.filled("note"),
    # When what it is about was revoked; lifting that revocation makes it count again.
    Column("ended_at", Integer),
)

#: What a person took back; it counts until that is lifted.
revocations = Table(
    "revocations",
    columns.metadata,
    Column("id", Integer, primary_key=True),
    *columns.one_of("kind", REVOCATION_KINDS, nullable=False),
    # An id, or a file's path. No foreign key: what it names may be gone because of it.
    *columns.filled("key", nullable=False),
    *columns.filled("note"),
    Column("at", Integer, nullable=False),
    Column("ended_at", Integer),
    sqlite_autoincrement=True,
)
Index(
    "revocations_open",
    revocations.c.kind,
    revocations.c.key,
    unique=True,
    sqlite_where=revocations.c.ended_at.is_(None),
)


#: How the last resolution of a file ended: `edited` when a human wrote inside our section.
RESOLUTION_STATES = ("written", "unchanged", "edited", "refused")

#: One row for each file and the agent it is written for; the runs are the history.
resolutions = Table(
    "resolutions",
    columns.metadata,
    Column("path", columns.Text, primary_key=True),
    Column("agent", columns.Text, primary_key=True),
    Column("project_id", columns.Text, ForeignKey("projects.id"), nullable=False),
    # The run's audit row comes with its end; it is pruned before this one.
    Column("run_id", columns.Text, nullable=False),
    # The human's part of the file, and all that went into the section, as hashes.
    Column("revision", columns.Text, nullable=False),
    Column("inputs", columns.Text, nullable=False),
    # What we wrote between the marks, to show what a human changed there.
    Column("section", columns.Text, nullable=False),
    *columns.one_of("state", RESOLUTION_STATES, nullable=False),
    *columns.filled("reason"),
    Column("resolved_at", Integer, nullable=False),
)
Index("resolutions_by_project", resolutions.c.project_id)

#: The bullets of that section, in their order: what `blame` is asked about. They are written
#: together with the row above, and go with it.
resolved_bullets = Table(
    "resolved_bullets",
    columns.metadata,
    Column("path", columns.Text, primary_key=True),
    Column("agent", columns.Text, primary_key=True),
    *columns.at_least("ordinal", 0, primary_key=True),
    # No foreign key: a principle may be revoked before the file is written anew.
    Column("principle_id", columns.Text, nullable=False),
    *columns.filled("text", nullable=False),
    *columns.yes_or_no("conflict", nullable=False, server_default=text("0")),
    sqlite_with_rowid=False,
)
Index("resolved_bullets_by_principle", resolved_bullets.c.principle_id)
