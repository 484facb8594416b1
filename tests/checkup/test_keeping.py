"""What the doctor sees beside the ledger: lock, rights, room, backups, models, settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import DAY
from cortex_actors.process import lock
from cortex_actors.settings import Settings
from cortex_actors.storage.ledger import backups

if TYPE_CHECKING:
    from tests.checkup.support import Case

#: A compiled model, by its name.
COMPILED = "all-MiniLM-L6-v2+int8-01234567"


def notes(case: Case, check: str, **circumstances: object) -> list[tuple[str, str]]:
    """Return severity and text of what is not well under a check."""
    found = case.look(**circumstances).diagnoses
    return [
        (str(each.severity), each.found)
        for each in found
        if each.check == check and each.severity != "ok"
    ]


class TestLock:
    def test_none(self, case: Case) -> None:
        """A running daemon without its lock is an error, a daemon that is down needs none."""
        case.home.lock.unlink(missing_ok=True)

        assert "a second daemon could start" in case.ill(online=True)["lock"].found
        assert "lock" not in case.ill()

    def test_replaced(self, case: Case) -> None:
        """A lock that nobody holds while a daemon runs is an error."""
        case.home.lock.write_text('{"pid": 1, "state": "running"}')

        assert "was replaced" in case.ill(online=True)["lock"].found

    def test_crashed(self, case: Case) -> None:
        """The last daemon's bad end is a note."""
        held = lock.acquire(case.home)
        held.take_over(started_at=1, version="0")
        held.say(lock.HomeState.CRASHED, "it burned")
        held.close()

        ((severity, text),) = notes(case, "lock")
        assert ("note", True) == (severity, "it burned" in text)


class TestRights:
    def test_open(self, case: Case) -> None:
        """A home that others may look into is a warning that names the mend."""
        case.home.root.chmod(0o755)
        found = case.ill()["rights"]
        case.home.root.chmod(0o700)

        assert f"chmod go= {case.home.root}" == found.mend


class TestRoom:
    def test_full(self, case: Case) -> None:
        """A disk with less room than the ledger keeps free is an error."""
        case.settings = Settings.model_validate({"storage": {"low_water_mb": 2**40}})

        assert "low_water_mb" in case.ill()["disk"].found


class TestBackups:
    def test_none(self, case: Case) -> None:
        """A home without a backup is a note."""
        assert [("note", "there is none yet")] == notes(case, "backups")

    def test_old(self, case: Case) -> None:
        """A running daemon whose newest backup is days older than its last write is a warning."""
        made = backups.take_now(case.home.ledger, case.home.backups, at=case.clock.now() - 3 * DAY)
        os.utime(made.path, (1, 1))

        assert "3.0 d old" in case.ill(online=True)["backups"].found
        assert "backups" not in case.ill()

    def test_unreadable(self, case: Case) -> None:
        """A newest backup that is no ledger is a warning; thoroughly, so is any."""
        older = backups.take_now(case.home.ledger, case.home.backups, at=case.clock.now() - DAY)
        newer = backups.take_now(case.home.ledger, case.home.backups, at=case.clock.now())
        older.path.write_bytes(b"x" * 5_000)
        assert "backups" not in case.ill()
        assert older.path.name in case.ill(thorough=True)["backups"].found
        newer.path.write_bytes(b"x" * 5_000)

        assert newer.path.name in case.ill()["backups"].found


class TestModels:
    def test_damaged(self, case: Case) -> None:
        """A compiled model that does not match its manifest is an error if it answers."""
        folder = case.home.models / COMPILED
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
        assert [("note", True)] == [(s, COMPILED in t) for s, t in notes(case, "model files")]
        case.run("UPDATE embedding_models SET id = ?", COMPILED)

        assert COMPILED in case.ill()["model files"].found

    def test_missing(self, case: Case) -> None:
        """A compiled model that answers and has no files is a warning."""
        case.run("UPDATE embedding_models SET id = ?", COMPILED)

        found = case.ill()["model files"].found
        assert "is not there; texts are found by their words" in found


class TestSettings:
    def test_differ(self, case: Case) -> None:
        """Settings that name another model than the one that answers are a note with the mend."""
        case.settings = Settings.model_validate(
            {"embedding": {"provider": "sentence-transformers", "model": "other"}}
        )
        ((severity, text),) = notes(case, "settings")

        assert ("note", True) == (severity, "sentence-transformers" in text)

    @pytest.mark.parametrize(
        ("asked", "named"),
        [
            ({"provider": "hashing"}, "--to hashing,"),
            ({"provider": "hashing", "model": "hashing-v1-64"}, "--to hashing-v1-64,"),
            ({"provider": "openai", "model": "mini"}, "--to openai:mini,"),
        ],
    )
    def test_mend(self, case: Case, asked: dict[str, str], named: str) -> None:
        """The mend names the model that the settings ask for, as a migration takes it."""
        case.run("UPDATE embedding_models SET provider = 'sentence-transformers'")
        if asked["provider"] == "openai":
            case.run("UPDATE embedding_models SET provider = 'hashing'")
        case.settings = Settings.model_validate({"embedding": asked})

        (found,) = [each for each in case.look().diagnoses if each.check == "settings"]

        assert named in found.mend
