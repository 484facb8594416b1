from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from cortex_actors.domain.project import Statement, StatementKind

STATEMENT = Statement("Use tabs.", StatementKind.RULE, ("T", "Style"), 3, 3, 10, 20, 0)


class TestStatement:
    def test_heading(self) -> None:
        """What it stands under is one line, outermost first."""
        assert "T > Style" == STATEMENT.heading

    def test_frozen(self) -> None:
        """A statement cannot be changed once it travels."""
        with pytest.raises(FrozenInstanceError):
            STATEMENT.text = "y"  # type: ignore[misc]
