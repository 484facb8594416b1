"""What an address of a store or of a Chroma server may be: no name server is asked.

`problem` judges the server that keeps our own vectors, `address` takes apart where another store
is; `rules/reach.py` judges what its name turns out to be.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cortex_actors.errors import StoreUnusable
from cortex_actors.rules.reach import forbidden_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from urllib.parse import SplitResult

#: What an address may begin with.
SCHEMES = ("http", "https")

#: What a store's address may begin with, and the port it means when it names none.
PORTS = {"http": 80, "https": 443, "postgresql": 5432, "postgres": 5432}

#: A program that is started here and spoken to through its pipes: it has no address.
STDIO = "stdio"

#: How an address is written.
_HOW = "write it like http://127.0.0.1:7420, with https:// or postgresql:// where it is so"

#: A path as it stands in a request: printable ASCII, and no `.` or `..` that servers resolve.
_PATH = re.compile(r"(?!.*(?:^|/)\.\.?(?:/|$))[!-~]*")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a store is, taken apart; it holds nothing secret.

    Attributes:
        host: a name or an IP address in lower case, without brackets.
        path: where the store's own addresses begin: empty, or `/` and more, never with one at the
            end.

    """

    scheme: str
    host: str
    port: int
    path: str = ""

    @property
    def bracketed(self) -> str:
        """The host as an address has it."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def netloc(self) -> str:
        """Host and, unless it is the scheme's own, port."""
        own = PORTS.get(self.scheme) == self.port
        return self.bracketed if own else f"{self.bracketed}:{self.port}"

    @property
    def origin(self) -> str:
        """Who is spoken to, as errors and answers show it."""
        return f"{self.scheme}://{self.netloc}" if self.host else self.scheme


def address(url: str) -> Address:
    """Return where a store is; raises `StoreUnusable` for what is no address of one.

    The error does not repeat the address: it may hold a password.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise StoreUnusable(f"its address cannot be used: {_HOW}") from None
    if parts.scheme == STDIO:
        return Address(STDIO, "", 0)
    host = (parts.hostname or "").lower()
    if reason := _wrong(parts, host, port):
        raise StoreUnusable(f"its address cannot be used: {reason}")
    return Address(
        parts.scheme, host, PORTS[parts.scheme] if port is None else port, parts.path.rstrip("/")
    )


def admitted(where: Address, allowed: Iterable[str]) -> bool:
    """Return whether a host is among those that are allowed; all are when none is listed.

    An entry is a host, or a host and a port; an IPv6 address stands in brackets when it has one.
    """
    entries = {each.lower() for each in allowed}
    names = {where.host, where.bracketed, f"{where.bracketed}:{where.port}"}
    return not entries or not where.host or not names.isdisjoint(entries)


def problem(url: str) -> str:
    """Return why an address is not used, with what mends it; "" for one that is.

    The address itself is not repeated: it may hold a password.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in SCHEMES or not parts.hostname:
        return "it must be http://HOST:PORT or https://HOST:PORT"
    if _more(parts):
        return "it may have no user, path or query: Chroma's client drops them"
    if parts.scheme == "http" and not here(parts.hostname):
        return (
            "it is not on this machine, and vectors do not cross a network in the clear; use "
            "https, or a tunnel that ends on 127.0.0.1"
        )
    return ""


def here(host: str) -> bool:
    """Tell whether a host is this machine, without asking a name server."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _more(parts: SplitResult) -> bool:
    """Tell whether an address has parts beyond scheme, host and port."""
    return bool(
        parts.username or parts.password or parts.path.strip("/") or parts.query or parts.fragment
    )


def _wrong(parts: SplitResult, host: str, port: int | None) -> str:
    """Return what is wrong with a store's address; "" when nothing is."""
    if parts.scheme not in PORTS or not host or port == 0:
        return _HOW
    if parts.username is not None or parts.password is not None:
        return "it holds a name or password; give a token apart from it"
    if parts.query or parts.fragment:
        return "it has a part after ? or #"
    if not _PATH.fullmatch(parts.path) or "//" in parts.path or "\\" in parts.path:
        return "its path has blanks, dots or letters that no server has"
    if not host.isascii() or any(not (c.isalnum() or c in "-._:") for c in host):
        return "its host has letters that no name has (write an international name as xn--)"
    if reason := forbidden_name(host):
        return f"{host} is {reason}"
    return ""
