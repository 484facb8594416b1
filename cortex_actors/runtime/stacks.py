"""Where a task is: the chain of its awaits, down to what it waits for.

asyncio itself gives the outermost frame of a task that waits, which says the least.
"""

from __future__ import annotations

import asyncio
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

#: Frames that are shown, and tasks that wait for one another; deeper ones are a fault of ours.
_DEEP = 64

#: How coroutines and generators call their frame and what they wait for. Asynchronous generators
#: are not followed: nothing leads from a step of one to its frame.
_KINDS = (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"))


def stack(task: asyncio.Task[Any] | None) -> tuple[str, ...]:
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
        frame = getattr(work, names[0])
        if frame is not None:
            yield f"{_short(frame.f_code)}:{frame.f_lineno} in {frame.f_code.co_qualname}"
        work = getattr(work, names[1])


def _short(code: CodeType) -> str:
    """Return the end of a file's path: from our package on, else its folder and name."""
    parts = PurePath(code.co_filename).parts
    if "cortex_actors" in parts:
        last = len(parts) - 1 - parts[::-1].index("cortex_actors")
        return "/".join(parts[last:])
    return "/".join(parts[-2:])
