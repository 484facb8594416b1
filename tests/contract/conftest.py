"""Every journal there is, in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.storage.events import LedgerJournal
from cortex_actors.testing import ManualClock
from tests.bus.journal import MemoryJournal
from tests.contract.bench import Bench
from tests.storage.support import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture(params=["memory", "ledger"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    """Give each journal in turn."""
    if request.param == "memory":
        clock = ManualClock()
        yield Bench(MemoryJournal(clock), clock)
        return
    async with opened(tmp_path) as store:
        yield Bench(LedgerJournal(store.records, store.clock), store.clock)
