"""A damaged ledger at the start: what is found, and what comes back."""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cortex_actors.api.status import load_backups
from cortex_actors.clock import SECOND
from cortex_actors.errors import LedgerDown, StorageFull, StoreTooOld
from cortex_actors.home import Home
from cortex_actors.process import lock
from cortex_actors.rules.decay import BACKUP_HOUR
from cortex_actors.storage.ledger import backups, faults, files, offline, recovery
from cortex_actors.storage.ledger.backups import find_problem
from cortex_actors.storage.ledger.files import Halt
from cortex_actors.testing import EPOCH, ManualClock
from tests.storage.damage import AFTER, BEFORE, DAMAGE, READABLE, damaged, flipped, recovered
from tests.storage.ledgers import PAGE, Filed, event_id, template, unclosed
from tests.storage.test_backups import Usage

if TYPE_CHECKING:
    from pathlib import Path


def said(filed: Filed, *, at: int, name: str) -> None:
    """Let the log name an event."""
    record = {"at": at, "topic": "file:changed", "event": name}
    with (filed.home.logs / "cortex.ndjson").open("a") as log:
        log.write(json.dumps(record) + "\n")


def restored(filed: Filed, *, at: int) -> None:
    """Put the backup in the ledger's place, as a user does."""
    offline.restore(filed.home, offline.choose(filed.home, offline.LATEST), at=at)


class TestDamage:
    @pytest.mark.parametrize("how", DAMAGE)
    def test_with_backup(self, filed: Filed, how: str) -> None:
        """The backup comes back with whatever can be read, and the damaged file is kept as is."""
        left = damaged(filed, how)
        report = recovered(filed)
        events = filed.count("events")

        assert "" == find_problem(filed.path)
        assert READABLE.get(how, BEFORE) <= events <= BEFORE + AFTER
        assert events == BEFORE + report.salvaged.get("events", 0)
        assert "cortex-20260101T000000Z.db" == report.backup
        (aside,) = [
            each for each in filed.home.root.glob("cortex.db.corrupt-*") if each.name[-1] == "Z"
        ]
        assert left == (aside.read_bytes() if aside.is_file() else None)
        assert report.ledger == str(aside)
        assert [] == filed.names("*.part*") + filed.names("*.next*") + filed.names("*.suspect")

    @pytest.mark.parametrize("how", ["first page", "index leaf", "folder", "no database"])
    def test_without_backup(self, filed: Filed, how: str) -> None:
        """Without any backup a new ledger takes its place, with whatever can be read."""
        shutil.rmtree(filed.home.backups)
        damaged(filed, how)
        report = recovered(filed)

        assert report.backup is None
        assert "" == find_problem(filed.path)
        assert report.salvaged.get("events", 0) == filed.count("events")
        if how == "index leaf":
            assert (BEFORE + AFTER, 1) == (filed.count("events"), filed.count("projects"))

    def test_newest_is_damaged(self, filed: Filed) -> None:
        """A backup that does not pass the checks is passed over for an older one, and named."""
        newer = backups.take(filed.path, filed.home.backups, at=EPOCH + BACKUP_HOUR)
        assert newer is not None
        newer.path.write_bytes(newer.path.read_bytes()[: 9 * PAGE])
        filed.path.write_bytes(b"x" * PAGE)
        report = recovered(filed)

        assert "cortex-20260101T000000Z.db" == report.backup
        assert [newer.path.name] == list(report.refused)
        assert BEFORE == filed.count("events")

    def test_found_again(self, filed: Filed) -> None:
        """A recovered ledger is fenced against old owners, has no index, and passes the check."""
        filed.run("INSERT INTO index_state VALUES (1, 3, 'abc', 'm', 5)")
        backups.take_now(filed.path, filed.home.backups, at=EPOCH + BACKUP_HOUR)
        filed.run("UPDATE owner SET epoch = 40")
        damaged(filed, "index leaf")
        recovered(filed)

        assert [(41,)] == filed.ask("SELECT epoch FROM owner")
        assert 0 == filed.count("index_state")
        assert recovery.make_ready(filed.home, filed.clock) is None


