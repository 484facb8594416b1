"""A bus on a journal with a gate."""

from __future__ import annotations

import pytest

from cortex_actors.bus.bus import Bus
from cortex_actors.testing import ManualClock
from tests.bus.gated import Gated


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
