"""An OTP supervisor over asyncio: what fails is started again, what keeps failing is passed up.

A supervisor starts its children in order, restarts the ones that end when they should not, and
stops them in reverse. It knows nothing about what it supervises beyond three methods (`Handle`).
It is such a child itself, so supervisors nest into a tree, and a failure that one level cannot
mend becomes a failure of that level. The rules, words and defaults are those of Erlang/OTP's
`supervisor`, whose authors found out which ones are needed; the credit is theirs.

It promises:

- `start` returns when every child runs, or raises `StartError` when none does any more.
- Exits, calls and `stop` are handled one by one in the order of one mailbox. A failed restart is
  tried again from the end of it, so that neither calls nor `stop` wait for a broken child.
- More than `intensity` restarts in `period` seconds are too many: the supervisor stops its
  children and ends with the reason "shutdown", and the level above decides.
- However it ends (stopped, killed, cancelled, by a bug of its own), its children end first; only
  one that survives `kill` for `grace` seconds is abandoned, which is reported.
- No child's coroutine runs in the supervisor's task, so none can block or cancel it.

A restart loses what the child kept in memory; children added by `start_child` are lost when their
supervisor restarts, as in OTP. A start function or a `stop` that calls the supervisor it belongs
to waits for itself. A supervisor lives on one loop and in one thread; docs/supervision.md has more.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial, wraps
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, Protocol, TypeVar

#: Says that this is our module: PyPI has an unrelated package of the same name.
MARKER = "cortex-actors"

#: The `shutdown` of a child that is killed without being asked.
BRUTAL_KILL: Literal["brutal_kill"] = "brutal_kill"

#: Seconds a worker has to stop before it is killed: OTP's default.
WORKER_SHUTDOWN = 5.0

#: Seconds a killed child has to end before it is abandoned: enough for a clean-up under load.
KILL_GRACE = 5.0

#: What to do about a call that does not fit the state of its child.
_ADVICE = {
    "already_started": "use its handle, or give the new child another id",
    "already_present": "restart it, or delete it first",
    "running": "terminate it first",
    "restarting": "terminate it first, which ends the attempts to restart it",
    "not_found": "see which_children for those there are",
    "simple_one_for_one": "children made from a template have no ids: terminate by handle",
    "dynamic": "its children are not known by their ids: terminate by handle",
    "max_children": "terminate one first, or allow more",
}

Restart = Literal["permanent", "transient", "temporary"]
Strategy = Literal["one_for_one", "one_for_all", "rest_for_one", "simple_one_for_one", "dynamic"]
AutoShutdown = Literal["never", "any_significant", "all_significant"]
Kind = Literal["worker", "supervisor"]
State = Literal["starting", "running", "restarting", "stopping", "stopped"]
Happening = Literal["started", "exited", "restarted", "start_error", "gave_up", "shutdown_error"]

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger("supervision")

#: What a start function returns for "nothing to run here, and that is no failure", and its type.
Ignore = Literal["ignore"]
IGNORE: Ignore = "ignore"


class Handle(Protocol):
    """What is supervised: something that runs, can be asked to end, and says why it ended."""

    async def stop(self, timeout: float | None) -> None:
        """Ask it to end after what it was given before, and wait for that.

        `exited` then gives "shutdown" (a permanent child that gives anything else is reported).
        Raises TimeoutError if it is still alive after `timeout` seconds (None: waits for ever).
        """

    def kill(self) -> None:
        """End it now; `exited` then gives "killed"; harmless when it has ended."""

    async def exited(self) -> object:
        """Wait for its end and return why.

        "normal", "shutdown" and ("shutdown", anything) are orderly; "killed", an exception and
        everything else are not. Any number may wait; cancelling one of them changes nothing.
        """


class SupervisionError(Exception):
    """What a supervisor refuses or could not do; `reason` is the same in OTP's words."""

    def __init__(self, text: str, reason: object = None, child: Hashable = None) -> None:
        super().__init__(text)
        self.reason: object = text if reason is None else reason
        self.child = child


class StartError(SupervisionError):
    """A child (`child` is its id), or a supervisor because of one, did not start.

    The `reason` is the child's exception, or ("shutdown", ("failed_to_start_child", id, reason)).
    """


class SpecError(SupervisionError, ValueError):
    """A child spec or an option of a supervisor is not valid; `reason` is (word, value)."""


