"""The supervision tree: which actors there are, what restarts with what, what each is handed.

```
cortex                    rest_for_one
├── storage               rest_for_one
│   ├── ledger
│   ├── vectors
│   └── indexer
├── tasks                 dynamic
├── embedding             rest_for_one
│   ├── cache
│   ├── pool
│   └── migrator
├── judging               one_for_one
│   └── judge
├── work                  one_for_one
│   ├── pipeline          one_for_one
│   │   ├── accumulator
│   │   ├── reconciler
│   │   ├── organiser
│   │   └── resolver
│   ├── memory            one_for_one
│   │   ├── archivist
│   │   ├── village
│   │   ├── trail
│   │   ├── custodian
│   │   └── librarian
│   ├── federation        rest_for_one
│   │   ├── roster
│   │   └── federation
│   ├── watching          rest_for_one
│   │   ├── watchers      simple_one_for_one
│   │   └── watchlist
│   └── schedule          one_for_one
│       └── scheduler
└── gateways              one_for_one
    └── http
```

Children start from top to bottom and stop in reverse; a watcher for each project joins `watchers`
while the daemon runs. What is below needs what is above (`rest_for_one`); in `work`, a
branch that gives up comes back alone. A test compares this with `TREE` and with the live tree.

The supervision tree as a drawing: one line a node, with what is unusual about it.

The scribe: every event of the bus as a line of the log stream.

The watchers of the live tree: one for each followed project, under a supervisor of their own.

They are made from a template and named by their handles; the watchlist says which there should be.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import supervision
from cortex_actors import topics
from cortex_actors.assembly.context import Outside, World
from cortex_actors.assembly.inspection import TOLD, Crashes, find_child, inspect
from cortex_actors.assembly.reload import Branch, Reload, list_places
from cortex_actors.assembly.wiring import Assembly
from cortex_actors.domain.event import ActorLife, Event, Payload, dump_payload
from cortex_actors.errors import ActorAway, CortexError, TooManyTasks, UnknownActor
from cortex_actors.runtime.actor import ActorHandle, AsyncioActor, start_actor
from cortex_actors.runtime.names import NamedActor, Names
from cortex_actors.runtime.tasks import MAX_TASKS, Task, TaskSupervisor
from cortex_actors.runtime.watchdog import Watchdog
from cortex_actors.storage import events
from cortex_actors.storage.ledger import actor
from cortex_actors.watching.watcher import Watcher, WatcherParts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from cortex_actors.api.desk import FrontDesk
    from cortex_actors.bus.bus import Bus, Deliver
    from cortex_actors.clock import Clock
    from cortex_actors.domain.project import Project
    from cortex_actors.home import Home
    from cortex_actors.process.logs import LogStream
    from cortex_actors.settings import Settings
    from cortex_actors.storage.events import StoredEvent
    from cortex_actors.storage.ledger.actor import Connection
    from supervision import Node


def render(node: Node, *, detail: bool = True) -> str:
    """Draw a tree, one line a node: name, strategy, what is unusual, and `detail` if wanted."""
    rows = list(_rows(node, "", "", detail=detail))
    width = max(len(left) for left, _ in rows)
    return "\n".join(f"{left:<{width}}  {right}".rstrip() for left, right in rows)


def _rows(node: Node, first: str, rest: str, *, detail: bool) -> Iterator[tuple[str, str]]:
    remarks = [node.strategy or "", "" if node.state == "running" else node.state]
    remarks += [f"restarts {node.restarts}"] if node.restarts else []
    remarks += [f"{key} {value}" for key, value in node.detail.items()] if detail else []
    yield first + node.name, ", ".join(filter(None, remarks))
    for child in node.children:
        last = child is node.children[-1]
        branch, below = ("└── ", "    ") if last else ("├── ", "│   ")
        yield from _rows(child, rest + branch, rest + below, detail=detail)


#: Events that are looked through for those that were published while no daemon ran.
MISSED = 1_000

#: Characters of a payload that a log line shows; the event itself is in the ledger.
TEXT_LIMIT = 300


def make_scribe(logs: LogStream) -> Deliver:
    """Return a receiver that writes every event into the log stream."""
    return lambda event: note(logs, event, fields=dump_payload(event.payload))


def note(
    logs: LogStream, event: Event[Payload] | StoredEvent, *, fields: Mapping[str, object]
) -> None:
    """Write an event into the log stream; `fields` are its payload's."""
    text = " ".join([f"{key}={given}" for key, given in fields.items() if given or given == 0])
    logs.write("info", text[:TEXT_LIMIT], actor=event.source, topic=event.topic, event=event.id)


