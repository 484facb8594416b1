"""What a description of a store becomes: a connection, what speaks over it, and what guards it.

The kinds of remote stores there are: a new one is a file, and a line here.
"""

from __future__ import annotations

import logging
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING

from cortex_actors.endpoint.client import Guard
from cortex_actors.endpoint.connection import StoreConnection
from cortex_actors.errors import CortexError, StoreDown, StoreUnusable
from cortex_actors.federation.adapters.chroma import Chroma
from cortex_actors.federation.adapters.mcp import Mcp
from cortex_actors.federation.adapters.pgvector import Pgvector
from cortex_actors.federation.adapters.seren import CortexAdapter, SerenLoci, SerenMemory
from cortex_actors.federation.remote import Adapter, RemoteStore
from cortex_actors.rules.addresses import STDIO, measure_reach

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.clock import Clock
    from cortex_actors.endpoint.pinning import Resolver
    from cortex_actors.federation.credentials import Vault
    from cortex_actors.federation.store import StoreSpec
    from cortex_actors.sections import FederationSettings, TlsSettings


#: Type of a store -> who speaks to it.
ADAPTERS: Mapping[str, type[Adapter]] = {
    "chroma": Chroma,
    "cortex": CortexAdapter,
    "mcp": Mcp,
    "pgvector": Pgvector,
    "seren_loci": SerenLoci,
    "seren_memory": SerenMemory,
}


log = logging.getLogger("cortex.federation")

#: Seconds that a name server has to say where an address leads.
LOOK = 3.0

#: The option in which a store is described by the program that it is.
COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Bound:
    """One store that can be asked, and what it was made of."""

    spec: StoreSpec
    store: RemoteStore
    line: StoreConnection

    def serves(self, spec: StoreSpec) -> bool:
        """Return whether it is what a description means; what its hits count is no part of that."""
        same = replace(self.spec, weight=spec.weight, floor=spec.floor, enabled=spec.enabled)
        return same == spec

    async def resolve(self) -> dict[str, str]:
        """Return the IP addresses that its address leads to, and how far away each is.

        Raises `StoreUnusable` for what must not be connected to, and `StoreDown` while the name
        has no address.
        """
        if self.line.address.scheme == STDIO:
            return {}
        return {ip: measure_reach(ip).name.lower() for ip in await self.line.resolve(LOOK)}

    async def close(self) -> None:
        """Close its connections; whatever goes wrong there is only logged."""
        for each in (self.store, self.line):
            try:
                await each.close()
            except Exception as error:
                if not isinstance(error, CortexError):
                    log.warning("the store %s was not closed well", self.spec.name, exc_info=error)


@dataclass(eq=False, slots=True)
class Binder:
    """Makes stores of descriptions; nothing is sent to any of them."""

    settings: FederationSettings
    tls: TlsSettings
    _: KW_ONLY
    clock: Clock
    vault: Vault
    #: The kinds of stores there are.
    kinds: Mapping[str, type[Adapter]] = field(default_factory=lambda: ADAPTERS)
    resolve: Resolver | None = None

    async def bind(self, spec: StoreSpec) -> Bound:
        """Return a store as it can be asked.

        Raises `StoreUnusable` for a description that cannot be followed, its token's place among
        it, and `StoreDown` for what may be otherwise later: a keyring that does not answer. A
        program is one that the settings name, and no other: a caller that may add stores must not
        thereby start programs.
        """
        kind = self.kinds.get(spec.type)
        if kind is None:
            known = ", ".join(sorted(self.kinds))
            raise StoreUnusable(f"there is no type {spec.type[:64]!r}; there are: {known}")
        url = spec.url or (f"{STDIO}:" if COMMAND in spec.options else "")
        if spec.managed and (COMMAND in spec.options or url.startswith(f"{STDIO}:")):
            raise StoreUnusable(
                "it is a program, and programs are started for stores of cortex.toml alone: "
                "describe it there, as [[federation.stores]]"
            )
        settings = self.settings
        line = StoreConnection(
            url,
            self.clock,
            token=await self.vault.find_token(spec.auth),
            # Bytes of a megabyte.
            most=int(settings.response_mb * 1_048_576),
            allow_hosts=settings.allow_hosts,
            trust_system_store=self.tls.trust_system_store,
            resolve=self.resolve,
        )
        try:
            # Keeps one store from costing the others anything.
            guard = Guard(
                self.clock,
                at_once=settings.at_once,
                failures=settings.breaker_failures,
                pause=settings.breaker_pause_s,
            )
            return Bound(spec, RemoteStore(spec, kind(spec, line), guard), line)
        except CortexError:
            await line.close()
            raise
        except Exception as error:
            await line.close()
            log.warning("the store %s could not be set up", spec.name, exc_info=error)
            raise StoreDown(f"it could not be set up: {type(error).__name__}") from error
