"""The command line, on a home that is cleaned up whatever the test left running."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.process.commands import Commands

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def cortex(tmp_home: Path) -> Iterator[Commands]:
    """Give the command line of a home of its own."""
    commands = Commands(tmp_home)
    yield commands
    commands.clean_up()
