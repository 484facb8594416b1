"""What everybody may know: that somebody is there, which version, and which stores it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter

from cortex_actors.errors import CortexError

if TYPE_CHECKING:
    from cortex_actors.gateways.premises import Premises

#: How the status of a store begins that cannot be asked.
_SKIPPED: Final = "skipped: "

#: What everybody is told of why: the reason itself names addresses, and where tokens lie.
_WHY: Final = "it cannot be asked; GET /stores says why, to the owner"


def routes(premises: Premises) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["about"])

    @router.get("/")
    async def root() -> dict[str, Any]:
        """Return who answers here; stores are left out while nobody knows them."""
        told: dict[str, Any] = {"service": premises.service, "version": premises.version}
        try:
            found = await premises.desk.stores()
        except CortexError:
            return {**told, "stores": [], "skipped": []}
        return {**told, "stores": found["active"], "skipped": _skipped(found["stores"])}

    @router.get("/health")
    async def health() -> dict[str, Any]:
        """Say that somebody is there."""
        return {"ok": True, "ts": premises.seconds()}

    return router


def _skipped(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the stores that cannot be asked."""
    return [
        {"name": row["name"], "reason": _WHY} for row in rows if row["status"].startswith(_SKIPPED)
    ]
