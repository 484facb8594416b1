"""Restarts that wait, with a sleep in the test's hand."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from supervision import Backoff

if TYPE_CHECKING:
    from supervision import Supervisor
    from tests.supervision.conftest import Lab

#: Waits 1, 2, 4 and then always 5 seconds, and forgets after 9 quiet ones.
EXACT = Backoff(1.0, 5.0, jitter=0.0, reset=9.0)


class Waits:
    """A sleep that lasts until the test has had enough of it."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.cancelled = 0
        #: What a cancelled sleep waits for before it ends.
        self.lingers = asyncio.Event()
        self.lingers.set()
        self._gate = asyncio.Event()
        self._begun = asyncio.Condition()

    async def sleep(self, seconds: float) -> None:
        """Wait to be woken."""
        self.seconds.append(seconds)
        async with self._begun:
            self._begun.notify_all()
        self._gate = asyncio.Event()
        try:
            await self._gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            await self.lingers.wait()
            raise

    def wake(self) -> None:
        """End the latest sleep."""
        self._gate.set()

    async def begun(self, times: int) -> None:
        """Wait until so many sleeps have begun."""
        async with asyncio.timeout(5.0), self._begun:
            await self._begun.wait_for(lambda: len(self.seconds) >= times)


async def family(lab: Lab, waits: Waits, *names: str, **options: Any) -> Supervisor:
    """Return a supervisor of such children, of which `b` backs off."""
    specs = [lab.spec(n, backoff=EXACT if n == "b" else None) for n in names or ("a", "b", "c")]
    settings = {"intensity": 99, "sleep": waits.sleep, **options}
    return await lab.top(*specs, **settings).start()


async def fall(lab: Lab, waits: Waits, reason: object = "boom") -> None:
    """Let `b` crash, and wait until its restart waits."""
    lab.toys["b"].end(reason)
    await waits.begun(len(waits.seconds) + 1)
