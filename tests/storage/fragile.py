"""An index whose child dies, fails, keeps silent or finds nothing when a test says so."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from cortex_actors.clock import SystemClock
from cortex_actors.errors import ChildProcessDown, DeadlineExceeded
from cortex_actors.runtime.child import ChildHandlerError
from cortex_actors.testing import ManualClock, eventually
from tests.kills.standing import Calm
from tests.process.branch import Branch, running
from tests.simulation.index import Child, Shelf

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from cortex_actors.runtime.child import ChildProcess
    from tests.simulation.weather import Weather
    from tests.storage.support import Store

HERE = "/projects/atlas/CLAUDE.md"

#: Texts and their vectors.
TEXTS = {"x": (1, 0, 0), "xy": (1, 1, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


class Fragile(Shelf):
    """Children that die of some ops, fail at others, and answer others never."""

    def __init__(self) -> None:
        super().__init__(cast("Weather", Calm()), SystemClock())
        self.deadly: set[str] = set()
        self.failing: set[str] = set()
        self.silent: set[str] = set()
        self.deaf = False
        self.begun = 0

    async def spawn(self, _module: str, **_how: Any) -> ChildProcess:
        """Start a child."""
        self.begun += 1
        self.children = [FragileChild(self)]
        return cast("ChildProcess", self.children[0])


class FragileChild(Child):
    """One such child."""

    def __init__(self, shelf: Fragile) -> None:
        super().__init__(shelf)
        self._fragile = shelf

    async def request(
        self, op: str, params: Mapping[str, Any], body: bytes = b"", *, deadline: float
    ) -> tuple[dict[str, Any], bytes]:
        """Do what is asked, die of it, fail, or never answer."""
        if op in self._fragile.deadly and self.lives:
            self.code = -11
            self.finish(ChildProcessDown("on purpose"))
        if op in self._fragile.failing:
            raise ChildHandlerError("on purpose", "InternalError")
        if op in self._fragile.silent:
            await asyncio.wait({self._end}, timeout=deadline)
            if self.lives:
                raise DeadlineExceeded("on purpose")
        answer, found = await super().request(op, params, body, deadline=deadline)
        if op == "query" and self._fragile.deaf:
            none: list[list[Any]] = [[] for _ in range(len(body) // (4 * params["dimension"]))]
            answer = {name: {"ids": none, "cosines": none} for name in answer}
        return answer, found


class World:
    """A ledger with four items, the index, and a clock that is turned by hand."""

    def __init__(self, branch: Branch, shelf: Fragile, clock: ManualClock) -> None:
        self.branch = branch
        self.shelf = shelf
        self.clock = clock

    async def away(self) -> float:
        """Wait until the index rests, and return for how long."""
        await eventually(lambda: "away" == self.branch.info.state and self.clock.sleepers > 0)
        return self.clock.due

    async def rest(self) -> None:
        """Let the rest be over."""
        begun = self.shelf.begun
        self.clock.advance(await self.away())
        await eventually(lambda: self.shelf.begun > begun)


@asynccontextmanager
async def world(store: Store, **settings: Any) -> AsyncIterator[World]:
    """Run an index on children that can be made to die."""
    await store.says(HERE, *TEXTS)
    await store.embed(**dict(TEXTS.items()))
    shelf, clock = Fragile(), ManualClock()
    async with running(store, clock=clock, spawn=shelf.spawn, **settings) as branch:
        yield World(branch, shelf, clock)
