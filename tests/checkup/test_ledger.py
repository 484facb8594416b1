"""What the doctor sees in a ledger that was broken by hand."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.clock import SECOND
from cortex_actors.doctor import checks
from cortex_actors.doctor.models import Patient
from cortex_actors.errors import LedgerDown
from cortex_actors.storage.health import file
from cortex_actors.storage.ledger import backups, faults
from cortex_actors.storage.ledger.files import SCHEMA_VERSION, Halt

if TYPE_CHECKING:
    from tests.checkup.support import Case

#: Numbers of a vector of the tests' embedder.
DIMENSION = 384


class TestWell:
    def test_nothing(self, case: Case) -> None:
        """A home that was left in order has nothing wrong, and every check has looked."""
        found = case.look().diagnoses

        assert {} == case.ill()
        assert {
            "ledger",
            "pages",
            "relations",
            "texts",
            "beliefs",
            "passages",
            "words",
            "model",
            "embedding",
            "vectors",
            "orphans",
            "index",
            "files",
            "clients",
            "lock",
            "rights",
            "disk",
            "backups",
            "settings",
        } == {each.check for each in found}

    def test_reads_only(self, case: Case) -> None:
        """A look changes nothing in the home."""
        before = {p: p.stat().st_mtime_ns for p in case.home.root.rglob("*") if p.is_file()}
        case.look(thorough=True)

        after = {p: p.stat().st_mtime_ns for p in case.home.root.rglob("*") if p.is_file()}
        # SQLite may leave an empty log beside a file that it only read.
        assert before == {p: at for p, at in after.items() if not p.name.startswith("cortex.db-")}


class TestPassages:
    def test_lacking(self, case: Case) -> None:
        """What may be found and has no passage is told, and how many."""
        case.run("DELETE FROM passages WHERE id IN (SELECT id FROM passages LIMIT 2)")

        assert "2 items of cortex_insights" in case.ill()["passages"].found

    def test_stray(self, case: Case) -> None:
        """A passage of something that may not be found any more is told."""
        case.run(
            "UPDATE insights SET status = 'withdrawn' WHERE id = (SELECT min(id) FROM insights)"
        )

        assert "1 items of cortex_insights have passages" in case.ill()["passages"].found

    def test_of_another_text(self, case: Case) -> None:
        """A passage whose text is not that of its item is told."""
        case.run("UPDATE passages SET text_hash = zeroblob(32) WHERE id = 1")

        assert "those of another text" in case.ill()["passages"].found


class TestWords:
    def test_lacking(self, case: Case) -> None:
        """Words that are gone are told, with their list."""
        case.run("DELETE FROM words_alone_docsize WHERE id = 1")

        assert "words_alone: 1 passages lack their words" in case.ill()["words"].found

    def test_other(self, case: Case) -> None:
        """Words that are not those of the passage are told, though their number is right."""
        case.run("UPDATE passages SET text = 'quite another text' WHERE id = 2")

        assert "not the words of the passages" in case.ill()["words"].found

    def test_gone(self, case: Case) -> None:
        """A ledger that is gone while its backups are there is told as damaged."""
        backups.take_now(case.home.ledger, case.home.backups, at=case.clock.now())
        case.home.ledger.unlink()
        first = case.look().diagnoses[0]

        assert ("ledger", "error", True) == (first.check, first.severity, first.damaged)

    def test_damaged(self, case: Case) -> None:
        """A list of words whose own pages are damaged is told, not a crash."""
        case.run("UPDATE words_paired_data SET block = zeroblob(12) WHERE id > 10")

        assert "words_paired" in case.ill()["words"].found


class TestVectors:
    @pytest.mark.parametrize(
        ("vector", "told"),
        [
            (b"\0" * 12, "not as long"),
            (np.zeros(DIMENSION, np.float32).tobytes(), "not of length 1"),
            (np.full(DIMENSION, np.nan, np.float32).tobytes(), "no number"),
            (np.full(DIMENSION, 7, np.float32).tobytes(), "not of length 1"),
        ],
        ids=["cut", "zero", "nan", "long"],
    )
    def test_damaged(self, case: Case, vector: bytes, told: str) -> None:
        """A vector of another length, norm, or without numbers is told."""
        case.run("UPDATE vectors SET vector = ? WHERE seq = 1", vector)

        assert told in case.ill()["vectors"].found

    def test_forgotten(self, case: Case) -> None:
        """A text without a vector that waits in no list is told: nobody would embed it."""
        case.run("DELETE FROM vectors WHERE seq = 1")

        assert "they would never be embedded" in case.ill()["embedding"].found

    def test_waiting(self, case: Case) -> None:
        """A text that waits for its vector is a note, and a warning when it waits for long."""
        case.run("DELETE FROM vectors WHERE seq = 1")
        case.run(
            "INSERT INTO index_ops (collection, item_id, op) SELECT collection, item_id, 'put' "
            "FROM passages"
        )
        (now,) = [each for each in case.look().diagnoses if each.check == "embedding"]
        assert ("note", True) == (
            now.severity,
            "1 texts wait for a vector, the first since" in now.found,
        )
        case.run("UPDATE insights SET first_seen_at = ?", case.clock.now() - 3_600 * SECOND)

        assert "embedding" in case.ill(online=True)

    def test_orphans(self, case: Case) -> None:
        """Vectors without a text are a note, which repair drops."""
        # A heading that was there for a moment may have left some, too.
        before = case.ask(
            "SELECT count(*) FROM vectors WHERE text_hash NOT IN (SELECT text_hash FROM passages)"
        )
        case.run("INSERT INTO vectors (model, text_hash, vector) VALUES ('x', zeroblob(32), 'y')")
        (found,) = [each for each in case.look().diagnoses if each.check == "orphans"]

        assert ("note", True) == (found.severity, found.found.startswith(f"{before + 1} vectors"))


class TestLedger:
    def test_version(self, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
        """A ledger of an older version is a note, and nothing else of it is looked at."""
        monkeypatch.setattr(file, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
        checks = [each.check for each in case.look().diagnoses]

        assert ("ledger", "lock") == (checks[0], checks[1])
        assert {} == case.ill()

    def test_older_than_the_baseline(self, case: Case) -> None:
        """A ledger from before the baseline is an error, with the way to upgrade."""
        case.run("PRAGMA user_version = 2")
        found = case.ill()["ledger"]

        assert "schema version 2" in found.found
        assert "start it once with the last version that reads it" in found.mend

    def test_newer(self, case: Case) -> None:
        """A ledger of a newer version is an error."""
        case.run("PRAGMA user_version = 99")

        assert "99" in case.ill()["ledger"].found

    def test_none(self, case: Case) -> None:
        """A home without a ledger is a note."""
        case.home.ledger.unlink()
        first = case.look().diagnoses[0]

        assert ("ledger", "note") == (first.check, first.severity)

    def test_damaged(self, case: Case) -> None:
        """A damaged ledger is told as such, and the next start is told to look at all of it."""
        with case.home.ledger.open("r+b") as file:
            file.seek(4_096 * 3)
            file.write(os.urandom(4_096 * 40))

        assert any(each.damaged for each in case.look().diagnoses)
        assert faults.name_marker(case.home.ledger).exists()

    def test_relations(self, case: Case) -> None:
        """Rows whose counterpart is gone are told."""
        case.run("DELETE FROM projects")

        assert "rows that are not there" in case.ill()["relations"].found

    def test_fails(self, case: Case) -> None:
        """A check that fails is a finding, and the others go on."""
        case.run("DROP TABLE index_state")
        found = case.ill()

        assert ["index"] == [each for each in found if "check itself failed" in found[each].found]

    def test_called_off(self, case: Case) -> None:
        """A stop breaks a checkup off."""
        halt = Halt()
        halt.ask()
        with pytest.raises(LedgerDown, match="called off"):
            checks.run_checks(Patient(case.home, case.settings, case.clock, online=True), halt)


class TestIndex:
    def test_of_another_model(self, case: Case) -> None:
        """An index that holds another model's vectors is told."""
        case.run("UPDATE index_state SET model = 'other'")

        assert "vectors of other" in case.ill()["index"].found
