"""What another Cortex asks: one question over everything that is everybody's here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from cortex_actors.gateways.bodies import Recalled  # noqa: TC001 - read at run time
from cortex_actors.gateways.wording import asked, clean

if TYPE_CHECKING:
    from cortex_actors.gateways.premises import Premises


def routes(premises: Premises) -> APIRouter:
    """Return the route of the contract."""
    router = APIRouter(tags=["cortex"])

    @router.post("/recall")
    async def recall(body: Recalled) -> dict[str, Any]:
        """Return hits, best first, each with where it stands."""
        found: dict[str, Any] = {"hits": [], "skipped": []}
        if query := asked(body.query):
            found = await premises.desk.outside_recall(query, body.limit)
        return {
            "service": premises.service,
            "version": premises.version,
            "query": body.query,
            "hits": [_plain(each) for each in found["hits"]],
            "skipped": found["skipped"],
        }

    return router


def _plain(hit: dict[str, Any]) -> dict[str, Any]:
    """Return a hit whose texts are all valid."""
    return {name: clean(value) if isinstance(value, str) else value for name, value in hit.items()}
