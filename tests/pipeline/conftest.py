"""What the tests of the branch share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pipeline.resolving import PYTEST, TABS, Resolving
from tests.pipeline.support import Embedder, Office, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.domain.project import Project


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """Give a ledger, a bus and names, with nobody else at work."""
    async with opened(tmp_path) as found:
        yield found


@pytest.fixture
async def embed() -> Embedder:
    """Give an embedder that answers at once until it is told otherwise."""
    return Embedder()


@pytest.fixture
async def project(office: Office, tmp_path: Path) -> Project:
    """Give a followed project without any file."""
    return await office.follow(tmp_path / "atlas")


@pytest.fixture
async def accumulator(office: Office, embed: Embedder) -> None:
    """Have an accumulator at work."""
    await office.employ("accumulator", office.accumulator(embed))


@pytest.fixture
async def desk(office: Office, embed: Embedder, tmp_path: Path) -> AsyncIterator[Resolving]:
    """Give a resolver that is at work, and two principles."""
    found = Resolving(office, tmp_path, embed)
    await found.know(PYTEST, TABS)
    await found.hire()
    yield found
    await embed.close()


@pytest.fixture
async def other(office: Office, tmp_path: Path) -> Project:
    """Give a second project."""
    return await office.follow(tmp_path / "harbor")
