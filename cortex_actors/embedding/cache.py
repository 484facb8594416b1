"""Cache: vectors that were needed lately, in front of the ledger's, in front of the pool.

hears   -
says    -
asks    ledger, pool
keeps   the vectors used last (lost on a crash; the ledger has the stored ones, the pool makes the
        others again)

A mapping of limited size that forgets what was not used for longest.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from cortex_actors.embedding.provider import (
    Row,
    Vectors,
    collect_rows,
    hash_text,
    require_model,
    require_texts,
)
from cortex_actors.errors import CortexError
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.inbox import Overflow

if TYPE_CHECKING:
    from cortex_actors.embedding.provider import Outcome, Provider, ProviderState


K = TypeVar("K")
V = TypeVar("V")


class Lru(Generic[K, V]):
    """Holds at most `entries` values; reading one makes it the newest, whatever its age."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value and remember that it was used; None when it is not here."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key]

    def put(self, key: K, value: V) -> None:
        """Keep a value as the newest one."""
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._entries:
            self._values.popitem(last=False)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)


#: Looks up stored vectors: (model id, SHA-256 of texts) -> those that are stored.
Stored: TypeAlias = Callable[[str, Sequence[bytes]], Awaitable[Mapping[bytes, Row]]]

#: How far from 1 a stored vector's length may be: far more than rounding to float32 can do.
LENGTH_SLACK = 1e-3


class PoolEmbed(Protocol):
    """The pool's `embed`, as its askers see it."""

    def __call__(
        self, texts: Sequence[str], *, urgent: bool = False, patience: float = 0.0, model: str
    ) -> Awaitable[Sequence[Outcome]]:
        """Return a unit row or an error for each text; `ModelChanged` for another model's pool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderInfo:
    """What embeds, whether it can, and where the vectors of late came from."""

    model_id: str
    dimension: int
    max_tokens: int
    state: ProviderState
    reason: str
    #: Vectors in memory now, and the bytes of their numbers.
    entries: int
    bytes: int
    #: Texts answered from memory, from the ledger, and by the model.
    hits: int = 0
    found: int = 0
    embedded: int = 0
    #: Share of the texts that were answered from memory; 0 before the first.
    hit_rate: float
    #: Times the ledger could not be asked, and the model was asked instead.
    unread: int = 0
    #: Stored vectors that were no unit vectors of this model, and were made again.
    damaged: int = 0
    #: What the provider counts: `restarts`, `tokens`, `split` ...
    provider: Mapping[str, int]


class Cache(AsyncioActor):
    """Answers from memory, else from the ledger, else from the pool; remembers what it gave.

    A vector is known by its model and the SHA-256 of its text, so a change of the model can never
    serve an old one. Every vector that was made is kept, also those of a request that fails because
    of its other texts. The provider is only looked at here; the pool owns it.
    """

    #: Questions that wait for a look into memory: who asks faster waits, no text is given up.
    mailbox_limit = 1_000
    overflow = Overflow.BACK_PRESSURE

    #: As long as the pool's, which it waits for.
    message_limit: ClassVar[float] = 600.0

    def __init__(
        self, provider: Provider, *, entries: int, stored: Stored, embed: PoolEmbed
    ) -> None:
        super().__init__()
        self._provider = provider
        self._rows: Lru[tuple[str, bytes], Row] = Lru(entries)
        self._stored = stored
        self._embed = embed
        #: By the names of `EmbedderInfo`.
        self._counts: Counter[str] = Counter()

    @deferred
    async def embed(
        self,
        texts: Sequence[str],
        *,
        urgent: bool = False,
        patience: float = 0.0,
        model: str | None = None,
    ) -> Vectors:
        """Return one unit row a text; the mailbox goes on while they are looked for.

        Who stores or compares the rows names the `model` they are to come from; `ModelChanged` is
        raised when it is another one by now. Raises what the pool raises; texts that are known are
        answered whatever state it is in.
        """
        texts = tuple(texts)
        require_model(self._provider, model)
        require_texts(texts)
        keys = {text: hash_text(text) for text in texts}
        rows: dict[str, Outcome] = {}
        for text, key in keys.items():
            if (row := self._rows.get((self._provider.model_id, key))) is not None:
                rows[text] = row
        self._counts["hits"] += len(rows)
        rows |= await self._looked_up({t: key for t, key in keys.items() if t not in rows})
        missing = [text for text in keys if text not in rows]
        if missing:
            # Named, because between two lives the pool may have the next model already.
            outcomes = await self._embed(
                missing, urgent=urgent, patience=patience, model=self._provider.model_id
            )
            for text, outcome in zip(missing, outcomes, strict=True):
                rows[text] = outcome
                if not isinstance(outcome, CortexError):  # kept, whatever became of the others
                    rows[text] = self._keep(keys[text], outcome)
                    self._counts["embedded"] += 1
        if not texts:
            return np.empty((0, self._provider.dimension), dtype=np.float32)
        return collect_rows(texts, [rows[text] for text in texts])

    def describe(self) -> EmbedderInfo:
        """Return what embeds, and the counters since this actor started."""
        counts, model = self._counts, self._provider
        asked = counts["hits"] + counts["found"] + counts["embedded"]
        return EmbedderInfo(
            model_id=model.model_id,
            dimension=model.dimension,
            max_tokens=model.max_tokens,
            state=model.state,
            reason=model.reason,
            entries=len(self._rows),
            bytes=4 * len(self._rows) * model.dimension,
            hit_rate=round(counts["hits"] / asked, 4) if asked else 0.0,
            provider=dict(model.counters),
            **counts,
        )

    async def _looked_up(self, keys: Mapping[str, bytes]) -> dict[str, Row]:
        """Return the vectors that the ledger has; none when it cannot be asked."""
        if not keys:
            return {}
        try:
            stored = await self._stored(self._provider.model_id, list(keys.values()))
        except CortexError:
            self._counts["unread"] += 1
            return {}
        there = {text: key for text, key in keys.items() if key in stored}
        found = {
            t: self._keep(key, stored[key]) for t, key in there.items() if self._fits(stored[key])
        }
        self._counts.update(found=len(found), damaged=len(there) - len(found))
        return found

    def _fits(self, row: Row) -> bool:
        """Return whether a stored row is a unit vector of this model.

        One that is not is damaged, or was written by something else, and is made again. While the
        model is missing its dimension is unknown (0), so any is right.
        """
        if row.ndim != 1 or self._provider.dimension not in (0, row.size):
            return False
        length = float(np.linalg.norm(row.astype(np.float64)))  # not a number for NaN and infinity
        return abs(length - 1.0) <= LENGTH_SLACK

    def _keep(self, key: bytes, row: Row) -> Row:
        """Remember a vector: a copy of its own, since a view would keep its whole batch alive."""
        own = np.array(row, dtype=np.float32)
        own.setflags(write=False)
        self._rows.put((self._provider.model_id, key), own)
        return own
