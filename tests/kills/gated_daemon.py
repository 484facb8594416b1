"""The real daemon, whose consumers handle nothing before a file `open` lies in the home."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors import daemon
from cortex_actors.tree import Tree, grow

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.clock import Clock
    from cortex_actors.home import Home
    from cortex_actors.process.logs import LogStream
    from cortex_actors.runtime.actor import AsyncioActor
    from cortex_actors.settings import Settings

#: Seconds between two looks at the gate.
LOOK = 0.05

#: The name of the gate.
GATE = "open"

#: Consumers that wait at it, and with which method.
WAITING = {
    "accumulator": "on_changed",
    "reconciler": "on_requested",
    "watchlist": "on_project",
}


def gated(home: Home, settings: Settings, clock: Clock, logs: LogStream) -> Tree:
    """Grow the tree, with a gate before some of its consumers."""
    tree = grow(home, settings, clock, logs)
    for name, method in WAITING.items():
        tree.parts.make[name] = partial(_made, tree.parts.make[name], method, home, clock)
    return tree


def _made(make: Callable[[], AsyncioActor], method: str, home: Home, clock: Clock) -> AsyncioActor:
    """Make an actor that waits."""
    actor = make()
    handle = getattr(actor, method)

    async def wait(event: Any) -> Any:
        while not (home.root / GATE).exists():
            await clock.sleep(LOOK)
        return await handle(event)

    setattr(actor, method, wait)
    return actor


if __name__ == "__main__":
    sys.exit(daemon.main(grow=gated))