def list_missed(
    connection: Connection, *, after: int, before: int
) -> list[tuple[StoredEvent, Any]]:
    """Return the events that were published between two moments, the first first.

    Of the newest `MISSED` of the ledger, each with what it says.
    """
    found = events.list_events(connection, limit=MISSED)[::-1]
    return [events.load_event(connection, e.id)[:2] for e in found if after < e.at < before]


class Watchers:
    """Starts and ends watchers, one for each project however often it is asked to."""

    def __init__(self, names: Names, supervisor: Callable[[], supervision.Supervisor]) -> None:
        """Have none; `supervisor` gives the one whose children they are now."""
        self._names = names
        self._supervisor = supervisor
        self._handles: dict[str, ActorHandle] = {}

    async def start_watcher(self, project: Project) -> None:
        """Start the watcher of a project; nothing happens when it has one.

        Raises `ActorAway` when it does not start.
        """
        if project.id in self._handles:
            return
        try:
            await self._supervisor().start_child((project,))
        except supervision.SupervisionError as error:
            message = f"cannot watch {project.root}: {error}; it is tried again in a moment"
            raise ActorAway(message) from error

    async def end_watcher(self, project_id: str) -> None:
        """End the watcher of a project; nothing happens when it has none.

        Raises `ActorAway` when it was replaced meanwhile, or its supervisor is.
        """
        handle = self._handles.get(project_id)
        if handle is None:
            return
        try:
            await self._supervisor().terminate_child(handle)
        except supervision.SupervisionError as error:
            if self._handles.get(project_id) is not handle or handle.ref.is_alive():
                message = f"cannot stop watching {project_id}: {error}; it is tried again"
                raise ActorAway(message) from error
        if self._handles.get(project_id) is handle:
            del self._handles[project_id]

    def list_watched(self) -> frozenset[str]:
        """Return the ids of the projects that have a watcher."""
        return frozenset(self._handles)

    def make_template(self, parts: Callable[[], WatcherParts]) -> supervision.ChildSpec:
        """Return how a watcher is started; a new supervisor asks for it, and has none yet."""
        self._handles.clear()
        return supervision.ChildSpec("watcher", partial(self._start, parts))

    async def _start(
        self, parts: Callable[[], WatcherParts], project: Project
    ) -> supervision.Handle | supervision.Ignore:
        """Start one life of a project's watcher; two projects may have one name.

        A start that was asked for twice (its caller may have gone meanwhile) is ignored.
        """
        before = self._handles.get(project.id)
        if before is not None and before.ref.is_alive():
            return supervision.IGNORE
        name = f"watcher({project.name})"
        if self._names.whereis(name) is not None:
            name = f"watcher({project.name}-{project.id[4:10]})"
        handle = await start_actor(self._names, name, Watcher, project, parts())
        self._handles[project.id] = handle
        return handle


