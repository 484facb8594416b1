"""Which addresses of a Chroma server are used, as a calculation: no name server is asked."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from urllib.parse import SplitResult

#: What an address may begin with.
SCHEMES = ("http", "https")


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
