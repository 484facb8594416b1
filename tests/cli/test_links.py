"""What `cortex principles links` prints and writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from tests.cli.tuned import ODD

if TYPE_CHECKING:
    from pathlib import Path

_WIDE: dict[str, Any] = {
    "id": "pri_aaaaaaaabbbb",
    "content": ODD,
    "category": "heuristic",
    "status": "active",
    "domains": ["python"],
    "rank": 0.81,
}
_NARROW = {**_WIDE, "id": "pri_ccccccccdddd", "content": "Use tabs in Go.", "rank": 0.4}
_OTHER = {**_WIDE, "id": "pri_eeeeeeeeffff", "content": "Run gofmt.", "status": "decaying"}

_LINKS = [
    {
        "source_id": _WIDE["id"],
        "target_id": _NARROW["id"],
        "type": "generalizes",
        "strength": 0.75,
        "decided_by": "rules",
        "reason": "one holds only for go",
    },
    {
        "source_id": _OTHER["id"],
        "target_id": _NARROW["id"],
        "type": "depends_on",
        "strength": 0.5,
        "decided_by": "rules",
        "reason": 'one says "after x"',
    },
]

GRAPH: dict[str, Any] = {
    "principle": None,
    "total": 5,
    "principles": [_WIDE, _NARROW, _OTHER],
    "links": _LINKS,
}


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch, tmp_home: Path) -> list[dict[str, Any]]:
    """Answer with the graph above; give what was asked for."""
    asked: list[dict[str, Any]] = []

    def call(_: object, method: str, /, **params: object) -> dict[str, Any]:
        assert method == "links"
        asked.append(params)
        nothing = {"principles": [], "links": [], "total": 0}
        return GRAPH | (nothing if "least" in params else {"principle": params.get("principle")})

    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    monkeypatch.setattr("cortex_actors.client.connection.Client.call", call)
    return asked


class TestText:
    def test_overview(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Each link is told once, under the end that ranks higher, and no text acts on a screen."""
        assert 0 == entry.main(["links"])
        out = capsys.readouterr().out

        assert out.startswith("2 links of 3 principles, 2 more are linked\n")
        assert "0.81  Use [bold]tabs[/bold]." in out
        assert "generalizes (0.75): pri_cccccccc Use tabs in Go." in out
        assert "is needed by (0.50): pri_eeeeeeee Run gofmt." in out
        assert "\x1b" not in out

    def test_one(self, capsys: pytest.CaptureFixture[str]) -> None:
        """One principle is told with its own links and why, and not with those between others."""
        assert 0 == entry.main(["links", _WIDE["id"]])
        out = capsys.readouterr().out

        assert "heuristic · python · pri_aaaaaaaa" in out
        assert "generalizes (0.75): pri_cccccccc Use tabs in Go." in out
        assert "one holds only for go" in out
        assert "needed by" not in out

    def test_none(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Where nothing is linked that is said, and what to do about it."""
        assert 0 == entry.main(["links", "--min-strength", "1"])

        assert "no such link is known; leave out a filter" in capsys.readouterr().out

    def test_asked(self, asked: list[dict[str, Any]]) -> None:
        """The options are what the daemon is asked for."""
        assert 0 == entry.main(["links", "--type", "contradicts", "--limit", "7", "--json"])

        assert [{"kind": "contradicts", "limit": 7, "status": "live"}] == asked


class TestGraph:
    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A program gets the graph as the daemon gives it."""
        assert 0 == entry.main(["links", "--json"])

        assert json.loads(capsys.readouterr().out) == GRAPH

    def test_dot(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Graphviz gets a graph and nothing else."""
        assert 0 == entry.main(["links", "--dot"])
        out = capsys.readouterr().out

        assert out.startswith("digraph principles {")
        assert 2 == out.count(" -> ")

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            (["--type", "likes"], 64, "'likes' is not one of"),
        ],
    )
    def test_wrong(
        self, words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What cannot be done is said in one sentence, with the next step."""
        assert code == entry.main(["links", *words])

        assert said in capsys.readouterr().err
