"""What the settings say of connections counts for every store that is bound."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.endpoint.client import LeftAlone
from cortex_actors.errors import StoreDown, StoreTimeout, StoreUnusable
from cortex_actors.federation.binding import Binder
from cortex_actors.federation.credentials import Vault
from cortex_actors.federation.store import StoreSpec
from cortex_actors.sections import FederationSettings, TlsSettings
from tests.endpoint.lines import StoreServer
from tests.endpoint.server import Reply, Request, document, listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.federation.binding import Bound

#: Seconds a store may take.
LONG = 20.0


class Large(StoreServer):
    """A store that says half a megabyte of itself."""

    def answer(self, _request: Request) -> Reply:
        """Return it."""
        return document({"hits": [], "more": "x" * 500_000})


@asynccontextmanager
async def bound(url: str, **settings: Any) -> AsyncIterator[Bound]:
    """Give a SerenLoci that was bound by such settings."""
    vault = Vault(os.environ, ring=lambda: None)
    binder = Binder(FederationSettings(**settings), TlsSettings(), clock=SystemClock(), vault=vault)
    found = await binder.bind(StoreSpec("facts", "seren_loci", url))
    try:
        yield found
    finally:
        await found.close()


class TestSettings:
    async def test_allowed_hosts(self) -> None:
        """A host that the settings do not name is not connected to."""
        async with listening(StoreServer()) as server:
            async with bound(server.url, allow_hosts=["127.0.0.1"]) as one:
                await one.store.ping(LONG)
            heard = len(server.requests)
            with pytest.raises(StoreUnusable, match="federation.allow_hosts"):
                async with bound(server.url, allow_hosts=["facts.example"]) as other:
                    await other.store.ping(LONG)

            assert heard == len(server.requests) > 0

    async def test_size(self) -> None:
        """An answer larger than the settings allow is none."""
        async with listening(Large()) as server:
            async with bound(server.url, response_mb=1.0) as roomy:
                await roomy.store.ping(LONG)
            async with bound(server.url, response_mb=0.25) as narrow:
                with pytest.raises(StoreDown, match="more than 262144 bytes"):
                    await narrow.store.ping(LONG)

    async def test_breaker(self) -> None:
        """After as many failures as the settings say a store is left alone, for as long."""
        async with bound("http://127.0.0.1:1", breaker_failures=2, breaker_pause_s=77.0) as one:
            guard = one.store.guard
            for _ in range(2):
                assert "" == guard.explain_refusal()
                with suppress(StoreDown):
                    async with guard.attempt(LONG):
                        raise StoreDown("no luck")
            with pytest.raises(LeftAlone, match="77 s more"):
                async with guard.attempt(LONG):
                    pass

    async def test_at_once(self) -> None:
        """As many questions as the settings say are out at once, and the next one waits."""
        async with bound("http://127.0.0.1:1", at_once=2) as one:
            guard = one.store.guard
            async with guard.attempt(LONG), guard.attempt(LONG):
                with pytest.raises(StoreTimeout, match="waiting for others"):
                    async with guard.attempt(0.05):
                        pass
