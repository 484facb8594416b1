"""An asyncio loop on which time and chance are a seed's: one seed, one run.

**Time.** Nothing ever sleeps. When nothing is ready, the clock is put to the next timer; a step of
the program takes `STEP` seconds of that clock, so that timers fall between steps, too.

**Order.** asyncio documents that callbacks given to `call_soon` run in the order they were given
in, and a program may build on that; so they do, always. It does not document when a *task* gets its
turn, and on a busy machine a thread's or a socket's answer is what decides it. So the seed makes
steps of tasks late: a step may be overtaken by whatever stands behind it, never the other way
round. Timers fire in the order of their times, futures call back in the order they were asked to,
and the steps of one task stay in their order, as on every loop. Shuffling everything was rejected:
it finds faults that no loop can have.

**Threads.** A call for a thread (`run_in_executor`, `to_thread`, `Threads`) runs inline, when the
seed says so; what it gives arrives at a later moment. While it runs there is no running loop, as
on a thread. (Two such calls never overlap: races inside them are not found here.) Whatever is
really outside - another thread that calls in, a socket, a process - is refused.

**Sets.** Tasks and futures hash by the number of their making, so that a set of them has one order.

Deterministic simulation: a whole program in one process, in virtual time, from one seed.

`simulate(main, seed=7)` runs `main` on a `SimulatedLoop` and repeats the run, step by step, when it
is called with that seed again. What `main` is handed makes clocks and chance for the program under
test; what is outside of it (disks, processes, networks) it brings along as fakes. The idea is
FoundationDB's. docs/supervision.md says how to use it.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import os
import random
import threading
from asyncio import events
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from cortex_actors.clock import SECOND, SystemClock
from cortex_actors.errors import CortexError
from cortex_actors.testing import EPOCH

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
    from contextvars import Context


T = TypeVar("T")

#: Seconds that one step of the program takes: little, and not nothing.
STEP = 1e-5

#: Share of a task's steps that are late.
LATE = 0.25

#: Seconds up to which a call for a thread waits for it, and its answer for the loop.
LATENCY = 0.01

#: Steps after which a run counts as one that never ends: some ten seconds of real time.
STEPS = 1_000_000


class Standstill(CortexError):
    """A simulated program can never go on: nothing is ready and no timer is set."""


class NotSimulated(CortexError):
    """A simulated program reached for something real: a thread, a socket, a process."""


class SimulatedTask(asyncio.Task[T]):
    """A task with a number."""

    def __init__(self, work: Coroutine[Any, Any, T], *, number: int, **how: Any) -> None:
        # First, because asyncio puts it into a set at once.
        self._number = number
        super().__init__(work, **how)

    def __hash__(self) -> int:
        return self._number


class SimulatedFuture(asyncio.Future[T]):
    """A future with a number."""

    def __init__(self, *, number: int, loop: SimulatedLoop) -> None:
        self._number = number
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number


def _refused(what: str) -> Callable[..., NoReturn]:
    """Return a method of the loop that is not simulated."""

    def refuse(loop: SimulatedLoop, *_args: object, **_how: object) -> NoReturn:
        loop.refuse(f"a simulated program tried {what}; hand it something simulated instead")

    return refuse


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs one program; `random` is where all its chance comes from."""

    # What asyncio's own loop keeps its handles in.
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _thread_id: int | None

    def __init__(self, seed: int, *, late: float = LATE, latency: float = LATENCY) -> None:
        """Begin at second 0; `late` = 0 and `latency` = 0 give asyncio's usual order."""
        super().__init__()
        self.seed = seed
        self.random = random.Random(seed)
        #: What happened: (seconds, what), in order.
        self.trace: list[tuple[float, str]] = []
        self._seconds = 0.0
        #: The first reach for something real.
        self.refusal: NotSimulated | None = None
        self._late = late
        self._latency = latency
        self._numbers = itertools.count(1)
        self._steps = itertools.count(1)
        # The loop's own: timers closer to now than this would be due at once.
        self._clock_resolution = 0.0

    def time(self) -> float:
        """Return the seconds since the loop was made."""
        return self._seconds

    def note(self, what: str) -> None:
        """Write a line into the trace."""
        self.trace.append((self._seconds, what))

    def refuse(self, why: str) -> NoReturn:
        """Raise `NotSimulated`, and keep it: a program that catches it has failed all the same."""
        self.refusal = self.refusal or NotSimulated(why)
        raise self.refusal

    def create_task(  # type: ignore[override]  # asyncio spells the arguments out
        self, coro: Coroutine[Any, Any, T], **how: Any
    ) -> SimulatedTask[T]:
        """Return a task; one without a name is called for its number in this loop."""
        number = next(self._numbers)
        how["name"] = how.get("name") or f"{getattr(coro, '__qualname__', 'task')} {number}"
        return SimulatedTask(coro, number=number, loop=self, **how)

    def create_future(self) -> SimulatedFuture[Any]:
        """Return a future."""
        return SimulatedFuture(number=next(self._numbers), loop=self)

    def call_soon_threadsafe(  # type: ignore[override]  # typeshed knows of type variables
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call it soon; raises `NotSimulated` on a real thread, whose moment nobody can repeat."""
        if self._thread_id not in (None, threading.get_ident()):
            self.refuse(
                f"the thread {threading.current_thread().name!r} called into a simulated loop: "
                "the run could not be repeated; use run_in_executor, which is simulated"
            )
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(  # type: ignore[override]  # as above
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run a blocking call inline, some time from now; the executor is not used."""
        answer: asyncio.Future[T] = self.create_future()
        self.call_later(self._delay(), self._work, answer, partial(func, *args))
        return answer

    create_connection = _refused("to open a connection")
    create_server = _refused("to listen")
    getaddrinfo = _refused("to look a host up")
    subprocess_exec = _refused("to start a process")
    subprocess_shell = _refused("to start a process")

    def _delay(self) -> float:
        return self.random.uniform(0, self._latency)

    def _work(self, answer: asyncio.Future[T], call: Callable[[], T]) -> None:
        """Run a call as if on a thread: nobody there sees a loop."""
        if answer.cancelled():  # it has not begun, so it never does
            return
        give: Callable[[], None]
        events._set_running_loop(None)
        try:
            give = partial(answer.set_result, call())
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it, as from a thread
            give = partial(answer.set_exception, error)
        finally:
            events._set_running_loop(self)
        self.call_later(self._delay(), lambda: None if answer.done() else give())

    def _run_once(self) -> None:
        """Take one step: one callback, or one task's way to its next `await`."""
        if next(self._steps) > STEPS:
            self._steps = itertools.count(1)  # for the clean-up after this
            raise Standstill(f"after {STEPS} steps it still runs: it may be running in circles")
        if not self._ready:
            self._go_forward()
        self._collect_due()
        handle = self._take()
        if handle.cancelled():
            return
        self.note(_title(handle))
        self._seconds += STEP
        handle._run()

    def _go_forward(self) -> None:
        """Put the clock to the next timer; raises `Standstill` when there is none."""
        timers = self._scheduled
        while timers and timers[0].cancelled():
            self._drop_timer()
        if not timers:
            raise Standstill(
                "nothing can ever happen again: nothing is ready, no timer is set, and these "
                f"still wait: {'; '.join(_waiting(self)) or 'nobody'}"
            )
        self._seconds = max(self._seconds, timers[0].when())

    def _collect_due(self) -> None:
        """Make timers whose time has come ready, in the order of their times."""
        timers = self._scheduled
        while timers and timers[0].when() <= self._seconds:
            handle = self._drop_timer()
            if not handle.cancelled():
                self._ready.append(handle)

    def _drop_timer(self) -> asyncio.TimerHandle:
        handle = heapq.heappop(self._scheduled)
        handle._scheduled = False  # type: ignore[attr-defined]  # else a late cancel counts it
        return handle

    def _take(self) -> asyncio.Handle:
        """Return what runs next; a task's step may have to wait for what stands behind it."""
        ready = self._ready
        handle = ready.popleft()
        while ready and self.random.random() < self._late and _stepping(handle) is not None:
            ready.insert(self.random.randint(1, len(ready)), handle)
            handle = ready.popleft()
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Forget nothing: a cancelled timer is dropped when its time comes."""

    def _process_events(self, event_list: object) -> None:
        """Do nothing: there is no outside."""

    def _write_to_self(self) -> None:
        """Do nothing: nobody waits in a selector."""


def _stepping(handle: asyncio.Handle) -> asyncio.Task[Any] | None:
    """Return the task whose step a handle is, if it is one."""
    owner = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
    return owner if isinstance(owner, asyncio.Task) else None


def _title(handle: asyncio.Handle) -> str:
    """Return what a handle does, in words that are the same in every process."""
    task = _stepping(handle)
    if task is not None:
        return task.get_name()
    call = handle._callback  # type: ignore[attr-defined]
    while isinstance(call, partial):
        call = call.func
    return str(getattr(call, "__qualname__", type(call).__name__))


def _waiting(loop: SimulatedLoop) -> Generator[str, None, None]:
    """Yield the tasks that wait and the innermost line of each, by name."""
    for task in sorted(asyncio.all_tasks(loop), key=asyncio.Task.get_name):
        awaiting: Any = task.get_coro()
        while (inner := getattr(awaiting, "cr_await", None)) is not None and hasattr(
            inner, "cr_frame"
        ):
            awaiting = inner
        frame = getattr(awaiting, "cr_frame", None)
        where = f" in {awaiting.__qualname__}, line {frame.f_lineno}" if frame else ""
        yield task.get_name() + where


#: Lines of the trace that a failure shows.
TOLD = 50

#: Seconds between two looks at a condition.
LOOK = 0.1


class SimulatedClock:
    """A loop's own time as a `Clock`; its wall clock can jump, as real ones do."""

    def __init__(self, loop: SimulatedLoop, at: int = EPOCH) -> None:
        """Show a wall-clock time (UTC microseconds) at the loop's second 0."""
        self._loop = loop
        self._start = at

    def now(self) -> int:
        """Return the wall-clock time in UTC microseconds."""
        return self._start + round(self._loop.time() * SECOND)

    def monotonic(self) -> float:
        """Return the seconds since the loop was made."""
        return self._loop.time()

    def jump(self, seconds: float) -> None:
        """Set the wall clock by so much, as a person or NTP would; nobody wakes."""
        self._start += round(seconds * SECOND)

    async def sleep(self, seconds: float) -> None:
        """Return after that many virtual seconds."""
        await SystemClock().sleep(seconds)  # its timer is one of the simulated loop


class Simulation:
    """What a simulated program is handed: the time, chance, and a place to write down what it did.

    `random` decides for the scenario alone, so that drawing from it once more changes nothing in
    the order of steps; the loop has its own, and so has whatever reads `os.urandom` or `random`.
    """

    def __init__(self, loop: SimulatedLoop) -> None:
        """Belong to a loop."""
        self.loop = loop
        self.seed = loop.seed
        self.clock = SimulatedClock(loop)
        self.random = random.Random(f"scenario {loop.seed}")

    @property
    def trace(self) -> list[tuple[float, str]]:
        """Everything that happened: (seconds, what), in order."""
        return self.loop.trace

    def note(self, what: str) -> None:
        """Write a line into the trace."""
        self.loop.note(what)

    async def until(
        self, condition: Callable[[], bool] | Callable[[], Awaitable[bool]], within: float
    ) -> None:
        """Return once a condition holds; raises `TimeoutError` after so many virtual seconds."""
        async with asyncio.timeout(within):
            while True:
                held = condition()
                if (held if isinstance(held, bool) else await held) is True:
                    return
                await self.clock.sleep(LOOK)


def simulate(
    main: Callable[[Simulation], Coroutine[object, object, T]],
    *,
    seed: int,
    late: float | None = None,
) -> T:
    """Run `main` to its end and return what it returned; the same seed is the same run.

    While it runs, `random` and `os.urandom` (so `uuid4` and `secrets`, too) give what the seed
    says. `late` is the share of tasks' steps that are late (0: asyncio's own order). Raises
    what `main` raised, with the seed and the last lines of the trace in its notes; `Standstill`
    when nothing can ever happen again; `NotSimulated` when it reached for something real.
    """
    loop = SimulatedLoop(seed) if late is None else SimulatedLoop(seed, late=late)
    with _chance(seed), asyncio.Runner(loop_factory=lambda: loop) as runner:
        try:
            result = runner.run(_honest(main(Simulation(loop)), loop))
        except BaseException as error:
            last = told(loop.trace)
            error.add_note(f"simulated with seed {seed}; the last that happened:\n{last}")
            raise
    return result


async def _honest(main: Coroutine[object, object, T], loop: SimulatedLoop) -> T:
    """Return what a program returns, unless it has reached for something real."""
    result = await main
    if loop.refusal is not None:
        raise loop.refusal
    return result


def told(trace: list[tuple[float, str]], lines: int = TOLD) -> str:
    """Return the end of a trace as text, repeats of a line as one."""
    found: list[tuple[float, str, int]] = []
    for at, what in reversed(trace):
        if found and found[-1][1] == what:
            found[-1] = (at, what, found[-1][2] + 1)
        elif len(found) == lines:
            break
        else:
            found.append((at, what, 1))
    return "\n".join(
        f"  {at:12.6f}  {what}{f'  (x {times})' if times > 1 else ''}"
        for at, what, times in reversed(found)
    )


@contextmanager
def _chance(seed: int) -> Iterator[None]:
    """Make the process's sources of chance a seed's, and give them back."""
    ours = random.Random(f"chance {seed}")
    before, urandom = random.getstate(), os.urandom
    random.seed(f"random {seed}")
    os.urandom = random._urandom = ours.randbytes  # type: ignore[attr-defined]
    try:
        yield
    finally:
        os.urandom = random._urandom = urandom  # type: ignore[attr-defined]
        random.setstate(before)