class TestGone:
    def test_restored(self, filed: Filed) -> None:
        """A ledger that was deleted comes back from its newest backup, and that is reported."""
        filed.path.unlink()
        report = recovered(filed)

        assert BEFORE == filed.count("events")
        assert ("cortex-20260101T000000Z.db", None) == (report.backup, report.ledger)
        assert "it is gone" in report.reason
        assert load_backups(filed.home, report.at)["recovery"] is not None

    def test_backups_alone(self, filed: Filed, tmp_path: Path) -> None:
        """Backups that somebody puts into a home that has nothing else are a ledger to restore."""
        home = Home(tmp_path / "new")
        home.create()
        shutil.copytree(filed.home.backups, home.backups)
        report = recovery.make_ready(home, filed.clock)

        assert report is not None
        assert home.ledger.exists()

    @pytest.mark.parametrize("prepared", [False, True])
    def test_first_start(self, tmp_path: Path, prepared: bool) -> None:
        """A home that never had a backup gets a new ledger, and nothing is reported."""
        home = Home(tmp_path)
        if prepared:
            backups.prepare(home.backups)

        assert recovery.make_ready(home, ManualClock()) is None
        assert not home.ledger.exists()

    @pytest.mark.parametrize("why", ["newer", "damaged", "another's"])
    def test_none_is_good(self, filed: Filed, why: str) -> None:
        """Where no backup can be used, no empty ledger takes the place of the one that is gone."""
        (copy,) = backups.list_backups(filed.home.backups)
        if why == "newer":
            with closing(sqlite3.connect(copy.path)) as opened:
                opened.execute("PRAGMA user_version = 99")
        elif why == "damaged":
            copy.path.write_bytes(copy.path.read_bytes()[: 9 * PAGE])
        else:
            copy.path.rename(copy.path.with_name("mine.db"))
        filed.path.unlink()
        with pytest.raises(LedgerDown, match="move them away to begin with an empty one"):
            recovery.make_ready(filed.home, filed.clock)

        assert [] == filed.names("cortex.db*")

    @pytest.mark.parametrize("damage", ["gone", "damaged"])
    def test_older_than_the_baseline(self, filed: Filed, damage: str) -> None:
        """An empty ledger does not take the place of one whose good backup is only too old."""
        (copy,) = backups.list_backups(filed.home.backups)
        with closing(sqlite3.connect(copy.path)) as opened:
            opened.execute("PRAGMA user_version = 6")
        if damage == "gone":
            filed.path.unlink()
        else:
            filed.path.write_bytes(b"x" * PAGE)
        before = filed.names("cortex.db*")
        with pytest.raises(StoreTooOld, match=f"{copy.path.name}.*or move it away"):
            recovery.make_ready(filed.home, filed.clock)

        assert before == filed.names("cortex.db*")

    def test_unread_backups(self, filed: Filed, monkeypatch: pytest.MonkeyPatch) -> None:
        """Backups that cannot be listed are not taken for none."""

        def refused(_folder: object) -> None:
            raise PermissionError(13, "Permission denied")

        filed.path.unlink()
        monkeypatch.setattr(type(filed.path), "iterdir", refused)
        with pytest.raises(LedgerDown, match="cannot list the backups"):
            faults.find_damage(filed.path)

    def test_link(self, filed: Filed) -> None:
        """A link whose file is not there, as on a disk that is not mounted, is left as it is."""
        filed.path.rename(filed.home.root / "elsewhere.db")
        filed.path.symlink_to("/nowhere/cortex.db")
        with pytest.raises(LedgerDown, match="mount"):
            recovery.make_ready(filed.home, filed.clock)

        assert filed.path.is_symlink()


