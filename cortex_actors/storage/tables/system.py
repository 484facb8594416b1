"""Durable events, and who has still to handle them.

What the daemon keeps for itself: jobs by the clock, answers of models, small facts.

Who may write the ledger, and who does what only one may do.

Vectors, the models that make them, and what the vector index has been told.

Passages: what can be found, by vectors and by words.
"""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    JSON,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
    event,
    text,
)
from sqlalchemy.types import REAL

from cortex_actors.domain.memory import Place
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.knowledge import DECIDERS

events = Table(
    "events",
    columns.metadata,
    Column("seq", Integer, primary_key=True),
    *columns.id_of_moment("evt_", nullable=False, unique=True),
    Column("topic", columns.Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("at", Integer, nullable=False),
    Column("source", columns.Text, nullable=False),
    # What the publisher calls this event, so that saying it again is saying it once.
    *columns.filled("idempotency_key"),
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
    columns.metadata,
    Column("consumer", columns.Text, primary_key=True),
    Column("seq", Integer, ForeignKey("events.seq"), primary_key=True),
    Column("key", columns.Text),
    *columns.at_least("attempts", 0, nullable=False, server_default=text("0")),
    # Not handed out before this time.
    *columns.at_least("due_at", 0, nullable=False, server_default=text("0")),
    Column("error", columns.Text),
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
    columns.metadata,
    Column("consumer", columns.Text, primary_key=True),
    Column("seq", Integer, ForeignKey("events.seq"), primary_key=True),
    *columns.at_least("attempts", 1, nullable=False),
    Column("error", columns.Text, nullable=False),
    Column("at", Integer, nullable=False),
    sqlite_with_rowid=False,
)
Index("dead_letters_by_seq", dead_letters.c.seq)


#: How the last run of a job ended.
JOB_STATES = ("done", "failed")

#: What is done by the clock, and when it was done last, by whichever life of the daemon.
jobs = Table(
    "jobs",
    columns.metadata,
    Column("name", columns.Text, primary_key=True),
    # Seconds between two runs, and by how many of them a run may come later.
    Column("every_s", REAL, nullable=False),
    *columns.at_least("jitter_s", 0, kind=REAL, nullable=False, server_default=text("(0)")),
    Column("started_at", Integer),
    Column("finished_at", Integer),
    Column("due_at", Integer),
    *columns.one_of("state", JOB_STATES),
    # What the last run said, or why it failed.
    Column("said", columns.Text),
    CheckConstraint("every_s > 0", name="every_s_is_above_0"),
)

#: What a model answered about texts, so that it is asked once.
verdicts = Table(
    "verdicts",
    columns.metadata,
    # SHA-256 of layer, model, question and texts.
    *columns.digest("key", primary_key=True),
    *columns.one_of("layer", DECIDERS, nullable=False),
    Column("model", columns.Text, nullable=False),
    Column("question", columns.Text, nullable=False),
    Column("answer", JSON, nullable=False),
    Column("at", Integer, nullable=False),
)
Index("verdicts_by_time", verdicts.c.at)

#: Small facts of the home, by name.
meta = Table(
    "meta",
    columns.metadata,
    *columns.filled("name", primary_key=True),
    Column("value", LargeBinary, nullable=False),
)


#: The one row that says who may write: a daemon that was paused and superseded has an old epoch.
owner = Table(
    "owner",
    columns.metadata,
    Column("one", Integer, CheckConstraint("one = 1"), primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", Integer, nullable=False),
)

#: Who holds what only one process may do at a time; with one machine nobody asks.
leases = Table(
    "leases",
    columns.metadata,
    Column("name", columns.Text, primary_key=True),
    *columns.filled("holder", nullable=False),
    # Grows with each holder; a write under an older one is refused.
    *columns.at_least("epoch", 1, nullable=False),
    Column("until", Integer, nullable=False),
)


#: `coming` while its vectors are being made, `active` when they answer, `retired` afterwards.
MODEL_STATES = ("coming", "active", "retired")

#: Which models have made vectors; those of two are never compared.
embedding_models = Table(
    "embedding_models",
    columns.metadata,
    Column("id", columns.Text, primary_key=True),
    *columns.at_least("dimension", 1, nullable=False),
    *columns.one_of("state", MODEL_STATES, nullable=False),
    # When it came to that state.
    Column("since", Integer, nullable=False),
    # By which its provider is made again; NULL where a ledger's earlier version did not say.
    Column("provider", columns.Text),
    Column("name", columns.Text),
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
    columns.metadata,
    # Grows for ever, so that whoever holds vectors in memory asks for those that came since. The
    # vectors do not lie in the tree of what is unique, on purpose: asking whether there is one
    # would read them all (18 times as slow at 100,000).
    Column("seq", Integer, primary_key=True),
    Column("model", columns.Text, nullable=False),
    Column("text_hash", LargeBinary, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    UniqueConstraint("model", "text_hash"),
    sqlite_autoincrement=True,
)

#: What the vector index has still to be told, in order.
index_ops = Table(
    "index_ops",
    columns.metadata,
    Column("seq", Integer, primary_key=True),
    Column("collection", columns.Text, nullable=False),
    Column("item_id", columns.Text, nullable=False),
    Column("op", columns.Text, CheckConstraint("op IN ('put', 'drop')"), nullable=False),
    sqlite_autoincrement=True,
)

Index("index_ops_by_item", index_ops.c.item_id)

#: Which generation of the index is in use, and up to where it has been told.
index_state = Table(
    "index_state",
    columns.metadata,
    Column("one", Integer, CheckConstraint("one = 1"), primary_key=True),
    Column("generation", Integer, nullable=False),
    # In the folder's name, too: a ledger that was replaced or restored knows no earlier folder.
    Column("token", columns.Text, nullable=False),
    Column("model", columns.Text, nullable=False),
    Column("applied_seq", Integer, nullable=False),
)


#: One row for each text of an item that may be found; only such items have rows. A row is never
#: changed, and its number is never given again: a text that changes gets a new one.
passages = Table(
    "passages",
    columns.metadata,
    Column("id", Integer, primary_key=True),
    # Of the item, as insights or memories of a realm; the index has `<collection>_paired` beside.
    *columns.filled("collection", nullable=False),
    *columns.filled("item_id", nullable=False),
    *columns.one_of("place", Place, nullable=False),
    Column("text", columns.Text, nullable=False),
    *columns.digest("text_hash", nullable=False),
    UniqueConstraint("item_id", "collection", "place"),
    sqlite_autoincrement=True,
)
Index("passages_by_text", passages.c.text_hash)

#: The full-text tables: the list of a search -> the view with the texts that its words come from.
WORDS = {"words_alone": "passages_alone", "words_paired": "passages_paired"}

#: How they cut a text into words: English endings and accents make no difference.
TOKENIZE = "porter unicode61 remove_diacritics 2"

_PLACES = {"passages_alone": Place.ALONE, "passages_paired": Place.PAIRED}


def _statements() -> list[str]:
    """Return what makes the views, the full-text tables and the lists of their words.

    The texts lie in `passages` alone. No trigger keeps the words: with `trusted_schema` off SQLite
    refuses a virtual table in one, so `storage/passages.py` writes both in one transaction.
    """
    made = []
    for words, view in WORDS.items():
        made.append(
            f"CREATE VIEW {view} AS SELECT id, text FROM passages"  # noqa: S608 - names above
            f" WHERE place IN ('{_PLACES[view]}', '{Place.BOTH}')"
        )
        made.append(
            f"CREATE VIRTUAL TABLE {words} USING fts5(text, content='{view}', content_rowid='id',"
            f" tokenize='{TOKENIZE}')"
        )
        made.append(f"CREATE VIRTUAL TABLE {words}_terms USING fts5vocab('{words}', 'row')")
    return made


for _each in _statements():
    event.listen(columns.metadata, "after_create", DDL(_each))  # type: ignore[no-untyped-call]
