"""Line-up: what is said at once and lies near each other is remembered one after another.

Two texts that say the same, planned at the same moment, would both find nothing and both be saved.
So a text waits for those of its scope that came before it and are near enough to become one with
it. Everything else goes on at the same time.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.similar_memories import Scope


@dataclass(eq=False, slots=True)
class _Place:
    """One text under way."""

    vector: Matrix
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Lineup:
    """Who is under way, by scope, in the order in which they came."""

    def __init__(self, floor: float) -> None:
        """Let a text wait for those that are at least so near."""
        self._floor = floor
        self._under_way: dict[Scope, list[_Place]] = {}

    @asynccontextmanager
    async def turn(self, scope: Scope, vector: Matrix) -> AsyncIterator[None]:
        """Give a text its turn; it waits for earlier ones alone, so that nobody waits for ever."""
        mine = _Place(vector)
        line = self._under_way.setdefault(scope, [])
        before = [each for each in line if float(each.vector @ vector) >= self._floor]
        line.append(mine)
        try:
            for each in before:
                await each.over.wait()
            yield
        finally:
            mine.over.set()
            line.remove(mine)
            if not line and self._under_way.get(scope) is line:
                del self._under_way[scope]
