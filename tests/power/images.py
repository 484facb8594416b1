"""Cuts the power at many moments, opens what is left with the product's code and judges it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from cortex_actors.home import Home
from cortex_actors.storage.ledger import faults
from tests.power import workload
from tests.power.disk import Disk, Told
from tests.power.reopening import Reopened, unsound

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.power.disk import Operation

#: The folder below the recorded one that the program made its home.
HOME = "home"

#: A unit of work that no program has done.
NEW = 1_000_000


@dataclass(slots=True)
class Verdict:
    """What was found in all images together."""

    seed: int
    images: int = 0
    #: The most that had been acknowledged before a cut.
    acknowledged: int = 0
    #: Images in which something acknowledged is missing, and what, for the first of them.
    lost: int = 0
    #: Images that cannot be opened, are not sound, or hold half a unit of work.
    corrupt: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the line that is printed."""
        return (
            f"seed {self.seed}: {self.images} images, {self.acknowledged} acknowledged, "
            f"{self.lost} lost, {self.corrupt} corrupt"
        )


@dataclass(frozen=True, slots=True)
class Cut:
    """What a cut left."""

    #: The number of the operation that did not happen.
    before: int
    #: The program's home, if that is there.
    home: Path
    #: What had been acknowledged.
    told: frozenset[str]


def judge(operations: Sequence[Operation], count: int, *, seed: int, scratch: Path) -> Verdict:
    """Cut the power so many times, evenly between all operations, and look at each ledger."""
    verdict = Verdict(seed)
    ledger: Reopened | None = None
    for cut in images(operations, count, seed=seed, scratch=scratch):
        # One for all, which saves compiling: the images come one after the other at one place.
        ledger = ledger or Reopened(Home(cut.home).ledger)
        _look(verdict, ledger, told=cut.told, where=f"cut before operation {cut.before}")
    return verdict


def images(
    operations: Sequence[Operation], count: int, *, seed: int, scratch: Path
) -> Iterator[Cut]:
    """Cut the power so many times and give what is left, which is removed after each."""
    random = Random(seed)
    cuts = sorted(random.choices(range(len(operations) + 1), weights=_weights(operations), k=count))
    folder = scratch / "image"
    disk = Disk()
    done = 0
    for cut in cuts:
        for operation in operations[done:cut]:
            disk.play(operation)
        done = cut
        _write(folder, disk.cut(random))
        (folder / HOME).mkdir(exist_ok=True)
        yield Cut(cut, folder / HOME, frozenset(disk.told))
        shutil.rmtree(folder)


def _weights(operations: Sequence[Operation]) -> list[float]:
    """Return how often to cut before each operation, and after the last.

    Making the tables is one long transaction that needs no more than a few images, each of which
    costs a migration.
    """
    first = next(n for n, each in enumerate(operations) if isinstance(each, Told))
    return [1 / 30 if number < first else 1.0 for number in range(len(operations) + 1)]


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make the files."""
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _look(verdict: Verdict, ledger: Reopened, *, told: frozenset[str], where: str) -> None:
    """Open an image as the daemon would, and note what is wrong."""
    verdict.images += 1
    verdict.acknowledged = max(verdict.acknowledged, len(told))
    try:
        # Nothing that a cut leaves may look damaged: a backup would take the ledger's place.
        damage = faults.find_damage(ledger.path)
        with ledger.transaction() as opened:
            kept = workload.kept(opened)
            kept.torn += unsound(opened) + ([damage] if damage else [])
            # What was saved goes on.
            workload.store(opened, NEW)
    except Exception as error:  # noqa: BLE001 - what is damaged may fail in any way
        kept = workload.Kept(torn=[f"it does not open: {error!r}"])
    if kept.torn:
        verdict.corrupt += 1
        verdict.problems.append(f"{where}: {kept.torn[:3]}")
    if missing := told - kept.whole:
        verdict.lost += 1
        verdict.problems.append(f"{where}: lost {sorted(missing)[:3]}")
