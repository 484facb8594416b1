"""The only access to Chroma: a client on a folder of our own, or on another machine's server.

Only vectors ever pass. A collection's stored configuration can name a model, with code, for the
client to load when it is given texts or asked for that configuration; so it never is, and should
Chroma itself try, `HF_HUB_OFFLINE` keeps it from fetching anything. No telemetry is sent.

The Chroma server an index may lie on, as an address that was looked at closely.

Vectors tell a reader most of the text they were made of, so they cross no network in the clear:
`http` is for this machine, everything else needs `https`. There is no setting that turns this off;
a tunnel or a proxy that speaks TLS makes any server reachable.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from cortex_actors.errors import BadInput, ConfigurationError, IndexDown
from cortex_actors.rules import addresses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


#: What every collection is made with. Twice the candidates of Chroma's default are looked at, so
#: that fewer neighbours are missed; at 100,000 that cost no time that could be measured. All else
#: is Chroma's default (a smaller `sync_threshold` made a kill -9 ruin the files more often).
CONFIGURATION = {"hnsw": {"space": "cosine", "ef_search": 200}}

#: A server's answers that say something of who asks and how often, not of what it holds.
REFUSALS = frozenset({401, 403, 408, 429, 502, 503, 504})

#: By name, what httpx, with which Chroma speaks to a server, raises when it comes to nothing.
_UNREACHED = frozenset({"TransportError", "HTTPStatusError"})


class FolderTaken(IndexDown):
    """Another process has the folder open: two clients on one lose vectors without a word."""


class ServerAway(IndexDown):
    """The server with the index does not answer: nothing is known against the index itself."""


def load() -> None:
    """Import Chroma, which takes most of a second."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import chromadb  # noqa: F401, PLC0415 - that it is here


def lock_folder(path: str) -> int:
    """Return a descriptor that keeps every other child off a folder; raises `FolderTaken`.

    The kernel releases it when this process ends. The daemon's lock keeps two daemons apart, and
    not the child of one that was killed, which may need a moment to notice.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise FolderTaken(f"another process still has {path} open; it is tried again") from error
    except OSError:
        pass  # a file system that locks no folders: then the daemon's lock has to do
    return descriptor


def open_folder(path: str) -> Any:
    """Return a client on a folder, which is made when it is new."""
    import chromadb  # noqa: PLC0415 - see load

    return chromadb.PersistentClient(path=path, settings=_settings())


def open_server(host: str, port: int, *, tls: bool, here: bool, system_store: bool = False) -> Any:
    """Return a client on a server; raises `ServerAway` when none answers there.

    `system_store` has the operating system's certificates count, from then on in this process:
    Chroma's client has no place for a context of ours.
    """
    import chromadb  # noqa: PLC0415 - see load

    if tls and system_store:
        import truststore  # noqa: PLC0415 - most homes never need it

        truststore.inject_into_ssl()
    if here:
        os.environ["NO_PROXY"] = "*"  # what is on this machine is not asked through a proxy
    with map_server_faults():
        try:
            return chromadb.HttpClient(host=host, port=port, ssl=tls, settings=_settings())
        except ValueError as error:  # Chroma's word for "no server there"
            raise ServerAway(f"no Chroma server answers at {host}:{port}: {error}") from error


def delete_generation(client: Any, names: Sequence[str], suffix: str) -> None:
    """Delete the collections of one generation; those that are gone already are fine."""
    from chromadb.errors import NotFoundError  # noqa: PLC0415 - see load

    for name in names:
        try:
            client.delete_collection(name + suffix)
        except NotFoundError:
            continue


@contextmanager
def map_caller_faults() -> Iterator[None]:
    """Turn Chroma's word for a vector of the wrong length into `BadInput`."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ in {"InvalidDimensionException", "InvalidArgumentError"}:
            raise BadInput(str(error)) from error
        raise


@contextmanager
def map_server_faults() -> Iterator[None]:
    """Turn a server that cannot be reached, or has trouble of its own, into `ServerAway`."""
    from chromadb.errors import ChromaError  # noqa: PLC0415 - see load

    try:
        yield
    except ChromaError as error:
        if error.code() not in REFUSALS:
            raise
        raise ServerAway(f"the Chroma server refuses ({error.code()}): {error}") from error
    except Exception as error:
        if not _UNREACHED & {each.__name__ for each in type(error).__mro__}:
            raise
        message = f"the Chroma server does not answer: {type(error).__name__}: {error}"
        raise ServerAway(message) from error


def _settings() -> Any:
    from chromadb.config import Settings  # noqa: PLC0415 - see load

    return Settings(anonymized_telemetry=False, allow_reset=False)


#: The port that `chroma run` listens on, and that of https.
PORTS = {"http": 8_000, "https": 443}


@dataclass(frozen=True, slots=True)
class Server:
    """Where a Chroma server listens."""

    host: str
    port: int
    tls: bool
    #: Whether the operating system's certificates count.
    system_store: bool = False

    @classmethod
    def from_address(cls, url: str, *, system_store: bool = False) -> Self:
        """Return the server of an address; raises `ConfigurationError` for one we do not use."""
        if why := addresses.explain_problem(url):
            shown = url.rpartition("@")[2]  # a password in it is not repeated
            raise ConfigurationError(
                f"cannot keep the index at storage.index_url = {shown!r}: {why}"
            )
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        tls = parts.scheme == "https"
        return cls(host, PORTS[parts.scheme] if port is None else port, tls, system_store)

    @property
    def url(self) -> str:
        """The address in one form, for comparing and for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    def as_params(self) -> dict[str, Any]:
        """Return the parameters for the child, as JSON."""
        return {**asdict(self), "here": addresses.is_here(self.host)}
