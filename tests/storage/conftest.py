"""Fixtures of the storage tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.storage.support import Store, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Give a running ledger in a folder of its own."""
    async with opened(tmp_path) as store:
        yield store
