"""The Chroma server an index may lie on, as an address that was looked at closely.

Vectors tell a reader most of the text they were made of, so they cross no network in the clear:
`http` is for this machine, everything else needs `https`. There is no setting that turns this off;
a tunnel or a proxy that speaks TLS makes any server reachable.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from cortex_actors.errors import ConfigurationError
from cortex_actors.rules import addresses

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
    def of(cls, url: str, *, system_store: bool = False) -> Self:
        """Return the server of an address; raises `ConfigurationError` for one we do not use."""
        if why := addresses.problem(url):
            raise _refusal(url, why)
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        tls = parts.scheme == "https"
        return cls(host, PORTS[parts.scheme] if port is None else port, tls, system_store)

    @property
    def url(self) -> str:
        """The address in one form, for comparing and for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    def params(self) -> dict[str, Any]:
        """Return what the child is told, as JSON."""
        return {**asdict(self), "here": addresses.here(self.host)}


def _refusal(url: str, why: str) -> ConfigurationError:
    """Return the error for an address that is not used; a password in it is not repeated."""
    shown = url.rpartition("@")[2] if "@" in url else url
    message = f"cannot keep the index at storage.index_url = {shown!r}: {why}"
    return ConfigurationError(message)