TREE: Final = Branch(
    "cortex",
    "rest_for_one",
    (
        Branch("storage", "rest_for_one", ("ledger", "vectors", "indexer")),
        Branch("tasks", "dynamic", ()),
        Branch("embedding", "rest_for_one", ("cache", "pool", "migrator")),
        Branch("judging", "one_for_one", ("judge",)),
        Branch(
            "work",
            "one_for_one",
            (
                Branch(
                    "pipeline",
                    "one_for_one",
                    ("accumulator", "reconciler", "organiser", "resolver"),
                ),
                Branch(
                    "memory",
                    "one_for_one",
                    ("archivist", "village", "trail", "custodian", "librarian"),
                ),
                Branch("federation", "rest_for_one", ("roster", "federation")),
                Branch(
                    "watching",
                    "rest_for_one",
                    (Branch("watchers", "simple_one_for_one", ()), "watchlist"),
                ),
                Branch("schedule", "one_for_one", ("scheduler",)),
            ),
        ),
        Branch("gateways", "one_for_one", ("http",)),
    ),
)

#: Restarts of a branch within `PERIOD` seconds that are one too many (Elixir's defaults). A
#: consumer rests after each crash, so one poison event stays below this for ever.
INTENSITY: Final = 3
PERIOD: Final = 5.0


def grow(
    home: Home, settings: Settings, clock: Clock, logs: LogStream, *, outside: Outside | None = None
) -> Tree:
    """Return the tree of one home; nothing runs before `start`.

    A simulation hands over an `outside` of its own: everything else is the daemon's.
    """
    return Tree(home, settings, clock=clock, logs=logs, outside=outside or Outside())


