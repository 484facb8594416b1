"""The real tree on simulated surroundings, kept up as a service would keep it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from cortex_actors import tree as trees
from cortex_actors.assembly.context import Outside
from cortex_actors.bus.consumer import Consumer
from cortex_actors.home import Home
from cortex_actors.settings import Settings
from supervision import StartError
from tests.simulation.disk import Disk, SimulatedLedger
from tests.simulation.folders import Folders, SimulatedHints
from tests.simulation.index import Shelf
from tests.simulation.model import SimulatedModel
from tests.simulation.weather import Weather
from tests.simulation.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from cortex_actors.process.logs import LogStream
    from cortex_actors.runtime.actor import AsyncioActor
    from cortex_actors.tree import Tree
    from tests.simulation.simulated_loop import Simulation

#: Numbers that make a run short; the rests are still longer than the supervisors' window.
SETTINGS = {
    "embedding": {"provider": "hashing", "batch_ms": 50},
    "events": {"pauses_s": [1.0, 6.0, 12.0], "max_deliveries": 4},
    "watching": {"sweep_s": 8.0},
    "storage": {"index_timeout_s": 5.0},
}

#: What one file says is a principle at once, which every other file lacks.
AGREED = {
    "reconciliation": {
        "promotion_confidence": 0.0,
        "promotion_observations": 1,
        "promotion_age_days": 0,
        "promotion_projects": 1,
    },
    "resolution": {"least": 0.0, "unapproved": True},
}

#: One story in so many has files written: it takes twice the time of the others.
WRITING = 3

#: Seconds that a stop may take before what is left is killed (the daemon's own number).
STOP = 8.0

#: Times that a tree may not start in a row.
TRIES = 20

#: Seconds in which whatever a tree has begun must be over after its end: the longest ask.
LINGER = 61.0


class Service:
    """One home through many lives of the daemon; what it has promised is kept here, too."""

    def __init__(self, simulation: Simulation, root: Path) -> None:
        self.simulation = simulation
        self.weather = Weather(simulation)
        self.disk = Disk(self.weather, simulation.loop)
        self.disk.on_commit = self._on_commit
        self.shelf = Shelf(self.weather, simulation.clock)
        self.folders = Folders(root / "projects", simulation, self.weather)
        self.home = Home.find(root / "home", {})
        self.writes = simulation.seed % WRITING == 0
        self.settings = Settings.model_validate(SETTINGS | (AGREED if self.writes else {}))
        #: Ids of events whose publisher was told that they are durable.
        self.acknowledged: list[str] = []
        self.problems: list[str] = []
        self.tree: Tree | None = None
        self._witness = Witness(simulation)
        self._asks: set[asyncio.Task[None]] = set()

    async def ensure(self) -> Tree:
        """Return a tree that runs, starting one as often as it takes."""
        tries = 0
        while self.tree is None or self._has_ended():
            assert (tries := tries + 1) < TRIES, "the tree does not start"
            await self.stop()
            tree = self._grown()
            try:
                self.tree = await tree.start()
            except StartError as error:
                self.simulation.note(f"the tree did not start: {error}")
                self._forget_asks()
                await self._end(tree)
                await self.simulation.clock.sleep(1.0)
        return self.tree

    async def stop(self) -> None:
        """Stop the tree in order; one that gave up must say over whom."""
        tree, self.tree = self.tree, None
        if tree is None:
            return
        if tree.supervisor.snapshot().state == "stopped":
            reason = await tree.exited()
            self.simulation.note(f"the tree gave up: {reason}")
            if "crashed too often" not in str(reason) and reason != "killed":
                self.problems.append(f"the tree gave up and said only {reason!r}")
        self._forget_asks()
        await self._end(tree)

    async def cut(self) -> None:
        """Cut the power: nothing more reaches the disk, and nobody says goodbye."""
        tree, self.tree = self.tree, None
        self.disk.cut()
        self.shelf.cut()
        if tree is not None:
            self._forget_asks()
            tree.supervisor.kill()
            await self._end(tree)

    def ask(self, what: str, ask: Callable[[Tree], Awaitable[Any]], *, within: float = 300) -> None:
        """Begin an ask; it has an answer or an error within so many seconds, or is a problem."""
        if self.tree is None:
            return
        work = self._asked(what, ask(self.tree), within)
        task = asyncio.get_running_loop().create_task(work, name=f"ask {what}")
        self._asks.add(task)
        task.add_done_callback(self._asks.discard)

    async def answered(self) -> None:
        """Return once every ask has its answer."""
        if self._asks:
            await asyncio.wait(self._asks)

    def _has_ended(self) -> bool:
        return self.tree is not None and self.tree.supervisor.snapshot().state == "stopped"

    async def _asked(self, what: str, answer: Awaitable[Any], within: float) -> None:
        try:
            async with asyncio.timeout(within) as limit:
                given = await answer
        except TimeoutError:
            if limit.expired():
                self.problems.append(f"{what} was neither answered nor refused in {within} s")
        except Exception as error:  # noqa: BLE001 - any error is an answer
            self.simulation.note(f"{what} failed: {error!r}"[:200])
        else:
            if isinstance(given, dict) and given.get("seq"):
                self.acknowledged.append(given["id"])

    def _forget_asks(self) -> None:
        """End the asks, as a daemon that ends closes its connections."""
        for task in list(self._asks):
            task.cancel()

    async def _end(self, tree: Tree) -> None:
        """Bring a tree to its end; after a while nothing of it is left."""
        await tree.stop(STOP)
        await self.simulation.clock.sleep(LINGER)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        names = sorted(task.get_name() for task in left)
        if names:
            self.problems.append(f"after the end of the tree there are still {names}")
        self.problems += self._witness.problems

    def _grown(self) -> Tree:
        """Return a tree whose every life is witnessed."""
        self._witness = witness = Witness(self.simulation)
        weather, clock = self.weather, self.simulation.clock
        outside = Outside(
            ledger=partial(SimulatedLedger, disk=self.disk),
            spawn=self.shelf.spawn,
            provider=lambda *_, **__: SimulatedModel(weather, clock),
            hints=lambda *_: cast("Any", SimulatedHints(self.folders)),
            witness=witness.hear,
        )
        logs = cast("LogStream", _Logs(self.simulation))
        tree = trees.grow(self.home, self.settings, clock, logs, outside=outside)
        for name, make in tree.parts.make.items():
            tree.parts.make[name] = partial(witness.made, name, partial(self._made, make))
        return tree

    def _made(self, make: Callable[[], AsyncioActor]) -> AsyncioActor:
        """Make an actor; a consumer's handlers are slow, and fail now and then."""
        actor = make()
        if isinstance(actor, Consumer):
            for method in sorted(set(actor.hears.values())):
                setattr(actor, method, partial(self._handled, actor, getattr(actor, method)))
        return actor

    def _kill_soon(self, actor: AsyncioActor) -> None:
        self.simulation.loop.call_later(self.weather.delay(0.01), actor.actor_ref.kill)

    def _on_commit(self) -> None:
        """End the ledger, now and then, when a commit is done and nobody knows it yet."""
        if self.tree is not None and self.weather.strikes("the ledger is killed", 0.01):
            ledger = self.tree.parts.names.whereis("ledger")
            if ledger is not None:
                ledger.kill()

    async def _handled(
        self, actor: AsyncioActor, handler: Callable[..., Awaitable[Any]], event: Any
    ) -> Any:
        poisoned = getattr(event.payload, "path", None) == (self.weather.poison or "")
        if poisoned or self.weather.strikes("a handler fails", 0.02):
            raise RuntimeError("a fault planted before the handler")
        await self.simulation.clock.sleep(self.weather.delay(0.002))
        outcome = await handler(event)
        if self.weather.strikes("it is killed while it commits", 0.08):
            self._kill_soon(actor)
        if self.weather.strikes("a handler fails late", 0.02):
            raise RuntimeError("a fault planted after the handler")
        return outcome


class _Logs:
    """The log stream, as far as the tree uses it: lines of the trace."""

    #: When the last line of an earlier life was written; a simulation writes no log.
    before_at: None = None

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def write(self, level: str, text: str, **fields: object) -> None:
        """Write a line."""
        self._simulation.note(f"{level} {fields.get('actor')}: {fields.get('topic')} {text[:60]}")
