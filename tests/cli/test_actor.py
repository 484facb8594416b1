"""`cortex debug inspect`: what is printed of what the daemon answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from cortex_actors.errors import UnknownActor

if TYPE_CHECKING:
    from pathlib import Path

_ACTOR: dict[str, Any] = {
    "name": "accumulator",
    "kind": "actor",
    "supervisor": "pipeline",
    "state": "running",
    "restarts": 2,
    "last_crash": {"reason": "ValueError('\x1b[31m')", "at": 1_900_000_000_000_000},
    "class": "Accumulator",
    "started_at": 1_900_000_000_000_000,
    "lived_s": 12.34,
    "handled": 7,
    "mailbox": {
        "depth": 1,
        "high": 3,
        "limit": 1000,
        "overflow": "back-pressure",
        "dropped": 0,
        "waited_ms": 0.5,
        "longest_ms": 2.5,
    },
    "in_hand": [],
    "tasks": [
        {
            "title": "file:changed 7",
            "seconds": 3.21,
            "limit": 120.0,
            "stack": ["cortex_actors/a.py:1 in A.on_x", "asyncio/locks.py:2 in Event.wait"],
        },
        {"title": "rest", "seconds": 1.0, "limit": 0.0, "stack": []},
    ],
}

_AWAY = {key: _ACTOR[key] for key in ("name", "kind", "supervisor", "restarts", "last_crash")}

_SUPERVISOR = {
    "name": "pipeline",
    "kind": "supervisor",
    "supervisor": "work",
    "state": "running",
    "strategy": "one_for_one",
    "restarts": 0,
    "children": [
        {"name": "accumulator", "kind": "worker", "state": "running", "restarts": 2},
        {"name": "organiser", "kind": "worker", "state": "running", "restarts": 0},
    ],
    "recent_restarts": [
        {"child": "accumulator", "at": 1_900_000_000_000_000},
        {"child": "accumulator", "at": 1_900_000_060_000_000},
    ],
    "last_crash": None,
}

_SHOWN = {
    "accumulator": """\
actor        accumulator: Accumulator, running, below pipeline
lives        since 2030-03-17T17:46:40Z, 12.3 s
restarts     2
mailbox      1 waiting, 3 at most, of 1000 (back-pressure); 7 handled, 0 dropped; \
waits 0.5 ms, 2.5 ms at most
working on   nothing
tasks        file:changed 7, for 3.2 s of 120 s
               cortex_actors/a.py:1 in A.on_x
               asyncio/locks.py:2 in Event.wait
             rest, for 1.0 s
last crash   2030-03-17T17:46:40Z ValueError('\\x1b[31m')
""",
    "away": """\
actor        accumulator: restarting, below pipeline
restarts     2
last crash   2030-03-17T17:46:40Z ValueError('\\x1b[31m')
""",
    "pipeline": """\
supervisor   pipeline: one_for_one, running, below work
restarts     0
children     accumulator: worker, running, restarts 2
             organiser: worker, running
restarted    2030-03-17T17:47:40Z accumulator
             2030-03-17T17:46:40Z accumulator
""",
}

_ANSWERS = {
    "accumulator": _ACTOR,
    "away": {**_AWAY, "state": "restarting"},
    "pipeline": _SUPERVISOR,
}


@pytest.fixture(autouse=True)
def _answers(monkeypatch: pytest.MonkeyPatch, tmp_home: Path) -> None:
    """Answer every call from the table above."""

    def call(_: object, method: str, /, **params: str) -> dict[str, Any]:
        assert "inspect" == method
        if params["name"] not in _ANSWERS:
            raise UnknownActor("nobody has that name; there are accumulator, pipeline")
        return _ANSWERS[params["name"]]

    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    monkeypatch.setattr("cortex_actors.client.connection.Client.call", call)


class TestInspect:
    @pytest.mark.parametrize("name", _SHOWN)
    def test_for_people(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Everything that is known is shown on lines, and no text can act on the terminal."""
        assert 0 == entry.main(["inspect", name])
        assert _SHOWN[name] == capsys.readouterr().out

    @pytest.mark.parametrize("name", _SHOWN)
    def test_for_programs(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        """With `--json` it is the daemon's answer."""
        assert 0 == entry.main(["inspect", name, "--json"])
        assert _ANSWERS[name] == json.loads(capsys.readouterr().out)

    def test_unknown(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A name that nobody has ends with 66, and says which there are."""
        assert 66 == entry.main(["inspect", "nobody"])
        assert "there are accumulator, pipeline" in capsys.readouterr().err
