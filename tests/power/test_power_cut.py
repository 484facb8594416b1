"""The power is cut at any moment: what was acknowledged is on the disk, and nothing is there half.

A program commits units of work to a real ledger under strace; a model of a disk makes of what it
wrote, synced and renamed what a cut may leave; each such image is opened by the product's own code.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.power.disk import ROOT, Named, Synced, Told
from tests.power.images import HOME, Verdict, judge
from tests.power.recording import Recorder
from tests.power.strace import need_strace, scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.power.disk import Operation

# Read when the module is, because no test sees the variables of the user's environment.
#: What is written, where the power is cut, and what survives; how often it is cut.
SEED = int(os.environ.get("CORTEX_POWER_SEED", "1988"))
COUNT = int(os.environ.get("CORTEX_POWER_COUNT", "350"))

#: Units of work of one program, and of one that must be found out.
UNITS = 60
FEW = 16

#: Images in which that has to show, and in `make soak` how many programs there are.
ENOUGH = 40
PROGRAMS = 5

_COMMITTER = Path(__file__).with_name("committer.py")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Give a folder for homes and their images, where strace works."""
    need_strace()
    yield from scratch()


@pytest.fixture(scope="module")
def operations(folder: Path) -> list[Operation]:
    """Give what a program asked of the disk that commits as the product does."""
    return _recorded(folder, UNITS, SEED)


def _recorded(folder: Path, units: int, seed: int) -> list[Operation]:
    """Return what a program asked of the disk that crashed in its middle and came back."""
    recorder, home = _recorder(folder, f"recorded-{seed}")
    middle, last = str(units // 2), str(units)
    recorder.run(_COMMITTER, home, "0", middle, str(seed), env={"POWER_CRASH": "1"})
    recorder.run(_COMMITTER, home, middle, last, str(seed), env={})
    return recorder.operations


def _careless(folder: Path, synchronous: str) -> list[Operation]:
    """Return what a program asked of the disk that syncs less than the product."""
    recorder, home = _recorder(folder, synchronous)
    env = {"POWER_SYNCHRONOUS": synchronous}
    recorder.run(_COMMITTER, home, "0", str(FEW), str(SEED), env=env)
    return recorder.operations


def _recorder(folder: Path, name: str) -> tuple[Recorder, str]:
    """Return what records a new folder, and where the home in it will be."""
    (root := folder / name).mkdir()
    return Recorder(root), str(root / HOME)


def _judged(folder: Path, operations: list[Operation], count: int, seed: int) -> Verdict:
    """Cut the power, and say what was found and how to repeat it."""
    verdict = judge(operations, count, seed=seed, scratch=folder)
    print(f"CORTEX_POWER_SEED={seed} CORTEX_POWER_COUNT={count}: {verdict}")  # noqa: T201 - `-rP`
    return verdict


def _kept(verdict: Verdict) -> None:
    """Fail if anything acknowledged was lost, or anything is there half."""
    shown = "\n".join(verdict.problems[:5])

    assert (0, 0) == (verdict.lost, verdict.corrupt), f"{verdict}\n{shown}"


class TestPowerCut:
    @pytest.mark.slow
    def test_loses_nothing(self, folder: Path, operations: list[Operation]) -> None:
        """Whenever the power goes, what was acknowledged is there, whole and once."""
        verdict = _judged(folder, operations, COUNT, SEED)

        _kept(verdict)
        assert verdict.acknowledged >= UNITS
        assert _checkpoints(operations) >= 5

    @pytest.mark.soak
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(SEED + 1, SEED + 1 + PROGRAMS))
    def test_loses_nothing_at_length(self, folder: Path, seed: int) -> None:
        """That holds for other programs, and for thousands of other cuts."""
        operations = _recorded(folder, 2 * UNITS, seed)

        _kept(_judged(folder, operations, max(COUNT, 800), seed))


class TestGuard:
    @pytest.mark.slow
    def test_normal(self, folder: Path) -> None:
        """A ledger that does not sync each commit is found out."""
        # A fifth of the images lose something: of 40 four or fewer do in one of thirty runs.
        many = 3 * ENOUGH
        verdict = _judged(folder, _careless(folder, "NORMAL"), many, SEED)

        assert verdict.lost > many / 10

    @pytest.mark.slow
    def test_off(self, folder: Path) -> None:
        """A ledger that never syncs is found out, and found damaged."""
        verdict = _judged(folder, _careless(folder, "OFF"), ENOUGH // 2, SEED)

        assert verdict.lost > ENOUGH / 4
        assert verdict.corrupt > 0

    @pytest.mark.slow
    def test_folder(self, folder: Path, operations: list[Operation]) -> None:
        """A home whose own name was never synced is found out."""
        kept = [
            each for each in operations if not (isinstance(each, Synced) and each.inode == ROOT)
        ]
        verdict = _judged(folder, kept, ENOUGH, SEED)

        assert len(kept) < len(operations)
        assert verdict.lost > ENOUGH / 10


def _checkpoints(operations: list[Operation]) -> int:
    """Return how often the ledger itself, not its log, was synced."""
    place = next(
        each.place
        for each in operations
        if isinstance(each, Named) and each.place[1] == "cortex.db"
    )
    names = {each.inode for each in operations if isinstance(each, Named) and each.place == place}
    told = next(n for n, each in enumerate(operations) if isinstance(each, Told))
    synced = Counter(each.inode for each in operations[told:] if isinstance(each, Synced))
    return sum(synced[inode] for inode in names if inode is not None)
