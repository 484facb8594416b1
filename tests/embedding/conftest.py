"""What the tests of the branch share."""

from __future__ import annotations

import pytest

from cortex_actors.runtime.names import Names
from tests.embedding.support import ManualClock, StagedProvider


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