class ChildError(SupervisionError):
    """A call does not fit the state of its child.

    The `reason` is ("already_started", handle), "already_present", "running", "restarting",
    "not_found", "max_children", or the strategy whose children have no ids.
    """


class NotRunningError(SupervisionError):
    """The supervisor was not started or has ended; the `reason` is "noproc"."""

    def __init__(self, name: str) -> None:
        super().__init__(f"supervisor {name!r} does not run: start a new one", "noproc")


#: How a child is started: it returns when the child runs, and raises when it does not. Cancelled,
#: it must end what it has begun (a handle it returns all the same is killed).
Start = Callable[..., Awaitable[Handle | tuple[Handle, object] | Ignore]]


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long restarts wait: `min` seconds, twice as long after each failure, up to `max`.

    Up to `jitter` times that is added by chance, lest many come back at once. A life of `reset`
    seconds (None: `max`) makes the next failure the first again: Akka's BackoffSupervisor does so.
    """

    min: float = 1.0
    max: float = 60.0
    jitter: float = 0.2
    reset: float | None = None

    def __post_init__(self) -> None:
        sound = 0 < self.min <= self.max < math.inf and 0 <= self.jitter < math.inf
        _demand(sound and (self.reset is None or self.reset >= 0), "invalid_backoff", self, "mend")

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after so many failures in a row, the latest not counted."""
        seconds = min(self.max, self.min * 2.0 ** min(failures, 64))
        return seconds * (1 + self.jitter * random.random())  # noqa: S311 - no secret


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """How one child is started, stopped and restarted; raises SpecError when that is nonsense.

    `restart`: permanent = always; transient = unless its end was orderly; temporary = never, and
    forgotten with it. `shutdown`: seconds to stop in before it is killed, math.inf to wait for
    ever, "brutal_kill" to kill at once; None is 5 s for a worker and for ever for a supervisor.
    `significant`: its own end can end the supervisor (`auto_shutdown`). `backoff`: restarts wait.
    """

    id: Hashable
    start: Start
    _: KW_ONLY
    restart: Restart = "permanent"
    shutdown: float | Literal["brutal_kill"] | None = None
    type: Kind = "worker"
    significant: bool = False
    backoff: Backoff | None = None

    def __post_init__(self) -> None:
        """Refuse what OTP refuses, in OTP's words."""
        wait = self.shutdown
        patient = wait >= 0 if isinstance(wait, int | float) else wait in (None, BRUTAL_KILL)
        both = self.significant and self.restart == "permanent"
        idle = self.backoff is not None and self.restart == "temporary"
        _demand(self.id is not None, "missing_id", self.id, "give the child a name")
        hash(self.id)  # raises TypeError: here and not in the supervisor's task
        _demand(callable(self.start), "invalid_start", self.start, "give an async function")
        _demand_one_of(self.restart, Restart, "invalid_restart_type")
        _demand_one_of(self.type, Kind, "invalid_child_type")
        _demand(patient, "invalid_shutdown", wait, "give seconds, math.inf or 'brutal_kill'")
        _demand(self.significant in (True, False), "invalid_significant", self.significant, "say")
        _demand(not both, "bad_combination", ("significant", "permanent"), "make it transient")
        _demand(not idle, "bad_combination", ("backoff", "temporary"), "make it transient")

    @property
    def patience(self) -> float | None:
        """Return the seconds it has to stop in when it is asked to; None is for ever."""
        if self.shutdown is None:
            return WORKER_SHUTDOWN if self.type == "worker" else None
        return None if self.shutdown in (math.inf, BRUTAL_KILL) else float(self.shutdown)


@dataclass(frozen=True, slots=True)
class Report:
    """One thing that happened to a child.

    started: it runs, at first or by a call. exited: it has ended, by itself or stopped; `reason` is
    why. restarted: a strategy has started it again. start_error: it did not start. gave_up: its end
    was one too many, so the supervisor ends. shutdown_error: it did not stop as it was asked to;
    `reason` is "abandoned" when it survived `kill`. `handle` is its latest life, if it had one.
    """

    supervisor: str
    child: Hashable
    kind: Happening
    reason: object = None
    handle: Handle | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Node:
    """A picture of one place in the tree at one moment."""

    name: str
    kind: Kind
    state: State
    restarts: int = 0
    strategy: str | None = None
    detail: Mapping[str, object] = field(default_factory=dict)
    children: tuple[Node, ...] = ()


