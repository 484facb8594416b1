from __future__ import annotations

from pathlib import Path

import pytest

from tests.federation import seren


class TestRequire:
    def test_skips(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the servers a test is skipped, and the reason says how they are installed."""
        monkeypatch.setattr(seren, "PYTHON", Path("/nowhere/python"))
        monkeypatch.delenv("CI", raising=False)

        with pytest.raises(pytest.skip.Exception, match="/nowhere/python: `make seren` installs"):
            seren.require()

    def test_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where everything is to be tested, a missing server is a failure."""
        monkeypatch.setattr(seren, "PYTHON", Path("/nowhere/python"))
        monkeypatch.setenv("CI", "true")

        with pytest.raises(pytest.fail.Exception, match="no SerenMemory"):
            seren.require()
