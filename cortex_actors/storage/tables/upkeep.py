"""What the daemon keeps for itself: jobs by the clock, answers of models, small facts."""

from __future__ import annotations

from sqlalchemy import JSON, CheckConstraint, Column, Index, Integer, LargeBinary, Table, text
from sqlalchemy.types import REAL

from cortex_actors.storage.tables.columns import (
    Text,
    at_least,
    digest,
    filled,
    metadata,
    one_of,
)
from cortex_actors.storage.tables.insight import DECIDERS

#: How the last run of a job ended.
JOB_STATES = ("done", "failed")

#: What is done by the clock, and when it was done last, by whichever life of the daemon.
jobs = Table(
    "jobs",
    metadata,
    Column("name", Text, primary_key=True),
    # Seconds between two runs, and by how many of them a run may come later.
    Column("every_s", REAL, nullable=False),
    Column("jitter_s", REAL, nullable=False, server_default=text("(0)")),
    Column("started_at", Integer),
    Column("finished_at", Integer),
    Column("due_at", Integer),
    Column("state", Text),
    # What the last run said, or why it failed.
    Column("said", Text),
    CheckConstraint("every_s > 0", name="every_s_is_above_0"),
    at_least("jitter_s", 0),
    one_of("state", JOB_STATES),
)

#: What a model answered about texts, so that it is asked once.
verdicts = Table(
    "verdicts",
    metadata,
    # SHA-256 of layer, model, question and texts.
    Column("key", LargeBinary, primary_key=True),
    Column("layer", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("answer", JSON, nullable=False),
    Column("at", Integer, nullable=False),
    digest("key"),
    one_of("layer", DECIDERS),
)
Index("verdicts_by_time", verdicts.c.at)

#: Small facts of the home, by name.
meta = Table(
    "meta",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    filled("name"),
)
