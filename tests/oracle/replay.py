"""Plays a scenario on supervision.py and gives the trace that Erlang would give.

The lines are explained in oracle.erl. Children are leaves that end when they are told to, and
supervisors; each says in the trace when it starts and ends.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import supervision
from tests.oracle.children import Branch, Leaf, milliseconds_of, text, word_of
from tests.oracle.quiet import QuietLoop, StuckError
from tests.oracle.scenario import Child, Flags, Scenario, term

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import ModuleType


class RefusedError(Exception):
    """The failure that a plan has ordered."""


def replay(
    scenario: Scenario, engine: ModuleType = supervision, *, dynamic: bool = False
) -> list[str]:
    """Return the trace of a scenario, or what stopped it.

    `engine` is supervision.py or a mutant of it. With `dynamic`, that strategy takes the place of
    simple_one_for_one, from which it must not differ while every child has the same spec.
    """
    stage = Stage(scenario, engine, dynamic=dynamic)
    try:
        with asyncio.Runner(loop_factory=QuietLoop) as runner:
            return runner.run(stage.play())
    except (
        engine.SupervisionError,
        StuckError,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
    ) as error:
        return [*stage.trace, repr(error)]


class Stage:
    """One scenario with everything that runs in it."""

    def __init__(self, scenario: Scenario, engine: ModuleType, *, dynamic: bool) -> None:
        self.scenario = scenario
        self.engine = engine
        self.dynamic = dynamic
        self.trace: list[str] = []
        self.log: list[str] = []
        #: How many of the next starts of a child fail or are ignored.
        self.plans: dict[str, list[Any]] = {
            name: [mode, times] for mode, name, times in scenario.plans
        }
        self.generations: dict[str, int] = {}
        self.latest: dict[str, Any] = {}
        #: The last picture of each supervisor: only what has changed is noted.
        self.pictures: dict[str, str] = {}

    async def play(self) -> list[str]:
        """Return the trace."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, QuietLoop)
        self.loop = loop
        try:
            top = await self.branch("top", self.scenario.flags, self.scenario.children)
        except self.engine.SupervisionError as error:
            self.trace.append(f"= error {text(error)}")
            await loop.quiet()
            self.tell()
            return self.trace
        await self.report(top)
        for step in self.scenario.steps:
            if top.alive:
                self.trace.append(f"> {term(step)}")
                await self.act(*step)
                await self.report(top)
        if top.alive:
            await top.stop()
            await self.report(top)
        return self.trace

    # What a step does.

    async def act(self, word: str, *values: Any) -> None:
        """Do one step."""
        match word, values:
            case "fail" | "ignore", (name, times):
                self.plans[name] = [word, times]
            case "wait", (milliseconds,):
                await asyncio.wait({self.loop.create_future()}, timeout=milliseconds / 1000)
            case "slow", (name, milliseconds):
                if isinstance(leaf := self.latest.get(name), Leaf):
                    leaf.slow = milliseconds / 1000
            case "exit" | "stop", (name, *reason):
                await self.end(self.latest.get(name), *reason)
            case "hang", (of, name, step):
                await self.hang(of, name, step)
            case "burst", (names, reason):
                for leaf in [self.latest[name] for name in names if name in self.latest]:
                    leaf.end("killed" if reason == "kill" else reason)
            case _, (of, *rest):
                await self.call(word, of, *rest)

    async def end(self, child: Any, reason: object = "shutdown") -> None:
        """End a child that is there."""
        if child is None:
            return
        if reason == "kill":
            child.kill()
        elif isinstance(child, Leaf):
            await child.finish(reason)
        else:
            await child.stop()
        await child.exited()

    async def hang(self, of: str, name: str, step: tuple[Any, ...]) -> None:
        """Take a step while a supervisor tries in vain, again and again, to restart a child."""
        if not self.lives(name):
            self.trace.append("= gone")
            return
        self.plans[name] = ["hang", math.inf]
        await self.end(self.latest[name], "boom")
        with suppress(self.engine.NotRunningError):
            for _ in range(5):  # the exit is on its way to the mailbox
                await self.latest[of].count_children()
            await self.picture(self.latest[of], below=False)
        await self.act(*step)
        self.plans[name] = ["hang", 0]

    async def call(self, word: str, of: str, *values: Any) -> None:
        """Call a supervisor and note the answer."""
        if word == "by_pid" and not self.may_name(*values):
            self.trace.append("= gone")
            return
        supervisor: Any = self.latest.get(of)
        if isinstance(supervisor, Leaf) or not self.lives(of):
            self.trace.append("= nobody")
            return
        match word, values:
            case "start_child", (child,):
                await self.add(supervisor, partial(self.spec, child))
            case "start_dynamic", (name,):
                await self.add(supervisor, partial(supervisor.wanted, name))
            case "by_pid", (function, name):
                await self.answer(partial(getattr(supervisor, function), self.latest[name]))
                if supervisor.template and not self.lives(name):
                    self.trace[-1] = "= ok"  # Elixir does not know it, OTP takes it for its own
            case _, (name,):
                await self.answer(partial(getattr(supervisor, word), name))

    async def add(self, supervisor: Any, wanted: Callable[[], Any]) -> None:
        """Start a child; what it is to be may be refused like the call."""

        async def start() -> Any:
            return await supervisor.start_child(wanted())

        await self.answer(start)

    def may_name(self, function: str, name: str) -> bool:
        """Tell whether a call by handle is made: there was one, and the call bears its end."""
        return self.lives(name) or (function == "terminate_child" and name in self.latest)

    def lives(self, name: str) -> bool:
        """Tell whether the latest child of that id runs."""
        match self.latest.get(name):
            case None:
                return False
            case Leaf() as leaf:
                return not leaf.ended.done()
            case branch:
                return bool(branch.alive)

    async def answer(self, call: Callable[[], Awaitable[Any]]) -> None:
        """Note what a call gives or raises."""
        try:
            match await call():
                case (None, _):
                    answer = "ok undefined"
                case (_, _):
                    answer = "ok pid"
                case None:
                    answer = "ok"
                case spec:
                    words = spec.restart, milliseconds_of(spec), spec.type, spec.significant
                    answer = f"ok {' '.join(map(term, words))}"
        except self.engine.NotRunningError:
            answer = "nobody"
        except self.engine.SupervisionError as error:
            answer = f"error {text(error)}"
        self.trace.append(f"= {answer}")

    # The picture after a step.

    async def report(self, top: Any) -> None:
        """Wait until all is quiet; then note what has happened, and what there is."""
        await self.loop.quiet()
        self.tell()
        if top.alive:
            await self.picture(top)

    def tell(self) -> None:
        """Note what has happened."""
        self.trace += self.log if self.scenario.order == "exact" else sorted(self.log)
        self.log.clear()

    async def picture(self, supervisor: Any, *, below: bool = True) -> None:
        """Note the children of a supervisor, and those below."""
        lines = await supervisor.which_children()
        words = [word_of(line, dynamic=supervisor.dynamic) for line in lines]
        counts = await supervisor.count_children()
        if supervisor.dynamic:
            words.sort()
            counts["specs"] = 1  # a dynamic supervisor has as many as it has children
        numbers = " ".join(str(counts[k]) for k in ("specs", "active", "supervisors", "workers"))
        picture = " ".join(["@", supervisor.name, *words, "#", numbers])
        if picture != self.pictures.get(supervisor.name):
            self.pictures[supervisor.name] = picture
            self.trace.append(picture)
        for line in lines:
            if below and line.handle is not None and not isinstance(line.handle, Leaf):
                await self.picture(line.handle)

    # The children.

    def note(self, event: str) -> None:
        """Remember an event of this step."""
        self.log.append(event)

    def enter(self, child: object, name: str) -> int:
        """Let a child enter; return how often this id has."""
        self.generations[name] = self.generations.get(name, 0) + 1
        self.latest[name] = child
        self.note(f"+ {name} {self.generations[name]}")
        return self.generations[name]

    def spec(self, child: Child, *args: str) -> Any:
        """Return the spec of a child; raises what the engine raises when it is not valid."""
        start: Callable[..., Any] = partial(self.start, self.leaf, child.id)
        if child.id == "template":
            start = partial(self.start, self.leaf, *args)
        elif child.below != "leaf":
            start = partial(self.start, self.branch, child.id, *child.below)
        seconds = child.shutdown / 1000 if isinstance(child.shutdown, int) else child.shutdown
        return self.engine.ChildSpec(
            child.id,
            start,
            restart=child.restart,
            shutdown=math.inf if seconds == "infinity" else seconds,
            type=child.type,
            significant=child.significant,
        )

    async def start(self, make: Callable[..., Awaitable[Any]], name: str, *rest: Any) -> Any:
        """Start a child, unless its plan says otherwise."""
        mode, times = self.plans.get(name, ("", 0))
        if times == 0:
            return await make(name, *rest)
        self.plans[name] = [mode, times - 1]
        if mode != "hang":
            self.note(f"~ {name} {mode}")
        if mode == "ignore":
            return self.engine.IGNORE
        raise RefusedError("nope")

    async def leaf(self, name: str) -> Leaf:
        """Return a leaf that runs."""
        return Leaf(self, name)

    async def branch(self, name: str, flags: Flags, children: list[Child]) -> Branch:
        """Return a supervisor that runs."""
        branch = Branch(self, name)
        await branch.begin(flags, children)
        return branch
