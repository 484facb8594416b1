"""How the ledger's file is opened: one connection that writes, a few that only read.

The SQLite that many Pythons carry (before 3.51.3) has the WAL-reset bug: two connections that both
write and checkpoint can lose pages. So exactly one connection writes and checkpoints; readers are
opened read-only and never checkpoint.

How it is brought to this version's schema, keeping a copy of how it was. `PRAGMA user_version`
decides in a microsecond. A new ledger is made at once as this version has it; Alembic is imported
only when there is something to migrate, because it costs a quarter of a second.

SQLite's own checks of the file that a connection has open. FTS5's check of the words is a command,
so it needs a connection that writes, and it would hold up the ledger for as long as it reads every
text. So it is given the words in a copy, in memory, and compares that with the passages where they
are, both as of one moment.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
from contextlib import closing
from functools import cache, partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, create_mock_engine, event
from sqlalchemy.pool import QueuePool, StaticPool

from cortex_actors.clock import SystemClock
from cortex_actors.storage.ledger import backups
from cortex_actors.storage.ledger.files import SCHEMA_VERSION, refuse_schema
from cortex_actors.storage.tables.schema import WORDS, metadata

if TYPE_CHECKING:
    from collections.abc import Callable


#: Connections that may read at the same time (each on a thread of its own).
READERS = 2

#: Seconds to wait for a lock that another process holds.
BUSY = 5.0

#: Steps of SQLite's machine between two looks at whether a query has had its time: about 1 ms.
STEPS = 50_000

#: Bytes that are read and written at once.
CHUNK = 1_048_576

#: The places of every word in each list of words, and in how many texts it is: of a connection, so
#: that no file has them.
PLACES = tuple(
    f"CREATE VIRTUAL TABLE temp.{words}_{name} USING fts5vocab('main', '{words}', '{kind}')"
    for words in WORDS
    for name, kind in (("places", "instance"), ("terms", "row"))
)

#: Texts of agents are in the parameters of a statement: no error shows them, and so no log.
HIDE = True

#: How many milliseconds a connection waits for a lock.
_WAIT = "PRAGMA busy_timeout = {:.0f}"

#: Pages that a reader keeps, in KiB: a recall that ranks turns again reads some 700 rows, and takes
#: a tenth less than with the usual 2 MB.
_CACHE = "PRAGMA cache_size = -16000"

#: Of every connection. `synchronous=FULL`: with NORMAL, half of the simulated power cuts lost
#: commits that had been acknowledged.
_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA mmap_size = 0",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    # What is deleted is overwritten: a memory that was forgotten is in the file no more.
    "PRAGMA secure_delete = ON",
    # A query goes on when there is no room for temporary files.
    "PRAGMA temp_store = MEMORY",
)


def open_writing(path: Path, busy: float = BUSY) -> Engine:
    """Return the engine of the one connection that writes; every transaction begins IMMEDIATE.

    `busy` is how many seconds it waits for a lock that another process holds.
    """
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=StaticPool,
        connect_args={"check_same_thread": False},
        hide_parameters=HIDE,
    )
    pragmas = (_WAIT.format(busy * 1_000), "PRAGMA journal_mode = WAL", *_PRAGMAS, *PLACES)
    event.listen(engine, "connect", partial(_prepare, pragmas, None))
    # The write lock is taken at once: a deferred transaction can fail in its middle instead.
    event.listen(engine, "begin", partial(_begin, "BEGIN IMMEDIATE"))
    return engine


def open_reading(path: Path, over: Callable[[dict[str, Any]], bool] | None = None) -> Engine:
    """Return the engine of the connections that read; a write through it is an error.

    `over` is asked, with the connection's `info`, whether the query that runs has had its time.
    """
    url = f"sqlite:///file:{quote(str(path))}?mode=ro&uri=true"
    engine = create_engine(
        url, poolclass=QueuePool, pool_size=READERS, max_overflow=0, hide_parameters=HIDE
    )
    pragmas = (_WAIT.format(BUSY * 1_000), *_PRAGMAS, *PLACES, "PRAGMA query_only = ON", _CACHE)
    event.listen(engine, "connect", partial(_prepare, pragmas, over))
    event.listen(engine, "begin", partial(_begin, "BEGIN"))
    return engine


def find_driver(engine: Engine) -> sqlite3.Connection:
    """Return the driver's connection of a `open_writing` engine, for what is no transaction."""
    lent = engine.raw_connection()
    found = lent.driver_connection
    lent.close()  # gives it back: there is one, and it stays open
    return found  # type: ignore[return-value]