class TestNoDamage:
    def test_garbage_wal(self, filed: Filed) -> None:
        """A WAL that holds garbage is ignored by SQLite: the ledger beside it is good."""
        (filed.home.root / "cortex.db-wal").write_bytes(b"garbage!" * 9_999)

        assert "" == faults.find_damage(filed.path)
        assert BEFORE + AFTER == filed.count("events")

    def test_missing_wal(self, filed: Filed) -> None:
        """A WAL that is gone leaves a ledger that is whole, if older."""
        unclosed(filed, lambda opened: opened.execute("UPDATE owner SET epoch = 9"))
        (filed.home.root / "cortex.db-wal").unlink()

        assert "" == faults.find_damage(filed.path)

    @pytest.mark.parametrize("left", [None, b""])
    def test_new(self, tmp_path: Path, left: bytes | None) -> None:
        """A ledger that is not there, or was never filled, is a new one."""
        if left is not None:
            (tmp_path / "cortex.db").write_bytes(left)

        assert "" == faults.find_damage(tmp_path / "cortex.db")

    def test_newer(self, filed: Filed) -> None:
        """A newer program's ledger is not damaged: it is refused later, and not touched."""
        filed.run("PRAGMA user_version = 99")

        assert "" == faults.find_damage(filed.path)

    def test_older(self, filed: Filed) -> None:
        """A ledger from before the baseline is not damaged either, whatever tables it has."""
        filed.run("PRAGMA user_version = 3")
        filed.run("DROP TABLE owner")

        assert "" == faults.find_damage(filed.path)

    def test_unreadable(self, filed: Filed, monkeypatch: pytest.MonkeyPatch) -> None:
        """What the disk or a lock refuses is no damage: nobody knows, so nothing is moved."""

        def refused(*_: object, **__: object) -> sqlite3.Connection:
            error = sqlite3.OperationalError("locking protocol")
            error.sqlite_errorname = "SQLITE_PROTOCOL"
            raise error

        monkeypatch.setattr(files, "open_reader", refused)
        with pytest.raises(LedgerDown):
            recovery.make_ready(filed.home, filed.clock)

        assert [] == filed.names("*corrupt*")


class TestHowMuch:
    def test_closed_in_order(self, filed: Filed) -> None:
        """After a clean stop only the header and the tables are looked at."""
        flipped(filed, "events")

        assert "" == faults.find_damage(filed.path)

    def test_after_a_crash(self, filed: Filed) -> None:
        """A WAL that was left says that the last life did not end in order: pages are read."""
        flipped(filed, "events")
        unclosed(filed, lambda opened: opened.execute("UPDATE owner SET epoch = 9"))

        assert "" != faults.find_damage(filed.path)

    @pytest.mark.parametrize("boot", [None, "another"])
    def test_machine_went_down(self, filed: Filed, boot: str | None) -> None:
        """After the machine went down all is read; after a crash of the daemon every page."""
        leaf = filed.leaf_of("sqlite_autoindex_events_1")
        content = filed.path.read_bytes()[(leaf - 1) * PAGE : leaf * PAGE]
        filed.overwrite(leaf, content.replace(event_id(7).encode(), event_id(8).encode()))
        unclosed(filed, lambda opened: opened.execute("UPDATE owner SET epoch = 9"))
        for life in range(2):
            with closing(lock.acquire(filed.home)) as owner:
                owner.take_over(started_at=EPOCH, version="0")
                owner.say(lock.HomeState.RUNNING)
            if boot and not life:
                said = json.loads(filed.home.lock.read_text())
                filed.home.lock.write_text(json.dumps({**said, "boot": boot}))
        report = recovery.make_ready(filed.home, filed.clock)

        assert (boot is not None) == (report is not None)
        assert BEFORE + AFTER == len(filed.ask("SELECT id FROM events NOT INDEXED"))

    def test_whole(self, filed: Filed) -> None:
        """The daily check reads everything; what it finds, the next start knows."""
        faults.check_whole(filed.path, Halt())
        assert not faults.name_marker(filed.path).exists()

        flipped(filed, "sqlite_autoindex_events_1")
        with pytest.raises(LedgerDown, match="start the daemon again") as caught:
            faults.check_whole(filed.path, Halt())

        assert caught.value.ends_daemon
        assert "" != faults.find_damage(filed.path)

    def test_nothing_found(self, filed: Filed) -> None:
        """A suspicion that does not prove right is forgotten."""
        faults.suspect(filed.path, "an error while reading")

        assert "" == faults.find_damage(filed.path)
        assert not faults.name_marker(filed.path).exists()

    def test_called_off(self, filed: Filed) -> None:
        """A check that is called off says so, and blames nobody."""
        halt = Halt()
        halt.ask()
        with pytest.raises(LedgerDown, match="called off"):
            faults.check_whole(filed.path, halt)

        assert not faults.name_marker(filed.path).exists()


