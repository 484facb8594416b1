"""What `judge` prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from cortex_actors.errors import NotFound

if TYPE_CHECKING:
    from pathlib import Path

_RULES = {
    "relation": "related",
    "decider": "rules",
    "reason": "cosine 0.70",
    "conflict": None,
    "confidence": 1.0,
}
_MODEL = {
    "relation": "contradiction",
    "decider": "llm",
    "reason": "on Friday\x1b[31m, when",
    "conflict": "partial",
    "confidence": 0.9,
}
_LAYER = {"layer": "llm", "model": "openai:m@h", "state": "ready", "reason": ""}

_FOUND: dict[str, Any] = {
    "cosine": 0.7,
    "rules": _RULES,
    "model": _MODEL,
    "judgement": _MODEL,
    "judge": {"layers": [_LAYER]},
}

_ALONE = {**_FOUND, "cosine": None, "model": None, "judgement": _RULES, "judge": {}}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Answer for the daemon; give what it was asked, the answers to come at its end."""
    calls: list[Any] = [_FOUND]

    def call(_self: object, verb: str, **params: object) -> Any:
        answer = calls.pop()
        calls.append((verb, params))
        return answer

    monkeypatch.setattr("cortex_actors.client.connection.Client.call", call)
    return calls


def test_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model has longer to answer than the daemon has otherwise."""
    seconds: list[float] = []

    def connect(_: object, given: float) -> None:
        seconds.append(given)
        raise NotFound("nobody")

    monkeypatch.setattr("cortex_actors.client.connection.Client._connect", connect)
    entry.main(["judge", "a", "b", "--home", str(tmp_path)])

    assert [125.0] == seconds


class TestShown:
    def test_both(
        self, asked: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What counts comes first, then what rules and model say, in letters that can be seen."""
        assert 0 == entry.main(["judge", "a", "b", "--home", str(tmp_path)])
        lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

        assert ("judge", {"one": "a", "other": "b"}) == asked[0]
        assert "judgement contradiction (partial)" == lines[0]
        assert "cosine 0.70" == lines[1]
        assert "rules related · cosine 0.70" == lines[2]
        assert lines[3].startswith("model contradiction (partial) · 0.90 · on Friday")
        assert "llm openai:m@h · ready" == lines[4]
        assert "\x1b" not in "".join(lines)

    def test_alone(
        self, asked: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Without a model it says how to name one."""
        asked[:] = [_ALONE]
        assert 0 == entry.main(["judge", "a", "b", "--home", str(tmp_path)])
        shown = capsys.readouterr().out

        assert "judging.cross_encoder and judging.model" in " ".join(shown.split())
        assert "no model embeds at the moment" in shown

    @pytest.mark.usefixtures("asked")
    def test_json(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """With --json it is the answer as it came."""
        assert 0 == entry.main(["judge", "a", "b", "--json", "--home", str(tmp_path)])

        assert _FOUND == json.loads(capsys.readouterr().out)
