"""Pgvector: a table with vectors in somebody's PostgreSQL, read and never written.

A description names a table, its columns and nothing else: every name is checked and quoted, every
value is bound, and a transaction may only read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from cortex_actors.errors import StoreUnusable
from cortex_actors.federation.measured import nearest
from cortex_actors.federation.options import Options
from cortex_actors.federation.pgvectorerrors import Odd
from cortex_actors.federation.pgvectorlink import Link, Login
from cortex_actors.federation.pgvectorsql import DISTANCES, Layout, Reading, name_of, read_layout
from cortex_actors.federation.reading import answer, text
from cortex_actors.federation.spaces import apart
from cortex_actors.federation.store import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.hit import Hit
    from cortex_actors.endpoint.connection import Line
    from cortex_actors.federation.adapter import Asked
    from cortex_actors.federation.pgvectordriver import Session
    from cortex_actors.federation.spec import StoreSpec

#: Its options (docs/store-types.md).
OPTIONS = (
    *("table", "id", "text", "vector", "metadata", "where", "distance", "model"),
    *("embedding", "embed_function", "user", "sslmode", "sslrootcert", "socket"),
)

#: Who makes the vector of a question: we do, or a function of the database.
OURS, QUERY_TEXT = "ours", "query_text"

#: What its answers have to be.
_SHAPE = "rows with ids and texts"


class Pgvector:
    """Asks one table of a PostgreSQL for its nearest rows, in a transaction that may only read.

    Added with `cortex stores add wiki pgvector postgresql://127.0.0.1/wiki --option table=pages`.
    """

    #: A page; what an index finds gets worse beyond it unless it is told to look further.
    most: ClassVar[int] = 200
    meets: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, spec: StoreSpec, line: Line) -> None:
        """Check the options; nothing is sent."""
        options = Options(spec, OPTIONS)
        self._name = spec.name
        self._reading = _reading(options)
        self._model = options.words("model")
        self._function = _function(options)
        self._table = options.required("table")
        self._link = Link(line, Login.of(spec, options))

    async def search(self, asked: Asked) -> Answer:
        """Return the nearest rows, nearest first."""
        if not self._function and (why := apart(asked, model=self._model, dimension=None)):
            return Answer((), (why,))
        try:
            return await self._link.run(lambda session: self._search(session, asked), asked.seconds)
        except Odd as odd:
            if self._function:
                raise
            # A column without a length of its own, with vectors of another one.
            return Answer(
                (), (f"its vectors have another length than ours, of {asked.model}: {odd}",)
            )

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return the versions there, and what the table's vectors are."""
        return await self._link.run(self._ping, seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._link.close()

    async def _search(self, session: Session, asked: Asked) -> Answer:
        """Ask within one transaction."""
        layout = await self._layout(session)
        if self._function:
            vector = await self._embedded(session, asked.text, layout)
        else:
            if why := apart(asked, model=self._model, dimension=layout.dimension):
                return Answer((), (why,))
            vector = _written(asked)
        await session.widen(asked.limit)
        query, values = self._reading.query(layout, vector, asked.limit)
        rows = await session.rows(query, values, most=asked.limit)
        found = [
            dict(zip(("id", "text", "distance", "metadata"), row, strict=True)) for row in rows
        ]
        return answer(found, self._hit, limit=asked.limit, shape=_SHAPE)

    async def _ping(self, session: Session) -> dict[str, Any]:
        layout = await self._layout(session)
        (versions,) = await session.rows(
            "SELECT current_setting('server_version'), "
            "(SELECT extversion FROM pg_extension WHERE extname = 'vector')",
            {},
        )
        return {
            "service": "PostgreSQL",
            "version": text(versions[0])[:40],
            "pgvector": text(versions[1])[:40],
            "table": self._table,
            "dimension": layout.dimension,
            "model": self._model or None,
        }

    async def _layout(self, session: Session) -> Layout:
        """Return the columns of the table, looked up once for each connection."""
        if session.layout is None:
            query, values = self._reading.columns()
            session.layout = read_layout(await session.rows(query, values), self._reading)
        return session.layout

    async def _embedded(self, session: Session, question: str, layout: Layout) -> str:
        """Return the vector that a function of the database makes of a question."""
        query, values = self._reading.embedding(layout, self._function, question)
        rows = await session.rows(query, values)
        found = text(rows[0][0]) if rows else ""
        if not found:
            raise StoreUnusable(
                f"{self._function} made no vector of the question; see what "
                "options.embed_function returns"
            )
        return found

    def _hit(self, row: Mapping[str, Any]) -> Hit | None:
        """Return a row as a hit."""
        return nearest(
            self._name,
            row["id"],
            text(row["text"]),
            distance=row["distance"],
            is_cosine=self._reading.distance == "cosine",
            metadata=_metadata(row["metadata"]),
        )


def _reading(options: Options) -> Reading:
    """Return which columns are read."""
    return Reading(
        table=name_of(options.required("table"), most=2),
        id=name_of(options.words("id", "id")),
        text=name_of(options.words("text", "text")),
        vector=name_of(options.words("vector", "embedding")),
        metadata=tuple(name_of(each) for each in options.listing("metadata")),
        where={name_of(name): value for name, value in options.table("where").items()},
        distance=options.choice("distance", *DISTANCES),
    )


def _function(options: Options) -> str:
    """Return the function that embeds a question there; empty when we do."""
    if options.choice("embedding", OURS, QUERY_TEXT) == OURS:
        return ""
    return name_of(options.required("embed_function"), most=2)


def _written(asked: Asked) -> str:
    """Return a vector as pgvector reads it; nine digits are a float32 to the last bit."""
    assert asked.vector is not None  # noqa: S101 - `apart` has seen to that
    return "[" + ",".join(f"{each:.9g}" for each in asked.vector.tolist()) + "]"


def _metadata(written: object) -> dict[str, Any]:
    """Return the columns that were asked for beside; none where they are too long."""
    if not isinstance(written, str):
        return {}
    try:
        found = json.loads(written)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
