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
from cortex_actors.storage.tables.columns import (
    Text,
    at_least,
    digest,
    filled,
    id_of_moment,
    metadata,
    one_of,
)
from cortex_actors.storage.tables.knowledge import DECIDERS

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


#: The one row that says who may write: a daemon that was paused and superseded has an old epoch.
owner = Table(
    "owner",
    metadata,
    Column("one", Integer, CheckConstraint("one = 1"), primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", Integer, nullable=False),
)

#: Who holds what only one process may do at a time; with one machine nobody asks.
leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    # Grows with each holder; a write under an older one is refused.
    Column("epoch", Integer, nullable=False),
    Column("until", Integer, nullable=False),
    filled("holder"),
    at_least("epoch", 1),
)


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


#: One row for each text of an item that may be found; only such items have rows. A row is never
#: changed, and its number is never given again: a text that changes gets a new one.
passages = Table(
    "passages",
    metadata,
    Column("id", Integer, primary_key=True),
    # Of the item, as insights or memories of a realm; the index has `<collection>_paired` beside.
    Column("collection", Text, nullable=False),
    Column("item_id", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("text_hash", LargeBinary, nullable=False),
    UniqueConstraint("item_id", "collection", "place"),
    filled("collection"),
    filled("item_id"),
    one_of("place", Place),
    digest("text_hash"),
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
    event.listen(metadata, "after_create", DDL(_each))  # type: ignore[no-untyped-call]