class TestRestored:
    def test_given_up(self, filed: Filed) -> None:
        """What a user gave up by restoring an older ledger is not missing from a later one."""
        said(filed, at=EPOCH + 10 * SECOND, name=event_id(900))
        restored(filed, at=EPOCH + 20 * SECOND)
        said(filed, at=EPOCH + 30 * SECOND, name=event_id(901))
        filed.path.write_bytes(b"x" * PAGE)

        assert [event_id(901)] == [each["id"] for each in recovered(filed).logged]

    def test_not_restored(self, filed: Filed) -> None:
        """Without a restore everything that the log names from the backup on counts."""
        said(filed, at=EPOCH + 10 * SECOND, name=event_id(900))
        filed.path.write_bytes(b"x" * PAGE)

        assert [event_id(900)] == [each["id"] for each in recovered(filed).logged]

    def test_status(self, filed: Filed) -> None:
        """A recovery is no longer shown once its ledger was replaced by another."""
        filed.path.write_bytes(b"x" * PAGE)
        at = recovered(filed).at
        assert load_backups(filed.home, at)["recovery"] is not None
        restored(filed, at=at + SECOND)

        assert load_backups(filed.home, at + SECOND)["recovery"] is None


class TestTold:
    @pytest.mark.parametrize(
        ("missing", "unreadable", "said"),
        [
            (0, [], "0 missing"),
            (3, [], "3 missing"),
            (0, ["crumbs"], "none known to be missing, 1 table could not be read whole"),
            (3, ["a", "b"], "at least 3 missing, 2 tables could not be read whole"),
            (0, ["every table"], "none known to be missing, no table could be read"),
        ],
    )
    def test_losses(self, missing: int, unreadable: list[str], said: str) -> None:
        """Nothing is called complete of which a part could not be read."""
        assert said == recovery.format_losses(missing, unreadable)

    def test_log(self, filed: Filed, caplog: pytest.LogCaptureFixture) -> None:
        """The log, the status and the start say the same of what is missing."""
        caplog.set_level(logging.CRITICAL)
        filed.path.write_bytes(b"x" * PAGE)
        report = recovered(filed)
        lost = recovery.format_losses(report.lost, report.unreadable)
        found = load_backups(filed.home, report.at)["recovery"]

        assert lost.startswith("none known to be missing, ")
        assert f" rows are back from it, {lost}; " in caplog.text
        assert f" rows salvaged, {lost}; see " in recovery.format_sentence(found)


class TestRoom:
    def test_full(self, filed: Filed, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without room for a copy the start fails, and everything is as it was."""
        damaged(filed, "no database")
        before = filed.path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, backups.MARGIN))
            with pytest.raises(StorageFull):
                recovery.make_ready(filed.home, filed.clock)
        assert before == filed.path.read_bytes()

        recovered(filed)
        assert template() != before
