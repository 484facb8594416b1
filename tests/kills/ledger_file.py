"""A ledger's file, read past the product: with plain sqlite3, from a copy, so nothing is healed."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.storage.ledger import connection
from cortex_actors.storage.ledger.connection import migrate
from tests.simulation.audit import TRIGGERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: The file of a home.
NAME = "cortex.db"

#: Rows of one table.
Rows = list[tuple[Any, ...]]

#: Every life of the daemon, in the lines of the audit. (The real writer cannot tell the number of
#: its unit of work: `units.py` finds it.)
_LIVES = """
CREATE TRIGGER audit_owner AFTER INSERT ON owner BEGIN
    INSERT INTO audit (unit, what, who, seq) VALUES (0, 'owner', '', NEW.epoch);
END;
"""

#: What must be the same however often a run was interrupted: all but times, ids made of times
#: (runs, events), numbers of rows, and what says how the index was told. What no file says any more
#: is weighed no more: its weight, and where it stood, are those of some moment before.
CONTENT = {
    "projects": "SELECT id, name, root, active FROM projects",
    "insights": "SELECT id, content, content_hash, status, superseded_by, granularity, "
    "review, hex(text_hash) FROM insights",
    "standing": "SELECT id, heading, kind, category, tags, domain, "
    "iif(status = 'superseded', NULL, round(confidence, 4)) "
    "FROM insights WHERE status <> 'withdrawn'",
    "sources": "SELECT fragment_id, ordinal, insight_id, said_id, scope, project_id, path, "
    "heading, line_start, line_end, withdrawn_at IS NULL FROM insight_sources",
    "observations": "SELECT fragment_id, ordinal, file_hash FROM observations "
    "JOIN insight_sources ON id = source_id",
    "principles": "SELECT id, content, category, tags, domains, round(confidence, 4), "
    "round(rank, 4), status FROM principles",
    "derivations": "SELECT principle_id, insight_id, weight FROM derivations",
    "links": "SELECT source_id, target_id, type, round(strength, 4) FROM principle_links",
    "resolutions": "SELECT path, agent, revision, section FROM resolutions",
    "bullets": "SELECT path, agent, ordinal, principle_id, text, conflict FROM resolved_bullets",
    # Of a heading that stood there for a moment, the indexer may have made a vector, or not.
    "vectors": "SELECT model, hex(text_hash), hex(vector) FROM vectors WHERE text_hash IN "
    "(SELECT text_hash FROM insights UNION SELECT text_hash FROM passages)",
    "files": "SELECT path, project_id, size, sha256, error FROM file_states",
    "dead letters": "SELECT consumer, seq FROM dead_letters",
    "deliveries": "SELECT consumer, seq FROM deliveries",
    "runs": "SELECT kind, path, count(*) FROM runs WHERE kind = 'accumulator' "
    "AND state = 'completed' AND json_extract(counts, '$.fragments') GROUP BY kind, path",
}

#: What must be the same whatever the files said before: no revision that is gone, and no weight,
#: which counts them.
LIVING = {
    "projects": CONTENT["projects"],
    "insights": "SELECT id, content, content_hash, heading, kind, category, tags, domain, status, "
    "superseded_by, hex(text_hash) FROM insights WHERE status <> 'withdrawn'",
    "sources": "SELECT fragment_id, ordinal, insight_id, said_id, scope, project_id, path, "
    "heading, line_start, line_end FROM insight_sources WHERE withdrawn_at IS NULL",
    "vectors": "SELECT DISTINCT i.id, hex(v.vector) FROM insights i "
    "JOIN vectors v USING (text_hash) WHERE i.status <> 'withdrawn'",
    "files": CONTENT["files"],
    "dead letters": CONTENT["dead letters"],
}


class LedgerFile:
    """An open copy of a ledger."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def query(self, statement: str, *values: object) -> Rows:
        """Return what a query finds."""
        return self._connection.execute(statement, values).fetchall()

    def one(self, statement: str, *values: object) -> Any:
        """Return the one value that a query finds."""
        ((value,),) = self.query(statement, *values)
        return value

    def number(self, units: Mapping[int, int]) -> None:
        """Write to which unit of work each line of the audit belongs."""
        rows = [(unit, n) for n, unit in units.items()]
        self._connection.execute("BEGIN")
        self._connection.executemany("UPDATE audit SET unit = ? WHERE n = ?", rows)
        self._connection.execute("COMMIT")

    def content(self, queries: Mapping[str, str] = CONTENT) -> dict[str, Rows]:
        """Return what the ledger holds, table by table, in an order of its own."""
        return {name: sorted(self.query(each), key=repr) for name, each in queries.items()}


@contextmanager
def copied(home: Path) -> Iterator[LedgerFile]:
    """Open a copy of the ledger of a home that nobody has open, as its last owner left it."""
    with tempfile.TemporaryDirectory(prefix="cx-copy-") as folder:
        for each in home.glob(f"{NAME}*"):
            if each.name in (NAME, f"{NAME}-wal"):
                shutil.copyfile(each, Path(folder) / each.name)
        with closing(sqlite3.connect(Path(folder) / NAME, isolation_level=None)) as opened:
            yield LedgerFile(opened)


def differences(one: Mapping[str, Rows], other: Mapping[str, Rows]) -> list[str]:
    """Return the rows that only one of two contents has."""
    pairs = (("first", one, other), ("second", other, one))
    return [
        f"{name}: the {which} has {rows.count(row)} of {row}, the other {lacking[name].count(row)}"
        for which, having, lacking in pairs
        for name, rows in having.items()
        for row in rows
        if rows.count(row) > lacking[name].count(row)
    ]


def witness(home: Path) -> None:
    """Have a ledger that nobody has open note, from now on, what becomes of its rows."""
    with closing(sqlite3.connect(home / NAME)) as opened:
        opened.executescript(TRIGGERS.replace("unit_now()", "0") + _LIVES)


def make(home: Path) -> None:
    """Make a witnessed ledger in a new home."""
    home.mkdir(parents=True, exist_ok=True)
    engine = connection.open_writing(home / NAME)
    migrate(engine, home / NAME)
    engine.dispose()
    witness(home)
