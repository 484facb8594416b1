"""What tests of commands share that are answered from a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.answering import answering

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.answering import Asked


@pytest.fixture
def asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_home: Path) -> Asked:
    """Answer every call from the table `ANSWERS` of a test's module; give what was asked."""
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    return answering(monkeypatch, request.module.ANSWERS)
