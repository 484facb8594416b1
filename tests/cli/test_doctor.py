"""`cortex doctor`: what it prints, what it ends with, and what it does not take."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from cortex_actors.process import lock
from tests.storage.ledgers import Filed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def filed(tmp_home: Path) -> Filed:
    """Give a home with a ledger that was never learned into."""
    found = Filed(tmp_home)
    found.home.ledger.chmod(0o600)
    found.run("DELETE FROM projects")
    return found


def doctor(filed: Filed, *words: str) -> int:
    """Run the command in that home."""
    return entry.main(["doctor", *words, "--home", str(filed.home.root)])


class TestOffline:
    def test_table(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """A person sees a row for each check, and whether all is well."""
        assert 0 == doctor(filed)
        out = capsys.readouterr().out

        assert all(each in out for each in ("passages", "words", "disk", "without a daemon"))
        assert "all is well" in out

    def test_grep(
        self, filed: Filed, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where nobody watches every row names its check, and the last line counts the notes."""
        found = [
            {"check": "files", "severity": "note", "found": f"file {n}", "mend": ""} for n in (1, 2)
        ]
        told = {"online": True, "took_s": 1.0, "checks": found, "repaired": [], "wrong": 0}
        answer = {**told, "exit_code": 0}
        monkeypatch.setattr("cortex_actors.client.connection.Client.call", lambda *_, **__: answer)
        assert 0 == doctor(filed)
        lines = capsys.readouterr().out.splitlines()

        assert 2 == sum("files" in line for line in lines)
        assert "all is well; 2 notes" == lines[-1]

    def test_json(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """A program gets every check with severity, text, mend, and what was repaired."""
        filed.run("INSERT INTO vectors (model, text_hash, vector) VALUES ('x', zeroblob(32), 'y')")
        assert 0 == doctor(filed, "--repair", "--json")
        found: dict[str, Any] = json.loads(capsys.readouterr().out)

        assert {
            "severity",
            "exit_code",
            "online",
            "checks",
            "wrong",
            "repaired",
            "took_s",
        } == set(found)
        assert {"check", "found", "severity", "mend", "repairable"} == set(found["checks"][0])
        assert [{"repair": "orphans", "did": "1 vectors without use were dropped"}] == (
            found["repaired"]
        )

    def test_wrong(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """Something wrong is 1, with what mends it."""
        filed.home.root.chmod(0o755)
        assert 1 == doctor(filed)
        out = capsys.readouterr().out
        filed.home.root.chmod(0o700)

        assert "1 thing is wrong" in out
        assert "chmod go=" in out

    def test_open_home(self, filed: Filed) -> None:
        """A home that others can enter stays so, and is told; `--repair` closes it."""
        filed.home.root.chmod(0o755)
        codes, modes = [], []
        for words in ((), ("--repair",)):
            codes.append(doctor(filed, *words))
            modes.append(stat.S_IMODE(filed.home.root.stat().st_mode))

        assert ([1, 0], [0o755, 0o700]) == (codes, modes)

    def test_damaged(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """A damaged ledger is 70."""
        with filed.path.open("r+b") as file:
            file.seek(4_096)
            file.write(b"x" * 4_096 * 60)

        assert 70 == doctor(filed, "--repair")
        assert "recovers" in capsys.readouterr().out


class TestRefused:
    def test_no_home(self, tmp_path: Path) -> None:
        """A folder that is not there is 66."""
        assert 66 == entry.main(["doctor", "--home", str(tmp_path / "nowhere")])

    def test_words(self, filed: Filed) -> None:
        """Words that it does not know are 64."""
        assert 64 == doctor(filed, "--heal")
        assert 64 == doctor(filed, "head")

    def test_held(self, filed: Filed) -> None:
        """While somebody else holds the home and does not answer, nothing is looked at."""
        held = lock.acquire(filed.home)
        held.take_over(started_at=1, version="0")
        code = doctor(filed)
        held.close()

        assert 75 == code


class TestRoundTrip:
    def test_daemon_down(self, filed: Filed, capsys: pytest.CaptureFixture[str]) -> None:
        """Without a daemon there is nothing to try, and the exit code says why."""
        assert 69 == doctor(filed, "--round-trip")
        assert "no daemon answers" in capsys.readouterr().err

    @pytest.mark.parametrize("word", ["--repair", "--thorough"])
    def test_mends_nothing(
        self, filed: Filed, word: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It looks at nothing and mends nothing, and says so to whoever wants both."""
        assert 64 == doctor(filed, "--round-trip", word)
        assert "leave out --repair" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("state", "code", "told"),
        [
            ("ok", 0, "all is well"),
            ("degraded", 1, "it works in part: recall: by words"),
            ("failed", 1, "it does not work: recall: by words"),
        ],
    )
    def test_steps(
        self,
        filed: Filed,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        *,
        state: str,
        code: int,
        told: str,
    ) -> None:
        """Each step is shown with its milliseconds, and the last line says what works."""
        step = {"step": "recall", "state": state, "took_ms": 1.25, "said": "by words"}
        found = {"state": state, "reason": "recall: by words", "took_ms": 9.0, "steps": [step]}
        monkeypatch.setattr("cortex_actors.client.connection.Client.call", lambda *_, **__: found)
        assert code == doctor(filed, "--round-trip")
        lines = capsys.readouterr().out.splitlines()

        assert any("recall" in line and "1.2" in line for line in lines)
        assert lines[-1].startswith(told)
