"""Indexer: brings the vectors, and with them the index, up to what the ledger says.

hears   *:complete, memory:remembered, memory:merged
says    -
asks    ledger, cache (vectors of texts that have none yet), vectors
keeps   whether it is to look, and when again; since when changes wait; which texts were refused
        (lost on a crash: it looks when it starts, and what is still to be done are rows of the
        ledger)

The backlog of the indexer: texts without a vector, and changes that give way to others.

The index applies changes in their order, and one whose text has no vector ends the list, so that
`applied_seq` never passes something that was not applied. A text that no model takes would so end
it for ever. Its change is written again, behind all others: nothing is lost or passed over, and the
order of the others stays.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Connection, delete, insert, select

from cortex_actors.errors import CortexError, EmbedderDown, IndexDown, Unembeddable
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import wait_within
from cortex_actors.storage import embeddings
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.storage.tables import dialect
from cortex_actors.storage.tables.columns import select_in, split_chunks
from cortex_actors.storage.tables.schema import index_ops, passages

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.runtime.names import NamedActor
    from cortex_actors.sections import StorageSettings
    from cortex_actors.storage.ledger.actor import Records


def list_texts(
    connection: Connection, model: str, *, limit: int, complete: int
) -> tuple[int, list[tuple[str, str, bytes]]]:
    """Return the newest change there ever was, and what `indexing.unembedded` gives.

    Whatever has no vector came with a change. So nothing is looked for again (14 ms when 50,000
    changes wait) when `complete` is that change: then every text had its vector already.
    """
    newest = dialect.find_newest(connection, index_ops)
    return newest, [] if newest == complete else embeddings.list_unembedded(
        connection, model, limit
    )


def defer_changes(connection: Connection, hashes: Collection[bytes]) -> int:
    """Move the changes of texts behind all others; return how many others went past them.

    0 says that nothing else waits behind them, and then nothing was moved.
    """
    of = select(index_ops.c.seq).join(passages, passages.c.item_id == index_ops.c.item_id)
    here = of.where(index_ops.c.collection == embeddings.INDEX)
    rows = select_in(connection, here, passages.c.text_hash, hashes)
    if not (seqs := sorted({seq for (seq,) in rows})):
        return 0
    query = select(index_ops.c.seq).where(index_ops.c.seq > seqs[0])
    passed = len(set(connection.execute(query).scalars()) - set(seqs))
    if passed:
        for some in split_chunks(seqs):
            columns = [index_ops.c.collection, index_ops.c.item_id, index_ops.c.op]
            again = select(*columns).where(index_ops.c.seq.in_(some)).order_by(index_ops.c.seq)
            connection.execute(insert(index_ops).from_select([c.name for c in columns], again))
            connection.execute(delete(index_ops).where(index_ops.c.seq.in_(some)))
    return passed


log = logging.getLogger("cortex.indexer")

#: Texts embedded in one turn: small, so that a question can overtake.
BACKLOG = 100

#: Seconds between two looks when nothing wakes it, and the longest rest from what is away.
IDLE = 5.0

#: Seconds before it tries again after the embedder or the index was away; it doubles up to `IDLE`.
RETRY = 0.25

#: Looks in the time for which changes gather, at most, when nothing comes of them.
LOOKS = 5

#: Seconds before it tries again after a fault of the program.
FAULT_PAUSE = 30.0

#: Seconds for which a text that was refused is left out: finding it among those of its batch costs
#: some requests each time, and a model that was confused for a moment takes it then.
REFUSED = 300.0


@dataclass(frozen=True, slots=True)
class IndexerInfo:
    """The indexer's state for `status`."""

    #: Texts that no model took: their items wait, nothing waits for them.
    refused: int
    #: Changes that the index applied in this life, and in how many goes.
    told: int
    goes: int


