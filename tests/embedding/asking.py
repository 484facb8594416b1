"""Asking the pool as the cache does, and what should come back."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors.embedding.factory import HashingProvider
from cortex_actors.embedding.pool import Pool
from cortex_actors.embedding.provider import collect_rows
from cortex_actors.runtime.names import NamedActor
from tests.embedding.support import until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.embedding.pool import PoolInfo
    from cortex_actors.embedding.provider import Vectors
    from cortex_actors.runtime.actor import ActorHandle
    from cortex_actors.runtime.names import Names
    from tests.embedding.support import StagedProvider

    Asked = asyncio.Task[Vectors]


class Asker:
    """Asks the pool by its name, as the cache does."""

    def __init__(self, names: Names, handle: ActorHandle) -> None:
        self.outcomes = partial(NamedActor[Any]("pool", names).ask, Pool.embed)
        self.describe = partial(NamedActor[Any]("pool", names).ask, Pool.describe)
        self.handle = handle

    async def embed(
        self, texts: Sequence[str], *, urgent: bool = False, patience: float = 0.0
    ) -> Vectors:
        """Return the rows, or raise what kept a text from having one."""
        outcomes = await self.outcomes(texts, urgent=urgent, patience=patience)
        return collect_rows(texts, outcomes) if texts else np.empty((0, 384), dtype=np.float32)

    def later(self, *texts: str, urgent: bool = False, patience: float = 0.0) -> Asked:
        """Ask and do not wait."""
        return asyncio.create_task(self.embed(texts, urgent=urgent, patience=patience))

    async def waiting(self, count: int) -> None:
        """Wait until that many texts are in the line."""
        await until(partial(self._has, waiting=count))

    async def _has(self, *, waiting: int) -> bool:
        info: PoolInfo = await self.describe()
        return waiting == info.waiting


async def expected(*texts: str) -> Vectors:
    """Return the vectors those texts have."""
    return await HashingProvider().embed(texts)


async def in_flight(provider: StagedProvider, pool: Asker) -> Asked:
    """Close the gate with a batch of one text behind it."""
    provider.gate.clear()
    asked = pool.later("in flight", urgent=True)
    await provider.entered.wait()
    return asked