class Tree:
    """The live tree; it can draw itself, and say why it gave up."""

    def __init__(
        self, home: Home, settings: Settings, *, clock: Clock, logs: LogStream, outside: Outside
    ) -> None:
        """Put every part together."""
        self._clock = clock
        self._outside = outside
        self._home = home
        self._logs = logs
        self._live: dict[str, supervision.Supervisor] = {}
        self._crashes = Crashes(clock.now)
        names = Names()
        self.watchers = Watchers(names, lambda: self._live["watchers"])
        ours = (self.draw, self.crash, self.inspect, self.reload, self.start_again)
        tasks = TaskSupervisor(self._start_task)
        world = World(home, settings, clock, logs, names, self.watchers, tasks, *ours, outside)
        self.parts = Assembly(world)
        branch, adopt = self._live.get, self.parts.adopt
        self._reload = Reload(
            home, settings, adopt=adopt, places=list_places(TREE), branch=branch, names=names
        )
        self.bus.subscribe("*", make_scribe(logs))
        self.supervisor = self._make(TREE)
        self._watchdog = Watchdog(names)

    @property
    def cortex(self) -> FrontDesk:
        """The verbs."""
        return self.parts.cortex

    @property
    def bus(self) -> Bus:
        """The topics."""
        return self.parts.bus

    @property
    def fatal(self) -> CortexError | None:
        """Return the error over which the tree ended at once, or that its stop ran into."""
        return self._crashes.fatal or actor.find_fault(self._home.ledger)

    async def start(self) -> Tree:
        """Start every branch; raises `StartError` when one does not start.

        What was published while no daemon ran is then written into the log stream, which has
        nothing of it.
        """
        after, before = self._logs.before_at, self._clock.now()
        try:
            await self.supervisor.start()
        except supervision.StartError as error:
            if self.fatal is not None:
                raise self.fatal from error
            raise
        self._watchdog.start()
        with suppress(CortexError):
            read = partial(list_missed, after=after, before=before)
            for event, said in await self.parts.records.read(read) if after else ():
                note(self._logs, event, fields=said if isinstance(said, dict) else {})
        return self

    async def stop(self, timeout: float | None) -> None:
        """Stop every branch in reverse; kill what is still alive after `timeout` seconds."""
        self.parts.practice.close()
        await self._watchdog.stop()
        try:
            await self.supervisor.stop(timeout)
        except TimeoutError:
            self.supervisor.kill()
            await self.supervisor.exited()
        finally:
            await self._reload.wait_settled()
            self.parts.hints.close()
            self.parts.threads.close()

    async def exited(self) -> object:
        """Return why the tree ended, once it has: in words, when it gave up."""
        ended = await self.supervisor.exited()
        return self.explain_end() or ended

    def explain_end(self) -> str | None:
        """Return which actor's crashes the whole tree gave up over; None while it has not."""
        return self._crashes.find_reason(TREE.name)

    def draw(self) -> dict[str, object]:
        """Return the live tree, as data and as text."""
        node = self.supervisor.snapshot()
        return {"root": asdict(node), "text": render(node, detail=False)}

    def inspect(self, name: str) -> dict[str, Any]:
        """Return what an actor or a supervisor is at; raises `UnknownActor`."""
        root, now = self.supervisor.snapshot(), self._clock.now()
        return inspect(name, root, names=self.parts.names, crashes=self._crashes, now=now)

    async def reload(self) -> dict[str, Any]:
        """Follow the settings as they are in the file now; see `Reload`."""
        return await self._reload()

    async def start_again(self, change: Callable[[], None], names: Collection[str]) -> None:
        """Restart children after a change of what they are made with; see `Reload`."""
        await self._reload.start_again(change, names)

    def crash(self, name: str) -> None:
        """Make an actor crash; raises `UnknownActor`."""
        if not NamedActor[AsyncioActor](name, self.parts.names).tell(AsyncioActor.crash):
            known = ", ".join(sorted(self.parts.names.list_known()))
            message = f"cannot crash {name}: no actor has that name now; there are {known}"
            raise UnknownActor(message)

    def _make(self, branch: Branch) -> supervision.Supervisor:
        """Return a branch's supervisor, not started yet."""
        specs = [
            self._actor(child) if isinstance(child, str) else self._branch(child)
            for child in branch.children
        ]
        if branch.strategy == "simple_one_for_one":
            specs = [self.watchers.make_template(lambda: self.parts.watching)]
        return supervision.Supervisor(
            specs,
            name=branch.name,
            strategy=branch.strategy,
            intensity=INTENSITY,
            period=PERIOD,
            report=self._on_report,
            now=self._clock.monotonic,
            sleep=self._clock.sleep,
            max_children=MAX_TASKS if branch.strategy == "dynamic" else math.inf,
        )

    async def _start_task(self, task: Task[Any]) -> None:
        """Start a task below `tasks`; it is not restarted: its caller asks again."""
        spec = supervision.ChildSpec(task.name, task.start, restart="temporary")
        try:
            await self._live["tasks"].start_child(spec)
        except supervision.ChildError as error:
            raise TooManyTasks(
                f"cannot start {task.name}: {MAX_TASKS} tasks run already, which is the most; wait "
                "for one to end (cortex debug tree shows them)"
            ) from error
        except supervision.SupervisionError as error:
            raise ActorAway(f"cannot start {task.name}: {error}; ask again") from error

    def _actor(self, name: str) -> supervision.ChildSpec:
        """Return how an actor is started."""

        async def start() -> supervision.Handle:
            # Looked up for each life: a reload hands the next one other settings.
            return await start_actor(self.parts.names, name, self.parts.make[name])

        return supervision.ChildSpec(name, start)

    def _branch(self, branch: Branch) -> supervision.ChildSpec:
        """Return how a branch is started: each life of it has a supervisor of its own."""

        async def start() -> supervision.Handle:
            self._live[branch.name] = made = self._make(branch)
            return await made.start()

        return supervision.ChildSpec(branch.name, start, type="supervisor")

    def _on_report(self, report: supervision.Report) -> None:
        """Tell the log and the bus what happened to a child."""
        self._outside.witness(report)
        topic = TOLD.get(report.kind)
        if report.kind == "exited" and report.reason not in ("normal", "shutdown"):
            topic = topics.ACTOR_CRASHED
        reason = self._crashes.take(report)
        if self.fatal is not None:
            self.supervisor.kill()
        if topic is not None:
            life = ActorLife(find_child(report), reason)
            self.bus.announce(self.bus.make_event(topic, life, source=report.supervisor))
