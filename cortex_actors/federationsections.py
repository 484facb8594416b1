"""The sections of the settings about other stores: the fan over them, our own door, and TLS.

docs/configuration.md is made from these comments; a test holds it to this module.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, Field, field_validator, model_validator

from cortex_actors.sections import Section
from cortex_actors.text.credentials import plain

#: What a store may be called: it stands in answers, in commands and in a keyring.
STORE_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"

#: Names that no other store may have: what is kept here, whatever its collection.
_RESERVED = re.compile(r"local|cortex_\w+")

#: Most seconds that a store may be given: the watchdog allows a question 120 in all.
LONGEST_ASK = 30.0

Token = Annotated[str, Field("", repr=False)]


class StoreSettings(Section):
    """One `[[federation.stores]]`: a store that is asked beside what is known here."""

    #: What answers call it: 1 to 64 letters, digits and `_ . -`.
    name: str = Field(pattern=f"^{STORE_NAME}$")
    #: Who speaks to it: `seren_memory`, `seren_loci`, `cortex`, `chroma`, `pgvector` or `mcp`.
    type: str = Field(min_length=1)
    #: Its address.
    url: str = ""
    #: How much its places count.
    weight: float = Field(1.0, ge=0, le=1_000)
    #: Base relevance below which its hits do not count; 0 lets all of them, 0.3 is for noisy ones.
    floor: float = Field(0.0, ge=0, le=1)
    #: Whether it is asked.
    enabled: bool = True
    #: Its token, in clear text; better is one of the next two. `bearer_token` is read as well.
    token: Token = Field("", repr=False, validation_alias=AliasChoices("token", "bearer_token"))
    #: `service/user` of its token in the keyring of the operating system.
    token_keyring: str = Field(
        "", validation_alias=AliasChoices("token_keyring", "bearer_token_keyring")
    )
    #: Variable of the daemon's environment with its token.
    token_env: str = Field("", validation_alias=AliasChoices("token_env", "bearer_token_env"))
    #: What only its type understands (docs/store-types.md); a key that is not listed here is put
    #: there.
    options: Mapping[str, Any] = Field({})

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, given: Any) -> Any:  # noqa: ANN401 - whatever a file holds
        """Put what only an adapter understands under `options`, as Callosum's files have it."""
        if not isinstance(given, Mapping) or not isinstance(given.get("options", {}), Mapping):
            return given
        said = plain({str(key): value for key, value in given.items()})
        extra = {key: value for key, value in said.items() if key not in cls.model_fields}
        kept = {key: value for key, value in said.items() if key in cls.model_fields}
        return {**kept, "options": {**extra, **given.get("options", {})}}

    @field_validator("name")
    @classmethod
    def _free(cls, name: str) -> str:
        """Refuse the name of what is kept here."""
        if _RESERVED.fullmatch(name):
            message = f"{name} is the name of what is kept here; choose another one"
            raise ValueError(message)
        return name

    @field_validator("url")
    @classmethod
    def _bare(cls, url: str) -> str:
        """Take blanks and slashes from its ends."""
        return url.strip().rstrip("/")


