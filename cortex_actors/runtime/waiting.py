"""Waiting for something, but not longer than a clock allows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from cortex_actors.clock import Clock


async def within(clock: Clock, seconds: float | None, wait: Coroutine[None, None, object]) -> bool:
    """Return True once `wait` is over, or False after that many seconds; None is for ever.

    `asyncio.timeout` was not taken because it asks the loop for the time, not the clock. What has
    not ended by then is cancelled.
    """
    waited = asyncio.ensure_future(wait)
    alarm = None if seconds is None else asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait(
            {waited} if alarm is None else {waited, alarm}, return_when=asyncio.FIRST_COMPLETED
        )
        return waited.done()
    finally:
        waited.cancel()
        if alarm is not None:
            alarm.cancel()
