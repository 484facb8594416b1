"""The way to somebody's PostgreSQL: a checked address, a login, and connections that are kept.

What the environment of the daemon says to libpq (`PGPASSWORD`, `PGSSLMODE`, `~/.pgpass` and the
like) is not used: a password goes to the store it was given for. There is one exception that libpq
has no way to refuse: with `PGSERVICE` it looks for that service's file, and fails without one; what
the file says counts for nothing that is said here.
"""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors.errors import StoreDown, StoreTimeout, StoreUnusable
from cortex_actors.federation.pgvectorerrors import Broken
from cortex_actors.rules.addresses import Reach, reach

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from cortex_actors.endpoint.connection import Line
    from cortex_actors.federation.options import Options
    from cortex_actors.federation.pgvectordriver import Session
    from cortex_actors.federation.spec import StoreSpec

T = TypeVar("T")

#: Connections that are kept between questions: as many as may be asked at once by default.
KEPT = 4

#: What its addresses begin with.
SCHEMES = ("postgresql", "postgres")

#: How a connection is encrypted, in libpq's words; empty decides by where it leads.
_CHECKED = "verify-full"
_MODES = ("", "disable", "prefer", "require", "verify-ca", _CHECKED)

#: With these nobody on the way reads along.
_ENCRYPTED = frozenset({"require", "verify-ca", _CHECKED})

#: Ways of logging in: far away none in which the other side could learn the password.
_LOGINS_HERE, _LOGINS_AWAY = "scram-sha-256,md5,none", "scram-sha-256,none"

#: A name of a database or a user; libpq takes a longer one for a whole description.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.$@-]{0,62}\Z")

#: Who speaks to libpq; imported on a thread, at the first use.
_DRIVER = "cortex_actors.federation.pgvectordriver"


@dataclass(frozen=True, slots=True)
class Login:
    """How to log in, as far as the address does not say it."""

    user: str
    sslmode: str
    sslrootcert: str
    socket: str

    @classmethod
    def of(cls, spec: StoreSpec, options: Options) -> Login:
        """Return how a description logs in.

        A socket or a file of this machine may be named only in the settings: who may add a store
        to a running daemon may not choose what the daemon opens.
        """
        found = cls(
            options.words("user", "postgres"),
            options.choice("sslmode", *_MODES),
            options.words("sslrootcert"),
            options.words("socket"),
        )
        if spec.managed and (found.socket or found.sslrootcert):
            raise StoreUnusable(
                "options.socket and options.sslrootcert name a path of this machine, which only "
                "[[federation.stores]] in cortex.toml may do"
            )
        if not _NAME.match(found.user):
            raise StoreUnusable("options.user is no name of a user")
        return found


class Link:
    """The connections to one database."""

    def __init__(self, line: Line, login: Login) -> None:
        """Remember where; nothing is sent.

        Raises `StoreUnusable` for an address that is no database's.
        """
        self._database = line.address.path.strip("/")
        if line.address.scheme not in SCHEMES or not _NAME.match(self._database):
            raise StoreUnusable("its address has to be like postgresql://127.0.0.1:5432/DATABASE")
        self._line = line
        self._login = login
        self._free: list[Session] = []
        self._closed = False

    async def run(self, work: Callable[[Session], Awaitable[T]], seconds: float) -> T:
        """Return what some work makes of a session; raises `StoreDown` for whatever went wrong.

        A connection that was kept may have been closed by the other side since: then the work is
        done once more, on a new one.
        """
        try:
            async with asyncio.timeout(seconds):
                await asyncio.to_thread(_driver)
                while True:
                    was_kept = bool(self._free)
                    try:
                        async with self._session(seconds) as session:
                            return await work(session)
                    except Broken:
                        if not was_kept:
                            raise
        except TimeoutError:
            raise StoreTimeout(f"timeout after {seconds:.2f} s") from None

    async def close(self) -> None:
        """Close every connection."""
        self._closed = True
        free, self._free = self._free, []
        for session in free:
            await session.close()
        await self._line.close()

    @asynccontextmanager
    async def _session(self, seconds: float) -> AsyncIterator[Session]:
        """Give a session; only one with which everything went well is kept."""
        if self._closed:
            raise StoreDown("the store was let go of; ask again")
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

    async def _connected(self, seconds: float) -> Session:
        """Connect to the first address that takes us."""
        connect = _driver().Session.connected
        ips = await self._line.ips(seconds)
        for place, ip in enumerate(ips, start=1):
            try:
                session: Session = await connect(self._params(ip))
            except Broken:
                if place < len(ips):
                    continue
                self._line.pin.failed()
                raise
            self._line.pin.worked(ip)
            return session
        raise StoreDown("has no address")

    def _params(self, ip: str) -> Mapping[str, Any]:
        """Return what libpq is told; everything that it would look up elsewhere is said here."""
        where, login = self._line.address, self._login
        is_near = reach(ip) is Reach.LOOPBACK
        mode = login.sslmode or ("prefer" if is_near else _CHECKED)
        if not is_near and (login.socket or (self._line.token and mode not in _ENCRYPTED)):
            raise StoreUnusable(
                "its password is not sent over a network without TLS; see options.sslmode"
                if not login.socket
                else "options.socket is of this machine, and its address is not"
            )
        return {
            "host": login.socket or where.host,
            # Empty is not the same as absent, where libpq would take PGHOSTADDR.
            "hostaddr": "" if login.socket else ip,
            "port": where.port,
            "dbname": self._database,
            "user": login.user,
            "password": self._line.token,
            "passfile": os.devnull,
            "sslmode": "disable" if login.socket else mode,
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
        if self._login.sslrootcert or mode != _CHECKED:
            return self._login.sslrootcert
        if self._line.trust_system_store:
            return "system"
        return os.environ.get("SSL_CERT_FILE") or _certifi()


def _driver() -> Any:  # noqa: ANN401 - a module
    """Return the module that speaks to libpq; raises `StoreUnusable` where it is not installed."""
    try:
        return import_module(_DRIVER)
    except ImportError as error:
        raise StoreUnusable(
            "psycopg is not installed; install it with: pip install 'cortex-actors[postgres]'"
        ) from error


def _certifi() -> str:
    """Return the file of the certificates that Python brings."""
    return str(import_module("certifi").where())
