"""Fixtures of the storage tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.storage.support import Store, opened
from tests.storage.things import Tables, in_memory
from tests.storage.vectored import Vectored

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Give a running ledger in a folder of its own."""
    async with opened(tmp_path) as store:
        yield store


@pytest.fixture
def tables() -> Iterator[Tables]:
    """Give the ledger's tables in memory."""
    with in_memory() as tables:
        yield tables


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Vectored]:
    """Give an empty ledger."""
    ledger = Vectored(tmp_path)
    yield ledger
    ledger.close()