def find_driver_of(connection: Connection) -> sqlite3.Connection:
    """Return the driver's connection below one of SQLAlchemy's: for statements that are short."""
    return cast("sqlite3.Connection", connection.connection.driver_connection)


def settle(engine: Engine, path: Path) -> None:
    """Bring what an earlier life left in the log into the ledger; nothing after a clean stop.

    That life may have ended because an fsync failed: then the log may hold pages that the kernel
    calls clean and that are not on the disk, and a later commit behind them would be lost with
    them. So the log is written once more as it is, synced, and only then used. Raises what SQLite
    and the system raise.
    """
    log = path.with_name(f"{path.name}-wal")
    if not (log.exists() and log.stat().st_size):
        return
    connection = find_driver(engine)
    connection.execute("BEGIN IMMEDIATE")  # so that no one else writes to the log
    try:
        _write_again(log)
    finally:
        connection.execute("ROLLBACK")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def abandon(engine: Engine) -> None:
    """Leave a writing connection open for as long as the process lives.

    Closing it would write the log into a file that cannot be trusted, or is another's; Python 3.11
    has no way to close without. So the object is never freed, not even when Python ends.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(find_driver(engine)))


def _write_again(log: Path) -> None:
    """Write a file's own bytes over it, so that the kernel takes them for new; sync it."""
    # Closing this descriptor releases no lock of SQLite's: there are none on the log.
    fd = os.open(log, os.O_RDWR | os.O_CLOEXEC)
    try:
        at = 0
        while chunk := os.pread(fd, CHUNK, at):
            at += os.pwrite(fd, chunk, at)
        os.fsync(fd)
    finally:
        os.close(fd)


def _prepare(
    pragmas: tuple[str, ...],
    over: Callable[[dict[str, Any]], bool] | None,
    connection: Any,
    record: Any,
) -> None:
    """Set up a connection; the driver is kept from beginning transactions itself."""
    connection.isolation_level = None
    # Text is as it was given: names of files may hold bytes that are not UTF-8.
    connection.text_factory = methodcaller("decode", "utf-8", "surrogateescape")
    for pragma in pragmas:
        connection.execute(pragma)
    if over is not None:
        connection.set_progress_handler(partial(over, record.info), STEPS)


def _begin(how: str, connection: Connection) -> None:
    """Begin a transaction: everything that a reader sees in one is of one moment."""
    find_driver_of(connection).execute(how)


# ruff: noqa: S608 - the names are the schema's own.


