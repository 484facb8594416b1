"""Indexer: brings the vectors, and with them the index, up to what the ledger says.

hears   *:complete
says    -
asks    ledger, cache (vectors of texts that have none yet), vectors
keeps   whether it is to look, and when again (lost on a crash: it looks when it starts; what is
        still to be done are rows of the ledger)
"""

from __future__ import annotations

import itertools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cortex_actors.errors import CortexError, EmbedderDown, IndexDown
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.overflow import Overflow
from cortex_actors.storage import indexing

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.settings import StorageSettings
    from cortex_actors.storage.indexing import Change, Matrix
    from cortex_actors.storage.records import Records

log = logging.getLogger("cortex.indexer")

#: Texts embedded in one turn: small, so that a question can overtake.
BACKLOG = 100

#: Seconds between two looks when nothing wakes it.
IDLE = 5.0

#: Seconds before it tries again after the embedder or the index was away.
RETRY = 0.25


class Embed(Protocol):
    """Turns texts into unit vectors."""

    def __call__(self, texts: Sequence[str]) -> Awaitable[Matrix]:
        """Return one row for each text; raises `EmbedderDown` when it cannot."""


class IndexPort(Protocol):
    """What the indexer needs of the vectors actor."""

    async def put(self, collection: str, ids: Sequence[str], rows: Matrix) -> None:
        """Insert or replace vectors."""

    async def drop(self, collection: str, ids: Sequence[str]) -> None:
        """Remove vectors."""


#: Seconds before it tries again after a fault of the program.
FAULT_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class Look:
    """See whether there is something to do."""


class Indexer(AsyncioActor):
    """Embeds what has no vector yet, then tells the index what changed, in order.

    Both are safe to do twice. `applied_seq` moves only after the index has answered, so a crash
    anywhere repeats a little and skips nothing.
    """

    #: It tells itself to look, once at a time; a look that waits sees what a later one would.
    mailbox_limit = 16
    overflow = Overflow.DROP_NEW

    def __init__(
        self,
        records: Records,
        bus: Bus,
        *,
        clock: Clock,
        settings: StorageSettings,
        model: str,
        embed: Embed,
        index: IndexPort,
    ) -> None:
        """Remember whom to ask."""
        super().__init__()
        self._records = records
        self._bus = bus
        self._clock = clock
        self._settings = settings
        self._model = model
        self._embed = embed
        self._index = index
        self._looking = self._again = False
        self._turn: asyncio.Task[None] | None = None
        self._timer: asyncio.Task[None] | None = None

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Look now, after every completed run, and now and then."""
        subscription = self._bus.subscribe("*:complete", lambda _event: self.look())
        self.actor_ref.on_end(subscription.cancel)
        self.look()

    async def on_receive(self, message: object) -> None:
        """Begin a turn; the mailbox goes on, so that a stop does not wait for an embedder."""
        if isinstance(message, Look):
            self._looking = False
            if self._turn is None:
                self._turn = self.spawn(self._take_turn(), name="turn")
            else:
                self._again = True

    def look(self) -> None:
        """Ask for a turn; many wishes before it are one."""
        if not self._looking and self.actor_ref.is_alive():
            self._looking = True
            self.actor_ref.tell(Look())

    async def _take_turn(self) -> None:
        """Do one piece of work and plan the next.

        A fault of ours in it is logged and rested from, on purpose: a restart would meet the same
        row again, and three in a row would end the branch and then the daemon.
        """
        try:
            busy, pause = await self._catch_up(), IDLE
        except (EmbedderDown, IndexDown) as error:
            log.debug("nothing is indexed for now: %s", error)
            busy, pause = False, RETRY
        except CortexError as error:
            log.warning("indexing will be tried again: %s", error)
            busy, pause = False, IDLE
        except Exception:
            log.exception("indexing failed inside and will be tried again")
            busy, pause = False, FAULT_PAUSE
        self._turn = None
        if busy or self._again:
            self._again = False
            self.look()
        else:
            self._later(pause)

    async def _catch_up(self) -> bool:
        """Embed a little and index a little; True when there may be more to do."""
        embedded = await self._embed_some()
        indexed = await self._index_some()
        return embedded or indexed

    async def _embed_some(self) -> bool:
        """Give vectors to texts that have none."""
        model = self._model
        todo = await self._records.read(lambda c: indexing.unembedded(c, model, BACKLOG))
        if not todo:
            return False
        rows = await self._embed([text for _, text, _ in todo])
        found = {digest: row for (_, _, digest), row in zip(todo, rows, strict=True)}
        await self._records.write(lambda c: indexing.keep_vectors(c, model, found))
        return True

    async def _index_some(self) -> bool:
        """Tell the index the next changes."""
        model = self._model
        limit = self._settings.index_batch
        changes = await self._records.read(lambda c: indexing.changes(c, model, limit))
        if not changes:
            return False
        for (collection, gone), group in itertools.groupby(changes, key=_kind):
            await self._tell(collection, list(group), gone=gone)
        await self._records.write(lambda c: indexing.applied(c, changes))
        return True

    async def _tell(self, collection: str, group: list[Change], *, gone: bool) -> None:
        """Tell the index one run of changes of a kind; of one item only the last counts."""
        if gone:
            await self._index.drop(
                collection, list(dict.fromkeys(change.item_id for change in group))
            )
            return
        latest = {each.item_id: each.vector for each in group if each.vector is not None}
        await self._index.put(collection, list(latest), np.stack(list(latest.values())))

    def _later(self, seconds: float) -> None:
        """Look again after a while; there is one such timer at most."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.spawn(self._wait(seconds), name="wait")

    async def _wait(self, seconds: float) -> None:
        """Look after the pause."""
        await self._clock.sleep(seconds)
        self.look()


def _kind(change: Change) -> tuple[str, bool]:
    """Return what may be told together."""
    return change.collection, change.vector is None
