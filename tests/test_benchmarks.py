from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import embedding, ledger, recall, reconcile, resolve
from benchmarks.statements import statements


class TestLedger:
    @pytest.mark.slow
    def test_quick(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The benchmark of the ledger runs, and compares each kind of publish with its floor."""
        assert 0 == ledger.main(["--quick", "--only", "publishes", "--only", "backlog"])
        assert 4 == capsys.readouterr().out.count(" x floor (goal: 0.7)")


class TestReconcile:
    @pytest.mark.slow
    def test_quick(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The benchmark of reconciliations runs, and says what a change leads to."""
        assert 0 == reconcile.main(["--sizes", "200", "--changed", "20", "--rounds", "1"])
        assert "a change grows 1.0 times" in capsys.readouterr().out


class TestResolve:
    @pytest.mark.slow
    def test_quick(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The benchmark of the way down runs, and says how a change grows."""
        assert 0 == resolve.main(["--sizes", "100", "--changed", "20", "--rounds", "1"])
        assert "a change grows 1.0 times" in capsys.readouterr().out


class TestStatements:
    def test_samples(self) -> None:
        """Statements are different texts of one line each, the same in every run."""
        folder = Path(embedding.__file__).parent.parent / "data" / "projects"
        found = statements(folder, 300)

        assert 300 == len(set(found))
        assert not any("\n" in text or text.startswith(("-", "#")) for text in found)
        assert found == statements(folder, 300)


class TestRecall:
    @pytest.mark.slow
    def test_quick(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """The benchmark of recalls runs without an index, finds the nearest, and can draw it."""
        drawn = tmp_path / "recall.png"
        plot = ["--plot", str(drawn)] if find_spec("matplotlib") else []
        code = recall.main(["--sizes", "100,300", "--questions", "3", "--no-index", *plot])
        rows = [line.split() for line in capsys.readouterr().out.splitlines() if "subset" in line]

        assert 0 == code
        assert 2 * 4 == len(rows)
        assert bool(plot) == drawn.exists()
