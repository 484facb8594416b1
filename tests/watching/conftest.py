"""What the tests of the branch share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.runtime.threads import Threads
from tests.pipeline.support import Office, opened
from tests.watching.support import Watch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from cortex_actors.domain.project import Project


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """Give a ledger, a bus and names, with nobody else at work."""
    async with opened(tmp_path) as found:
        yield found


@pytest.fixture
async def project(office: Office, tmp_path: Path) -> Project:
    """Give a followed project without any file."""
    return await office.follow(tmp_path / "atlas")


@pytest.fixture
def threads() -> Iterator[Threads]:
    """Give the threads that look at files."""
    found = Threads("files", 2)
    yield found
    found.close()


@pytest.fixture
async def watch(office: Office, project: Project, threads: Threads) -> AsyncIterator[Watch]:
    """Give a watcher that has not begun."""
    found = Watch(office, project, threads)
    yield found
    found.hints.close()
