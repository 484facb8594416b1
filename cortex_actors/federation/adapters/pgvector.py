"""Pgvector: a table with vectors in a PostgreSQL, read and never written.

A description names a table, its columns and nothing else: every name is checked and quoted, every
value is bound, and a transaction may only read.

The way to a PostgreSQL: a checked address, a login, and connections that are kept.

What the environment of the daemon says to libpq (`PGPASSWORD`, `PGSSLMODE`, `~/.pgpass` and the
like) is not used: a password goes to the store it was given for. There is one exception that libpq
has no way to refuse: with `PGSERVICE` it looks for that service's file, and fails without one; what
the file says counts for nothing that is said here.

What a table with vectors is asked, as SQL: names are checked and quoted, values are bound. Pure.

The operators are named with the schema in which the extension was found: what a `search_path` puts
before it is not called.

What the errors of a PostgreSQL mean for its caller. Pure.

Its own words are kept apart from an error's text: agents read that, and anybody may have written
them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, Field

from cortex_actors.endpoint.client import LeftAlone
from cortex_actors.endpoint.replies import limit_time
from cortex_actors.errors import StoreDown, StoreUnusable
from cortex_actors.federation.adapters.troubles import Layout, Odd, SessionEnded
from cortex_actors.federation.answers import (
    OutgoingQuestion,
    explain_mismatch,
    make_nearest,
    read_text,
)
from cortex_actors.federation.schema import Listing, StoreOptions, Table, Words
from cortex_actors.rules.addresses import Reach, measure_reach

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from cortex_actors.endpoint.connection import StoreConnection
    from cortex_actors.federation.adapters.pgvector_session import DatabaseSession
    from cortex_actors.federation.store import Answer, StoreSpec


T = TypeVar("T")

#: Connections that are kept between questions: as many as may be asked at once by default.
KEPT = 4

#: What its addresses begin with.
SCHEMES = ("postgresql", "postgres")

#: How a connection is encrypted that leads away, in libpq's words.
_CHECKED = "verify-full"

#: With these the connection cannot be read on the way.
_ENCRYPTED = frozenset({"require", "verify-ca", _CHECKED})

#: Ways of logging in: far away none in which the other side could learn the password.
_LOGINS_HERE, _LOGINS_AWAY = "scram-sha-256,md5,none", "scram-sha-256,none"

#: A name of a database or a user; libpq takes a longer one for a whole description.
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.$@-]{0,62}"

#: Who speaks to libpq; imported on a thread, at the first use.
_DRIVER = "cortex_actors.federation.adapters.pgvector_session"


def _driver() -> Any:  # noqa: ANN401 - a module
    """Return the module that speaks to libpq; raises `StoreUnusable` where it is not installed."""
    try:
        return import_module(_DRIVER)
    except ImportError as error:
        raise StoreUnusable(
            "psycopg is not installed; install it with: pip install 'cortex-actors[postgres]'"
        ) from error


#: What the distances are called, and pgvector's operators for them.
DISTANCES: Mapping[str, str] = {"cosine": "<=>", "l2": "<->", "ip": "<#>"}

#: Characters of a text, of an id (one more than any may have) and of the metadata of one row that
#: are read.
TEXT_LIMIT, ID_LIMIT, METADATA_LIMIT = 8_192, 257, 16_384

#: A name that PostgreSQL takes, as long as it may be; more is possible in quotes, and not used.
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}\Z")

#: Asks for the columns of a table.
_COLUMNS = (
    "SELECT a.attname, t.typname, n.nspname, a.atttypmod FROM pg_catalog.pg_attribute a "
    "JOIN pg_catalog.pg_type t ON t.oid = a.atttypid "
    "JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace "
    "WHERE a.attrelid = pg_catalog.to_regclass(%(table)s) "
    "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)

#: Names of columns that an error lists.
_LISTED = 30


def quote_name(written: str, *, most: int = 1) -> str:
    """Return a name, quoted; with `most` 2 a schema may come before it.

    Raises `StoreUnusable` for anything that is no plain name: nothing of a description gets into a
    statement unread.
    """
    parts = written.split(".")
    if len(parts) > most or not all(_IDENTIFIER.match(part) for part in parts):
        raise StoreUnusable(
            f"{written[:80]!r} is no name of a {'table' if most > 1 else 'column'}: letters, "
            f"digits and _{', with a schema and a dot before it at most' if most > 1 else ''}"
        )
    return ".".join(f'"{part}"' for part in parts)


def _named(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what columns have to hold, by their quoted names."""
    return {quote_name(name): value for name, value in given.items()}


