"""The children in a replay: leaves that end when they are told to, and supervisors."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.oracle.replay import Stage
    from tests.oracle.scenario import Child, Flags


class Leaf:
    """A child without children."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.note = stage.note
        self.name = name
        self.generation = stage.enter(self, name)
        self.slow = 0.0
        self.ended: asyncio.Future[object] = stage.loop.create_future()

    def end(self, reason: object) -> None:
        """End now."""
        if not self.ended.done():
            self.note(f"- {self.name} {self.generation} {text(reason)}")
            self.ended.set_result(reason)

    async def finish(self, reason: object) -> None:
        """End as soon as it can."""
        if self.slow:
            await asyncio.wait({self.ended}, timeout=self.slow)
        self.end(reason)

    async def stop(self, timeout: float | None) -> None:
        """End, as asked by the supervisor."""
        await self.finish("shutdown")

    def kill(self) -> None:
        """Be killed."""
        self.end("killed")

    async def exited(self) -> object:
        """Wait for the end."""
        return await asyncio.shield(self.ended)


class Branch:
    """A child that is a supervisor."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage = stage
        self.name = name
        self.generation = stage.enter(self, name)
        self.alive = True
        self.dynamic = False
        self.template: Child | None = None
        self.inner: Any = None

    async def begin(self, flags: Flags, children: list[Child]) -> None:
        """Start the supervisor; raises StartError."""
        engine = self.stage.engine
        self.dynamic = flags.strategy == "simple_one_for_one"
        if self.dynamic and self.stage.dynamic:
            (self.template,), children = children, []
            flags = flags._replace(strategy="dynamic")
        try:
            self.inner = engine.Supervisor(
                [self.stage.spec(child) for child in children],
                name=self.name,
                now=self.stage.loop.time,
                **flags._asdict(),
            )
            await self.inner.start()
        except engine.SpecError as error:
            self.leave(("start_spec", error))
            raise engine.StartError(str(error), ("start_spec", error)) from error
        except engine.StartError as error:
            self.leave(error)
            raise
        if self.name == "top":
            self.watch = asyncio.create_task(self.exited())

    def wanted(self, name: str) -> Any:
        """Return what `start_child` is given for a child without an id."""
        return (name,) if self.template is None else self.stage.spec(self.template, name)

    def __getattr__(self, method: str) -> Any:
        """Return a method of the supervisor."""
        return getattr(self.inner, method)

    def leave(self, reason: object) -> None:
        """Note the end, once."""
        if self.alive:
            self.alive = False
            self.stage.note(f"- {self.name} {self.generation} {text(reason)}")

    async def stop(self, timeout: float | None = None) -> None:
        """Stop the supervisor."""
        await self.inner.stop(timeout)

    def kill(self) -> None:
        """Kill the supervisor."""
        self.inner.kill()

    async def exited(self) -> object:
        """Wait for the supervisor's end."""
        reason = await self.inner.exited()
        self.leave(reason)
        return reason


def word_of(line: Any, *, dynamic: bool) -> str:
    """Return one child in a picture."""
    mark = "/s" if line.type == "supervisor" else ""
    if line.handle is not None:
        return f"{line.handle.name}={line.handle.generation}{mark}"
    state = "restarting" if line.state == "restarting" else "undefined"
    return f"{'undefined' if dynamic else line.id}={state}{mark}"


def milliseconds_of(spec: Any) -> int | str:
    """Return how long a child has to stop in, as in a spec of Erlang."""
    if spec.shutdown == "brutal_kill":
        return "brutal_kill"
    return "infinity" if spec.patience is None else round(spec.patience * 1000)


def text(reason: object) -> str:
    """Return a reason in the words of oracle.erl."""
    while hasattr(reason, "reason"):
        reason = reason.reason
    match reason:
        case ("shutdown", ("failed_to_start_child", name, why)):
            return f"failed_to_start {name} {text(why)}"
        case ("shutdown", word):
            return f"shutdown:{word}"
        case ("start_spec", why):
            return f"start_spec {text(why)}"
        case ("already_started" | "bad_combination" | "duplicate_child_name" as word, _):
            return str(word)
        case "dynamic":
            return "simple_one_for_one"
    return str(reason)
