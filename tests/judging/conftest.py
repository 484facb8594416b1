"""What the tests of the branch share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.embedding.support import ManualClock
from tests.judging.support import chatting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.judging.support import FakeChat


@pytest.fixture
def clock() -> ManualClock:
    """Give a clock that stands still."""
    return ManualClock()


@pytest.fixture
async def chat() -> AsyncIterator[FakeChat]:
    """Give an endpoint that listens."""
    async with chatting() as found:
        yield found
