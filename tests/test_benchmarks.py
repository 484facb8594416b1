from __future__ import annotations

import pytest

from benchmarks import ledger


class TestLedger:
    @pytest.mark.slow
    def test_quick(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The benchmark of the ledger runs, and compares each kind of publish with its floor."""
        assert 0 == ledger.main(["--quick", "--only", "publishes", "--only", "backlog"])
        assert 4 == capsys.readouterr().out.count(" x floor (goal: 0.7)")
