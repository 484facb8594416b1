"""One daemon for all tests here, with five agents that each keep something in every realm."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.process.commands import Commands
from tests.realms.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="package")
def world() -> Iterator[World]:
    """Give a running daemon whose agents keep things."""
    home = Path(tempfile.mkdtemp(prefix="cx-"))
    cortex = Commands(home)
    started = cortex("start")
    try:
        assert 0 == started.returncode, started.stderr
        yield World(home)
    finally:
        cortex.clean_up()
        shutil.rmtree(home, ignore_errors=True)
