"""What the tests of the branch share."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors.embedding.pool import Pool
from cortex_actors.runtime.names import Names
from cortex_actors.runtime.supervised import start_actor
from tests.embedding.asking import Asker
from tests.embedding.support import ManualClock, StagedProvider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
def clock() -> ManualClock:
    """Give a clock that stands still."""
    return ManualClock()


@pytest.fixture
def provider() -> StagedProvider:
    """Give a provider that is ready and fails on demand."""
    return StagedProvider()


@pytest.fixture
def names() -> Names:
    """Give an empty register of names."""
    return Names()


@pytest.fixture
async def pool(names: Names, provider: StagedProvider, clock: ManualClock) -> AsyncIterator[Asker]:
    """Give a running pool of the documents' size with room for 100 texts."""
    make = partial(Pool, provider, clock, items=20, seconds=0.5, limit=100)
    handle = await start_actor(names, "pool", make)
    yield Asker(names, handle)
    handle.kill()
    await handle.exited()
