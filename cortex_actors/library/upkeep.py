"""Operations on the health of memories: what nobody reads, what is said twice."""

from __future__ import annotations

from typing import Any

from cortex_actors.library.operations import Operations, said
from cortex_actors.library.reports import Duplicate, Stale


class Upkeep(Operations):
    """Part of the library."""

    async def get_stale(
        self,
        days: float | None = None,
        *,
        limit: int | None = None,
        below: float | None = None,
        days_unused: float | None = None,
    ) -> tuple[Stale, ...]:
        """Return the memories that nobody has read for so many days (30), the oldest first.

        Example:
            >>> [each.id for each in cortex.get_stale(days=90)]
            []

        """
        answer = await self._ask("stale", **said(locals()))
        return tuple(Stale.of(each) for each in _list(answer, "stale", "memories"))

    async def get_duplicates(
        self,
        threshold: float | None = None,
        *,
        limit: int | None = None,
        similarity_threshold: float | None = None,
    ) -> tuple[Duplicate, ...]:
        """Return pairs of memories that say nearly the same, the most alike first.

        Example:
            >>> cortex.get_duplicates(threshold=0.9)
            ()

        """
        answer = await self._ask(
            "duplicates",
            threshold=threshold,
            limit=limit,
            similarity_threshold=similarity_threshold,
        )
        return tuple(Duplicate.of(each) for each in _list(answer, "duplicates", "pairs"))

    async def consolidate(
        self,
        first: str | None = None,
        second: str | None = None,
        *,
        keep: str | None = None,
        id1: str | None = None,
        id2: str | None = None,
    ) -> dict[str, Any]:
        """Make one of two memories that say the same; `split` parts them again.

        `keep` says which stays: higher_access (left out), higher_attention, id1 or id2, or its id.

        Example:
            >>> cortex.consolidate(one.id, two.id, keep="id1")["kept_id"] == one.id
            True

        """
        asked = said(locals())
        # The document's words for the two; the verb knows them by their ids.
        asked["keep"] = {"id1": first or id1, "id2": second or id2}.get(keep or "", keep)
        return await self._ask("consolidate", **asked)


def _list(answer: dict[str, Any], *names: str) -> list[dict[str, Any]]:
    """Return the list of an answer, under the name it has."""
    return next((answer[name] for name in names if name in answer), [])
