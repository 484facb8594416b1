"""Whether stores are there: each is asked what it is, and nothing that anybody wants to know."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import StoreDown
from cortex_actors.federation.received import told
from cortex_actors.federation.store import LOCAL

if TYPE_CHECKING:
    from cortex_actors.clock import Clock
    from cortex_actors.federation.books import Books
    from cortex_actors.federation.spec import StoreSpec

#: Characters of a store's own words about what is wrong that are shown.
SHOWN = 120


class Pinging:
    """Asks stores whether they are there. That is no question: it counts for nothing."""

    def __init__(self, books: Books, clock: Clock) -> None:
        """Ask the stores of these books."""
        self._books = books
        self._clock = clock

    async def ping(self, name: str | None) -> list[dict[str, Any]]:
        """Return what came of it for one store, or for all that are enabled, in order.

        Raises `NotFound`.
        """
        register = self._books.register
        if name is not None:
            return [await self._pinged(register.spec(name))]
        here = [register.spec(each) for each in register.local]
        enabled = [each for each in register.specs() if each.enabled]
        return list(await asyncio.gather(*(self._pinged(each) for each in (*here, *enabled))))

    async def _pinged(self, spec: StoreSpec) -> dict[str, Any]:
        """Return what came of it for one store."""
        begun, says, reason = self._clock.monotonic(), dict[str, Any](), ""
        try:
            if spec.type != LOCAL:
                says = told(await self._asked(spec))
        except StoreDown as error:
            reason = str(error)
            if said := getattr(error, "said", ""):
                words = told({"said": " ".join(said[:SHOWN].split())})["said"]
                reason = f"{reason} ({words})"
        took = (self._clock.monotonic() - begun) * 1_000
        return {
            "name": spec.name,
            "ok": not reason,
            "ms": round(took, 3),
            "reason": reason,
            "says": says,
        }

    async def _asked(self, spec: StoreSpec) -> dict[str, Any]:
        """Return what a store says of itself; one that is not set up is, for this once."""
        register = self._books.register
        seconds = register.knobs.per_store_timeout_s
        bound = register.bound.get(spec.name)
        if bound is not None:
            return await bound.store.ping(seconds)
        bound = await self._books.binder.bind(spec)
        try:
            return await bound.store.ping(seconds)
        finally:
            await bound.close()
