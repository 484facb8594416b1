"""What comes back of a damaged ledger, and how the rest is reported."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SECOND
from cortex_actors.rules.decay import BACKUP_HOUR
from cortex_actors.storage.ledger import backups, faults, recovery
from cortex_actors.storage.ledger.salvage import relist
from cortex_actors.testing import EPOCH
from tests.storage.damage import AFTER, BEFORE, damaged, recovered
from tests.storage.ledgers import PAGE, Filed, event_id, unclosed

if TYPE_CHECKING:
    from pathlib import Path


class TestReport:
    def test_missing(self, filed: Filed) -> None:
        """Rows that the damaged file only names are reported by their ids."""
        damaged(filed, "table leaf")
        filed.path.write_bytes(filed.path.read_bytes())
        backups.tidy(filed.home.backups, now=EPOCH, hourly=1, daily=1)
        for each in backups.list_backups(filed.home.backups):
            each.path.unlink()
        report = recovered(filed)
        known = {event_id(each) for each in range(BEFORE + AFTER)}
        here = {str(row[0]) for row in filed.ask("SELECT id FROM events")}

        assert sorted(known - here) == list(report.missing_ids["events"])
        assert 0 < report.missing["events"] == len(known - here)
        assert "events" in report.unreadable

    def test_logged(self, filed: Filed) -> None:
        """Events that only the log still names are reported as well, durable ones alone."""
        lines = [
            {"at": EPOCH + SECOND, "topic": "file:changed", "event": "evt_lost"},
            {"at": EPOCH + SECOND, "topic": "file:changed", "event": event_id(3)},
            {"at": EPOCH + SECOND, "topic": "actor:crashed", "event": "evt_not_durable"},
            {"at": EPOCH - BACKUP_HOUR, "topic": "file:changed", "event": "evt_long_ago"},
            {"at": EPOCH + SECOND, "text": "no event"},
        ]
        text = "\n".join(json.dumps(each) for each in lines)
        (filed.home.logs / "cortex.ndjson").write_text(text)
        damaged(filed, "no database")
        report = recovered(filed)

        assert ["evt_lost"] == [each["id"] for each in report.logged]
        assert 1 == report.lost

    def test_shown(self, filed: Filed) -> None:
        """A recovery is shown for a week, with where to read more."""
        damaged(filed, "first page")
        recovered(filed)
        found = recovery.find_latest(filed.home.backups, filed.clock.now())

        assert found is not None
        assert ("file is not a database", AFTER) == (found["reason"], found["salvaged"] // 2)
        assert f"0 missing; see {found['report']}" in recovery.format_sentence(found)
        assert (
            recovery.find_latest(filed.home.backups, filed.clock.now() + 8 * 24 * BACKUP_HOUR)
            is None
        )

    def test_spoiled(self, filed: Filed) -> None:
        """A report that cannot be read is named, whatever lies in it."""
        filed.home.backups.joinpath("recovery-20260101T000000Z.json").write_text("[]")
        found = recovery.find_latest(filed.home.backups, EPOCH)

        assert found is not None
        assert "cannot be read" in recovery.format_sentence(found)


class TestSalvage:
    def test_deliveries(self, filed: Filed) -> None:
        """An event that comes back waits for whom it waited for, and for nobody else."""
        filed.run("DELETE FROM deliveries WHERE seq = ?", BEFORE + 1)
        damaged(filed, "index leaf")
        recovered(filed)
        waiting = {row[0] for row in filed.ask("SELECT seq FROM deliveries")}

        assert set(range(1, BEFORE + AFTER + 1)) - {BEFORE + 1} == waiting

    def test_deliveries_unreadable(self, filed: Filed) -> None:
        """Where nobody can tell who has handled what, everybody gets it once more."""
        filed.run("DELETE FROM deliveries WHERE seq = ?", BEFORE + 1)
        filed.overwrite(filed.root_of("deliveries"), bytes(PAGE))
        faults.suspect(filed.path, "a test")
        recovered(filed)

        assert BEFORE + AFTER == filed.count("deliveries")

    def test_unreadable_payload(self, filed: Filed) -> None:
        """An event whose payload is no object comes back like any other; nobody waits for it."""
        filed.run("UPDATE events SET payload = '[1]' WHERE seq = ?", BEFORE + 1)
        filed.overwrite(filed.root_of("deliveries"), bytes(PAGE))
        faults.suspect(filed.path, "a test")
        recovered(filed)

        assert BEFORE + AFTER == filed.count("events")
        assert BEFORE + AFTER - 1 == filed.count("deliveries")

    def test_set_aside(self, filed: Filed) -> None:
        """What became a dead letter after the backup is one, and is not handled as well."""
        filed.run("DELETE FROM deliveries WHERE seq = 3")
        filed.run("INSERT INTO dead_letters VALUES ('accumulator', 3, 5, 'why', 1)")
        damaged(filed, "index leaf")
        recovered(filed)

        assert [("accumulator", 3)] == filed.ask("SELECT consumer, seq FROM dead_letters")
        assert [] == filed.ask("SELECT seq FROM deliveries WHERE seq = 3")

    def test_spoiled_rows(self, filed: Filed) -> None:
        """A row that the schema refuses stays out and is reported."""
        filed.run("PRAGMA ignore_check_constraints = ON")
        filed.run("UPDATE events SET payload = 'no JSON' WHERE seq = ?", BEFORE + 2)
        damaged(filed, "index leaf")
        report = recovered(filed)

        assert BEFORE + AFTER - 1 == filed.count("events")
        assert {"events": [event_id(BEFORE + 1)]} == report.missing_ids

    def test_projects(self, filed: Filed) -> None:
        """Projects followed since the backup are followed, those left are left."""
        filed.run("UPDATE projects SET active = 0")
        filed.run(
            "INSERT INTO projects (id, name, root, added_at) VALUES ('prj_2', 'new', '/new', 1)"
        )
        damaged(filed, "index leaf")
        recovered(filed)

        assert [("prj_1", 0), ("prj_2", 1)] == filed.ask("SELECT id, active FROM projects")

    def test_file_vectors(self, filed: Filed) -> None:
        """Vectors of files are made again like all others: none comes from a damaged ledger."""
        filed.run("INSERT INTO file_vectors VALUES ('/a', 'm', X'00', X'00')")
        damaged(filed, "index leaf")
        report = recovered(filed)

        assert 0 == filed.count("file_vectors")
        assert "file_vectors" not in report.salvaged

    def test_numbers(self, filed: Filed) -> None:
        """No number is given to a second event."""
        filed.run("DELETE FROM deliveries WHERE seq = ?", BEFORE + AFTER)
        filed.run("DELETE FROM events WHERE seq = ?", BEFORE + AFTER)
        damaged(filed, "index leaf")
        recovered(filed)
        filed.run("DELETE FROM deliveries")
        filed.run("DELETE FROM events")
        filed.say(1)

        assert [(BEFORE + AFTER + 1,)] == filed.ask("SELECT seq FROM events")


class TestRelist:
    def test_long_rows(self, tmp_path: Path) -> None:
        """A list of tables that goes on over many pages, and over pages of its own, is put back."""
        good, torn, scratch = (tmp_path / name for name in ("good.db", "torn.db", "scratch.db"))
        with closing(sqlite3.connect(good)) as opened, opened:
            opened.execute("BEGIN")
            for each in range(60):
                columns = ", ".join(f"column_{each}_{n} INTEGER" for n in range(each * 30 + 1))
                opened.execute(f"CREATE TABLE t{each} ({columns})")
                opened.execute(f"INSERT INTO t{each} (column_{each}_0) VALUES (?)", (each,))  # noqa: S608 - ours
        pages = good.stat().st_size // PAGE
        torn.write_bytes(bytes(PAGE) + good.read_bytes()[PAGE:])
        relist(torn, good, scratch)
        with closing(sqlite3.connect(scratch)) as opened:
            found = [
                opened.execute(f"SELECT column_{each}_0 FROM t{each}").fetchone()[0]  # noqa: S608 - ours
                for each in range(60)
            ]

        assert list(range(60)) == found
        assert pages > 300

    @pytest.mark.parametrize("how", ["first page", "list of tables"])
    def test_log(self, filed: Filed, how: str) -> None:
        """What a crash left in the log comes back, too, with the rows before it."""
        unclosed(filed, lambda opened: opened.execute("UPDATE events SET source = 'late'"))
        log = filed.home.root / "cortex.db-wal"
        kept = log.read_bytes()
        log.unlink()
        damaged(filed, how)
        log.write_bytes(kept)
        recovered(filed)
        late = filed.ask("SELECT count(*) FROM events WHERE source = 'late'")

        assert BEFORE + AFTER == filed.count("events")
        assert [(AFTER,)] == late  # what the backup has stays as it has it

    def test_cut_off(self, filed: Filed) -> None:
        """A list of tables that is put back never lies where another table is thought to begin."""
        last = max(filed.root_of(name) for name in ("events", "insights", "verdicts"))
        content = filed.path.read_bytes()[: (last - 1) * PAGE]
        filed.path.write_bytes(bytes(PAGE) + content[PAGE:])
        faults.suspect(filed.path, "a test")
        recovered(filed)

        assert "" == faults.find_damage(filed.path)
        assert BEFORE <= filed.count("events")

    def test_no_database(self, tmp_path: Path) -> None:
        """What is no database gives nothing."""
        for name in ("torn.db", "good.db"):
            (tmp_path / name).write_bytes(b"notes" * 999)
        with pytest.raises(sqlite3.DatabaseError, match="not a database"):
            relist(tmp_path / "torn.db", tmp_path / "good.db", tmp_path / "scratch.db")