#: The name of a column, quoted.
Column = Annotated[Words, AfterValidator(quote_name)]


class PgvectorOptions(StoreOptions):
    """Its options (docs/stores.md): which columns of which table are read, and how to log in.

    Every name of a table or a column is quoted.
    """

    table: Annotated[Words, AfterValidator(partial(quote_name, most=2))]
    id: Column = '"id"'
    text: Column = '"text"'
    vector: Column = '"embedding"'
    metadata: Annotated[Listing, AfterValidator(lambda names: [*map(quote_name, names)])] = ()
    where: Annotated[Table, AfterValidator(_named)] = Field({})
    distance: Literal["cosine", "l2", "ip"] = "cosine"
    model: Words = ""
    user: Annotated[Words, Field(pattern=f"^{_NAME}$", description="a name of a user")] = "postgres"
    #: How a connection is encrypted, in libpq's words; empty decides by where it leads.
    sslmode: Literal["", "disable", "prefer", "require", "verify-ca", "verify-full"] = ""
    sslrootcert: Words = ""
    socket: Words = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that have to be there."""
        return (self.id, self.text, self.vector, *self.metadata, *self.where)

    def query(self, layout: Layout, vector: str, limit: int) -> tuple[str, dict[str, Any]]:
        """Return what asks for the rows that are nearest to a vector."""
        operator = f"OPERATOR({layout.schema}.{DISTANCES[self.distance]})"
        far = f"({self.vector} {operator} CAST(%(vector)s AS {layout.type}))"
        # pgvector has the negative inner product; 1 - product is what Chroma calls its distance,
        # and for vectors of length 1 the same as the cosine's.
        shown = f"1 + {far}" if self.distance == "ip" else far
        kept = [f"{self.vector} IS NOT NULL"]
        kept += [f"{name} = %(where{n})s" for n, name in enumerate(self.where)]
        query = (
            f"SELECT left({self.id}::text, {ID_LIMIT}), left({self.text}::text, {TEXT_LIMIT}), "  # noqa: S608 - checked and quoted
            f"{shown}, {self._metadata()} FROM {self.table} "
            f"WHERE {' AND '.join(kept)} ORDER BY {far} LIMIT %(limit)s"
        )
        bound = {f"where{n}": value for n, value in enumerate(self.where.values())}
        return query, {"vector": vector, "limit": limit, **bound}

    def _metadata(self) -> str:
        """Return what makes one text of the columns that are read beside."""
        if not self.metadata:
            return "NULL"
        pairs = ", ".join(f"'{name.strip(chr(34))}', {name}" for name in self.metadata)
        made = f"jsonb_build_object({pairs})::text"
        return f"CASE WHEN length({made}) <= {METADATA_LIMIT} THEN {made} END"


def read_layout(rows: Sequence[Sequence[Any]], reading: PgvectorOptions) -> Layout:
    """Return what a table is; raises `StoreUnusable` for one that cannot be asked."""
    if not rows:
        raise StoreUnusable(f"it has no table {reading.table}, or we may not see it")
    found = {f'"{name}"': (type_, schema, size) for name, type_, schema, size in rows}
    if missing := [name for name in reading.names if name not in found]:
        there = ", ".join(str(name) for name, *_ in rows[:_LISTED])
        raise StoreUnusable(
            f"its table {reading.table} has no column {', '.join(missing)}; it has {there}"
        )
    type_, schema, size = found[reading.vector]
    # The types of columns that hold vectors of numbers.
    if type_ not in {"vector", "halfvec"}:
        raise StoreUnusable(
            f"its column {reading.vector} holds {type_} and no vectors; set options.vector to one "
            "that does"
        )
    quoted = '"' + schema.replace('"', '""').replace("%", "%%") + '"'  # psycopg reads %
    return Layout(f'{quoted}."{type_}"', quoted, size if size > 0 else None)


#: What its answers have to be.
_SHAPE = "rows with ids and texts"


class Pgvector:
    """Asks one table of a PostgreSQL for its nearest rows, in a transaction that may only read.

    Added with `cortex stores add wiki pgvector postgresql://127.0.0.1/wiki --option table=pages`.
    """

    #: A page; what an index finds gets worse beyond it unless it looks further.
    most: ClassVar[int] = 200

    def __init__(self, spec: StoreSpec, line: StoreConnection) -> None:
        """Check the options; nothing is sent.

        Raises `StoreUnusable` for an address that is no database's. A store that was added to a
        running daemon may not name a socket or a file of this machine: who may add it may not
        choose what the daemon opens.
        """
        self._options = options = PgvectorOptions.from_fields(spec)
        if spec.managed and (options.socket or options.sslrootcert):
            raise StoreUnusable(
                "options.socket and options.sslrootcert name a path of this machine, which only "
                "[[federation.stores]] in cortex.toml may do"
            )
        self._database = line.address.path.strip("/")
        if line.address.scheme not in SCHEMES or not re.fullmatch(_NAME, self._database):
            raise StoreUnusable("its address has to be like postgresql://127.0.0.1:5432/DATABASE")
        self._name = spec.name
        self._line = line
        self._free: list[DatabaseSession] = []
        self._closed = False
        self._model = options.model

    async def search(self, asked: OutgoingQuestion) -> Answer:
        """Return the nearest rows, nearest first.

        Raises `LeftAlone` where our vector means nothing to the table's.
        """
        if why := explain_mismatch(asked, model=self._model, dimension=None):
            raise LeftAlone(why)
        try:
            return await self._run(lambda session: self._search(session, asked), asked.seconds)
        except Odd as odd:
            # A column without a length of its own, with vectors of another one.
            why = f"its vectors have another length than ours, of {asked.model}: {odd}"
            raise LeftAlone(why) from odd

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return the versions there, and what the table's vectors are."""
        return await self._run(self._ping, seconds)

    async def close(self) -> None:
        """Close every connection."""
        self._closed = True
        free, self._free = self._free, []
        for session in free:
            await session.close()
        await self._line.close()

    async def _search(self, session: DatabaseSession, asked: OutgoingQuestion) -> Answer:
        """Ask within one transaction."""
        layout = await self._layout(session)
        if why := explain_mismatch(asked, model=self._model, dimension=layout.dimension):
            raise LeftAlone(why)
        assert asked.vector is not None  # noqa: S101 - `explain_mismatch` has seen to that
        # As pgvector reads it; nine digits are a float32 to the last bit.
        vector = "[" + ",".join(f"{each:.9g}" for each in asked.vector.tolist()) + "]"
        await session.widen(asked.limit)
        query, values = self._options.query(layout, vector, asked.limit)
        rows = await session.fetch_rows(query, values, most=asked.limit)
        found = [
            {"id": id_, "text": read_text(words), "distance": far, "metadata": _metadata(more)}
            for id_, words, far, more in rows
        ]
        is_cosine = self._options.distance == "cosine"
        return make_nearest(self._name, found, is_cosine=is_cosine, limit=asked.limit, shape=_SHAPE)

    async def _ping(self, session: DatabaseSession) -> dict[str, Any]:
        layout = await self._layout(session)
        (versions,) = await session.fetch_rows(
            "SELECT current_setting('server_version'), "
            "(SELECT extversion FROM pg_extension WHERE extname = 'vector')",
            {},
        )
        return {
            "service": "PostgreSQL",
            "version": read_text(versions[0])[:40],
            "pgvector": read_text(versions[1])[:40],
            "table": self._options.table.replace('"', ""),
            "dimension": layout.dimension,
            "model": self._model or None,
        }

    async def _layout(self, session: DatabaseSession) -> Layout:
        """Return the columns of the table, looked up once for each connection."""
        if session.layout is None:
            rows = await session.fetch_rows(_COLUMNS, {"table": self._options.table})
            session.layout = read_layout(rows, self._options)
        return session.layout

    async def _run(self, work: Callable[[DatabaseSession], Awaitable[T]], seconds: float) -> T:
        """Return what some work makes of a session; raises `StoreDown` for whatever went wrong.

        A connection that was kept may have been closed by the other side since: then the work is
        done once more, on a new one.
        """
        async with limit_time(seconds):
            await asyncio.to_thread(_driver)
            while True:
                was_kept = bool(self._free)
                try:
                    async with self._session(seconds) as session:
                        return await work(session)
                except SessionEnded:
                    if not was_kept:
                        raise

    @asynccontextmanager
    async def _session(self, seconds: float) -> AsyncIterator[DatabaseSession]:
        """Give a session; only one with which everything went well is kept."""
        if self._closed:
            raise StoreDown("the store is closed; ask again")
        session = self._free.pop() if self._free else await self._connected(seconds)
        try:
            await session.begin(seconds)
            yield session
            await session.end()
        except BaseException:
            await session.close()
            raise
        if self._has_room():
            self._free.append(session)
        else:
            await session.close()

    def _has_room(self) -> bool:
        """Return whether one more connection is kept."""
        return not self._closed and len(self._free) < KEPT

    async def _connected(self, seconds: float) -> DatabaseSession:
        """Connect to the first address that takes us."""
        connect: Callable[[Mapping[str, Any]], Awaitable[DatabaseSession]] = (
            _driver().DatabaseSession.connect
        )

        async def send(ip: str, _share: int) -> DatabaseSession:
            return await connect(self._params(ip))

        return await self._line.try_addresses(send, unreached=(SessionEnded,))

    def _params(self, ip: str) -> Mapping[str, Any]:
        """Return the parameters for libpq; everything that it would look up elsewhere is here."""
        where, sock = self._line.address, self._options.socket
        is_near = measure_reach(ip) is Reach.LOOPBACK
        mode = self._options.sslmode or ("prefer" if is_near else _CHECKED)
        if not is_near and (sock or (self._line.token and mode not in _ENCRYPTED)):
            raise StoreUnusable(
                "its password is not sent over a network without TLS; see options.sslmode"
                if not sock
                else "options.socket is of this machine, and its address is not"
            )
        return {
            "host": sock or where.host,
            # Empty is not the same as absent, where libpq would take PGHOSTADDR.
            "hostaddr": "" if sock else ip,
            "port": where.port,
            "dbname": self._database,
            "user": self._options.user,
            "password": self._line.token,
            "passfile": os.devnull,
            "sslmode": "disable" if sock else mode,
            "sslrootcert": self._authorities(mode),
            "sslcertmode": "disable",
            "gssencmode": "disable",
            "require_auth": _LOGINS_HERE if is_near else _LOGINS_AWAY,
            "application_name": "cortex-actors",
            "client_encoding": "utf8",
            "options": "",
            "target_session_attrs": "any",
        }

    def _authorities(self, mode: str) -> str:
        """Return whose certificates count: a file, or those of the operating system."""
        if self._options.sslrootcert or mode != _CHECKED:
            return self._options.sslrootcert
        if self._line.trust_system_store:
            return "system"
        return os.environ.get("SSL_CERT_FILE") or str(import_module("certifi").where())


def _metadata(written: object) -> dict[str, Any]:
    """Return the columns that were asked for beside; none where they are too long."""
    if not isinstance(written, str):
        return {}
    try:
        found = json.loads(written)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
