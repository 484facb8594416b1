"""One migration: every text that may be found gets its vector of another model, in small units.

That is also what memories said that are found as of a date only.
Each unit is rows of the ledger under the coming model's id, so whatever ends the process costs at
most one unit, and beginning again goes on from there. Nothing else is changed until the switch,
which is one transaction.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Protocol

from cortex_actors.embedding.provider import refusal
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.storage import embeddings, models

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Provider, Row
    from cortex_actors.storage.embeddings import Waiting
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.models import Chosen

log = logging.getLogger("cortex.migrator")

#: Texts of one unit, and the characters from which it is cut shorter: some 0.1 s of work, since
#: whoever recalls something meanwhile shares the cores with it.
TEXTS, CHARACTERS = 16, 8_000

#: Whose texts, one after the other: what is found today first.
TEXTS_OF = (embeddings.without, embeddings.unheard)

#: Part of a unit's own time that passes before the next one.
REST = 0.25

#: Seconds between two looks whether the pool has work, and the seconds that one unit gives way to
#: it at most: an import of an hour must not hold up the migration for an hour.
LOOK, WAY = 0.02, 1.0

#: Seconds between two counts of all texts; in between only what is done is added.
RECOUNT = 10.0


class Busy(Protocol):
    """Says whether the pool has texts in hand, for which a migration makes way."""

    def __call__(self) -> Awaitable[bool]:
        """Return that."""


class Migration:
    """Embeds with a provider of its own until a model can answer, and then has it answer.

    Texts that the provider refuses whoever tries (`failed`) do not hold up the switch; they stay
    without a vector as they would have been without a migration.
    """

    def __init__(
        self, records: Records, clock: Clock, *, model: Chosen, provider: Provider, busy: Busy
    ) -> None:
        """Begin where the ledger says; nothing runs yet."""
        self.model = model
        self._records = records
        self._clock = clock
        self._provider = provider
        self._busy = busy
        self._poison: set[bytes] = set()
        self._begun = self._counted = clock.monotonic()
        self._made = 0
        self.total = self.done = 0

    @property
    def failed(self) -> int:
        """How many texts this model cannot embed."""
        return len(self._poison)

    @property
    def rate(self) -> float:
        """Texts a second since it began or went on."""
        took = self._clock.monotonic() - self._begun
        return self._made / took if took > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds it will still take at that rate; None while that is not known."""
        left = max(0, self.total - self.done - self.failed)
        if not left:
            return 0.0
        return left / self.rate if self.rate else None

    async def run(self) -> None:
        """Embed everything and switch; the provider's model answers in the ledger afterwards.

        Raises `NotFound` when the migration was called off, and whatever keeps the provider or the
        ledger from working; run again, it goes on.
        """
        self._begun, self._made = self._clock.monotonic(), 0
        await self._recount()
        while not await self._switched():
            for texts in TEXTS_OF:
                after = 0
                while todo := await self._next(texts, after):
                    await self._embed(todo)
                    after = todo[-1].row

    async def _switched(self) -> bool:
        """Let the model answer if nothing is missing."""
        unit = partial(
            models.switch, model_id=self.model.model_id, but=self._poison, at=self._clock.now()
        )
        missing = await self._records.write(unit)
        await self._recount()
        return missing == 0

    async def _next(self, texts: Callable[..., list[Waiting]], after: int) -> list[Waiting]:
        """Return the texts of the next unit."""
        query = partial(texts, model_id=self.model.model_id, after=after, limit=TEXTS)
        found = await self._records.read(query)
        room, taken = CHARACTERS, 0
        while taken < len(found) and (room > 0 or not taken):
            room -= len(found[taken].text)
            taken += 1
        return found[:taken]

    async def _embed(self, todo: Sequence[Waiting]) -> None:
        """Store the vectors of one unit, then rest."""
        begun = self._clock.monotonic()
        fresh = {each.digest: each.text for each in todo if each.digest not in self._poison}
        if not fresh:
            return
        found = await self._tried(list(fresh.items()))
        await self._records.write(partial(self._kept, found=found))
        self._made += len(found)
        self.done += len(found)
        await self._clock.sleep((self._clock.monotonic() - begun) * REST)
        await self._give_way()
        if self._clock.monotonic() - self._counted > RECOUNT:
            await self._recount()

    def _kept(self, connection: Connection, found: dict[bytes, Row]) -> None:
        """Store vectors, unless the migration was called off meanwhile."""
        coming = models.coming(connection)
        if coming is None or coming.model_id != self.model.model_id:
            raise NotFound(f"the migration to {self.model.model_id} was called off")
        embeddings.keep_vectors(connection, self.model.model_id, found)

    async def _tried(self, texts: list[tuple[bytes, str]]) -> dict[bytes, Row]:
        """Return a vector for each text; halve until a text that is refused stands alone.

        Raises `EmbedderDown` when the provider cannot embed at all.
        """
        error = refusal(self._provider)
        if error is not None:
            raise error
        try:
            rows = await self._provider.embed([text for _, text in texts])
        except BadInput as why:
            if len(texts) > 1:
                half = len(texts) // 2
                return {**await self._tried(texts[:half]), **await self._tried(texts[half:])}
            self._poison.add(texts[0][0])
            log.warning(
                "a text of %d characters cannot be embedded with %s: %s",
                len(texts[0][1]),
                self.model.model_id,
                why,
            )
            return {}
        return {digest: row for (digest, _), row in zip(texts, rows, strict=True)}

    async def _give_way(self) -> None:
        """Wait while the pool has texts in hand, though not for ever."""
        until = self._clock.monotonic() + WAY
        while self._clock.monotonic() < until and await self._busy():
            await self._clock.sleep(LOOK)

    async def _recount(self) -> None:
        """Count again: texts came and went meanwhile."""
        found = await self._records.read(partial(embeddings.progress, model_id=self.model.model_id))
        self.total, self.done = found.total, found.done
        self._counted = self._clock.monotonic()
