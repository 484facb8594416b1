"""Another ledger takes the place of the present one, whole or not at all."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SECOND
from cortex_actors.errors import BadInput, LedgerDown, NotFound, StoreTooNew, StoreTooOld
from cortex_actors.storage.ledger import backups, offline
from cortex_actors.storage.ledger.backups import find_problem
from cortex_actors.testing import EPOCH
from tests.storage.ledgers import PAGE, Filed, unclosed

if TYPE_CHECKING:
    from collections.abc import Iterator


class PowerCutError(Exception):
    """The process is gone."""


@pytest.fixture
def filed(tmp_path: Path) -> Filed:
    """Give a ledger with a backup, and 5 events more in its WAL."""
    filed = Filed(tmp_path, events=20)
    backups.take(filed.path, filed.home.backups, at=EPOCH)
    unclosed(filed, lambda opened: opened.execute("UPDATE owner SET epoch = 30"))
    return filed


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Cut the power before the n-th renaming from now on; [0] for never."""
    left = [0]
    rename = Path.rename

    def counted(path: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] == 0:
            raise PowerCutError
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", counted)
    yield left
    left[0] = 0


class TestCutShort:
    @pytest.mark.slow
    def test_every_step(self, tmp_path: Path, cut: list[int]) -> None:
        """Wherever it is cut short, there is one whole ledger after the next start, and no mix."""
        for step in itertools.count(1):
            cut[0] = 0
            filed = Filed(tmp_path / str(step), events=3)
            backups.take(filed.path, filed.home.backups, at=EPOCH)
            unclosed(filed, lambda opened: opened.execute("UPDATE owner SET epoch = 30"))
            choice = offline.choose(filed.home, "latest")
            cut[0] = step
            try:
                offline.restore(filed.home, choice, at=EPOCH)
            except PowerCutError:
                cut[0] = 0
                backups.finish(filed.path)
            else:
                break
            old = [each for each in filed.names("cortex.db.replaced-*") if each[-1] == "Z"]
            wal = filed.home.root / "cortex.db-wal"

            assert "" == find_problem(filed.path)
            assert ([(30,)] if not old else [(31,)]) == filed.ask("SELECT epoch FROM owner")
            assert not (old and wal.exists() and wal.stat().st_size)
        print(f"{step - 1} power cuts between two renamings")  # noqa: T201 - a figure for the log
        assert 6 == step

    def test_names_that_are_taken(self, filed: Filed) -> None:
        """Nothing is written over, even when two exchanges fall into one second."""
        choice = offline.choose(filed.home, "latest")
        for _ in range(2):
            offline.restore(filed.home, choice, at=EPOCH)

        old = [each for each in filed.names("*replaced*") if "-wal" not in each]

        assert 2 == len([each for each in old if "-shm" not in each])

    @pytest.mark.parametrize("end", ["-wal", "-journal"])
    def test_nothing_is_left(self, filed: Filed, end: str) -> None:
        """What SQLite would play into the new ledger goes aside with the old one."""
        choice = offline.choose(filed.home, "latest")
        left = filed.path.with_name(f"{filed.path.name}{end}")
        aside = offline.restore(filed.home, choice, at=EPOCH)
        assert aside is not None
        left.write_bytes(b"of the old one")
        again = offline.restore(filed.home, choice, at=EPOCH + SECOND)

        assert again is not None
        assert not left.exists()
        assert again.with_name(f"{again.name}{end}").exists()

    def test_nothing_empty(self, tmp_path: Path) -> None:
        """An empty WAL and its shared memory say nothing, and are not kept beside the old one."""
        filed = Filed(tmp_path, events=3)
        backups.take(filed.path, filed.home.backups, at=EPOCH)
        choice = offline.choose(filed.home, "latest")
        aside = offline.restore(filed.home, choice, at=EPOCH)

        assert aside is not None
        assert [aside.name] == filed.names("*replaced*")

    def test_not_closed(self, filed: Filed) -> None:
        """A new ledger with a WAL of its own is not taken: the WAL would be lost."""
        made = backups.name_part(filed.path)
        made.write_bytes(filed.path.read_bytes())
        made.with_name(f"{made.name}-wal").write_bytes(b"left")
        with pytest.raises(LedgerDown, match="was not closed"):
            backups.commit(filed.path, made, kind="replaced", at=EPOCH)


