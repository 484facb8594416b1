"""One seed's story: a tree, people who use it, everything that can go wrong, then a calm."""

from __future__ import annotations

import gc
import logging
import shutil
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors import topics
from cortex_actors.errors import ActorAway
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.names import NamedActor
from tests.simulation import audit
from tests.simulation.folders import PROJECTS, Place
from tests.simulation.service import Service
from tests.simulation.simulated_loop import Simulation, simulate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from cortex_actors.tree import Tree

T = TypeVar("T")

#: How many things happen in one run: mostly few, because a short story is easier to read.
SHORT = (2, 4, 6, 8, 16)

#: The same for seeds that only a soak plays, and from which seed on that is.
LONG, FIRST_LONG = (6, 12, 24), 300

#: Changes to files before the first start.
FILES_AT_FIRST = 2

#: Seconds up to which one waits for the next.
GAP = 1.5

#: Seconds within which a tree in good weather must have learned everything.
CALM = 600.0


#: Finds writes that have no end: until nobody can write to what they displaced any more.
UNENDED = "SELECT path, state, aside FROM file_writes WHERE state = 'pending' OR aside <> ''"


class Broken(AssertionError):
    """A promise was not kept."""


class Scenario:
    """What happens in one run, and what must be true afterwards."""

    def __init__(self, simulation: Simulation, root: Path) -> None:
        self.simulation = simulation
        self.random = simulation.random
        self.service = Service(simulation, root)
        self._acts: list[tuple[int, Callable[[Tree], Any]]] = [
            (6, self._change),
            (2, self._burst),
            (4, self._publish),
            (3, self._recall),
            (2, self._status),
            (3, self._follow),
            (2, self._leave),
            (3 * self.service.writes, self._opt),
            (3 * self.service.writes, self._resolve),
            (4, self._crash),
            (3, self._kill),
            (1, self._kill_branch),
            (1, self._storm),
            (2, self._jump),
            (2, self._spell),
            (1, self._end_child),
            (1, self._poison),
            (1, self._stop),
            (1, self._cut),
        ]

    async def play(self) -> None:
        """Play the whole story; raises `Broken`."""
        service = self.service
        for _ in range(FILES_AT_FIRST):
            service.folders.change()
        tree = await service.ensure()
        for name in PROJECTS[:2]:
            await self._taken_up(tree, service.folders.path(name))
        service.weather.is_bad = True
        shares = [share for share, _ in self._acts]
        acts = SHORT if self.simulation.seed < FIRST_LONG else LONG
        for _ in range(self.random.choice(acts)):
            tree = await service.ensure()
            ((_, act),) = self.random.choices(self._acts, shares)
            self.simulation.note(f"> {act.__name__[1:]}")
            if (wait := act(tree)) is not None:
                await wait
            await self.simulation.clock.sleep(self.random.uniform(0, GAP))
            self._check_watchers()
        await self._calm()

    async def _calm(self) -> None:
        """Let everything settle, and look whether every promise was kept."""
        service = self.service
        service.weather.calm()
        self.simulation.note("the calm")
        tree = await service.ensure()
        await service.answered()
        followed = set(self.random.sample(PROJECTS, self.random.randint(1, len(PROJECTS))))
        for name in PROJECTS:
            path = service.folders.path(name)
            if name in followed:
                await self._taken_up(tree, path)
            elif path in await self._insist(lambda: self._followed(tree)):
                await tree.cortex.remove_project(path)
        said = service.folders.insights(followed)
        try:
            await self.simulation.until(lambda: self._is_well(tree, said), CALM)
        except TimeoutError:
            service.problems.append(self._unsettled(said))
            service.problems.append(f"status is {await tree.cortex.status()}")
        service.problems += self._index_problems()
        await service.stop()
        service.problems += audit.problems(service.disk, service.acknowledged)
        service.problems += service.folders.problems()
        if service.problems:
            raise Broken("\n".join(service.problems[:10]))

    async def _insist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Return an answer once there is one: the calm may begin in the middle of a restart."""
        end = self.simulation.clock.monotonic() + CALM
        while True:
            try:
                return await ask()
            except ActorAway:
                if self.simulation.clock.monotonic() > end:
                    raise
            # A refusal may come without a turn of the loop, and then no time passes by itself.
            await self.simulation.clock.sleep(GAP)

    async def _followed(self, tree: Tree) -> set[str]:
        return {each["root"] for each in (await tree.cortex.projects())["projects"]}

    async def _taken_up(self, tree: Tree, path: str) -> None:
        """Follow a project; in some stories its files are written."""
        await self._insist(lambda: tree.cortex.add_project(path))
        if self.service.writes:
            await tree.cortex.set_auto(path, on=True)

    def _is_settled(self, said: set[Place]) -> bool:
        query = "SELECT (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM index_ops)"
        if self.service.disk.query(UNENDED):
            return False
        (waits,) = self.service.disk.query(query)
        return waits == (0,) and self._known() == said

    async def _is_well(self, tree: Tree, said: set[Place]) -> bool:
        if not self._is_settled(said):
            return False
        status = await tree.cortex.status()
        well = all("set aside" in each for each in status["reasons"])  # dead letters stay
        well = well and status["index"]["state"] == "ready"
        # Once more: an index that has been opened only now may have all to learn.
        return well and self._is_settled(said)

    def _known(self) -> set[Place]:
        """Return what the ledger has of the followed projects."""
        rows = self.service.disk.query(
            "SELECT s.path, s.said_id, s.line_start, s.line_end FROM insight_sources s "
            "JOIN projects p ON p.id = s.project_id AND p.active = 1 "
            "JOIN insights i ON i.id = s.insight_id AND i.status IN ('active', 'contradicted') "
            "WHERE s.withdrawn_at IS NULL"
        )
        return {Place(*row) for row in rows}

    def _unsettled(self, said: set[Place]) -> str:
        known, disk = self._known(), self.service.disk
        waiting = disk.query("SELECT consumer, seq, attempts, due_at FROM deliveries")
        changes = disk.query("SELECT count(*) FROM index_ops")
        writes = disk.query(UNENDED)
        return (
            f"{CALM:.0f} s of calm were not enough: {sorted(said - known)} is not known, "
            f"{sorted(known - said)} should be forgotten; {waiting} wait; "
            f"{changes} changes are not in the index; {writes} have no end"
        )

    def _index_problems(self) -> list[str]:
        """Return in what the index that answers now differs from the ledger."""
        rows = self.service.disk.query(
            "SELECT id FROM insights WHERE status IN ('active', 'contradicted')"
        )
        active = {each for (each,) in rows}
        answering = [child.held for child in self.service.shelf.children if child.lives]
        return [f"the index differs by {held ^ active}" for held in answering if held != active]

    def _check_watchers(self) -> None:
        """Note a project that has two watchers."""
        tree = self.service.tree
        if tree is None:
            return
        names = [name for name in tree.parts.names.list_known() if name.startswith("watcher(")]
        if len(names) > len(PROJECTS):
            self.service.problems.append(f"there are too many watchers: {names}")

    # What can happen.

    def _change(self, _tree: Tree) -> None:
        self.service.folders.change()

    async def _burst(self, tree: Tree) -> None:
        for _ in range(self.random.randint(3, 10)):
            path = self.service.folders.change()
            self._say(topics.FILE_CHANGED, {"path": path})
            await self.simulation.clock.sleep(self.random.uniform(0, 0.02))

    def _publish(self, _tree: Tree) -> None:
        topic, payload = self.random.choice(
            (
                (topics.SCAN_REQUESTED, {}),
                (topics.RECONCILIATION_REQUESTED, {}),
                (topics.ORGANISATION_REQUESTED, {}),
                ("custom:ping", {"number": self.random.randint(0, 9)}),
            )
        )
        self._say(topic, payload)

    def _say(self, topic: str, payload: dict[str, Any]) -> None:
        self.service.ask(f"publish {topic}", lambda t: t.cortex.publish(topic, payload))

    def _recall(self, _tree: Tree) -> None:
        query = self.random.choice(("run the tests", "which style", "names of modules"))
        self.service.ask("recall", lambda t: t.cortex.recall(query))

    def _status(self, _tree: Tree) -> None:
        self.service.ask("status", lambda t: t.cortex.status(), within=5.0)

    def _follow(self, _tree: Tree) -> None:
        path = self.service.folders.path(self.random.choice(PROJECTS))
        self.service.ask("add_project", lambda t: t.cortex.add_project(path))

    def _leave(self, _tree: Tree) -> None:
        path = self.service.folders.path(self.random.choice(PROJECTS))
        self.service.ask("remove_project", lambda t: t.cortex.remove_project(path))

    def _opt(self, _tree: Tree) -> None:
        path, on = self.service.folders.path(self.random.choice(PROJECTS)), self.random.random()
        self.service.ask("set_auto", lambda t: t.cortex.set_auto(path, on=on < 0.7))

    def _resolve(self, _tree: Tree) -> None:
        path, dry = self.service.folders.path(self.random.choice(PROJECTS)), self.random.random()
        if dry < 0.7:
            self._say(topics.RESOLUTION_REQUESTED, {"path": path, "agent": "claude"})
        self.service.ask("resolve", lambda t: t.cortex.resolve(path, dry_run=dry < 0.4))

    def _crash(self, tree: Tree) -> None:
        self.simulation.note(name := self._somebody(tree))
        NamedActor[Any](name, tree.parts.names).tell(AsyncioActor.crash)

    def _kill(self, tree: Tree) -> None:
        self.simulation.note(name := self._somebody(tree))
        if (ref := tree.parts.names.whereis(name)) is not None:
            ref.kill()

    def _kill_branch(self, tree: Tree) -> None:
        self.simulation.note(name := self.random.choice(sorted(tree._live)))
        tree._live[name].kill()

    async def _storm(self, tree: Tree) -> None:
        self.simulation.note(name := self._somebody(tree))
        for _ in range(self.random.randint(3, 12)):
            NamedActor[Any](name, tree.parts.names).tell(AsyncioActor.crash)
            await self.simulation.clock.sleep(self.random.uniform(0, 0.5))

    def _somebody(self, tree: Tree) -> str:
        return self.random.choice(sorted(tree.parts.names.list_known()) or ["nobody"])

    def _jump(self, _tree: Tree) -> None:
        seconds = self.random.choice((1.0, 60.0, 3_600.0, 200_000.0))
        self.simulation.clock.jump(self.random.choice((1, -1)) * seconds)

    def _spell(self, _tree: Tree) -> None:
        self.service.weather.spell(self.random.choice(("disk", "model")), self.random.uniform(0, 9))

    def _end_child(self, _tree: Tree) -> None:
        for child in self.service.shelf.children:
            child.kill()

    def _poison(self, _tree: Tree) -> None:
        self.service.weather.poison = self.service.folders.change()

    async def _stop(self, _tree: Tree) -> None:
        await self.service.stop()

    async def _cut(self, _tree: Tree) -> None:
        await self.service.cut()


def play(seed: int, root: Path, *, late: float | None = None) -> Simulation:
    """Play one seed's story in a folder, and return what is left of it; raises `Broken`."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)

    async def main(simulation: Simulation) -> Simulation:
        await Scenario(simulation, root).play()
        return simulation

    logging.disable(logging.CRITICAL)
    gc.disable()  # a third of the time of many short runs
    try:
        return simulate(main, seed=seed, late=late)
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)
        shutil.rmtree(root, ignore_errors=True)
