"""What `cortex embeddings` does without a daemon: on the rows of the ledger, under the home's lock.

So a home whose daemon cannot start, for whatever reason, can still give up its migration.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar

from cortex_actors.clock import SystemClock
from cortex_actors.errors import DaemonDown, NotFound
from cortex_actors.process import lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.client.connection import Answer
    from cortex_actors.home import Home
    from cortex_actors.storage.ledger.actor import Connection

T = TypeVar("T")

#: Vectors that one statement deletes; nobody waits, but the statement's list is kept small.
FORGOTTEN = 5_000


def migration(home: Home) -> Answer:
    """Return which model answers, which one is to come, and which are kept.

    Raises `DaemonDown` where there is no ledger yet.
    """
    return _unit(home, _migration)


def cancel(home: Home) -> Answer:
    """End the migration that the ledger holds; raises `NotFound` when there is none.

    What it made is kept, as by a daemon.
    """
    return _unit(home, _cancel)


def prune(home: Home) -> Answer:
    """Delete the vectors of models that neither answer nor come; a crash keeps all of them."""
    return _unit(home, _prune)


def _unit(home: Home, unit: Callable[[Connection], T]) -> T:
    """Run a unit of work in the ledger of a daemon that is down."""
    from cortex_actors.storage.ledger import offline  # noqa: PLC0415 - SQLAlchemy

    if not home.ledger.exists():
        # Nothing is locked, because not even the home may be there.
        raise DaemonDown(f"no daemon runs for {home.root}, and it has no ledger yet: cortex start")
    with closing(lock.acquire(home)):
        return offline.commit(home.ledger, unit)


def _migration(connection: Connection) -> Answer:
    """Return the models of a ledger, in the shape of the verb's answer."""
    from cortex_actors.storage import embeddings, models  # noqa: PLC0415 - SQLAlchemy

    active, coming = models.active(connection), models.coming(connection)
    far = None if coming is None else embeddings.progress(connection, coming.model_id)
    return {
        "state": "down",
        "reason": "no daemon runs; the next start goes on with it" if coming else "",
        "note": "",
        "differs": "",
        "active": None if active is None else asdict(active),
        "coming": None if coming is None else asdict(coming),
        "total": 0 if far is None else far.total,
        "done": 0 if far is None else far.done,
        "failed": 0,
        "rate": 0.0,
        "left_s": None,
        "retired": [asdict(each) for each in models.retired(connection)],
    }


def _cancel(connection: Connection) -> Answer:
    """End the migration."""
    from cortex_actors.storage import models  # noqa: PLC0415 - SQLAlchemy

    found = models.cancel(connection, SystemClock().now())
    if found is None:
        raise NotFound("cannot cancel: no migration is under way")
    return {"cancelled": asdict(found)}


def _prune(connection: Connection) -> Answer:
    """Forget every model that is not in use."""
    from cortex_actors.storage import models  # noqa: PLC0415 - SQLAlchemy

    old = [each.model_id for each in models.retired(connection)] + models.strangers(connection)
    forgotten = dict.fromkeys(old, 0)
    for model in old:
        while gone := models.forget(connection, model, FORGOTTEN):
            forgotten[model] += gone
    return {"forgotten": forgotten}
