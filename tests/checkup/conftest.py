"""A home that has learned something, made once for each process of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.support import Case, learn

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a home that has learned two projects, and the projects."""
    return learn(tmp_path_factory.mktemp("learned"))


@pytest.fixture
def case(tmp_path: Path, learned: Path) -> Case:
    """Give a copy of that home that nobody has open."""
    return Case(tmp_path, learned)
