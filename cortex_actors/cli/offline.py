"""`publish` while no daemon runs: the event is written into the ledger, under the home's lock.

The daemon that starts next finds it there and handles it, as it would after a crash.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

from cortex_actors.api import events
from cortex_actors.cli import lifecycle
from cortex_actors.clock import SystemClock
from cortex_actors.errors import AlreadyRunning, AnswerLost, BadInput, DaemonDown
from cortex_actors.home import Home
from cortex_actors.process import lock
from cortex_actors.storage.ledger import offline

#: Seconds to wait for a daemon that stops, or for others that publish like this; and for one that
#: starts, as long as `cortex start` does.
PATIENCE, START_PATIENCE = 10.0, 60.0

#: Seconds between two tries.
PAUSE = 0.05


def publish(
    home: Home,
    online: Callable[[], dict[str, Any]],
    *,
    topic: str,
    payload: dict[str, Any],
    source: str,
    idempotency_key: str | None = None,
) -> dict[str, Any]:
    """Store an event and return what its publisher is told, with `"offline": true`.

    While somebody else has the lock, a daemon may be starting: then `online` is tried again. Raises
    what publishing online raises, `DaemonDown` when neither works for too long, and what
    `storage.offline.commit` raises.
    """
    # What the socket would not carry: no JSON, or half characters.
    try:
        json.dumps([payload, source, idempotency_key], allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        message = f"cannot publish {topic}: it cannot be written as JSON in UTF-8: {error}"
        raise BadInput(message) from None
    clock = SystemClock()
    begun = clock.monotonic()
    work = partial(
        events.write, topic=topic, payload=payload, source=source, key=idempotency_key, clock=clock
    )
    while True:
        try:
            # Not taken over: the file goes on telling how the last daemon ended.
            held = lock.acquire(home)
        except AlreadyRunning:
            try:
                return online()
            except DaemonDown as error:
                unsure = isinstance(error, AnswerLost) and idempotency_key is None
                patience = (
                    START_PATIENCE if lock.state(home) is lock.HomeState.STARTING else PATIENCE
                )
                if unsure or clock.monotonic() - begun > patience:
                    raise
            lifecycle.pause(PAUSE)
            continue
        with closing(held):
            return {**offline.commit(home.ledger, work), "offline": True}
