"""What an address of a store or of a Chroma server may be: no name server is asked.

`explain_problem` judges the server that keeps our own vectors, `parse_address` takes apart where
another store is; `measure_reach` judges what its name turns out to be.

Which addresses of the net a store may be on, as a calculation.

Stores are mostly on this machine or in this house, so private addresses cannot be forbidden. What
is: what never is a store (many receivers, no receiver, the machine's own link, what is reserved),
and where clouds hand out a machine's credentials. An IPv4 address that hides in an IPv6 one is
judged as what it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from cortex_actors.errors import StoreUnusable

if TYPE_CHECKING:
    from collections.abc import Iterable


#: IPv6 addresses that a gateway turns into IPv4 ones, and the bits behind those: NAT64 (RFC 6052)
#: and 6to4 (RFC 3056).
_TRANSLATED = ((ip_network("64:ff9b::/96"), 0), (ip_network("2002::/16"), 80))

#: Where clouds answer a machine with its own credentials, beside the link-local 169.254.169.254:
#: Alibaba, Oracle, Azure's wire server; Amazon and Google in IPv6.
_METADATA = frozenset(
    map(
        ip_address,
        ("100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"),
    )
)

#: Names of the same; some resolve only inside, so that a check of what they resolve to is late.
_METADATA_NAMES = frozenset(
    {
        "instance-data",
        "instance-data.ec2.internal",
        "metadata",
        "metadata.azure.com",
        "metadata.goog",
        "metadata.google.internal",
        "metadata.tencentyun.com",
    }
)

#: Networks that are no valid destination, and what they are (RFC 6890, 8215, 4380).
_FORBIDDEN = (
    (ip_network("0.0.0.0/8"), "no address of a machine"),
    (ip_network("::/128"), "no address of a machine"),
    (ip_network("169.254.0.0/16"), "link-local, where clouds answer with credentials"),
    (ip_network("fe80::/10"), "link-local"),
    (ip_network("224.0.0.0/4"), "multicast"),
    (ip_network("ff00::/8"), "multicast"),
    (ip_network("255.255.255.255/32"), "broadcast"),
    (ip_network("240.0.0.0/4"), "reserved"),
    (ip_network("192.0.0.0/24"), "reserved"),
    (ip_network("64:ff9b:1::/48"), "a translation into IPv4 that cannot be checked"),
    (ip_network("2001::/32"), "a tunnel (Teredo) into IPv4"),
)

#: What else is near: shared by a provider's customers, or by the machines of a tunnel (RFC 6598).
_SHARED = ip_network("100.64.0.0/10")


class Reach(IntEnum):
    """How far away an address is: a larger number is farther."""

    LOOPBACK = 0
    PRIVATE = 1
    PUBLIC = 2


def explain_forbidden(text: str) -> str:
    """Return why nothing is ever sent to an IP address; "" when something may be.

    Anything that is not an IP address is forbidden too: the caller has resolved the name.
    """
    found = _read(text)
    if found is None:
        return "no IP address"
    inner = _plain(found)
    if inner in _METADATA:
        return "where a cloud answers with credentials"
    if any(found in network for network, _ in _TRANSLATED) and not inner.is_global:
        return "a near address, hidden in one that a gateway translates"
    for network, what in _FORBIDDEN:
        if inner.version == network.version and inner in network:
            return what
    if isinstance(inner, IPv6Address) and inner.is_reserved and not inner.is_loopback:
        return "reserved"
    return ""


def explain_forbidden_name(host: str) -> str:
    """Return why a name is never looked up; "" when it may be."""
    name = host.lower().rstrip(".")
    return "where a cloud answers with credentials" if name in _METADATA_NAMES else ""


def measure_reach(text: str) -> Reach:
    """Return how far away an IP address is; who is no address counts as far away."""
    found = _read(text)
    if found is None:
        return Reach.PUBLIC
    inner = _plain(found)
    if inner.is_loopback:
        return Reach.LOOPBACK
    near = inner.is_private or (isinstance(inner, IPv4Address) and inner in _SHARED)
    return Reach.PRIVATE if near else Reach.PUBLIC


def _read(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address; None for what is none, or is one of a single network card."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return None if isinstance(found, IPv6Address) and found.scope_id else found


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address inside an IPv6 one, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    for network, behind in _TRANSLATED:
        if address in network:
            return IPv4Address(int(address) >> behind & 0xFFFF_FFFF)
    return address


#: What an address may begin with.
SCHEMES = ("http", "https")

#: What a store's address may begin with, and the port it means when it names none.
PORTS = {"http": 80, "https": 443, "postgresql": 5432, "postgres": 5432}

#: A program that is started here and spoken to through its pipes: it has no address.
STDIO = "stdio"

#: How an address is written.
_HOW = "write it like http://127.0.0.1:7420, with https:// or postgresql:// where it is so"

#: A path as it is sent in a request: printable ASCII, and no `.` or `..` that servers resolve.
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


def parse_address(url: str, *, how: str = _HOW) -> Address:
    """Return where a store is; raises `StoreUnusable` for what is no address of one.

    The error says `how` one is written and does not repeat the address: it may hold a password.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise StoreUnusable(f"its address cannot be used: {how}") from None
    if parts.scheme == STDIO:
        return Address(STDIO, "", 0)
    host = (parts.hostname or "").lower()
    if reason := _wrong(parts, host, port, how):
        raise StoreUnusable(f"its address cannot be used: {reason}")
    return Address(
        parts.scheme, host, PORTS[parts.scheme] if port is None else port, parts.path.rstrip("/")
    )


def is_admitted(where: Address, allowed: Iterable[str]) -> bool:
    """Return whether a host is among those that are allowed; all are when none is listed.

    An entry is a host, or a host and a port; an IPv6 address with a port is in brackets.
    """
    entries = {each.lower() for each in allowed}
    names = {where.host, where.bracketed, f"{where.bracketed}:{where.port}"}
    return not entries or not where.host or not names.isdisjoint(entries)


def explain_problem(url: str) -> str:
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
    more = parts.path.strip("/") or parts.query or parts.fragment
    if parts.username or parts.password or more:
        return "it may have no user, path or query: Chroma's client drops them"
    if parts.scheme == "http" and not is_here(parts.hostname):
        return (
            "it is not on this machine, and vectors do not cross a network in the clear; use "
            "https, or a tunnel that ends on 127.0.0.1"
        )
    return ""


def is_here(host: str) -> bool:
    """Tell whether a host is this machine, without asking a name server."""
    return host.lower() == "localhost" or measure_reach(host) is Reach.LOOPBACK


def _wrong(parts: SplitResult, host: str, port: int | None, how: str) -> str:
    """Return what is wrong with a store's address; "" when nothing is."""
    if parts.scheme not in PORTS or not host or port == 0:
        return how
    if parts.username is not None or parts.password is not None:
        return "it holds a name or password; give a token or key apart from it"
    if parts.query or parts.fragment:
        return "it has a part after ? or #"
    if not _PATH.fullmatch(parts.path) or "//" in parts.path or "\\" in parts.path:
        return "its path has blanks, dots or letters that no server has"
    if not host.isascii() or any(not (c.isalnum() or c in "-._:") for c in host):
        return "its host has letters that no name has (write an international name as xn--)"
    if reason := explain_forbidden_name(host):
        return f"{host} is {reason}"
    return ""
