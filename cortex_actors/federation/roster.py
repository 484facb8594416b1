"""Roster: the stores that can be asked, and how each of them has been doing.

hears   -
says    store:up, store:down
asks    ledger, vectors (through the stores, when whoever got them asks)
keeps   counts of answers and failures (lost on a restart; every store then counts as up)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cortex_actors.domain.payload import Ids
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.overflow import Overflow
from cortex_actors.topics import STORE_DOWN, STORE_UP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.federation.store import RecallStore


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """How one store has been doing since the roster started."""

    name: str
    answered: int = 0
    failed: int = 0
    #: Why the last ask failed; empty when it was answered.
    reason: str = field(default="")


class Roster(AsyncioActor):
    """Knows the stores. A store that fails is still asked: it may be back."""

    #: A recall asks who there is and notes who failed: hundreds of recalls at once, then they wait.
    mailbox_limit = 1_000
    overflow = Overflow.BACK_PRESSURE

    def __init__(self, stores: Sequence[RecallStore], bus: Bus) -> None:
        """Begin with every store up."""
        super().__init__()
        self._stores = tuple(stores)
        self._bus = bus
        self._health = {store.name: StoreHealth(store.name) for store in stores}

    def stores(self) -> tuple[RecallStore, ...]:
        """Return the stores to ask."""
        return self._stores

    def health(self) -> tuple[StoreHealth, ...]:
        """Return how each store has been doing."""
        return tuple(self._health.values())

    async def note(self, name: str, reason: str) -> None:
        """Take down how an ask ended (`reason` is empty when it was answered); say what changed."""
        before = self._health[name]
        good = not reason
        self._health[name] = replace(
            before,
            answered=before.answered + good,
            failed=before.failed + (not good),
            reason=reason,
        )
        if bool(before.reason) != bool(reason):
            topic = STORE_UP if good else STORE_DOWN
            await self._bus.publish(topic, Ids((name,)), source=self.actor_name)
