"""A daemon whose door is open, for all tests of the door."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gateways.house import furnished

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gateways.house import House


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Give a daemon that knows something; whoever adds to it takes it back."""
    with furnished(tmp_path_factory.mktemp("house")) as house:
        yield house
