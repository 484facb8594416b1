"""`cortex daemon backup` and `cortex daemon restore` while the daemon is down."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from cortex_actors.process import lock
from cortex_actors.storage.ledger import backups
from cortex_actors.testing import EPOCH
from tests.storage.ledgers import PAGE, Filed

if TYPE_CHECKING:
    from pathlib import Path


class Terminal(io.StringIO):
    """Somebody who answers."""

    def isatty(self) -> bool:
        """Tell that it is a person."""
        return True


@pytest.fixture
def filed(tmp_home: Path) -> Filed:
    """Give a home with a ledger."""
    return Filed(tmp_home, events=5)


def cortex(filed: Filed, *words: str) -> int:
    """Run a command in that home."""
    return entry.main([*words, "--home", str(filed.home.root)])


def shown(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the JSON that was printed."""
    return json.loads(capsys.readouterr().out)


class TestBackup:
    def test_made_and_listed(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """A backup is made without a daemon, and listed with whether it is good."""
        assert 0 == cortex(filed, "backup", "--json")
        made = shown(capsys)
        backups.prepare(filed.home.backups)
        (filed.home.backups / "cortex-20200101T000000Z.db").write_bytes(b"spoiled" * 99)
        assert 0 == cortex(filed, "backup", "--list", "--json")
        found = shown(capsys)["backups"]

        assert [made["path"], ""] == [found[0]["path"], found[0]["problem"]]
        assert "not a database" in found[1]["problem"]

    def test_for_people(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """A person is told where it is, how large, and how long it took."""
        assert 0 == cortex(filed, "backup", "--list")
        assert 0 == cortex(filed, "backup", "--to", str(filed.home.root / "mine.db"))
        assert 0 == cortex(filed, "backup")
        assert 0 == cortex(filed, "backup", "--list")
        out = capsys.readouterr().out

        assert "there is no backup yet" in out
        assert f"{filed.home.root}/mine.db, 0." in out
        assert "good" in out

    def test_damaged(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """Of a damaged ledger it says so, and that the next start recovers it."""
        filed.overwrite(1, b"x" * PAGE)

        assert 70 == cortex(filed, "backup")
        assert "it is damaged (" in (said := capsys.readouterr().err)
        assert "the next start recovers it: cortex start" in said
        assert 70 == cortex(filed, "backup", "--to", str(filed.home.root / "mine.db"))
        assert [] == filed.names("mine.db*")

    def test_damaged_copy(
        self, filed: Filed, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A copy that is damaged is called so, in words that begin with what is wrong."""
        monkeypatch.setenv("COLUMNS", "300")
        backups.prepare(filed.home.backups)
        filed.overwrite(filed.root_of("events"), bytes(PAGE))
        (filed.home.backups / "cortex-20260101T000000Z.db").write_bytes(filed.path.read_bytes())
        assert 0 == cortex(filed, "backup", "--list")
        out = capsys.readouterr().out

        assert "damaged: " in out
        assert "***" not in out

    def test_taken(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """Nothing is written over."""
        assert 65 == cortex(filed, "backup", "--to", str(filed.path))
        assert "give a new name" in capsys.readouterr().err

    def test_no_home(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Where there is no home, none is made."""
        assert 66 == entry.main(["backup", "--home", str(tmp_path / "no")])
        assert "there is no home" in capsys.readouterr().err
        assert not (tmp_path / "no").exists()


class TestRestore:
    @pytest.fixture(autouse=True)
    def _made(self, filed: Filed) -> None:
        """Have a backup, and two events more in the ledger."""
        backups.take(filed.path, filed.home.backups, at=EPOCH)
        filed.say(2)

    def test_told(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """It says what would be missing, and where the ledger before it is."""
        assert 0 == cortex(filed, "restore", "--yes")
        out = capsys.readouterr().out

        assert 5 == filed.count("events")
        assert "in place of" in out
        assert "cortex.db.replaced-" in out

    def test_json(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """A program gets the same as JSON."""
        assert 0 == cortex(filed, "restore", "cortex-20260101T000000Z", "--yes", "--json")

        assert {"events": 2, "deliveries": 2} == shown(capsys)["missing"]

    def test_nobody_to_ask(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """Where nobody can answer and nobody said yes, nothing happens."""
        assert 77 == cortex(filed, "restore")
        assert "say --yes" in capsys.readouterr().err
        assert 7 == filed.count("events")

    @pytest.mark.parametrize(("answer", "code", "events"), [("y\n", 0, 5), ("n\n", 77, 7)])
    def test_asked(
        self, filed: Filed, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, events: int
    ) -> None:
        """A person is asked first."""
        monkeypatch.setattr(sys, "stdin", Terminal(answer))

        assert code == cortex(filed, "restore")
        assert events == filed.count("events")

    def test_daemon_runs(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """Under a daemon that runs nothing is exchanged."""
        held = lock.acquire(filed.home)
        held.take_over(started_at=EPOCH, version="0")
        held.say(lock.HomeState.RUNNING)
        code = cortex(filed, "restore", "--yes")
        held.close()

        assert 75 == code
        assert "cortex stop" in capsys.readouterr().err
        assert 7 == filed.count("events")

    def test_unknown(self, filed: Filed) -> None:
        """A backup that is not there is an unknown name."""
        assert 66 == cortex(filed, "restore", "yesterday", "--yes")
