"""What is known of the stores and of the fan over them: plain values, checked by who makes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.federation.store import RecallStore


@dataclass(frozen=True, slots=True)
class Auth:
    """Where a store's token comes from, in the order in which they win.

    Attributes:
        token: the token itself.
        token_keyring: `service/user` in the keyring of the operating system.
        token_env: the variable of the daemon's environment that holds it.

    """

    token: str = field(default="", repr=False)
    token_keyring: str = ""
    token_env: str = ""

    def __bool__(self) -> bool:
        """Whether there is a token at all."""
        return bool(self.token or self.token_keyring or self.token_env)


@dataclass(frozen=True, slots=True)
class StoreSpec:
    """One store, as a person has described it.

    Attributes:
        type: which adapter speaks to it.
        url: its address, without a slash at the end.
        weight: how much its places count.
        floor: base relevance below which its hits do not count; 0 lets all of them.
        options: what only its adapter understands.
        managed: added while the daemon ran, and so removable; else it is of the settings.

    """

    name: str
    type: str
    url: str
    weight: float = 1.0
    floor: float = 0.0
    enabled: bool = True
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    managed: bool = False
    auth: Auth = Auth()


@dataclass(frozen=True, slots=True)
class Knobs:
    """What of the fan may be turned while it runs; the settings say what each of them means."""

    k: float = 60
    n_results: int = 10
    fetch_multiplier: int = 2
    per_store_timeout_s: float = 5.0
    fusion_mode: str = "rrf"
    authority_margin: float = 0.035
    min_per_store: int = 1
    edges_enabled: bool = True
    edge_budget: int = 3
    satellite_budget: int = 3
    hops: int = 1
    hop_terms: int = 4
    hop_budget: int = 5
    max_store_share: float = 1.0
    local: str = "together"


@dataclass(frozen=True, slots=True)
class Member:
    """One store that takes part, and what its hits count."""

    store: RecallStore
    weight: float = 1.0
    floor: float = 0.0


@dataclass(frozen=True, slots=True)
class Fan:
    """Everything one question needs to know; whoever turns something makes another one.

    Attributes:
        members: the stores to ask, in the configured order, what is known here first.
        unbindable: (name, reason) of stores that cannot be asked as they are described.

    """

    members: tuple[Member, ...] = ()
    knobs: Knobs = Knobs()
    unbindable: tuple[tuple[str, str], ...] = ()
