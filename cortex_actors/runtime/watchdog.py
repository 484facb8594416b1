"""Crashes actors that sit in one message for too long, so that their supervisors restart them.

Every second it looks at what each named actor is at: the message, the replies it has put
off, the tasks it has given a limit. Too long is what the actor's class (`message_limit`) or its
`spawn(limit=)` says. Who is overdue is logged with its stack and crashed with `Stuck`; who
swallows that is killed, and who survives that is given up: it has ended then for everybody else.
So is who ends by itself and is not done with its clean-up after as long as a message may take.

Not seen: a handler that never returns to the loop, because then nothing here runs either. The
daemon has a thread for that (freeze.py).

Where a task is: the chain of its awaits, down to what it waits for.

asyncio itself gives the outermost frame of a task that waits, which says the least.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.errors import Stuck

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from cortex_actors.runtime.life import InHand
    from cortex_actors.runtime.names import Names
    from cortex_actors.runtime.ref import AsyncioRef


#: Frames that are shown, and tasks that wait for one another; deeper ones are a fault of ours.
_DEEP = 64

#: How coroutines and generators call their frame and what they wait for. Asynchronous generators
#: are not followed: nothing leads from a step of one to its frame.
_KINDS = (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"))


def find_stack(task: asyncio.Task[Any] | None) -> tuple[str, ...]:
    """Return a task's stack, outermost first, as `file:line in function`; nothing once it is done.

    Goes on through tasks that it waits for. To be called on the task's loop; from a handler's own
    thread while it runs, or from another one, it is a guess.
    """
    found: list[str] = []
    seen: set[asyncio.Task[Any]] = set()
    while task is not None and task not in seen and not task.done() and len(found) < _DEEP:
        seen.add(task)
        found += _lines(task.get_coro())
        waited: object = getattr(task, "_fut_waiter", None)
        task = waited if isinstance(waited, asyncio.Task) else None
        if task is not None:
            found.append(f"waiting for the task {task.get_name()}")
    return tuple(found[:_DEEP])


def _lines(work: object) -> Iterator[str]:
    """Yield a line for a coroutine and for whatever it waits for in turn."""
    for _ in range(_DEEP):
        names = next((names for names in _KINDS if hasattr(work, names[0])), None)
        if names is None:
            return
        if (frame := getattr(work, names[0])) is not None:
            yield f"{_short(frame.f_code)}:{frame.f_lineno} in {frame.f_code.co_qualname}"
        work = getattr(work, names[1])


def _short(code: CodeType) -> str:
    """Return the end of a file's path: from our package on, else its folder and name."""
    parts = PurePath(code.co_filename).parts
    if "cortex_actors" in parts:
        last = len(parts) - 1 - parts[::-1].index("cortex_actors")
        return "/".join(parts[last:])
    return "/".join(parts[-2:])


#: Seconds between two looks.
LOOK: Final = 1.0

#: Seconds between two crashes: a cause that holds up a whole branch must not use up its
#: supervisor's intensity (3 in 5 s), and who only waited for the first goes on meanwhile.
PACE: Final = 2.0

#: Seconds from the crash to the kill, and from there to giving up: a supervisor's own grace.
GRACE: Final = 5.0

#: Part of a limit by which two may be overdue one after the other: an asker before whom it asked.
TOGETHER: Final = 0.05

log = logging.getLogger("cortex.watchdog")


@dataclass(slots=True)
class _Case:
    """An actor that is to end, or has begun to."""

    name: str
    ref: AsyncioRef[Any]
    #: Seconds of the loop's clock at which it is pressed harder.
    due: float
    killed: bool = False


@dataclass(frozen=True, slots=True)
class _Overdue:
    """Something that has taken too long, or as good as."""

    name: str
    ref: AsyncioRef[Any]
    hand: InHand
    seconds: float

    @property
    def share(self) -> float:
        """Return the part of its limit that it has taken; more than one is overdue."""
        return self.seconds / self.hand.limit


