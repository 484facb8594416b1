"""A bus on a journal with a gate, and one with names and actors that hear on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.bus.bus import Bus
from cortex_actors.runtime.names import Names
from cortex_actors.testing import ManualClock, MemoryJournal
from tests.bus.gated import Gated
from tests.bus.hearing import Audience

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
def journal() -> Gated:
    """Give a journal whose gate is open."""
    journal = Gated(ManualClock())
    journal.gate.set()
    return journal


@pytest.fixture
def bus(journal: Gated) -> Bus:
    """Give a bus on that journal."""
    return Bus(journal, ManualClock())


@pytest.fixture
async def audience() -> AsyncIterator[Audience]:
    """Give a bus nobody listens to yet."""
    clock = ManualClock()
    audience = Audience(Bus(MemoryJournal(clock), clock), Names())
    yield audience
    await audience.leave()
