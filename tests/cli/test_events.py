"""`cortex daemon events`: what people see of stored events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cortex_actors.cli import entry

DEAD = {
    "consumer": "accumulator",
    "state": "dead",
    "attempts": 5,
    "at": 1_900_000_000_000_000,
    "error": "Traceback\nValueError: \x1b[2Jpoison",
}

WAITING = {"consumer": "watchlist", "state": "waiting", "attempts": 0, "at": 0, "error": None}

TRIED = {**WAITING, "attempts": 1, "at": 1_900_000_000_000_000, "error": "KeyError: 'x'"}

EVENT = {
    "seq": 21,
    "id": "evt_21",
    "topic": "file:changed",
    "source": "watcher(atlas)",
    "at": 1_900_000_000_000_000,
    "state": "dead",
    "consumers": [DEAD],
}


def answer(monkeypatch: pytest.MonkeyPatch, found: dict[str, Any]) -> None:
    """Answer every call with this."""
    monkeypatch.setattr("cortex_actors.client.connection.Client.call", lambda *_, **__: found)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Answer every call; give what was asked."""
    calls: list[dict[str, Any]] = []
    handled = {**EVENT, "seq": 22, "consumers": [], "state": "handled"}
    waiting = {**EVENT, "seq": 23, "consumers": [WAITING], "state": "waiting"}
    tried = {**EVENT, "seq": 24, "consumers": [TRIED], "state": "waiting"}
    done = [{"seq": 21, "consumer": "accumulator"}]
    answers: dict[str, dict[str, Any]] = {
        "events": {"events": [tried, waiting, handled, EVENT], "waiting": 2, "dead": 1},
        "event": {**EVENT, "idempotency_key": "k", "payload": {"path": "/a"}},
        "replay": {"replayed": done},
        "discard": {"discarded": done},
    }

    def call(_self: object, method: str, **params: object) -> dict[str, Any]:
        calls.append({"method": method, **params})
        return answers[method]

    monkeypatch.setattr("cortex_actors.client.connection.Client.call", call)
    return calls


class TestList:
    def test_for_people(self, asked: object, capsys: pytest.CaptureFixture[str]) -> None:
        """Each event is a line, with who has still to handle it, when, and what went wrong."""
        assert 0 == entry.main(["events"])
        shown = capsys.readouterr().out

        assert "2 deliveries wait, 1 are dead letters" in shown
        assert "handled" in shown
        assert "waiting for watchlist " in shown
        assert "1 attempt, next not before 2030-03-17T17:46:40Z: KeyError: 'x'" in shown
        assert "dead for accumulator after 5 attempts at 2030-03-17T17:46:40Z" in shown
        assert "\x1b[2J" not in shown

    def test_filters(self, asked: list[dict[str, Any]]) -> None:
        """Every filter reaches the daemon."""
        entry.main(["events", "--topic", "file:*", "--dead", "--since", "7", "--limit", "9"])
        entry.main(["events", "--waiting", "--json"])

        assert [
            {"topic": "file:*", "waiting": False, "dead": True, "since": 7, "limit": 9},
            {"topic": None, "waiting": True, "dead": False, "since": 0, "limit": 20},
        ] == [{k: v for k, v in each.items() if k != "method"} for each in asked]

    def test_one(self, asked: object, capsys: pytest.CaptureFixture[str]) -> None:
        """One event is shown with payload, key and traceback."""
        assert 0 == entry.main(["events", "--id", "21"])
        shown = capsys.readouterr().out
        assert 0 == entry.main(["events", "--id", "21", "--json"])

        assert 'payload  {"path": "/a"}' in shown
        assert "key      k" in shown
        assert "state    dead for accumulator after 5 attempts at 2030-03-17T17:46:40Z\n" in shown
        assert 1 == shown.count("poison")
        assert "accumulator: Traceback" in shown
        assert "\x1b" not in shown
        assert "/a" == json.loads(capsys.readouterr().out)["payload"]["path"]

    def test_damaged(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A payload that is no JSON is shown as it is stored, unquoted."""
        answer(monkeypatch, {**EVENT, "idempotency_key": None, "payload": "{no\x1bjson"})
        entry.main(["events", "--id", "21"])

        assert "payload  {no\\x1bjson\n" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ([], "no event is stored"),
            (["--dead"], "there are no dead letters"),
            (["--waiting"], "nothing waits"),
            (["--dead", "--waiting"], "nothing waits, and there are no dead letters"),
            (["--topic", "x:*"], "no such event is stored"),
            (["--dead", "--since", "7"], "no such event is stored"),
        ],
    )
    def test_nothing(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        words: list[str],
        said: str,
    ) -> None:
        """An empty list says of what there is nothing."""
        answer(monkeypatch, {"events": [], "waiting": 0, "dead": 0})

        assert 0 == entry.main(["events", *words])
        assert f"{said}\n" == capsys.readouterr().out


class TestDecide:
    def test_replay(self, asked: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
        """Dead letters are put back by name, several at once, or all."""
        assert 0 == entry.main(["events", "--replay", "21", "--replay", "evt_22"])
        assert 0 == entry.main(["events", "--replay", "all", "--json"])

        assert [["21", "evt_22"], ["all"]] == [each["events"] for each in asked]
        assert "put back 21 for accumulator" in capsys.readouterr().out

    def test_discard(self, asked: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
        """One is discarded by its name; all of them only when one says so twice."""
        codes = [
            entry.main(["events", "--discard", "21"]),
            entry.main(["events", "--discard", "all"]),
            entry.main(["events", "--discard", "all", "--yes"]),
        ]

        assert [0, 64, 0] == codes
        assert [["21"], ["all"]] == [each["events"] for each in asked]
        assert "say --yes, too" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "words",
        [["--replay", "1", "--discard", "2"], ["--id", "1", "--replay", "1"], ["--limit", "0"]],
    )
    def test_wrong(self, asked: list[object], words: list[str]) -> None:
        """Words that do not go together are refused before anything is asked."""
        assert 64 == entry.main(["events", *words])
        assert [] == asked

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--replay", "all", "--replay", "30"], "--replay all means every dead letter"),
            (["--discard", "3", "--discard", "all", "--yes"], "--discard all means every dead"),
            (["--yes"], "--yes only says that --discard all is meant"),
            (["--discard", "3", "--yes"], "--yes only says that --discard all is meant"),
            (["--replay", "all", "--yes"], "--yes only says that --discard all is meant"),
        ],
    )
    def test_all_means_all(
        self,
        asked: list[object],
        capsys: pytest.CaptureFixture[str],
        words: list[str],
        said: str,
    ) -> None:
        """`all` stands alone, and `--yes` goes with discarding all; what else is said so."""
        assert 64 == entry.main(["events", *words])
        assert said in capsys.readouterr().err
        assert [] == asked