class Watchdog:
    """Looks at the actors of one registry of names, from a task on their loop."""

    def __init__(self, names: Names, *, look: float = LOOK, grace: float = GRACE) -> None:
        """Watch nothing yet; `look` and `grace` are seconds, as `LOOK` and `GRACE`."""
        self._names = names
        self._every = look
        self._grace = grace
        self._cases: list[_Case] = []
        self._task: asyncio.Task[None] | None = None
        #: When the loop stood still, and for how long, in seconds of its clock.
        # Looks that came late which are remembered: for so long the loop stood still, and no
        # actor that waited meanwhile is to blame for it.
        self._freezes: deque[tuple[float, float]] = deque(maxlen=100)
        #: The loop's time at the last look, and at the last crash.
        self._looked, self._crashed = 0.0, -PACE

    def start(self) -> None:
        """Begin to look; a second call does nothing."""
        if self._task is None:
            self._looked = asyncio.get_running_loop().time()
            self._task = asyncio.create_task(self._watch(), name="watchdog")

    async def stop(self) -> None:
        """Look no more: an actor that does not end is now the tree's affair."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    def look(self) -> None:
        """Look once at every actor, and press those that are to end and do not."""
        now = asyncio.get_running_loop().time()
        late = now - self._looked - self._every
        if late > self._every:
            self._freezes.append((now, late))
        self._looked = now
        # Take up who has begun to end: a clean-up that hangs would keep it from coming back.
        known = {id(case.ref) for case in self._cases}
        for name, ref in self._names.list_dying().items():
            limit = ref.actor_class.message_limit
            if limit and id(ref) not in known:
                self._cases.append(_Case(name, ref, now + limit))
        self._cases = [case for case in self._cases if not case.ref.life.ended.done()]
        for case in self._cases:
            if now >= case.due:
                self._press(case, now)
        if now - self._crashed >= min(PACE, 2 * self._every):
            self._crash_one(now)

    async def _watch(self) -> None:
        """Look for ever; a fault of ours is logged and costs one look."""
        while True:
            await asyncio.sleep(self._every)
            try:
                self.look()
            except Exception:
                log.exception("a look at the actors failed inside")

    def _crash_one(self, now: float) -> None:
        """Crash one actor, if any is overdue: the one that began last; others may wait for it.

        While one that is nearly overdue began later, it is given the time to become so, or to end:
        no actor is crashed within its limit.
        """
        near = list(self._near(now))
        overdue = [each for each in near if each.share > 1]
        if not overdue:
            return
        worst = max(near, key=lambda each: each.hand.since)
        if worst.share <= 1:
            if all(each.share <= 1 + 2 * TOGETHER for each in overdue):
                return
            worst = max(overdue, key=lambda each: each.hand.since)
        self._crashed = now
        self._cases.append(_Case(worst.name, worst.ref, now + self._grace))
        name, hand = worst.name, worst.hand
        text = (
            f"{name} has been at {hand.title} for {worst.seconds:.1f} s; {hand.limit:g} s are "
            "allowed"
        )
        where = find_stack(hand.task)
        _say(name, f"{text}: it is crashed", traceback="\n".join(where))
        task = "" if hand.task is None else hand.task.get_name()
        worst.ref.fail(Stuck(f"{text}; it was in {where[-1] if where else 'no task'}", task, where))

    def _near(self, now: float) -> Iterator[_Overdue]:
        """Yield what is overdue, and what as good as is."""
        known = {id(case.ref) for case in self._cases}
        for name, ref in self._names.list_known().items():
            if id(ref) in known:
                continue
            for hand in ref.life.list_work():
                frozen = sum(late for at, late in self._freezes if at > hand.since)
                seconds = now - hand.since - frozen
                if hand.limit and seconds > hand.limit * (1 - TOGETHER):
                    yield _Overdue(name, ref, hand, seconds)

    def _press(self, case: _Case, now: float) -> None:
        """Kill who did not end when it was crashed, and give up who did not when it was killed."""
        case.due = now + self._grace
        if not case.killed:
            case.killed = True
            _say(case.name, f"{case.name} did not end and is killed")
            case.ref.kill()
            return
        _say(case.name, f"{case.name} survived its kill and is given up; its task goes on unseen")
        case.ref.life.abandon()


def _say(actor: str, text: str, **fields: str) -> None:
    """Write to the log in the name of an actor."""
    log.error("%s", text, extra={"actor": actor, **fields})
