"""`cortex recall`, `cortex insights`: what of the caller's the daemon is asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cortex_actors.cli import entry
from cortex_actors.cli.memory import recall
from tests.cli.answering import answering

_NOTHING: dict[str, Any] = {"hits": [], "failed": [], "skipped": [], "took_ms": 1.0}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """Stand in a folder that has a project in it, and give what the daemon is asked."""
    asked: list[dict[str, Any]] = []

    def call(_: object, method: str, /, **params: object) -> dict[str, Any]:
        asked.append(params)
        return _NOTHING if method == "recall" else {"insights": [], "total": 0}

    (tmp_path / "projects" / "atlas").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "projects")
    monkeypatch.setattr("cortex_actors.client.connection.Client.call", call)
    return asked


@pytest.mark.parametrize("command", ["recall port", "insights"])
class TestProject:
    @pytest.mark.parametrize("given", [".", "..", "atlas/", "./atlas", "../projects/atlas/"])
    def test_folder(self, asked: list[dict[str, Any]], command: str, given: str) -> None:
        """A folder of the caller's is named by its whole path."""
        assert 0 == entry.main([*command.split(), "--project", given])

        assert str(Path(given).resolve()) == asked[0]["project"]

    @pytest.mark.parametrize(
        ("given", "sent"), [("atlas", "atlas"), ("harbor/", "harbor"), ("a/b", "a/b"), ("/", "/")]
    )
    def test_name(
        self, asked: list[dict[str, Any]], command: str, *, given: str, sent: str
    ) -> None:
        """A name or an id is passed on, and so is what is no folder here; no slash ends it."""
        assert 0 == entry.main([*command.split(), "--project", given])

        assert sent == asked[0]["project"]


class TestPrinciple:
    def test_shown(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A principle is shown by its id, its rank and who says it: it stands in no single file."""
        extra = {"rank": 0.6, "projects": ["atlas", "harbor"], "at": "2026-01-01T00:00:00Z"}
        hit = {"id": "pri_1", "text": "Say why.", "score": 1.0, "store": "cortex_principles"}
        found = {**_NOTHING, "hits": [{**hit, "extra": extra}]}
        answering(monkeypatch, {"recall": found})

        assert 0 == entry.main(["recall", "why", "--store", "cortex_principles"])
        assert (
            "1. 1.000  principle pri_1  rank 0.60  atlas, harbor  2026-01-01T00:00:00Z\n   Say why."
            in capsys.readouterr().out
        )


class TestSection:
    def test_shown(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A hit of a file shows its section, with the found statement marked, and other places."""
        section = {
            "heading": "Tests",
            "text": "Run one:\n  make up\n  make test",
            "marks": [{"id": "ins_1", "start": 21, "end": 30, "line_start": 4, "line_end": 4}],
            "words": [[26, 30]],
        }
        hit = {"id": "ins_1", "text": "make test", "score": 1.0, "store": "cortex_insights"}
        place = {"project": "atlas", "path": "/a/CLAUDE.md", "line_start": 4, "line_end": 4}
        extra = {"section": section, "also": ["/b/AGENTS.md:7"]}
        found = {**_NOTHING, "hits": [{**hit, **place, "heading": "Tests > Run", "extra": extra}]}
        answering(monkeypatch, {"recall": found})

        assert 0 == entry.main(["recall", "test"])
        assert (
            "1. 1.000  Tests  atlas  /a/CLAUDE.md:4\n"
            "     Run one:\n"
            "       make up\n"
            "   >   make test\n"
            "   also in /b/AGENTS.md:7\n"
        ) in capsys.readouterr().out


class TestQuestion:
    def test_no_text(self, asked: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
        """A question of bytes that are no text is refused as such, and never asked."""
        assert 65 == entry.main(["recall", "\udcff"])

        assert "the question is no valid text" in capsys.readouterr().err
        assert [] == asked


def test_empty_brief(capsys: pytest.CaptureFixture[str]) -> None:
    """A brief that has nothing to say says that on standard error, and prints nothing else."""
    recall.show_brief({"text": ""})

    assert ("", "cortex: nothing is known that a new session should know\n") == capsys.readouterr()
