from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.parsers.corpus import unpacked

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def real_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the files that people wrote; unpacking them takes half a second."""
    return unpacked(tmp_path_factory.mktemp("corpus"))
