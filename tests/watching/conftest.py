"""What the tests of the branch share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pipeline.support import Office, opened

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
async def project(office: Office, tmp_path: Path) -> Project:
    """Give a followed project without any file."""
    return await office.follow(tmp_path / "atlas")
