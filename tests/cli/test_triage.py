"""`cortex triage`: the queue is shown one at a time, and a key or a line decides."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from cortex_actors.errors import Refused
from tests.cli.answering import Asked, answering
from tests.cli.tuned import ODD, PAIR

if TYPE_CHECKING:
    from pathlib import Path


def waiting(kind: str, name: str) -> dict[str, Any]:
    """Return one item of the queue."""
    review = {"content": ODD, "because": "two projects say it", "sources": PAIR["a"]["sources"]}
    shared = {"kind": kind, "id": name}
    return {**(PAIR if kind in {"contradiction", "possible", "duplicate"} else review), **shared}


KINDS = ("contradiction", "possible", "duplicate", "duplicate", "promotion")
QUEUE = {
    "total": 5,
    "counts": {"contradiction": 1, "possible": 1, "duplicate": 2, "promotion": 1},
    "items": [waiting(kind, f"{kind[:3]}_{number}") for number, kind in enumerate(KINDS)],
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_home: Path) -> Asked:
    """Answer every call; give what was asked."""
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    names = ("resolve_contradiction", "dismiss_contradiction", "decide", "approve", "reject")
    return answering(monkeypatch, {"triage": QUEUE, **dict.fromkeys(names, PAIR)})


def say(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Have those lines be what is given to the command."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


class TestDeciding:
    def test_lines(self, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a terminal each line decides one item, by a word or by its key."""
        say(monkeypatch, "b", "dismiss", "s", "x", "y")

        assert 0 == entry.main(["triage"])
        assert [
            ("resolve_contradiction", {"contradiction": "con_0", "keep": "b"}),
            ("dismiss_contradiction", {"contradiction": "pos_1"}),
            ("decide", {"item": "dup_2", "verdict": "same"}),
            ("decide", {"item": "dup_3", "verdict": "apart"}),
            ("approve", {"insight": "pro_4"}),
        ] == asked[1:]

    def test_all(self, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
        """One line decides all that are left of a kind, and none of another kind."""
        say(monkeypatch, "skip", "n", "apart all", "q")

        assert 0 == entry.main(["triage"])
        assert [
            ("decide", {"item": name, "verdict": "apart"}) for name in ("dup_2", "dup_3")
        ] == asked[1:]

    def test_keys(
        self,
        asked: Asked,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """In a terminal a key decides; a key that means nothing here is asked for again."""
        keys = iter("yD2Xr")
        monkeypatch.setattr("click.getchar", lambda: next(keys))
        say(monkeypatch)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)

        assert 0 == entry.main(["triage"])
        assert [
            ("dismiss_contradiction", {"contradiction": "con_0"}),
            ("resolve_contradiction", {"contradiction": "pos_1", "keep": "both"}),
            ("decide", {"item": "dup_2", "verdict": "apart"}),
            ("decide", {"item": "dup_3", "verdict": "apart"}),
            ("reject", {"insight": "pro_4"}),
        ] == asked[1:]
        shown = capsys.readouterr().out
        assert "possible contradictions" in shown
        assert "\x1b" not in shown

    def test_end(self, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the lines end nothing more is decided."""
        say(monkeypatch, "a")

        assert 0 == entry.main(["triage", "--kind", "contradiction"])
        assert ["triage", "resolve_contradiction"] == [method for method, _ in asked]
        assert "contradiction" == asked[0][1]["kind"]

    def test_nonsense(self, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
        """A line that means nothing is wrong input and decides nothing."""
        say(monkeypatch, "approve")

        assert 65 == entry.main(["triage"])
        assert ["triage"] == [method for method, _ in asked]

    def test_refused(
        self,
        asked: Asked,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """What is refused is said, and the next one follows."""

        def refuses(_: object, method: str, /, **params: object) -> dict[str, Any]:
            asked.append((method, params))
            if method == "resolve_contradiction":
                raise Refused("it is a principle")
            return QUEUE if method == "triage" else PAIR

        monkeypatch.setattr("cortex_actors.client.connection.Client.call", refuses)
        say(monkeypatch, "a", "d", "q")

        assert 0 == entry.main(["triage"])
        shown = capsys.readouterr().out
        assert "con_0: it is a principle" in shown
        assert "decided 1 of 5" in shown

    def test_other_kinds(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Where nothing of a kind waits, this is said beside what does."""
        empty = {"counts": {"contradiction": 2}, "total": 0, "items": []}
        answering(monkeypatch, {"triage": empty})

        assert 0 == entry.main(["triage", "--kind", "duplicate"])
        assert [
            "contradictions 2",
            "nothing of these is of that kind or project",
            "decided 0 of 0",
        ] == capsys.readouterr().out.splitlines()


class TestListing:
    def test_json(self, asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
        """With `--json` the queue is listed, and nothing is decided."""
        assert 0 == entry.main(["triage", "--json", "--limit", "3"])

        assert QUEUE == json.loads(capsys.readouterr().out)
        assert [("triage", {"limit": 3, "kind": None, "project": None})] == asked

    def test_take_back(self, asked: Asked) -> None:
        """What was said of a pair is taken back by its id."""
        assert 0 == entry.main(["triage", "decide", "con_0", "open", "--json"])
        assert [("decide", {"item": "con_0", "verdict": "open"})] == asked
