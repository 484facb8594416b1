"""The lists of one search, and the one list that becomes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from cortex_actors.rules.fusion import DOCUMENT, LISTS, MEASURED, Profile, Ranked, fuse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.memorysections import MemorySettings
    from cortex_actors.rules.fusion import Fused


class Named(Protocol):
    """What a list says of an item: which it is, and how near it is in the list's own measure."""

    @property
    def collection(self) -> str:
        """The item's collection."""

    @property
    def item_id(self) -> str:
        """The item's id."""

    @property
    def score(self) -> float:
        """How near it is; cosines and BM25 share no scale."""


@dataclass(slots=True)
class Lists:
    """What each list that was asked said, best first."""

    said: dict[str, Sequence[Named]] = field(default_factory=dict)

    @property
    def items(self) -> dict[str, str]:
        """The collection of each item that any list holds."""
        return {each.item_id: each.collection for found in self.said.values() for each in found}

    def fused(self, profile: Profile, *, total: int | None = None) -> list[Fused]:
        """Return one list, best first; `total` counts the items that could be in a list."""
        lists = {
            name: [Ranked(each.item_id, each.score) for each in found]
            for name, found in self.said.items()
        }
        absent = None if total is None else total + 1
        return fuse(lists, weights=profile.weights, k=profile.k, first=profile.first, absent=absent)

    def holding(self, item: Fused) -> list[str]:
        """Return the lists that hold an item."""
        return [name for name in LISTS if name in item.ranks]

    def measured(self, name: str, item: Fused) -> float | None:
        """Return what a list measured of an item; None where the list does not hold it."""
        rank = item.ranks.get(name)
        return None if rank is None else round(self.said[name][rank - 1].score, 4)

    def explained(self, item: Fused, *, weighed: bool) -> dict[str, dict[str, Any]]:
        """Return each list's place for an item; `weighed` adds what the list measured.

        An agent is not told what words weigh: that lies within what it may read, and is not needed.
        """
        return {
            name: self._place(name, item.ranks[name], weighed=weighed)
            for name in self.holding(item)
        }

    def _place(self, name: str, rank: int, *, weighed: bool) -> dict[str, Any]:
        """Return one place in a list."""
        score = round(self.said[name][rank - 1].score, 4)
        shown = weighed or name.startswith("dense")
        return {"rank": rank, "score": score} if shown else {"rank": rank}


def profile_of(settings: MemorySettings) -> Profile:
    """Return the ranking that the settings name."""
    fixed: Mapping[str, Profile] = {each.name: each for each in (MEASURED, DOCUMENT)}
    if settings.profile in fixed:
        return fixed[settings.profile]
    weights = {name: getattr(settings, f"weight_{name}") for name in LISTS}
    return Profile("custom", settings.rrf_k, weights)