def read_version(connection: Connection) -> int:
    """Return the version of a ledger's schema; 0 for one without content."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def find_damage(connection: Connection, how: str) -> str:
    """Return the first thing that `quick_check` or `integrity_check` finds; "" for none."""
    found = connection.exec_driver_sql(f"PRAGMA {how}(1)").scalars().first()
    return "" if found == "ok" else " ".join(str(found).split())


def list_strays(connection: Connection) -> list[str]:
    """Return the rows that belong to a row which is not there."""
    found = connection.exec_driver_sql("PRAGMA foreign_key_check")
    return [f"{row[0]} row {row[1]} (no {row[2]})" for row in found]


#: The tables in which FTS5 keeps a list; the content is the passages.
_SHADOWS = ("data", "idx", "docsize", "config")

#: Passages whose words are counted and that are not there, or the other way round.
_UNEVEN = (
    "SELECT (SELECT count(*) FROM {view} WHERE id NOT IN (SELECT id FROM {name}_docsize)) + "
    "(SELECT count(*) FROM {name}_docsize WHERE id NOT IN (SELECT id FROM {view}))"
)


def count_words(connection: Connection, name: str) -> tuple[int, int]:
    """Return how many passages a list of words has, and how many it lacks or has too many."""
    query = _UNEVEN.format(name=name, view=WORDS[name])
    uneven = connection.exec_driver_sql(query).scalar_one()
    counted = connection.exec_driver_sql(f"SELECT count(*) FROM {name}_docsize").scalar_one()
    return int(counted), int(uneven)


def has_other_words(connection: Connection, name: str, path: Path) -> bool:
    """Tell whether a list's words are not those of the passages: in a copy of it, in memory.

    The copy sees the ledger and cannot write it.
    """
    query = "SELECT sql FROM sqlite_schema WHERE name = ?"
    declared = str(connection.exec_driver_sql(query, (name,)).scalar_one())
    memory = sqlite3.connect("file::memory:", uri=True, isolation_level=None)
    with closing(memory):
        memory.execute("PRAGMA temp_store = MEMORY")
        ledger = f"file:{quote(os.fsencode(path))}?mode=ro"
        memory.execute("ATTACH ? AS ledger", (ledger,))
        memory.set_progress_handler(connection.info.get("over"), STEPS)
        try:
            # A list of words like the ledger's, over the ledger's passages.
            _, _, definition = declared.partition(" USING ")
            view = WORDS[name]
            memory.execute("BEGIN")
            memory.execute(f"CREATE TEMP VIEW {view} AS SELECT id, text FROM ledger.{view}")
            memory.execute(f"CREATE VIRTUAL TABLE temp.{name} USING {definition}")
            for table in (f"{name}_{shadow}" for shadow in _SHADOWS):
                memory.execute(f"DELETE FROM temp.{table}")
                memory.execute(f"INSERT INTO temp.{table} SELECT * FROM ledger.{table}")
            memory.execute(f"INSERT INTO {name} ({name}, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorname.startswith(("SQLITE_CORRUPT", "SQLITE_ERROR")):
                return True
            raise
    return False


#: Alembic's scripts.
_SCRIPTS = Path(__file__).parents[1] / "migrations"

#: What Alembic keeps its version in, by its own words: the next migration reads it.
_VERSIONS = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)


def migrate(engine: Engine, path: Path, *, keep: bool = True) -> int:
    """Return the version found before; afterwards the ledger has this version.

    A ledger with content is copied first, as `backups/before-v<N>-<time>.db`, unless it is a copy
    itself (`keep`). All migrations are one transaction: whatever goes wrong, or if the process is
    killed, the ledger is as it was. Raises `StoreTooNew` for a ledger that a newer program wrote:
    opening it would damage it; `StoreTooOld` for one from before the baseline; `StorageFull` when
    there is no room for the copy.
    """
    with engine.connect() as connection:
        found = read_version(connection)
    refuse_schema(found, path, doing="open the ledger", instead="use another home")
    if found < SCHEMA_VERSION:
        if found and keep:
            backups.copy_before_migration(path, version=found, at=SystemClock().now())
        with engine.begin() as connection:
            if found:
                _upgrade(connection)
            else:
                _create(connection)
            connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return found


def _create(connection: Connection) -> None:
    """Make what all migrations together make of nothing, in a tenth of their time."""
    for statement in _schema():
        connection.exec_driver_sql(statement)
    head = f"{SCHEMA_VERSION:04}"
    connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (head,))


@cache
def _schema() -> tuple[str, ...]:
    """Return what makes every table: to compile it takes several times as long as to run it."""
    said: list[str] = []

    def keep(made: Any, *_: object) -> None:
        said.append(str(made.compile(dialect=engine.dialect)))

    engine = create_mock_engine("sqlite://", keep)
    metadata.create_all(engine, checkfirst=False)
    return *said, _VERSIONS


def _upgrade(connection: Connection) -> None:
    """Run every migration that has not run yet, inside the caller's transaction."""
    from alembic import command  # noqa: PLC0415 - imported only to migrate
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def read_statements(script: str) -> list[str]:
    """Return what a migration does, one statement each: the `.sql` file beside its script."""
    text = Path(script).with_suffix(".sql").read_text("utf-8")
    return [each for each in text.split(";\n") if each.strip()]


def run(script: str) -> None:
    """Run a migration's statements, in the caller's transaction; `script` is its `__file__`."""
    from alembic import op  # noqa: PLC0415 - a quarter of a second, and only here

    connection = op.get_bind()
    for statement in read_statements(script):
        connection.exec_driver_sql(statement)
