"""Fixtures of the tests of writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.writing.support import Desk, desk_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Give a registered folder and a quick writer."""
    async with desk_in(tmp_path.resolve()) as desk:
        yield desk
