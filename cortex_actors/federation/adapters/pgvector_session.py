"""A connection to a PostgreSQL while it belongs to one question. The door to psycopg.

Importing this takes a sixth of a second, so it is done on a thread, at the first question.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import waiting

from cortex_actors.federation.adapters.troubles import Layout, UnusableAnswer, explain_state

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from psycopg.abc import PQGen

    from cortex_actors.errors import StoreDown

RV = TypeVar("RV")

#: Seconds between two looks at whether a wait was given up, as psycopg has it.
_INTERVAL = 0.1

#: Characters that one answer may have in all.
_MOST = 8_388_608

#: Candidates that an index looks at: pgvector's default, and the most it takes.
_WIDE, _WIDEST = 40, 1_000

#: Milliseconds in a second.
_MS = 1_000


class _PgConnection(psycopg.AsyncConnection[Any]):
    """A connection that is given up at once."""

    async def wait(
        self, gen: PQGen[RV], interval: float = _INTERVAL, timeout: float | None = None
    ) -> RV:
        """Wait for the server; who is cancelled hangs up.

        psycopg would ask the server to end the query, and wait up to ten seconds for it to say so:
        a server that is away would hold up everybody. The query ends by its statement_timeout.
        """
        try:
            return await waiting.wait_async(gen, self.pgconn.socket, interval, timeout)
        except asyncio.CancelledError:
            self.pgconn.finish()
            raise


class DatabaseSession:
    """One connection while it belongs to one question: within a transaction that may only read."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection
        #: What the table turned out to be; it is looked up once for each connection.
        self.layout: Layout | None = None

    @classmethod
    async def connect(cls, params: Mapping[str, Any]) -> DatabaseSession:
        """Connect and log in; raises `StoreDown`."""
        try:
            # No prepared statements: poolers give every transaction another connection.
            connection = await _PgConnection.connect(
                autocommit=True, prepare_threshold=None, **params
            )
        except psycopg.Error as error:
            raise _failure(error) from None
        return cls(connection)

    async def begin(self, seconds: float) -> None:
        """Begin a transaction that may only read, and ends at the server when its time is up."""
        await self._run(b"BEGIN READ ONLY")
        await self.fetch_rows(
            "SELECT set_config('statement_timeout', %(time)s, true)",
            {"time": str(max(1, int(seconds * _MS)))},
        )

    async def widen(self, limit: int) -> None:
        """Let an index look at as many candidates as rows are wanted."""
        await self.fetch_rows(
            "SELECT set_config('hnsw.ef_search', %(wide)s, true)",
            {"wide": str(min(max(limit, _WIDE), _WIDEST))},
        )

    async def fetch_rows(
        self, query: str, values: Mapping[str, Any], most: int = 10_000
    ) -> list[Any]:
        """Return the rows that a query finds; `StoreDown` for more of them than there may be."""
        found: list[Sequence[Any]] = []
        size = 0
        try:
            async with self._connection.cursor() as cursor:
                async for row in cursor.stream(query.encode(), values):
                    found.append(row)
                    size += sum(len(each) for each in row if isinstance(each, str))
                    if len(found) > most or size > _MOST:
                        self._connection.pgconn.finish()  # else psycopg reads all of it first
                        raise UnusableAnswer("answered with more than it was asked for")
        except psycopg.Error as error:
            raise _failure(error) from None
        return found

    async def end(self) -> None:
        """End the transaction."""
        await self._run(b"ROLLBACK")

    async def close(self) -> None:
        """Close the connection, whatever state it is in."""
        await self._connection.close()

    async def _run(self, command: bytes) -> None:
        try:
            await self._connection.execute(command)
        except psycopg.Error as error:
            raise _failure(error) from None


def _failure(error: psycopg.Error) -> StoreDown:
    """Return what an error means."""
    return explain_state(error.sqlstate or "", " ".join(str(error).split()))
