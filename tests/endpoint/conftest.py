"""What the tests of the layer share."""

from __future__ import annotations

import pytest

from tests.embedding.support import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    """Give a clock that stands still."""
    return ManualClock()
