"""A daemon for all tests of the library, and the ways to a memory."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors import Cortex
from tests.process.commands import Commands

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    """Give the command line of a home whose daemon runs."""
    folder = Path(tempfile.mkdtemp(prefix="cx-"))
    found = Commands(folder)
    started = found("start")
    assert 0 == started.returncode, started.stderr
    yield found
    found("stop")
    found.clean_up()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def cortex(commands: Commands) -> Iterator[Cortex]:
    """Give the library over the daemon's socket."""
    with Cortex(commands.home) as found:
        yield found


@pytest.fixture
def hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trees in this process embed without a model."""
    monkeypatch.setenv("CORTEX_EMBEDDING__PROVIDER", "hashing")
