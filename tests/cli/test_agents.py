"""`cortex agents`: what is shown of agents, and how a token is handed out."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from tests.cli.answering import answering

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

AZOTH: dict[str, Any] = {
    "id": "AZOTH",
    "display_name": "Azoth",
    "symbol": "☿",
    "ascii_symbol": "M",
    "color": "#FFD700",
    "generation": -1,
    "lineage": "Ancestor",
    "specialization": "Synthesis",
    "origin_story": "Once.\nUpon a time.",
    "registered_at": 1_900_000_000_000_000,
    "built_in": True,
    "has_token": True,
}

BARE: dict[str, Any] = AZOTH | {
    "id": "X",
    "display_name": "\x1b[2JX",
    "symbol": "X",
    "generation": 0,
    "lineage": "",
    "specialization": "",
    "origin_story": "",
    "registered_at": None,
    "has_token": False,
}


def run(
    monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, dict[str, Any]], *words: str
) -> dict[str, Any]:
    """Run a command and return the parameters of the one verb it asked."""
    asked = answering(monkeypatch, answers)
    assert 0 == entry.main(["agents", *words])
    ((verb, params),) = asked
    assert verb in answers
    return {name: value for name, value in params.items() if value is not None}


class TestLook:
    def test_list(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The list has sign, name and what each is known for; nothing in it moves the cursor."""
        found = {"total": 7, "agents": [AZOTH, BARE]}
        assert {"limit": 100, "skip": 0} == run(monkeypatch, {"agents": found})

        shown = capsys.readouterr().out
        assert "2 of 7 agents" in shown
        assert "☿  Azoth\n   Synthesis\n   AZOTH · generation -1 · Ancestor · has a token" in shown
        assert "\x1b" not in shown

    def test_as(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The owner sees what an agent sees."""
        params = run(monkeypatch, {"agents": {"total": 0, "agents": []}}, "list", "--as", "azoth")

        assert "azoth" == params["as_agent"]

    def test_show(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One agent is shown whole."""
        assert {"agent": "azoth"} == run(monkeypatch, {"agent": AZOTH}, "show", "azoth")

        shown = capsys.readouterr().out
        for each in ("☿ Azoth", "Synthesis", "Upon a time.", "2030-03-17", "it has one"):
            assert each in shown

    def test_ascii(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """On a terminal without the sign a letter stands for it, and all else is shown."""
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
        run(monkeypatch, {"agents": {"total": 1, "agents": [AZOTH]}})
        sys.stdout.flush()

        assert b"M  Azoth" in raw.getvalue()
        assert b"Ancestor" in raw.getvalue()


class TestSay:
    def test_summon(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What is said of an agent is passed on, and nothing else."""
        words = ["summon", "azoth", "--name", "Azoth", "--generation=-1", "--story", "Once."]
        params = run(monkeypatch, {"summon": AZOTH | {"new": True, "record": "mem_1"}}, *words)

        expected = {"display_name": "Azoth", "generation": -1, "origin_story": "Once."}
        assert {"agent_id": "azoth", **expected} == params
        assert "\n\nAzoth has a place in the village: #mem_1\n" in capsys.readouterr().out

    def test_seed(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is said which agents got their profiles, or that none did."""
        assert {} == run(monkeypatch, {"seed_agents": {"seeded": ["AZOTH"], "kept": []}}, "seed")
        assert {} == run(monkeypatch, {"seed_agents": {"seeded": [], "kept": ["AZOTH"]}}, "seed")

        assert "described: AZOTH\ndescribed: nothing new" in capsys.readouterr().out

    def test_introduce(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A greeting is shown with the thread it stands in."""
        found = {
            "id": "mem_1",
            "agent": "AZOTH",
            "thread": "introduction_AZOTH_1",
            "content": "Hi\x1b",
        }
        assert {"agent": "azoth"} == run(monkeypatch, {"introduce": found}, "introduce", "azoth")

        shown = capsys.readouterr().out
        assert "\n\nposted as #mem_1 in the thread introduction_AZOTH_1\n" in shown
        assert "\x1b" not in shown


class TestTokens:
    @pytest.mark.parametrize("replaced", [True, False])
    def test_token(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], replaced: bool
    ) -> None:
        """Standard output is the token alone, for a shell to take; the rest is said beside it."""
        found = {"agent": "AZOTH", "token": "AZOTH.x", "path": "/t/AZOTH", "replaced": replaced}
        assert {"agent": "azoth"} == run(monkeypatch, {"agent_token": found}, "token", "azoth")

        shown = capsys.readouterr()
        assert "AZOTH.x\n" == shown.out
        assert "AZOTH's token is in /t/AZOTH" in shown.err
        assert replaced == ("counts no more" in shown.err)
        assert "AZOTH.x" not in shown.err

    def test_revoke(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Revoking says so."""
        found = {"agent": "AZOTH", "revoked": True}
        assert {"agent": "azoth"} == run(monkeypatch, {"revoke_token": found}, "revoke", "azoth")

        assert "the token of AZOTH counts no more\n" == capsys.readouterr().out

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (["token"], 64),
            (["show"], 64),
            (["summon", "X", "--generation", "first"], 64),
            (["nonsense"], 64),
            (["show", "X"], 69),
        ],
    )
    def test_wrong(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        words: list[str],
        code: int,
    ) -> None:
        """Whatever is wrong, one line says so."""
        monkeypatch.setenv("CORTEX_HOME", str(tmp_path))

        assert code == entry.main(["agents", *words])
        assert 1 == capsys.readouterr().err.count("\n")
