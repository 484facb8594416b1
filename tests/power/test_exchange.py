"""The power is cut while the ledger is copied, migrated or exchanged: there is always a whole one.

A program does all of that under strace; each image of what a cut may leave is brought to order as
the daemon does at its start (`recovery.ready`).
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.home import Home
from cortex_actors.storage.ledger import backups, recovery
from cortex_actors.storage.ledger.backups import find_problem
from tests.power import workload
from tests.power.disk import Named, Synced
from tests.power.images import HOME, Cut, images
from tests.power.recording import Recorder
from tests.power.reopening import Reopened, unsound
from tests.power.restorer import SAVED
from tests.power.strace import need_strace, scratch
from tests.storage.later import NEW, become_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.power.disk import Operation

# Read when the module is, because no test sees the variables of the user's environment.
#: Where the power is cut and what survives; how often it is cut.
SEED = int(os.environ.get("CORTEX_POWER_SEED", "1988"))
COUNT = int(os.environ.get("CORTEX_POWER_COUNT", "40"))

#: How often where it must be found out.
FEW = 15

#: How often in `make soak`.
SOAK = int(os.environ.get("CORTEX_POWER_COUNT", "1000"))

_RESTORER = Path(__file__).with_name("restorer.py")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Give a folder for homes and their images, where strace works."""
    need_strace()
    yield from scratch()


@pytest.fixture(scope="module")
def operations(folder: Path) -> list[Operation]:
    """Give what the program asked of the disk."""
    (root := folder / "recorded").mkdir()
    recorder = Recorder(root)
    recorder.run(_RESTORER, str(root / HOME), str(folder / "later"), env={})
    return recorder.operations


@pytest.fixture(autouse=True)
def later(folder: Path, operations: list[Operation], monkeypatch: pytest.MonkeyPatch) -> None:
    """Be the version to which that program migrated."""
    become_later(folder / "later", monkeypatch.setattr)


def _found(folder: Path, operations: list[Operation], count: int) -> list[str]:
    """Cut the power and return what is wrong."""
    ledger = Reopened(Home(folder / "image" / HOME).ledger)
    problems: list[str] = []
    for cut in images(operations, count, seed=SEED, scratch=folder):
        try:
            found = list(_problems(cut, ledger))
        except Exception as error:  # noqa: BLE001 - what is damaged may fail in any way
            found = [f"it does not open: {error!r}"]
        problems += [f"cut before operation {cut.before}: {each}" for each in found]
    seed = f"CORTEX_POWER_SEED={SEED} CORTEX_POWER_COUNT={count}"
    print(f"{seed}: {len(problems)} problems")  # noqa: T201 - shown with `-rP`
    return problems


def _problems(cut: Cut, ledger: Reopened) -> Iterator[str]:
    """Yield what is wrong with an image."""
    home = Home(cut.home)
    if report := recovery.make_ready(home, SystemClock()):
        yield f"it looked damaged: {report.reason}"
    migrated = _version(home.ledger) == NEW
    if "migrated" in cut.told and not migrated:
        yield "the migration is undone"
    copies = backups.list_backups(home.backups)
    yield from (f"{each.path}: {wrong}" for each in copies if (wrong := find_problem(each.path)))
    if migrated and not any(each.migrated for each in copies):
        yield "there is no copy from before the migration"
    if "saved" in cut.told and not any(not each.migrated for each in copies):
        yield "the backup is not there"
    told = {each for each in cut.told if each.startswith("unit")}
    yield from _contents(home, told, ledger, restored="restored" in cut.told)


def _contents(home: Home, told: set[str], ledger: Reopened, *, restored: bool) -> Iterator[str]:
    """Yield what is wrong with the ledger, and with the one that was put aside for it."""
    asides = [each for each in home.root.glob("cortex.db.replaced-*Z") if each.stat().st_size]
    if restored and not asides:
        yield "the ledger was not put aside"
    kept = _kept(ledger)
    yield from kept.torn
    if asides:
        saved = {f"unit {number}" for number in range(SAVED)}
        if kept.whole != saved:
            yield f"the backup's place is taken by {sorted(kept.whole)}"
        old = _kept(Reopened(asides[0]))
        yield from old.torn
        kept = old
    if missing := told - kept.whole:
        yield f"lost: {sorted(missing)}"


def _kept(ledger: Reopened) -> workload.Kept:
    """Return what a ledger holds."""
    with ledger.transaction() as opened:
        kept = workload.kept(opened)
        kept.torn += unsound(opened)
        return kept


def _version(path: Path) -> int:
    """Return a ledger's schema version; 0 for none."""
    with closing(sqlite3.connect(path)) as opened:
        return int(opened.execute("PRAGMA user_version").fetchone()[0])


class TestExchange:
    @pytest.mark.slow
    def test_whole(self, folder: Path, operations: list[Operation]) -> None:
        """At each cut there is the old ledger or the new one, whole, and every finished copy."""
        assert [] == _found(folder, operations, COUNT)

    @pytest.mark.soak
    @pytest.mark.slow
    def test_whole_at_length(self, folder: Path, operations: list[Operation]) -> None:
        """That holds for thousands of cuts."""
        assert [] == _found(folder, operations, SOAK)

    @pytest.mark.slow
    def test_guard(self, folder: Path, operations: list[Operation]) -> None:
        """A program that never syncs the folder in which it renames is found out."""
        home = next(
            each.inode for each in operations if isinstance(each, Named) and each.inode is not None
        )
        careless = [
            each for each in operations if not (isinstance(each, Synced) and each.inode == home)
        ]

        assert [] != _found(folder, careless, FEW)
