"""An actor as a supervisor sees it: started under a name, asked to end, killed, watched.

`ActorHandle` has the methods that `supervision.py` calls on a child; neither imports the other.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from cortex_actors.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.runtime.actor import AsyncioActor
    from cortex_actors.runtime.names import Names
    from cortex_actors.runtime.ref import AsyncioRef


A = TypeVar("A", bound="AsyncioActor")
P = ParamSpec("P")


class ActorHandle:
    """One life of a named actor; its successor after a restart has a handle of its own."""

    def __init__(self, ref: AsyncioRef[Any]) -> None:
        self.ref = ref

    @property
    def name(self) -> str:
        """The name it was started under; a report of its supervisor may know only its template."""
        return self.ref.life.label

    async def stop(self, timeout: float | None) -> None:
        """Ask the actor to end after what it was sent before, and wait until it has.

        Raises TimeoutError if it is still alive after `timeout` seconds (None: wait for ever).
        """
        self.ref.shut_down()
        async with asyncio.timeout(None if timeout == math.inf else timeout):
            await self.ref.join()

    def kill(self) -> None:
        """End the actor now; `exited` then gives "killed"."""
        self.ref.kill()

    async def exited(self) -> object:
        """Wait until the actor and its tasks have ended, and return why."""
        return await self.ref.join()

    def info(self) -> dict[str, object]:
        """Return the counters of the actor and its mailbox (MailboxStats), each a plain number.

        `handled` and `dropped` only grow while the actor lives, and begin again with its successor.
        """
        return {**asdict(self.ref.actor_inbox.stats()), "handled": self.ref.life.handled}


async def start_actor(
    names: Names, name: str, make: Callable[P, A], /, *args: P.args, **kwargs: P.kwargs
) -> ActorHandle:
    """Make an actor (a class and its arguments, or any factory), start it and give it the name.

    Returns once on_start is done, and raises what it raised; the name then resolves until the
    actor ends. Raises InternalError if a living actor has the name. A cancelled start leaves no
    actor behind.
    """
    if names.whereis(name) is not None:
        raise InternalError(f"cannot start {name}: a living actor has that name")
    ref = make(*args, **kwargs).launch(name)
    try:
        await ref.life.started
        names.register(name, ref)
    except BaseException:
        ref.kill()
        await ref.join()
        raise
    return ActorHandle(ref)
