"""What tests of the roster share: one with a store of the settings, and one with a keyring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.federation.ringing import Ring
from tests.federation.rostered import House, base
from tests.federation.support import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
async def house(tmp_path: Path) -> House:
    """Give a roster with one store of the settings."""
    return await House(tmp_path).begin(stores=[base("fixed")])


@pytest.fixture
def ring() -> Iterator[Ring]:
    """Give a keyring that hangs nowhere once the test is over."""
    ring = Ring()
    yield ring
    ring.gate.set()


@pytest.fixture
async def guarded(tmp_path: Path, ring: Ring) -> House:
    """Give a roster with a keyring."""
    return await House(tmp_path, ring=lambda: ring).begin(stores=[base("fixed")])


@pytest.fixture
async def one() -> Shelf:
    """Give a store with three hits."""
    return Shelf("one", ("a", 0.9), ("b", 0.5), ("c", 0.1))


@pytest.fixture
async def two() -> Shelf:
    """Give another store, on another scale."""
    return Shelf("two", ("x", 0.03), ("y", 0.02))
