"""An address that speaks OpenAI's protocol, checked before anything is sent to it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from cortex_actors.errors import EndpointUnusable

#: Where requests go when `base_url` is empty.
OPENAI = "https://api.openai.com/v1"

#: Ports that an address does not name.
_PORTS = {"http": 80, "https": 443}

#: Characters a key may have: what a header can carry, without the space that would end it.
_KEY = frozenset(map(chr, range(0x21, 0x7F)))


@dataclass(frozen=True, slots=True)
class Use:
    """What an endpoint is asked for, and how errors name that."""

    #: What the endpoint is called: "the embedding endpoint".
    noun: str
    #: The section of the settings that leads there.
    section: str
    #: What the address ends in: "embeddings".
    path: str
    #: What should be there: "an embeddings API".
    api: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where texts are sent, as what, and with which key."""

    use: Use
    #: The whole address, what it is asked for included.
    url: str
    #: Host and, unless it is the scheme's own, port: part of the name of a model.
    host: str
    is_loopback: bool
    key: str = field(default="", repr=False)
    #: Whether the operating system's certificates count.
    system_store: bool = False

    @property
    def named(self) -> str:
        """How a sentence names it."""
        return f"the {self.use.noun} endpoint {self.host}"


def endpoint(base_url: str, key: str, *, use: Use, system_store: bool = False) -> Endpoint:
    """Return the endpoint of the settings.

    Raises `EndpointUnusable` for an address that cannot be used, or must not: no scheme but http
    and https, nothing secret in it, and a key in clear text to this machine only. No error ever
    shows the key.
    """
    section = use.section
    parts = _split(base_url or OPENAI, section)
    if key and not _KEY.issuperset(key):
        raise EndpointUnusable(
            f"{section}.api_key cannot be sent: it holds a space, a line end or a character that "
            f"is not ASCII; set CORTEX_{section.upper()}__API_KEY to the key alone"
        )
    name = (parts.hostname or "").lower()
    loopback = _is_loopback(name)
    if key and parts.scheme == "http" and not loopback:
        raise EndpointUnusable(
            f"{section}.api_key is not sent to {_host(parts)}: over http anybody on the way can "
            f"read it; use https in {section}.base_url, or an endpoint without a key"
        )
    return Endpoint(
        use,
        f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/{use.path}",
        _host(parts),
        loopback,
        key,
        system_store,
    )


def host_of(base_url: str) -> str:
    """Return the host part of a model id for any address, even one that cannot be used."""
    try:
        return _host(_split(base_url or OPENAI, ""))
    except EndpointUnusable:
        return "?"


def _split(base_url: str, section: str) -> SplitResult:
    """Return the parts of an address; `EndpointUnusable` when they are not what one has."""
    try:
        parts = urlsplit(base_url)
        port_is_right = parts.port is None or parts.port > 0
    except ValueError:
        parts, port_is_right = SplitResult("", "", "", "", ""), False
    if parts.username is not None or parts.password is not None:
        raise EndpointUnusable(
            f"{section}.base_url holds a name or password; take it out, and give a key as "
            f"CORTEX_{section.upper()}__API_KEY"
        )
    if parts.scheme not in _PORTS or not parts.hostname or not port_is_right:
        raise EndpointUnusable(
            f"{section}.base_url cannot be used: it is no address with http or https and a host; "
            "write it like http://localhost:11434/v1"
        )
    if parts.query or parts.fragment:
        raise EndpointUnusable(
            f"{section}.base_url cannot have a part after ? or #; end it with the path, mostly /v1"
        )
    return parts


def _host(parts: SplitResult) -> str:
    """Return host and port, the port only where it is not the scheme's own."""
    name = (parts.hostname or "").lower()
    name = f"[{name}]" if ":" in name else name
    return name if parts.port in (None, _PORTS[parts.scheme]) else f"{name}:{parts.port}"


def _is_loopback(name: str) -> bool:
    """Return whether a host is this machine: what is sent there, nobody else sees."""
    if name == "localhost" or name.endswith(".localhost"):  # RFC 6761, 6.3
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