class FederationSettings(Section):
    """How one question goes to every store."""

    #: Reciprocal rank fusion's constant (Cormack and others 2009: 60).
    k: float = Field(60, ge=1, le=1_000_000)
    #: Hits of an answer, where nobody names a number.
    n_results: int = Field(10, ge=1, le=200)
    #: How many times as many hits each store is asked for.
    fetch_multiplier: int = Field(2, ge=1, le=20)
    #: Seconds a store may take before the answer goes out without it, at most 30.
    per_store_timeout_s: float = Field(5.0, gt=0, le=LONGEST_ASK)
    #: What a place counts: `rrf` (1 / (k + rank)), `percentile` (by the share of its own list that
    #: stands behind it) or `rrf_pct` (rrf, and where that is equal by percentile).
    fusion_mode: Literal["rrf", "percentile", "rrf_pct"] = "rrf"
    #: Lead in base relevance from which the first hit of a store stands before others of the same
    #: score; 0 leaves the order as it is.
    authority_margin: float = Field(0.035, ge=0, le=1)
    #: Hits that each store which answered has in the answer, as far as there is room.
    min_per_store: int = Field(1, ge=0, le=200)
    #: Most of an answer that may come from one remote store, 0 to 1; 1 is no limit.
    max_store_share: float = Field(1.0, gt=0, le=1)
    #: Whether what is filed under the topics of the hits is shown beside them.
    edges_enabled: bool = True
    #: How many of those there may be.
    edge_budget: int = Field(3, ge=0, le=100)
    #: How many hits may be shown that a store itself has put around one.
    satellite_budget: int = Field(3, ge=0, le=100)
    #: Times that the stores are asked: beyond 1 again, with what the first hits say.
    hops: int = Field(1, ge=1, le=4)
    #: First hits whose text is asked with.
    hop_terms: int = Field(4, ge=1, le=20)
    #: How many hits may be shown that were found that way.
    hop_budget: int = Field(5, ge=0, le=100)
    #: What is known here as one list that one search has ranked (`together`), or each collection as
    #: a store of its own (`separate`, the document's form).
    local: Literal["together", "separate"] = "together"
    #: Seconds a question waits for a model that is still loading before it is answered by its words
    #: alone, at most 60: the watchdog allows a question 120 in all.
    patience_s: float = Field(3.0, ge=0, le=60)
    #: Megabytes that a remote store's answer may have.
    response_mb: float = Field(4.0, gt=0, le=64)
    #: Questions that one remote store is asked at once; others wait their turn.
    at_once: int = Field(4, ge=1, le=100)
    #: Failures in a row after which a remote store is left alone for a while.
    breaker_failures: int = Field(5, ge=1, le=1_000)
    #: Seconds for which it is.
    breaker_pause_s: float = Field(30.0, gt=0, le=3_600)
    #: Hosts (`host` or `host:port`) that stores may be on; empty allows every address that is not
    #: forbidden anyway (docs/remote-stores.md).
    allow_hosts: tuple[str, ...] = ()
    #: The stores, each a table `[[federation.stores]]`.
    stores: tuple[StoreSettings, ...] = ()

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        """Refuse two stores of one name."""
        names = [each.name for each in self.stores]
        twice = sorted({each for each in names if names.count(each) > 1})
        if twice:
            message = f"two stores are called {twice[0]}; give each a name of its own"
            raise ValueError(message)
        return self


class HttpSettings(Section):
    """The door for other programs, on this machine."""

    #: Whether it is open.
    enabled: bool = False
    #: Address it is bound to, which nobody outside of this machine reaches: `127.0.0.1`, `::1` or
    #: `localhost`.
    host: str = "127.0.0.1"
    #: Its port; 0 takes one that is free.
    port: int = Field(7424, ge=0, le=65_535)
    #: Bytes that a request may have.
    max_body_bytes: int = Field(2_097_152, gt=0, le=67_108_864)
    #: Connections at once.
    max_connections: int = Field(128, ge=1, le=10_000)

    @field_validator("host")
    @classmethod
    def _at_home(cls, host: str) -> str:
        """Refuse an address that others reach: what is answered there goes over their network."""
        if host != "localhost" and not _is_loopback(host):
            message = (
                f"{host} may be reached from other machines, and the door answers this one alone; "
                "give 127.0.0.1, and forward the port where another machine is to be let in"
            )
            raise ValueError(message)
        return host


class TlsSettings(Section):
    """How the certificates of other machines are checked."""

    #: Whether the operating system's certificates count, instead of those that Python brings:
    #: for companies whose proxies open every connection.
    trust_system_store: bool = False


def _is_loopback(host: str) -> bool:
    """Return whether a host is written as an address that only this machine has."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
