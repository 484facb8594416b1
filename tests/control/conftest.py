"""An open control socket for every test here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.home import Home
from cortex_actors.process.logs import LogStream
from tests.control.wire import Desk, Wire, connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def desk(tmp_home: Path) -> AsyncIterator[Desk]:
    """Give an open control socket."""
    home = Home(tmp_home)
    home.create()
    desk = Desk(home, LogStream(home.logs / "cortex.ndjson", SystemClock()))
    await desk.control.open()
    yield desk
    desk.gate.set()
    await desk.control.close()
    desk.logs.close()


@pytest.fixture
async def wire(desk: Desk) -> AsyncIterator[Wire]:
    """Give a connection to it."""
    wire = await connect(desk)
    yield wire
    wire.writer.close()


@pytest.fixture
def home(tmp_home: Path) -> Home:
    """Give a home that exists."""
    home = Home(tmp_home)
    home.create()
    return home