class Started(NamedTuple):
    """What a start gave: a handle (None: ignored) and what the start function said besides."""

    handle: Handle | None
    info: object = None


class Child(NamedTuple):
    """One line of `which_children`; the handle is there while the child runs."""

    id: Hashable
    handle: Handle | None
    state: State
    type: Kind


def _in_turn(
    work: Callable[Concatenate[Supervisor, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Supervisor, P], Coroutine[Any, Any, T]]:
    """Make a method wait for its turn in the mailbox; above the class, which is made with it."""

    @wraps(work)
    async def call(self: Supervisor, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._call(lambda: work(self, *args, **kwargs))

    return call


class Supervisor:
    """Starts, watches, restarts and stops its children; is a `Handle` itself.

    Strategies: one_for_one restarts the child that ended; one_for_all all of them; rest_for_one
    it and those started after it. Two are for children that come and go, are addressed by their
    handles and stop all at once: simple_one_for_one has one spec as a template, from which
    `start_child((args ...))` makes them; dynamic (Elixir's DynamicSupervisor) gets one with each.
    `max_children` are the most there may be, those that are being restarted included; every start
    function gets `extra_arguments` before its own. `report` is called in the supervisor's task with
    every `Report` and must not block; if it raises, that is logged and nothing else happens. `now`
    gives seconds that never go back, `sleep` waits for some, `grace` is how many a killed child has
    to end. Raises SpecError on options that make no sense.
    """

    def __init__(
        self,
        children: Iterable[ChildSpec] = (),
        *,
        name: str,
        strategy: Strategy = "one_for_one",
        intensity: int = 1,
        period: float = 5.0,
        auto_shutdown: AutoShutdown = "never",
        report: Callable[[Report], None] | None = None,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep,
        grace: float = KILL_GRACE,
        max_children: float = math.inf,
        extra_arguments: tuple[object, ...] = (),
    ) -> None:
        self.name, self.strategy = name, strategy
        self.intensity, self.period, self.auto_shutdown = intensity, period, auto_shutdown
        self._report, self._now, self._sleep, self._grace = report, now, sleep, grace
        self.max_children, self._extra = max_children, extra_arguments
        self._template: ChildSpec | None = None
        self._nameless = strategy in ("simple_one_for_one", "dynamic")
        #: In the order of their start; by id, or by id(handle) when they are nameless.
        self._children: dict[object, _Child] = {}
        self._take_specs(tuple(children))
        #: What there is to do, in order: exits, retries, calls and `stop`, each of them a turn.
        self._mailbox: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self._replies: set[asyncio.Future[Any]] = set()
        #: Every child that runs or may still run, with the task that waits for its end.
        self._alive: dict[_Child, asyncio.Task[object]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._starting: tuple[_Child, asyncio.Task[Started]] | None = None
        self._recent: list[float] = []
        self._state: State = "stopped"
        self._ending: str | None = None
        self._reason: object = "killed"
        self._failure: StartError | None = None
        self._task: asyncio.Task[None] | None = None
        self._killed = False

    async def start(self) -> Supervisor:
        """Start the children in order and return when all run.

        Raises StartError when one does not, after those before it were stopped in reverse. A
        supervisor starts once: what starts it again makes a new one. Cancelled, it is killed.
        """
        if self._task is not None:
            raise StartError(f"{self.name!r} was started before: make a new one", "already_started")
        self._state = "starting"
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(ready), name=f"supervisor {self.name}")
        self._task.add_done_callback(self._on_end)
        try:
            await asyncio.wait({self._task, ready}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.kill()
            await asyncio.wait({self._task})
            raise
        if not ready.done():
            raise self._failure or StartError(f"supervisor {self.name!r} ended in its start")
        return self

    async def stop(self, timeout: float | None = None) -> None:
        """Stop the children in reverse, after everything asked for before; then end.

        Raises TimeoutError when that takes longer than `timeout` seconds; it goes on all the same.
        """
        if self._task is None:
            return
        self._mailbox.put_nowait(self._on_stop)
        _, late = await asyncio.wait({self._task}, timeout=timeout)
        if late:
            raise TimeoutError(f"{self.name!r} did not stop in {timeout} s: wait longer or kill it")

    def kill(self) -> None:
        """Kill the children and end, without asking any of them."""
        if self._task is not None and not self._killed:
            self._killed = True
            self._task.cancel()

    async def exited(self) -> object:
        """Wait for its end and return why: "shutdown", "killed", a failed start, or a bug."""
        if self._task is None:
            raise NotRunningError(self.name)
        await asyncio.wait({self._task})
        return self._reason

    # The calls. Each has its turn in the mailbox; a caller that is cancelled takes nothing back.
    # Each raises NotRunningError when the supervisor ends before the answer.

    @_in_turn
    async def start_child(self, child: ChildSpec | tuple[object, ...]) -> Started:
        """Add a child and start it; for a template, `child` is what its start function is given.

        Raises ChildError "already_started" or "already_present" when its id is taken,
        "max_children" when there are too many; SpecError; and StartError when it does not start,
        in which case it is not added.
        """
        new = self._new_child(child)
        if len(self._children) >= self.max_children:
            raise self._refusal("max_children", new.spec.id)
        if not self._nameless and new.key in self._children:
            old = self._children[new.key]
            if old.state != "running":
                raise self._refusal("already_present", new.key)
            raise self._refusal("already_started", new.key, ("already_started", old.handle))
        started = await self._start(new)
        self._file(new)
        return started

    @_in_turn
    async def terminate_child(self, child: Hashable | Handle) -> None:
        """Stop a child, named by its id (or handle, for a template), and keep its spec.

        Stops the attempts to restart it, too. A temporary child is forgotten. Nothing happens to
        one that does not run. Raises ChildError "not_found", or the strategy when it has no ids.
        """
        if self._nameless and not _is_handle(child):
            raise self._refusal(self.strategy, child)
        if self.strategy != "simple_one_for_one" or not await self._has_ended(child):
            await self._terminate(self._find(child))

    @_in_turn
    async def restart_child(self, child: Hashable) -> Started:
        """Start a child that was terminated or has ended; does not count as a restart.

        Raises StartError; ChildError "running", "restarting", "not_found", or the strategy when
        it has no ids.
        """
        return await self._start(self._find_idle(child))

    @_in_turn
    async def delete_child(self, child: Hashable) -> None:
        """Forget the spec of a child that does not run; raises ChildError as `restart_child`."""
        del self._children[self._find_idle(child).key]

    @_in_turn
    async def get_childspec(self, child: Hashable | Handle) -> ChildSpec:
        """Return how a child (named by its id, or handle) is started; raises "not_found".

        One that is never started again has nothing to start it with any more.
        """
        template = self._template
        return template if template and child == template.id else self._find(child).spec

    @_in_turn
    async def which_children(self) -> list[Child]:
        """Return the children, the newest first."""
        return [
            Child(c.spec.id, c.handle if c.state == "running" else None, c.state, c.spec.type)
            for c in reversed(self._children.values())
        ]

    @_in_turn
    async def count_children(self) -> dict[str, int]:
        """Return how many there are: specs, active, supervisors, workers."""
        children = list(self._children.values())
        supervisors = sum(child.spec.type == "supervisor" for child in children)
        return {
            "specs": 1 if self._template else len(children),
            "active": sum(c in self._alive and not self._alive[c].done() for c in children),
            "supervisors": supervisors,
            "workers": len(children) - supervisors,
        }

    def snapshot(self) -> Node:
        """Return a picture of the tree below, without waiting for anything.

        A child's handle may have `snapshot() -> Node` (as a supervisor) or `info() -> Mapping`,
        the detail of its node; when they raise, that is the detail.
        """
        children = tuple(_picture(child) for child in self._children.values())
        return Node(self.name, "supervisor", self._state, 0, self.strategy, {}, children)

    async def _run(self, ready: asyncio.Future[None]) -> None:
        try:
            self._reason = await self._live(ready)
        except asyncio.CancelledError:
            self._reason = "killed"
        except Exception as error:
            log.exception("supervisor %s failed by a fault of its own", self.name)
            self._reason = error
        finally:
            await self._sweep()

    async def _live(self, ready: asyncio.Future[None]) -> object:
        try:
            await self._start_in_order(list(self._children.values()))
        except StartError as error:
            await self._terminate_all()
            reason = ("shutdown", ("failed_to_start_child", error.child, error.reason))
            text = f"supervisor {self.name!r} did not start: {error}"
            self._failure = StartError(text, reason, error.child)
            self._failure.__cause__ = error
            return reason
        self._state = "running"
        ready.set_result(None)
        while self._ending is None:
            await (await self._mailbox.get())()
        await self._terminate_all()
        return self._ending

    async def _sweep(self) -> None:
        """Kill whatever is left, which is nothing after an orderly end."""
        self._killed, self._state = True, "stopping"
        for child in self._alive:
            _kill(child)
        await self._end_late_start()
        await self._await_killed(*self._alive)
        for child in list(self._alive):
            self._conclude(child)
        await self._drop(set(self._tasks))

    def _on_end(self, _: asyncio.Task[None]) -> None:
        # Not in `_run`: a task that is cancelled before its first step never runs a line.
        self._state = "stopped"
        for child in self._children.values():
            child.state = "stopped"
        for reply in [reply for reply in self._replies if not reply.done()]:
            reply.set_exception(NotRunningError(self.name))

    async def _on_stop(self) -> None:
        self._ending = "shutdown"

    async def _on_exit(self, child: _Child, watcher: asyncio.Task[object]) -> None:
        if self._alive.get(child) is not watcher:
            return  # it was stopped meanwhile, and may run again
        del self._alive[child]
        reason = _reason_of(watcher)
        self._tell("exited", child, reason)
        restart, backoff = child.spec.restart, child.spec.backoff
        if restart == "temporary" or (restart == "transient" and _is_orderly(reason)):
            self._set_aside(child)
            self._consider_shutdown(child)
        elif backoff is None:
            await self._restart(child)
        else:
            self._forgive(child)
            self._retry(child)

    def _consider_shutdown(self, child: _Child) -> None:
        """End by itself when the child's own end was the one (or the last) that was waited for."""
        if not child.spec.significant or self.auto_shutdown == "never":
            return
        others = (c for c in self._children.values() if c.spec.significant and c.state != "stopped")
        if self.auto_shutdown == "any_significant" or not any(others):
            self._ending = "shutdown"

    async def _restart(self, child: _Child) -> None:
        now = self._now()  # counted as OTP does: the limit itself is still allowed
        self._recent = [now, *(then for then in self._recent if then >= now - self.period)]
        if len(self._recent) > self.intensity:
            self._tell("gave_up", child, "reached_max_restart_intensity")
            self._set_aside(child)
            self._ending = "shutdown"
            return
        with suppress(StartError):  # said, and to be tried again, by `_start`
            if self.strategy in ("one_for_all", "rest_for_one"):
                await self._restart_group(child)
            else:
                await self._start(child, again=True)
                self._file(child)

    def _forgive(self, child: _Child) -> None:
        if backoff := child.spec.backoff:
            calm = backoff.max if backoff.reset is None else backoff.reset
            child.failures *= self._now() - child.since < calm

    def _retry(self, child: _Child) -> None:
        """Post the next attempt: at the end of the mailbox, or there when its wait is over."""
        child.state = "restarting"
        if child.spec.backoff is None:
            self._mailbox.put_nowait(partial(self._on_retry, child, None))
            return
        seconds = child.spec.backoff.delay(child.failures)
        child.failures += 1
        child.wait = wait = self._spawn(self._sleep(seconds), "wait", child.spec.id)
        turn = partial(self._on_retry, child, wait)
        wait.add_done_callback(lambda _: self._mailbox.put_nowait(turn))

    async def _on_retry(self, child: _Child, wait: asyncio.Task[None] | None) -> None:
        known = self._children.get(child.key) is child
        if known and child.state == "restarting" and child.wait is wait:
            await self._restart(child)

    async def _restart_group(self, child: _Child) -> None:
        """Start its group again; a failure leaves those before it running until the retry."""
        group = list(self._children.values())
        if self.strategy == "rest_for_one":
            group = group[group.index(child) :]
        for member in reversed(group):
            await self._terminate(member)
        rest = [member for member in group if member.spec.restart != "temporary"]
        await self._start_in_order(rest, again=True)

    async def _start_in_order(self, children: list[_Child], *, again: bool = False) -> None:
        for child in children:
            await self._start(child, again=again)
            if child.state == "stopped":
                self._set_aside(child)

    async def _start(self, child: _Child, *, again: bool = False) -> Started:
        """Start one child in a task of its own; raises StartError, and posts the next try."""
        child.state, child.wait = "starting", None
        task = self._spawn(_begin(child, self._extra), "start", child.spec.id)
        self._starting = child, task
        await asyncio.wait({task})
        self._starting, child.state = None, "stopped"
        error = _error_of(task)
        if error is not None:
            failure = _start_error(self.name, child, error)
            self._tell("start_error", child, failure.reason)
            if again:
                self._retry(child)
            raise failure from error
        started = task.result()
        if started.handle is not None:
            self._adopt(child, started.handle)
            child.restarts += again
            self._tell("restarted" if again else "started", child)
        return started

    def _adopt(self, child: _Child, handle: Handle) -> None:
        watcher = self._spawn(_await_exit(handle), "watch", child.spec.id)
        child.handle, child.state, self._alive[child] = handle, "running", watcher
        child.since = self._now() if child.spec.backoff else 0.0
        if child.spec.restart == "temporary":  # it is never started again, and may hold a lot
            child.args = ()
            if self._template is None:
                child.spec = replace(child.spec, start=_spent)
        turn = partial(self._on_exit, child, watcher)
        watcher.add_done_callback(lambda _: self._mailbox.put_nowait(turn))

    async def _terminate_all(self) -> None:
        self._state = "stopping"
        children = list(self._children.values())
        if not self._nameless:
            for child in reversed(children):
                await self._terminate(child)
            return
        async with asyncio.TaskGroup() as group:
            for child in children:
                group.create_task(self._terminate(child))

    async def _terminate(self, child: _Child) -> None:
        """Ask, wait, kill, wait; the child neither runs nor is watched afterwards."""
        if watcher := self._alive.get(child):
            child.state = "stopping"
            if child.spec.shutdown != BRUTAL_KILL and not watcher.done():
                await self._ask(child, watcher)
            if not watcher.done():
                _kill(child)
                await self._await_killed(child)
            self._conclude(child)
        self._set_aside(child)

    async def _ask(self, child: _Child, watcher: asyncio.Task[object]) -> None:
        patience, first = child.spec.patience, asyncio.FIRST_COMPLETED
        asking = self._spawn(_stop(child, watcher), "stop", child.spec.id)
        await asyncio.wait({asking, watcher}, timeout=patience, return_when=first)
        if watcher.done():  # the child is gone, but its `stop` may have a little left to do
            await asyncio.wait({asking}, timeout=self._grace)
        await self._drop({asking})
        error = _error_of(asking) if asking.done() else None
        if isinstance(error, Exception) and not isinstance(error, TimeoutError):
            self._tell("shutdown_error", child, error)

    async def _await_killed(self, *children: _Child) -> None:
        # A supervisor gives its own children the grace at the same time, so it needs more.
        grace = self._grace * (2 if any(c.spec.type == "supervisor" for c in children) else 1)
        if children:
            await asyncio.wait({self._alive[child] for child in children}, timeout=grace)

    def _conclude(self, child: _Child) -> None:
        """Report how a child ended that was stopped or killed, or that it did not."""
        watcher = self._alive.pop(child)
        if not watcher.done():
            watcher.cancel()
            self._tell("shutdown_error", child, "abandoned")
            return
        self._forgive(child)
        reason = _reason_of(watcher)
        self._tell("exited", child, reason)
        if not self._killed and not _is_accepted(child.spec, reason):
            self._tell("shutdown_error", child, reason)

    async def _end_late_start(self) -> None:
        """End a start that had not returned when the supervisor was killed, and what it gives."""
        if self._starting is None:
            return
        child, task = self._starting
        await self._drop({task})
        if task.done():
            self._end_late(child, task)
        else:
            self._tell("shutdown_error", child, "abandoned")
            task.add_done_callback(partial(self._end_late, child))

    def _end_late(self, child: _Child, task: asyncio.Task[Started]) -> None:
        if _error_of(task) is None and (handle := task.result().handle) is not None:
            self._adopt(child, handle)
            _kill(child)

    async def _drop(self, tasks: set[asyncio.Task[Any]]) -> None:
        """Cancel tasks of ours and wait for them, but not for ever."""
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=self._grace)

    async def _has_ended(self, handle: Any) -> bool:  # noqa: ANN401 - what a caller says it is
        asking = self._spawn(_await_exit(handle), "ask", "a stranger")
        ended, _ = await asyncio.wait({asking}, timeout=0)
        asking.cancel()
        return bool(ended) and id(handle) not in self._children

    def _find(self, name: object) -> _Child:
        with suppress(KeyError, TypeError):  # what has no hash is no name
            return self._children[id(name) if self._nameless else name]
        raise self._refusal("not_found", name)

    def _find_idle(self, name: object) -> _Child:
        if self._nameless:
            raise self._refusal(self.strategy, name)
        child = self._find(name)
        if child.state != "stopped":
            raise self._refusal(child.state, name)
        return child

    def _refusal(self, word: str, name: object, reason: object = None) -> ChildError:
        text = f"child {name!r} of {self.name!r}: {word}: {_ADVICE[word]}"
        return ChildError(text, reason or word)

    def _new_child(self, wanted: Any) -> _Child:  # noqa: ANN401 - looked at here
        if self._template is not None:
            _demand(isinstance(wanted, tuple), "simple_one_for_one", wanted, "give a tuple of args")
            return _Child(None, self._template, wanted)
        self._check_spec(wanted)
        return _Child(None if self._nameless else wanted.id, wanted)

    def _take_specs(self, specs: tuple[ChildSpec, ...]) -> None:
        _demand_one_of(self.strategy, Strategy, "invalid_strategy")
        for name in ("intensity", "period", "max_children"):
            number = getattr(self, name)
            sound = isinstance(number, int | float) and number >= 0
            _demand(sound, f"invalid_{name}", number, "give 0 or more")
        _demand(0 < self.period < math.inf, "invalid_period", self.period, "give seconds above 0")
        _demand(isinstance(self._extra, tuple), "invalid_extra_arguments", self._extra, "a tuple")
        _demand_one_of(self.auto_shutdown, AutoShutdown, "invalid_auto_shutdown")
        few = self._nameless or len(specs) <= self.max_children
        _demand(few, "max_children", len(specs), "allow more")
        if self._nameless:
            wanted = int(self.strategy == "simple_one_for_one")
            _demand(len(specs) == wanted, "bad_start_spec", len(specs), f"give {wanted}")
            _demand(self.auto_shutdown == "never", "bad_combination", self.auto_shutdown, "drop it")
            self._template = specs[0] if specs else None
        for spec in specs:
            self._check_spec(spec)
            _demand(spec.id not in self._children, "duplicate_child_name", spec.id, "rename one")
            if self._template is None:
                self._children[spec.id] = _Child(spec.id, spec)

    def _check_spec(self, spec: ChildSpec) -> None:
        _demand(isinstance(spec, ChildSpec), "invalid_child_spec", spec, "give a ChildSpec")
        sound = self.auto_shutdown != "never" or not spec.significant
        _demand(sound, "bad_combination", ("significant", "never"), "give an auto_shutdown")

    def _file(self, child: _Child) -> None:
        """Keep it on the list if it runs or can be started again by its id; else forget it."""
        if self._nameless:
            self._children.pop(child.key, None)
            child.key = id(child.handle)
        lasting = not self._nameless and child.spec.restart != "temporary"
        if lasting or child.state == "running":
            self._children[child.key] = child
        else:
            self._children.pop(child.key, None)

    def _set_aside(self, child: _Child) -> None:
        if child.wait is not None:
            child.wait.cancel()
        child.state, child.handle, child.wait = "stopped", None, None
        self._file(child)

    async def _call(self, work: Callable[[], Awaitable[T]]) -> T:
        if self._task is None or self._task.done():
            raise NotRunningError(self.name)
        reply: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._replies.add(reply)
        reply.add_done_callback(self._replies.discard)
        self._mailbox.put_nowait(lambda: _answer(work, reply))
        return await reply

    def _spawn(self, work: Coroutine[Any, Any, T], verb: str, child: Hashable) -> asyncio.Task[T]:
        task = asyncio.create_task(work, name=f"{self.name}: {verb} {child}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_error_of)  # marks it as seen: asyncio complains otherwise
        return task

    def _tell(self, kind: Happening, child: _Child, reason: object = None) -> None:
        try:
            if self._report is not None:
                self._report(Report(self.name, child.spec.id, kind, reason, child.handle))
        except Exception:
            log.exception("the report hook of supervisor %s failed", self.name)


@dataclass(eq=False, slots=True)
class _Child:
    """A spec and what became of it; `handle` is the last one while it is being restarted."""

    key: object
    spec: ChildSpec
    args: tuple[object, ...] = ()
    state: State = "stopped"
    handle: Handle | None = None
    restarts: int = 0
    #: Failures in a row and when it was started last, in seconds; the wait for its next restart.
    failures: int = 0
    since: float = 0.0
    wait: asyncio.Task[None] | None = None


async def _begin(child: _Child, extra: tuple[object, ...]) -> Started:
    result: Any = await child.spec.start(*extra, *child.args)
    handle, info = result if isinstance(result, tuple) and len(result) == 2 else (result, None)  # noqa: PLR2004 - a pair
    if isinstance(handle, str) and handle == IGNORE:
        return Started(None, info)
    if not _is_handle(handle):
        raise StartError(f"got {handle!r}: return a Handle or IGNORE", ("bad_return_value", handle))
    return Started(handle, info)


async def _spent(*_: object) -> Ignore:
    raise StartError("a temporary child starts once: make it a spec of its own", "temporary")


async def _answer(work: Callable[[], Awaitable[T]], reply: asyncio.Future[T]) -> None:
    with suppress(asyncio.InvalidStateError):  # the caller was cancelled: no answer is waited for
        try:
            reply.set_result(await work())
        except SupervisionError as error:
            reply.set_exception(error)


def _is_handle(thing: object) -> bool:
    return all(hasattr(thing, method) for method in ("stop", "kill", "exited"))


async def _await_exit(handle: Handle) -> object:
    return await handle.exited()


async def _stop(child: _Child, watcher: asyncio.Task[object]) -> None:
    if child.handle is not None:
        await child.handle.stop(child.spec.patience)
    await asyncio.wait({watcher})


def _kill(child: _Child) -> None:
    try:
        if child.handle is not None:
            child.handle.kill()
    except Exception:
        log.exception("the kill of child %s failed", child.spec.id)


def _error_of(task: asyncio.Task[Any]) -> BaseException | None:
    return asyncio.CancelledError() if task.cancelled() else task.exception()


def _reason_of(watcher: asyncio.Task[object]) -> object:
    """Return why a child ended; an `exited` that fails is a reason, too."""
    error = _error_of(watcher)
    return watcher.result() if error is None else "killed" if watcher.cancelled() else error


def _is_orderly(reason: object) -> bool:
    match reason:
        case "normal" | "shutdown" | ("shutdown", _):
            return True
    return False


def _is_accepted(spec: ChildSpec, reason: object) -> bool:
    expected = "killed" if spec.shutdown == BRUTAL_KILL else "shutdown"
    return reason == expected or (spec.restart != "permanent" and _is_orderly(reason))


def _start_error(supervisor: str, child: _Child, error: BaseException) -> StartError:
    reason = error.reason if isinstance(error, StartError) else error
    why = f"{type(error).__name__}: {error}" if reason is error else error
    text = f"child {child.spec.id!r} of {supervisor!r} did not start: {why}"
    return StartError(text, reason, child.spec.id)


def _demand(condition: bool, word: str, value: object, advice: str) -> None:  # noqa: FBT001 - an assertion
    if not condition:
        raise SpecError(f"{word}: {value!r}: {advice}", (word, value))


def _demand_one_of(value: str, words: Any, problem: str) -> None:  # noqa: ANN401 - a Literal
    allowed = words.__args__
    _demand(value in allowed, problem, value, f"give one of {', '.join(allowed)}")


def _picture(child: _Child) -> Node:
    """Return a child's node: its own picture while it has one, with what only we know."""
    name = str(child.spec.id)
    name += f"({', '.join(map(str, child.args))})" if child.args else ""
    node = Node(name, child.spec.type, child.state, child.restarts)
    if child.state not in ("running", "stopping"):
        return node
    handle: Any = child.handle
    try:
        if hasattr(handle, "snapshot"):
            node = replace(handle.snapshot(), name=name, restarts=child.restarts)
        elif hasattr(handle, "info"):
            node = replace(node, detail=dict(handle.info()))
    except Exception as error:  # noqa: BLE001 - a picture of a sick tree is when it is needed most
        node = replace(node, detail={"error": repr(error)})
    return node
