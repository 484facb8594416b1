"""A tree of nothing, whose ends can be chosen, for the daemon's process.

`FAKE` names what goes wrong: `give-up`, `slow-start`, `fault`, `bad-setting`, `bad-leaf`, `stuck`,
`frozen` (for an hour, once it is asked for its status), `nap` (for some seconds), `lingering`
(a thread never ends).
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

from cortex_actors import daemon
from cortex_actors.bus.bus import Bus
from cortex_actors.errors import ConfigurationError
from cortex_actors.service import FROZEN
from supervision import ChildSpec, Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.home import Home
    from cortex_actors.process.logs import LogStream
    from cortex_actors.settings import Settings
    from supervision import Handle

FAKE = os.environ.get("FAKE", "")

#: Seconds for which the loop stands still when it is asked for its status.
NAPS = {"frozen": 3600.0, "nap": FROZEN + 1.5}


class Cortex:
    """Answers `status`; every other verb does nothing."""

    def __init__(self, home: Home) -> None:
        self.loop_lag: Callable[[], float] = lambda: 0.0
        self._home = home

    async def status(self) -> dict[str, object]:
        if FAKE in NAPS:
            time.sleep(NAPS[FAKE])
        return {"state": "running", "pid": os.getpid(), "home": str(self._home.root)}

    async def publish(
        self, topic: str, payload: dict[str, object], *, source: str, transient: bool
    ) -> dict[str, object]:
        return {"id": "", "topic": topic, "seq": None}

    async def _nothing(self) -> dict[str, object]:
        return {}

    tree = add_project = remove_project = projects = scan = _nothing
    insights = recall = crash = _nothing


class Journal:
    """Keeps nothing."""

    async def append(self, events: Sequence[Event[Payload]]) -> list[Event[Payload]]:
        return list(events)


class Tree:
    """Starts and stops as `FAKE` says."""

    def __init__(self, home: Home, settings: Settings, clock: Clock, logs: LogStream) -> None:
        self.bus = Bus(Journal(), clock)  # type: ignore[arg-type]
        self.cortex = Cortex(home)
        self._ended = asyncio.Event()
        self._logs = logs
        self.fatal = None

    async def start(self) -> None:
        if FAKE == "slow-start":
            self._logs.write("info", "starting slowly", actor="fake")
            await asyncio.Event().wait()
        if FAKE == "fault":
            message = "a mistake"
            raise ZeroDivisionError(message)
        if FAKE == "bad-setting":
            message = "the setting x.y cannot be used"
            raise RuntimeError(message) from ConfigurationError(message)
        if FAKE == "bad-leaf":
            await Supervisor([ChildSpec("branch", _branch, type="supervisor")], name="top").start()
        if FAKE == "lingering":
            threading.Thread(target=threading.Event().wait).start()
        if FAKE == "give-up":
            self._ended.set()

    async def stop(self, timeout: float) -> None:
        if FAKE == "stuck":
            await asyncio.Event().wait()
        self._ended.set()

    async def exited(self) -> object:
        await self._ended.wait()
        return "shutdown"


async def _branch() -> Handle:
    """Start a branch whose leaf does not start."""
    return await Supervisor([ChildSpec("leaf", _leaf)], name="branch").start()


async def _leaf() -> Handle:
    message = "no such disk"
    raise OSError(message)


if __name__ == "__main__":
    sys.exit(daemon.main(grow=Tree))
