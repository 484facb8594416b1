"""A consumer whose handlers do what a test says, and a stage with a journal in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from cortex_actors import topics
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.commits import Journal, Outcome
from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.domain.event import AccumulationComplete, FileChanged
from cortex_actors.runtime.actor import ActorHandle, start_actor
from cortex_actors.runtime.names import Names
from cortex_actors.sections import EventsSettings
from cortex_actors.testing import ManualClock, eventually
from supervision import ChildSpec, Report, Supervisor
from tests.bus.journal import MemoryJournal

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.runtime.ref import AsyncioRef


#: The branches with consumers, as the tree has them.
BRANCHES = {
    "pipeline": ("accumulator", "reconciler", "organiser", "resolver"),
    "memory": ("custodian",),
    "watching": ("watchlist",),
}


@dataclass(eq=False)
class Script:
    """What a consumer's handlers do, and what they were given; outlives its restarts."""

    #: Topics, or paths of changed files, whose events crash the handler.
    poison: set[str] = field(default_factory=set)
    #: What a handler raises instead of a plain error, once for each entry.
    errors: list[Exception] = field(default_factory=list)
    #: Topic or path -> what its handler waits for.
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    #: What handlers were given, in order; attempts that crash count too.
    seen: list[Event[Any]] = field(default_factory=list)
    #: Names of what is in a handler now.
    inside: list[str] = field(default_factory=list)
    #: What was effected, by the connection the work was given.
    effects: list[Event[Any]] = field(default_factory=list)
    #: Whether a changed file is answered with a completed accumulation.
    answers: bool = False
    #: How many lives the consumer has had.
    lives: int = 0

    def paths(self) -> list[str]:
        """Return the paths of the changed files that were effected."""
        return [event.payload.path for event in self.effects]


class Scripted(Consumer):
    """Hears what its script wants."""

    hears: ClassVar[Mapping[str, str]] = {
        topic.name: "on_event" for topic in topics.TOPICS if topic.durable
    }

    def __init__(self, desk: Desk, script: Script) -> None:
        """Follow a script."""
        super().__init__(desk)
        self.script = script
        script.lives += 1

    async def on_event(self, event: Event[Any]) -> Outcome:
        """Wait, fail or succeed, as the script says."""
        script = self.script
        name = getattr(event.payload, "path", event.topic)
        script.seen.append(event)
        script.inside.append(name)
        try:
            if gate := script.gates.get(name):
                await gate.wait()
        finally:
            script.inside.remove(name)
        if script.errors:
            raise script.errors.pop(0)
        if name in script.poison:
            message = f"poison: {name}"
            raise ValueError(message)
        said = AccumulationComplete("run_1", None, (name,))
        say = [self.say(topics.ACCUMULATION_COMPLETE, said)] if script.answers else []
        return Outcome(lambda _connection: script.effects.append(event), say)


class Wide(Scripted):
    """Handles several at once."""

    concurrency = 3


class Stage:
    """A bus with a journal, and consumers on it that a real supervisor restarts."""

    def __init__(self, journal: Journal | None = None, **settings: Any) -> None:
        """Use a journal in memory unless another is given."""
        self.clock = ManualClock()
        self.journal = journal or MemoryJournal(self.clock)
        self.bus = Bus(self.journal, self.clock)
        self.names = Names()
        self.settings = EventsSettings(**settings)
        self.reports: list[Report] = []
        self.supervisors: list[Supervisor] = []

    @property
    def memory(self) -> MemoryJournal:
        """The journal in memory."""
        assert isinstance(self.journal, MemoryJournal)
        return self.journal

    def make(self, name: str, script: Script, kind: type[Scripted] = Scripted) -> Scripted:
        """Return a consumer that has not started."""
        return kind(Desk(name, self.bus, self.journal, self.clock, self.settings), script)

    async def alone(
        self, name: str, script: Script, kind: type[Scripted] = Scripted
    ) -> AsyncioRef[Scripted]:
        """Start a consumer that nobody restarts."""
        ref = self.make(name, script, kind).launch(name)
        await ref.life.started
        return ref

    async def supervised(
        self, scripts: Mapping[str, Script], kind: type[Scripted] = Scripted
    ) -> Supervisor:
        """Start consumers in the branches they have in the tree, below a root."""
        specs = [
            ChildSpec(branch, self._branch(branch, scripts, kind), type="supervisor")
            for branch in BRANCHES
        ]
        root = self._supervisor("root", specs)
        await root.start()
        self.supervisors.append(root)
        return root

    async def change(self, *paths: str, project: str = "prj_1") -> list[Event[Payload]]:
        """Publish that files of a project have changed."""
        return [
            await self.bus.publish(topics.FILE_CHANGED, FileChanged(project, path), source="test")
            for path in paths
        ]

    async def play_out(self, scripts: Mapping[str, Script]) -> None:
        """Let time pass, from one rest's end to the next, until nothing waits any more."""

        def resting() -> bool:
            alive = all(self.names.whereis(name) for name in scripts)
            return alive and len(scripts) == self.clock.sleepers

        while True:
            await eventually(resting)
            if not any(self.memory.waiting(name) for name in scripts):
                return
            self.clock.advance(self.clock.due)

    def told(self, kind: str) -> list[str]:
        """Return the children of which that was reported."""
        return [str(report.child) for report in self.reports if report.kind == kind]

    async def end(self) -> None:
        """Stop every supervisor."""
        for supervisor in self.supervisors:
            await supervisor.stop(5.0)

    def _branch(self, branch: str, scripts: Mapping[str, Script], kind: type[Scripted]) -> Any:
        """Return what starts a branch with those of its consumers that have a script."""
        names = [name for name in BRANCHES[branch] if name in scripts]

        async def start() -> Supervisor:
            specs = [ChildSpec(name, self._start(name, scripts[name], kind)) for name in names]
            return await self._supervisor(branch, specs).start()

        return start

    def _start(self, name: str, script: Script, kind: type[Scripted]) -> Any:
        """Return what starts a consumer."""

        async def start() -> ActorHandle:
            return await start_actor(self.names, name, partial(self.make, name, script, kind))

        return start

    def _supervisor(self, name: str, specs: list[ChildSpec]) -> Supervisor:
        """Return a supervisor with the tree's limits, on the test's clock."""
        return Supervisor(
            specs,
            name=name,
            strategy="one_for_one",
            intensity=3,
            period=5.0,
            report=self.reports.append,
            now=self.clock.monotonic,
        )