class TestChoose:
    def test_by_name(self, filed: Filed) -> None:
        """A backup is meant by its name, with or without ending, by a path, or as the latest."""
        backups.take_now(filed.path, filed.home.backups, at=EPOCH + SECOND)
        name = "cortex-20260101T000000Z"
        words = [name, f"{name}.db", str(filed.home.backups / f"{name}.db")]

        assert {f"{name}.db"} == {offline.choose(filed.home, each).path.name for each in words}
        assert "manual-20260101T000001Z.db" == offline.choose(filed.home, "latest").path.name

    def test_missing(self, filed: Filed) -> None:
        """What the ledger has and the backup has not is counted, table by table."""
        filed.say(5)
        choice = offline.choose(filed.home, "latest")

        assert {"events": 5, "deliveries": 5} == choice.missing
        assert (20, 25) == (choice.backup.last_seq, choice.ledger.last_seq)

    def test_damaged_ledger(self, filed: Filed) -> None:
        """A ledger that cannot be read any more is no reason not to restore."""
        filed.path.write_bytes(b"x" * PAGE)
        choice = offline.choose(filed.home, "latest")
        offline.restore(filed.home, choice, at=EPOCH)

        assert choice.ledger.last_seq is None
        assert 20 == filed.count("events")

    def test_refused(self, filed: Filed, tmp_path: Path) -> None:
        """What is not there, damaged, in use, or too new is not restored, and says what to do."""
        (tmp_path / "notes.db").write_bytes(b"notes")
        newer = Filed(tmp_path / "newer")
        newer.run("PRAGMA user_version = 99")
        with pytest.raises(NotFound, match="cortex daemon backup --list"):
            offline.choose(filed.home, "yesterday")
        with pytest.raises(BadInput, match="choose another one"):
            offline.choose(filed.home, str(tmp_path / "notes.db"))
        with pytest.raises(BadInput, match="not closed in order"):
            offline.choose(filed.home, str(filed.path))
        with pytest.raises(StoreTooNew, match="install the newer"):
            offline.choose(filed.home, str(newer.path))

    def test_older_than_the_baseline(self, filed: Filed, tmp_path: Path) -> None:
        """A backup from before the baseline is not restored: this version could not open it."""
        older = Filed(tmp_path / "older")
        older.run("PRAGMA user_version = 3")
        with pytest.raises(StoreTooOld, match="start it once with the last version that reads it"):
            offline.choose(filed.home, str(older.path))

    def test_nothing(self, tmp_path: Path) -> None:
        """Without any backup the next step is to make one."""
        with pytest.raises(NotFound, match="make one with"):
            offline.choose(Filed(tmp_path).home, "latest")


class TestRestore:
    def test_fresh(self, filed: Filed) -> None:
        """The restored ledger fences old owners off and has its index made anew."""
        filed.run("INSERT INTO index_state VALUES (1, 3, 'abc', 'm', 5)")
        choice = offline.choose(filed.home, "latest")
        aside = offline.restore(filed.home, choice, at=EPOCH)

        assert [(31,)] == filed.ask("SELECT epoch FROM owner")
        assert 0 == filed.count("index_state")
        assert aside is not None
        assert "cortex.db.replaced-20260101T000000Z" == aside.name

    def test_no_ledger(self, filed: Filed) -> None:
        """Where the ledger is gone, the backup simply takes its place."""
        for each in filed.names("cortex.db*"):
            (filed.home.root / each).unlink()
        choice = offline.choose(filed.home, "latest")

        assert offline.restore(filed.home, choice, at=EPOCH) is None
        assert 20 == filed.count("events")
