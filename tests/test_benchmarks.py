from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import (
    embedding,
    federation,
    hooks,
    ledger,
    quick,
    recall,
    reconcile,
    remember,
    resolve,
)
from benchmarks.statements import statements
from benchmarks.sustained import Minute, Verb

#: Instruction files that are shipped as samples.
SAMPLES = Path(embedding.__file__).parent.parent / "data" / "projects"


class TestLedger:
    @pytest.mark.slow
    def test_quick(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The benchmark of the ledger runs, and compares each kind of publish with its floor."""
        assert 0 == ledger.main(["--quick", "--only", "publishes", "--only", "backlog"])
        assert 4 == capsys.readouterr().out.count(" x floor (goal: 0.7)")


class TestQuick:
    @pytest.mark.parametrize(
        ("status", "listed", "code"), [(80, 150, 0), (120, 150, 1), (80, 260, 1), (80, 170, 1)]
    )
    def test_goals(self, status: float, listed: float, code: int) -> None:
        """A command misses its goal in milliseconds, or as a multiple of a bare interpreter."""
        measured = {"python -c pass": [10.0], "cortex status": [status]}

        assert code == quick.report({**measured, "cortex memory list": [listed]})


class TestHooks:
    @pytest.mark.parametrize(("bare", "start", "code"), [(10, 290, 0), (10, 310, 1), (20, 590, 0)])
    def test_goals(self, bare: float, start: float, code: int) -> None:
        """A hook misses its goal in milliseconds and as a multiple of a bare interpreter."""
        measured = {"python -c pass": [float(bare)], "hook session-start": [float(start)]}

        assert code == hooks.report(measured)


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


class TestRemember:
    @pytest.mark.slow
    def test_quick(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The benchmark of remembering runs, and merges what was planted and nothing else."""
        remember.main(["--only", "sizes", "--sizes", "40", "--rounds", "2", "--json"])
        rows = json.loads(capsys.readouterr().out)["rows"]

        assert 2 * 4 == len(rows)
        assert {1.0} == {row["right"] for row in rows}

    @pytest.mark.slow
    def test_minute(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The benchmark of steady use runs, and nothing is refused or left to do."""
        some = ["--only", "minute", "--seconds", "1", "--rate", "5", "--provider", "hashing"]
        code = remember.main([*some, "--data", str(SAMPLES), "--json"])
        minute = json.loads(capsys.readouterr().out)["minute"]

        assert (0, 0) == (code, minute["left_waiting"])
        assert [5, 5] == [each["asked"] for each in minute["verbs"].values()]

    @pytest.mark.parametrize(("slower", "told"), [(1.0, "met   "), (1.1, "MISSED")])
    def test_growing(self, capsys: pytest.CaptureFixture[str], slower: float, told: str) -> None:
        """A minute in which a queue grows all the while misses its goal; a slow start does not."""
        due = [number / 50 for number in range(3_000)]
        took = [5_000.0 if at < 10 else 20 + (slower - 1) * at * 1_000 for at in due]
        both = zip(reversed(due), reversed(took), strict=True)  # answers come in any order
        verb = Verb(3_000, [], *map(list, zip(*both, strict=True)))
        minute = Minute(60, 50, {"remember": verb})
        minute.show()

        assert minute.is_well is (told == "met   ")
        assert f"{told} remember, ms at last: " in capsys.readouterr().out


class TestStatements:
    def test_samples(self) -> None:
        """Statements are different texts of one line each, the same in every run."""
        found = statements(SAMPLES, 300)

        assert 300 == len(set(found))
        assert not any("\n" in text or text.startswith(("-", "#")) for text in found)
        assert found == statements(SAMPLES, 300)


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


class TestFederation:
    @pytest.mark.slow
    def test_quick(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The benchmark of the fan runs over the ledger and other processes; nobody is left out."""
        some = ["--memories", "40", "--locals", "2", "--remotes", "0,1", "--questions", "4"]
        federation.main([*some, "--askers", "1,2", "--json"])
        rows = json.loads(capsys.readouterr().out)["rows"]

        assert ["ready", "2 + 2", "2 + 2", "1 + 2", "1 + 2"] == [row["name"] for row in rows]
        assert {(4, 0)} == {(row["questions"], row["short"]) for row in rows}
