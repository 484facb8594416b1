"""What keeps a loop from waiting for itself: the blocking guard and the call-cycle guard.

A blocking wait on the thread that runs the loop can never be answered, because the answer would
come from that loop. A ring of actors that await one another is the same mistake with more people.
Both raise before anything is sent. Not seen: a ring that passes through a spawned task or another
thread; those end by their timeout.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from cortex_actors.errors import BlockingInLoopError, CallCycleError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Asked(Protocol):
    """A reply somebody waits for."""

    @property
    def target(self) -> Waiter | None:
        """Return who has to answer; None once its mailbox goes on without the answer."""


class Waiter(Protocol):
    """An actor, as far as waiting is concerned."""

    #: What to call it in an error.
    label: str

    #: The number of the handler that runs now; a number that has passed is never used again.
    turn: int

    @property
    def waits(self) -> Sequence[Asked]:
        """Return the replies that the running handler waits for."""


#: The actor whose handler this code runs in and the number of that turn; None outside handlers.
#: A task started by a handler inherits it, and is taken for detached once the turn is over.
TURN: ContextVar[tuple[Waiter, int] | None] = ContextVar("TURN", default=None)


def loop_here() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs on this thread, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def refuse_to_block(call: str, instead: str) -> None:
    """Raise BlockingInLoopError if this thread runs an event loop."""
    if loop_here() is not None:
        message = f"{call} would freeze the event loop of this thread; use {instead}"
        raise BlockingInLoopError(message)


def waiter() -> Waiter | None:
    """Return the actor that cannot take its next message before this code has gone on."""
    turn = TURN.get()
    return turn[0] if turn is not None and turn[0].turn == turn[1] else None


def refuse_cycle(me: Waiter, target: Waiter) -> None:
    """Raise CallCycleError if `target` waits for `me`, directly or through others."""
    path = _path(target, me, [])
    if path is not None:
        ring = " -> ".join(actor.label for actor in (me, *path))
        message = f"the ask would never be answered: {ring} wait for one another"
        raise CallCycleError(message)


def _path(start: Waiter, goal: Waiter, seen: list[Waiter]) -> list[Waiter] | None:
    if start is goal:
        return [start]
    if any(start is one for one in seen):
        return None
    seen.append(start)
    for asked in start.waits:
        rest = None if asked.target is None else _path(asked.target, goal, seen)
        if rest is not None:
            return [start, *rest]
    return None
