"""What it means that a task is linked to its caller: they live and die together.

The caller is the actor in whose handler the task was started, or else the asyncio task. When it
ends, the task is shut down. When the task ends in any way but "normal":

- an actor crashes with the task's error, whatever its handler is at (`AsyncioRef.fail`);
- an asyncio task gets the error where it awaits that task, as does whoever else awaits it. If
  nobody does, the caller is cancelled, which is all that asyncio lets us do to it, and the log
  says why; an `await_` of another task, or of a stream, that is cut short by this raises the error
  in place of the cancellation.

A one-way link ends the task with its caller and spares the caller the end of the task.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from cortex_actors.errors import InternalError
from cortex_actors.runtime.guards import loop_here
from cortex_actors.runtime.life import Exit, Life, life_here

if TYPE_CHECKING:
    from collections.abc import Sized

log = logging.getLogger("cortex.tasks")

#: Whoever starts a task.
Caller: TypeAlias = "Life | asyncio.Task[Any]"

#: Why we cancelled an asyncio task, until it has heard of it.
_CRASHES: WeakKeyDictionary[asyncio.Task[Any], Exception] = WeakKeyDictionary()


class Linked(Protocol):
    """A task, as far as its link is concerned."""

    #: What to call it where people read.
    name: str

    @property
    def reason(self) -> object:
        """Return why it ended; None while it runs."""

    @property
    def awaiting(self) -> Sized:
        """Return who gets its error anyway."""

    def error(self) -> Exception:
        """Return what went wrong, as somebody who awaits it gets it."""

    def shut_down(self) -> None:
        """Ask it to end."""


class Link:
    """One task and its caller, until either has ended."""

    def __init__(self, task: Linked, caller: Caller, *, one_way: bool = False) -> None:
        self.caller = caller
        self.one_way = one_way
        self._task = task
        if isinstance(caller, Life):
            caller.ended.add_done_callback(self._on_caller_end)
        else:
            caller.add_done_callback(self._on_caller_end)

    def cut(self) -> None:
        """Let either end without the other."""
        self.one_way = True
        if isinstance(self.caller, Life):
            self.caller.ended.remove_done_callback(self._on_caller_end)
        else:
            self.caller.remove_done_callback(self._on_caller_end)

    def settle(self) -> None:
        """Cut the link of a task that has ended, and strike the caller if it ended badly."""
        spared = self.one_way or self._task.reason == "normal"
        self.cut()
        if not spared:
            self._strike(self._task.reason)

    def _strike(self, reason: object) -> None:
        if isinstance(self.caller, Life):
            self.caller.fail(reason if isinstance(reason, Exception) else Exit(reason))
        elif not (self._task.awaiting or self.caller.done() or self.caller in _CRASHES):
            name = self.caller.get_name()
            log.error("%s is cancelled: its task %s ended: %r", name, self._task.name, reason)
            _CRASHES[self.caller] = self._task.error()
            self.caller.cancel(f"its task {self._task.name} ended: {reason!r}")

    def _on_caller_end(self, _caller: asyncio.Task[Any] | None = None) -> None:
        self._task.shut_down()


def caller_here() -> Caller | None:
    """Return the actor in whose own task this code runs, else the asyncio task, if it is in one."""
    return life_here() or (None if loop_here() is None else asyncio.current_task())


def demand_caller() -> Caller:
    """Return who calls; raises InternalError in a callback, which is nobody that could crash."""
    caller = caller_here()
    if caller is None:
        raise InternalError(
            "cannot link a task here: a callback has no life of its own; use start_child"
        )
    return caller


def surface() -> None:
    """Raise why this asyncio task was cancelled, if a link did it and nobody else as well."""
    here = asyncio.current_task()
    crash = None if here is None else _CRASHES.pop(here, None)
    if here is not None and crash is not None and here.uncancel() == 0:
        raise crash