class Indexer(AsyncioActor):
    """Embeds what has no vector yet, then tells the index what changed, in order.

    Changes gather until `index_items` wait or the first of them has waited `index_ms`, because one
    costs the index as much as twenty; in bulk it gets `index_batch` at once. Both are safe to do
    twice. `applied_seq` moves only after the index has answered, so a crash anywhere repeats a
    little and skips nothing.
    """

    #: It is only asked how it is.
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
        embed: embeddings.Embed,
        index: NamedActor[Vectors],
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
        self._bell = asyncio.Event()
        self._rest, self._complete = RETRY, -1
        self._since: float | None = None
        self._refused, self._reported = dict[bytes, float](), set[bytes]()
        self._told = self._goes = 0

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Look now, whenever something may have changed, and now and then."""
        self.actor_ref.on_end(self._bus.subscribe("*:complete", self._on_event).cancel)
        self.actor_ref.on_end(self._bus.subscribe("memory:remembered", self._on_event).cancel)
        self.actor_ref.on_end(self._bus.subscribe("memory:merged", self._on_event).cancel)
        self.spawn(self._live(), name="turns")

    def describe(self) -> IndexerInfo:
        """Return how far it is."""
        return IndexerInfo(len(self._refused), self._told, self._goes)

    async def _live(self) -> None:
        """Take one turn after another; an event ends the rest between two of them."""
        while True:
            busy, pause = await self._take_turn()
            if not busy:
                # Events come faster than anything is due: a look at each of them would cost a core.
                until = self._clock.monotonic() + self._settings.index_ms / 1_000 / LOOKS
                await wait_within(self._clock, pause, self._bell.wait())
                if (gap := until - self._clock.monotonic()) > 0:
                    await self._clock.sleep(gap)
            self._bell.clear()

    async def _take_turn(self) -> tuple[bool, float]:
        """Do one piece of work; return whether there may be more, and the seconds until a look.

        A fault of ours in it is logged and rested from, on purpose: a restart would meet the same
        row again, and three in a row would end the branch and then the daemon.
        """
        try:
            busy = await self._catch_up()
        except (EmbedderDown, IndexDown) as error:
            log.debug("nothing is indexed for now: %s", error)
            pause, self._rest = self._rest, min(2 * self._rest, IDLE)
            return False, pause
        except CortexError as error:
            log.warning("indexing will be tried again: %s", error)
            return False, IDLE
        except Exception:
            log.exception("indexing failed inside and will be tried again")
            return False, FAULT_PAUSE
        self._rest = RETRY
        return busy, self._patience()

    async def _catch_up(self) -> bool:
        """Embed a little and index a little; True when there may be more to do.

        An embedder that is away holds up nothing that has its vector.
        """
        away: EmbedderDown | None = None
        embedded = False
        try:
            embedded = await self._embed_some()
        except EmbedderDown as error:
            away = error
        indexed = await self._index_some()
        if away is not None and not indexed:
            raise away
        return embedded or indexed

    async def _embed_some(self) -> bool:
        """Give vectors to texts that have none."""
        model, now = self._model, self._clock.monotonic()
        self._refused = {each: until for each, until in self._refused.items() if until > now}
        how = {"limit": BACKLOG + len(self._refused), "complete": self._complete}
        newest, found = await self._records.read(lambda c: list_texts(c, model, **how))
        self._complete = self._complete if found else newest
        if not (todo := [each for each in found if each[2] not in self._refused][:BACKLOG]):
            return False
        try:
            rows = await self._embed([text for _, text, _ in todo], model=model)
        except Unembeddable as error:
            self._leave_out([todo[number][2] for number in error.numbers] or [todo[0][2]], error)
            return True
        vectors = {digest: row for (_, _, digest), row in zip(todo, rows, strict=True)}
        await self._records.write(lambda c: embeddings.keep_vectors(c, model, vectors))
        return True

    def _leave_out(self, hashes: Sequence[bytes], error: Unembeddable) -> None:
        """Leave texts out for a while; the others of their batch are in the cache by now."""
        until = self._clock.monotonic() + REFUSED
        self._refused |= dict.fromkeys(hashes, until)
        if not self._reported.issuperset(hashes):
            log.warning("%d texts are left out until the model takes them: %s", len(hashes), error)
        self._reported.update(hashes)

    async def _index_some(self) -> bool:
        """Tell the index the next changes, if it is time."""
        model, limit = self._model, self._settings.index_batch
        changes = await self._records.read(lambda c: pending.list_changes(c, model, limit))
        if not changes:
            self._since = None
            # What waits behind texts that were refused goes past them.
            give_way = partial(defer_changes, hashes=list(self._refused))
            return bool(self._refused) and await self._records.write(give_way) > 0
        if not self._is_time(len(changes)):
            return False
        for (collection, gone), group in itertools.groupby(changes, key=_kind):
            await self._tell(collection, list(group), gone=gone)
        await self._records.write(lambda c: pending.note_applied(c, changes, model=model))
        self._since = None
        self._told, self._goes = self._told + len(changes), self._goes + 1
        return True

    def _is_time(self, waiting: int) -> bool:
        """Tell whether enough changes wait, or have waited long enough."""
        now = self._clock.monotonic()
        self._since = now if self._since is None else self._since
        late = now - self._since >= self._settings.index_ms / 1_000
        return late or waiting >= self._settings.index_items

    def _patience(self) -> float:
        """Return the seconds until the next look."""
        if self._since is None:
            return IDLE
        waited = self._clock.monotonic() - self._since
        return max(0.0, self._settings.index_ms / 1_000 - waited)

    async def _tell(self, collection: str, group: list[pending.IndexChange], *, gone: bool) -> None:
        """Tell the index one run of changes of a kind; of one item only the last counts."""
        if gone:
            ids = list(dict.fromkeys(change.item_id for change in group))
            await self._index.ask(Vectors.drop, collection, ids)
            return
        latest = {each.item_id: each.vector for each in group if each.vector is not None}
        rows = np.stack(list(latest.values()))
        await self._index.ask(Vectors.put, collection, list(latest), rows)

    def _on_event(self, _event: object) -> None:
        self._bell.set()


def _kind(change: pending.IndexChange) -> tuple[str, bool]:
    """Return the key of changes that may be sent together."""
    return change.collection, change.vector is None
