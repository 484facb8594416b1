"""What a table folds where it has no room, and what it leaves whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.cli import show

if TYPE_CHECKING:
    from collections.abc import Sequence

_AT = "2026-01-01T00:00:00Z"
_ROWS = [(_AT, "accumulator", "/home/me/code/atlas-api/CLAUDE.md", "one insight was new")]


def _shown(
    rows: Sequence[tuple[str, ...]], capsys: pytest.CaptureFixture[str], *, columns: int = 4
) -> str:
    """Return the table of some rows."""
    show.table("runs", ("at", "kind", "of", "what came of it")[:columns], rows, empty="none")
    return capsys.readouterr().out


class TestFolding:
    @pytest.mark.parametrize("width", [80, 120])
    def test_pieces(
        self, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Times and names are read, and copied, in one piece; sentences and paths are folded."""
        monkeypatch.setattr("cortex_actors.cli.show.PLAIN_WIDTH", width)
        shown = _shown(_ROWS, capsys)

        assert _AT in shown
        assert "accumulator" in shown
        assert all(len(line) <= width for line in shown.splitlines())

    def test_no_room(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where there is no room for one piece it is folded, and not a letter is lost."""
        monkeypatch.setattr("cortex_actors.cli.show.PLAIN_WIDTH", 40)
        rows = [(_AT, "x" * 24, "y" * 24)]
        shown = _shown(rows, capsys, columns=3)

        assert 24 == shown.count("x")
        assert 24 == shown.count("y")
        assert all(len(line) <= 40 for line in shown.splitlines())
