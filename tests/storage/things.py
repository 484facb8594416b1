"""Memories and pieces of documents, as short as a test can say them."""

from __future__ import annotations

import functools
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sqlalchemy import StaticPool, create_engine, select

from cortex_actors.domain.memory import Memory, MemoryStatus, Realm
from cortex_actors.domain.project import Chunk, chunk_id
from cortex_actors.storage import passages
from cortex_actors.storage.ledger.connection import PLACES
from cortex_actors.storage.tables.schema import memories, metadata
from cortex_actors.testing import EPOCH

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection, Engine

    from cortex_actors.domain.memory import Passage

T = TypeVar("T")


class Tables:
    """The ledger's tables in memory, for units of work that need no actor around them."""

    def __init__(self, connection: Connection) -> None:
        """Use a connection."""
        self.connection = connection

    def write(self, unit: Callable[[Connection], T]) -> T:
        """Run a unit of work."""
        return unit(self.connection)

    read = write

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """Return the rows of a query."""
        return [tuple(row) for row in self.connection.exec_driver_sql(sql)]


def active_ids(connection: Connection) -> list[str]:
    """Return the ids of all memories that may be found, oldest first."""
    query = select(memories.c.id).where(memories.c.status == MemoryStatus.ACTIVE)
    return list(connection.execute(query.order_by(memories.c.created_at, memories.c.id)).scalars())


@contextmanager
def in_memory() -> Iterator[Tables]:
    """Give empty tables."""
    engine = _engine()
    with engine.connect() as connection:
        _driver(connection).deserialize(_empty())
        for places in PLACES:
            _driver(connection).execute(places)
        yield Tables(connection)
    engine.dispose()


def _engine() -> Engine:
    """Return a database in memory with one connection."""
    return create_engine("sqlite://", poolclass=StaticPool)


def _driver(connection: Connection) -> sqlite3.Connection:
    """Return the driver's own connection."""
    return cast("sqlite3.Connection", connection.connection.driver_connection)


@functools.cache
def _empty() -> bytes:
    """Return a database with the tables: copying one is quicker than making them."""
    engine = _engine()
    with closing(engine.connect()) as connection:
        metadata.create_all(connection)
        connection.commit()
        made = _driver(connection).serialize()
    engine.dispose()
    return made


def memory(text: str, at: int = 0, *, id: str = "", **given: Any) -> Memory:  # noqa: A002
    """Return a memory of the agent A in the thread "talk", so many microseconds after the epoch."""
    fields: dict[str, Any] = {"agent_id": "A", "thread": "talk", "realm": Realm.PRIVATE}
    return Memory(id=mem(id or text), text=text, created_at=EPOCH + at, **(fields | given))


def mem(name: str) -> str:
    """Return the id of the memory that is called that."""
    letters = "".join(letter for letter in name.upper() if letter.isalnum())
    return f"mem_{letters[:26]:0>26}"


def document(source: str, *texts: str, **given: Any) -> list[Chunk]:
    """Return a document in pieces."""
    fields: dict[str, Any] = {"topic": "topic", "title": "", "read_at": EPOCH}
    return [
        Chunk(
            id=chunk_id(source, ordinal, text=text),
            source=source,
            ordinal=ordinal,
            text=text,
            **(fields | given),
        )
        for ordinal, text in enumerate(texts)
    ]


def found_by(tables: Tables, item_id: str) -> dict[str, str]:
    """Return the texts by which an item is found, by place."""
    rows = tables.rows(f"SELECT place, text FROM passages WHERE item_id = '{item_id}'")  # noqa: S608
    return {str(place): str(text) for place, text in rows}


def put_passages(connection: Connection, made: Sequence[Passage]) -> None:
    """Make those the passages of their items, instead of any others that these have."""
    for collection in dict.fromkeys(each.collection for each in made):
        mine = [each for each in made if each.collection == collection]
        items = list(dict.fromkeys(each.item_id for each in mine))
        passages.replace(connection, collection, items, mine)
