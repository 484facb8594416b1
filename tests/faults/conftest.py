"""The command line of a home, which is ended whatever the test left running."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.ground import mounted
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


@pytest.fixture
def small(tmp_home: Path) -> Iterator[Path]:
    """Give the home as a disk of its own, of 16 MB; ask for it before `cortex`."""
    with mounted(tmp_home, 16) as folder:
        yield folder
