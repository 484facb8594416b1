"""The first schema.

Written out as it was, not taken from `schema.py`: a migration must mean the same for ever.
"""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE events (
        seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL,
        topic TEXT NOT NULL,
        payload JSON NOT NULL,
        at INTEGER NOT NULL,
        source TEXT NOT NULL,
        UNIQUE (id)
    )
    """,
    """
    CREATE TABLE index_ops (
        seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        collection TEXT NOT NULL,
        item_id TEXT NOT NULL,
        op TEXT NOT NULL CHECK (op IN ('put', 'drop'))
    )
    """,
    """
    CREATE INDEX index_ops_by_item ON index_ops (item_id)
    """,
    """
    CREATE TABLE index_state (
        one INTEGER NOT NULL CHECK (one = 1),
        generation INTEGER NOT NULL,
        token TEXT NOT NULL,
        model TEXT NOT NULL,
        applied_seq INTEGER NOT NULL,
        PRIMARY KEY (one)
    )
    """,
    """
    CREATE TABLE insights (
        id TEXT NOT NULL,
        content TEXT NOT NULL,
        content_hash TEXT NOT NULL,
        heading TEXT,
        category TEXT NOT NULL,
        tags JSON NOT NULL,
        domain TEXT,
        confidence REAL NOT NULL,
        status TEXT NOT NULL,
        first_seen_at INTEGER NOT NULL,
        last_seen_at INTEGER NOT NULL,
        text_hash BLOB NOT NULL,
        PRIMARY KEY (id),
        CONSTRAINT confidence_is_a_share CHECK (confidence BETWEEN 0 AND 1),
        UNIQUE (content_hash)
    )
    """,
    """
    CREATE INDEX insights_by_status ON insights (status, confidence)
    """,
    """
    CREATE TABLE owner (
        one INTEGER NOT NULL CHECK (one = 1),
        epoch INTEGER NOT NULL,
        pid INTEGER NOT NULL,
        started_at INTEGER NOT NULL,
        PRIMARY KEY (one)
    )
    """,
    """
    CREATE TABLE principles (
        id TEXT NOT NULL,
        content TEXT NOT NULL,
        content_hash TEXT NOT NULL,
        category TEXT NOT NULL,
        tags JSON NOT NULL,
        domains JSON NOT NULL,
        confidence REAL NOT NULL,
        rank REAL NOT NULL,
        status TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (id),
        UNIQUE (content_hash)
    )
    """,
    """
    CREATE TABLE projects (
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        root TEXT NOT NULL,
        added_at INTEGER NOT NULL,
        active INTEGER DEFAULT 1 NOT NULL,
        PRIMARY KEY (id),
        UNIQUE (root)
    )
    """,
    """
    CREATE TABLE runs (
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        project_id TEXT,
        path TEXT,
        state TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        finished_at INTEGER NOT NULL,
        counts JSON NOT NULL,
        error TEXT,
        PRIMARY KEY (id)
    )
    """,
    """
    CREATE INDEX runs_by_time ON runs (kind, finished_at)
    """,
    """
    CREATE TABLE vectors (
        model TEXT NOT NULL,
        text_hash BLOB NOT NULL,
        vector BLOB NOT NULL,
        PRIMARY KEY (model, text_hash)
    )
    """,
    """
    CREATE TABLE dead_letters (
        consumer TEXT NOT NULL,
        seq INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        error TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (consumer, seq),
        FOREIGN KEY(seq) REFERENCES events (seq)
    )
     WITHOUT ROWID
    """,
    """
    CREATE INDEX dead_letters_by_seq ON dead_letters (seq)
    """,
    """
    CREATE TABLE deliveries (
        consumer TEXT NOT NULL,
        seq INTEGER NOT NULL,
        "key" TEXT,
        attempts INTEGER DEFAULT 0 NOT NULL,
        due_at INTEGER DEFAULT 0 NOT NULL,
        error TEXT,
        PRIMARY KEY (consumer, seq),
        FOREIGN KEY(seq) REFERENCES events (seq)
    )
     WITHOUT ROWID
    """,
    """
    CREATE INDEX deliveries_by_due ON deliveries (consumer, due_at) WHERE due_at > 0
    """,
    """
    CREATE INDEX deliveries_by_key ON deliveries (consumer, "key")
    """,
    """
    CREATE INDEX deliveries_by_seq ON deliveries (seq)
    """,
    """
    CREATE TABLE derivations (
        principle_id TEXT NOT NULL,
        insight_id TEXT NOT NULL,
        weight REAL NOT NULL,
        PRIMARY KEY (principle_id, insight_id),
        FOREIGN KEY(principle_id) REFERENCES principles (id),
        FOREIGN KEY(insight_id) REFERENCES insights (id)
    )
     WITHOUT ROWID
    """,
    """
    CREATE INDEX derivations_by_insight ON derivations (insight_id)
    """,
    """
    CREATE TABLE file_states (
        path TEXT NOT NULL,
        project_id TEXT NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        ctime_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        seen_at INTEGER NOT NULL,
        error TEXT,
        PRIMARY KEY (path),
        FOREIGN KEY(project_id) REFERENCES projects (id)
    )
    """,
    """
    CREATE INDEX file_states_by_project ON file_states (project_id)
    """,
    """
    CREATE TABLE insight_sources (
        id INTEGER NOT NULL,
        insight_id TEXT NOT NULL,
        fragment_id TEXT NOT NULL,
        ordinal INTEGER DEFAULT 0 NOT NULL,
        project_id TEXT NOT NULL,
        path TEXT NOT NULL,
        heading TEXT,
        line_start INTEGER NOT NULL,
        line_end INTEGER NOT NULL,
        seen_at INTEGER NOT NULL,
        withdrawn_at INTEGER,
        PRIMARY KEY (id),
        UNIQUE (fragment_id, ordinal),
        FOREIGN KEY(insight_id) REFERENCES insights (id),
        FOREIGN KEY(project_id) REFERENCES projects (id)
    )
    """,
    """
    CREATE INDEX insight_sources_by_insight ON insight_sources (insight_id)
    """,
    """
    CREATE INDEX insight_sources_by_path ON insight_sources (path)
    """,
    """
    CREATE TABLE observations (
        source_id INTEGER NOT NULL,
        file_hash TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (source_id, file_hash),
        FOREIGN KEY(source_id) REFERENCES insight_sources (id)
    )
     WITHOUT ROWID
    """,
)


def upgrade() -> None:
    """Create every table of version 1."""
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Refuse: a ledger goes back by restoring the backup that was made before the migration."""
    message = "a ledger is not migrated down; restore the backup made before the migration"
    raise NotImplementedError(message)
