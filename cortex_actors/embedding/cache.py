"""Cache: vectors that were needed lately, in front of the ledger's, in front of the pool.

hears   -
says    -
asks    ledger, pool
keeps   the vectors used last (lost on a crash; the ledger has the stored ones, the pool makes the
        others again)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

import numpy as np

from cortex_actors.embedding.lru import Lru
from cortex_actors.embedding.provider import Row, Vectors
from cortex_actors.embedding.texts import digest, require_texts
from cortex_actors.errors import CortexError
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.overflow import Overflow

if TYPE_CHECKING:
    import asyncio

    from cortex_actors.embedding.provider import Provider, State

#: Looks up stored vectors: (model id, SHA-256 of texts) -> those that are stored.
Stored: TypeAlias = Callable[[str, Sequence[bytes]], Awaitable[Mapping[bytes, Row]]]


class Embed(Protocol):
    """The pool's `embed`, as its askers see it."""

    def __call__(
        self,
        texts: Sequence[str],
        *,
        urgent: bool = False,
        patience: float = 0.0,
    ) -> Awaitable[Vectors]:
        """Return one unit row a text."""


@dataclass(frozen=True, slots=True)
class EmbedderInfo:
    """What embeds, whether it can, and where the vectors of late came from."""

    model_id: str
    dimension: int
    max_tokens: int
    state: State
    reason: str
    #: Vectors in memory now.
    entries: int
    #: Texts answered from memory, from the ledger, and by the model.
    hits: int
    found: int
    embedded: int
    #: Vectors forgotten for want of room.
    evicted: int
    #: Times the ledger could not be asked, and the model was asked instead.
    unread: int
    #: What the provider counts: `restarts`, `truncated` ...
    provider: Mapping[str, int]


class Cache(AsyncioActor):
    """Answers from memory, else from the ledger, else from the pool; remembers what it gave.

    A vector is known by its model and the SHA-256 of its text, so a change of the model can never
    serve an old one. The provider is only looked at here; the pool owns it.
    """

    #: Questions that wait for a look into memory: who asks faster waits, no text is given up.
    mailbox_limit = 1_000
    overflow = Overflow.BACK_PRESSURE

    #: As long as the pool's, which it waits for.
    message_limit: ClassVar[float] = 600.0

    def __init__(self, provider: Provider, *, entries: int, stored: Stored, embed: Embed) -> None:
        super().__init__()
        self._provider = provider
        self._rows: Lru[tuple[str, bytes], Row] = Lru(entries)
        self._stored = stored
        self._embed = embed
        self._hits = self._found = self._embedded = self._unread = 0

    def embed(
        self,
        texts: Sequence[str],
        *,
        urgent: bool = False,
        patience: float = 0.0,
    ) -> asyncio.Task[Vectors]:
        """Return one unit row a text; the mailbox goes on while they are looked for.

        Raises what the pool raises; texts that are known are answered whatever state it is in.
        """
        return self.spawn(
            self._answer(tuple(texts), urgent=urgent, patience=patience), name="embed"
        )

    def describe(self) -> EmbedderInfo:
        """Return what embeds, and the counters since this actor started."""
        return EmbedderInfo(
            model_id=self._provider.model_id,
            dimension=self._provider.dimension,
            max_tokens=self._provider.max_tokens,
            state=self._provider.state,
            reason=self._provider.reason,
            entries=len(self._rows),
            hits=self._hits,
            found=self._found,
            embedded=self._embedded,
            evicted=self._rows.evicted,
            unread=self._unread,
            provider=dict(self._provider.counters),
        )

    async def _answer(self, texts: tuple[str, ...], *, urgent: bool, patience: float) -> Vectors:
        require_texts(texts)
        keys = {text: digest(text) for text in texts}
        rows = self._known(keys)
        rows |= await self._looked_up({t: key for t, key in keys.items() if t not in rows})
        missing = [text for text in keys if text not in rows]
        if missing:
            made = await self._embed(missing, urgent=urgent, patience=patience)
            self._embedded += len(missing)
            rows |= {t: self._keep(keys[t], row) for t, row in zip(missing, made, strict=True)}
        if not texts:
            return np.empty((0, self._provider.dimension), dtype=np.float32)
        return np.stack([rows[text] for text in texts])

    def _known(self, keys: Mapping[str, bytes]) -> dict[str, Row]:
        """Return the vectors that are in memory."""
        model = self._provider.model_id
        rows = {text: self._rows.get((model, key)) for text, key in keys.items()}
        known = {text: row for text, row in rows.items() if row is not None}
        self._hits += len(known)
        return known

    async def _looked_up(self, keys: Mapping[str, bytes]) -> dict[str, Row]:
        """Return the vectors that the ledger has; none when it cannot be asked."""
        if not keys:
            return {}
        try:
            stored = await self._stored(self._provider.model_id, list(keys.values()))
        except CortexError:
            self._unread += 1
            return {}
        found = {
            text: self._keep(key, stored[key])
            for text, key in keys.items()
            if key in stored and self._fits(stored[key])
        }
        self._found += len(found)
        return found

    def _fits(self, row: Row) -> bool:
        """Return whether a stored row is a vector of this model: a damaged one is made again."""
        right = self._provider.dimension in (0, row.size)  # 0: the model is missing, so unknown
        return right and row.ndim == 1 and bool(np.isfinite(row).all())

    def _keep(self, key: bytes, row: Row) -> Row:
        """Remember a vector: a copy of its own, since a view would keep its whole batch alive."""
        own = np.array(row, dtype=np.float32)
        own.setflags(write=False)
        self._rows.put((self._provider.model_id, key), own)
        return own
