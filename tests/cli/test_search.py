"""`cortex search` and what `recall` shares with it: what is asked, and what a person sees of it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cortex_actors.cli import entry
from cortex_actors.cli.memory.recall import format_age
from cortex_actors.clock import SECOND, SystemClock
from tests.cli.answering import Asked, answering

DAY = 86_400 * SECOND

#: A memory as the daemon answers it.
MEMORY: dict[str, Any] = {
    "id": "mem_1",
    "text": "Deploys at nine.\nNever on Fridays.",
    "score": 0.875,
    "store": "cortex_private",
    "extra": {
        "agent": "VAJRA",
        "realm": "private",
        "layer": "working",
        "thread": "release",
        "created_at": SystemClock().now() - 3 * DAY,
        "tags": ["ops"],
        "pinned": True,
        "merged_from": 2,
        "status": "active",
        "conflicts": ["mem_2"],
    },
}

FOUND: dict[str, Any] = {
    "hits": [MEMORY],
    "text": '[1] #mem_1 (score=0.88) "Deploys at nine."\n    Deploys at nine.\x1b[2J',
    "failed": [],
    "skipped": [{"store": "local", "reason": "2 texts have no vector yet"}],
    "took_ms": 1.0,
}
NOTHING = {**FOUND, "hits": [], "text": "No memories found.", "skipped": []}

#: What is asked without any option.
PLAIN: dict[str, Any] = {
    "query": "deploy",
    "limit": 10,
    "sure": False,
    "explain": False,
    "track": True,
    "original_only": False,
    "here": str(Path.cwd()),
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Answer both verbs, and give what is asked."""
    return answering(monkeypatch, {"search": FOUND, "recall": FOUND})


class TestAsked:
    def test_plain(self, asked: Asked) -> None:
        """A question without options is sent without any."""
        assert 0 == entry.main(["search", "deploy"])

        assert [("search", PLAIN)] == asked

    @pytest.mark.parametrize("command", ["search", "recall"])
    def test_every_option(self, asked: Asked, command: str) -> None:
        """Every condition is passed on as it was given; the daemon knows what the time is."""
        words = (
            "--limit 3 --layer working --layer cortex --realm village --agent azoth --type fact"
            " --tag ops --tag x --thread t --since 7d --until 2026-03-01 --min-attention 0.5"
            " --as-of 2h --as vajra --no-track --explain --sure"
        ).split()
        assert 0 == entry.main([command, "deploy", *words])

        ((verb, params),) = asked
        assert command == verb
        params.pop("original_only", None)
        assert params == {
            "query": "deploy",
            "limit": 3,
            "layers": ["working", "cortex"],
            "realm": "village",
            "agent": "azoth",
            "type": "fact",
            "tags": ["ops", "x"],
            "thread": "t",
            "since": "7d",
            "until": "2026-03-01",
            "min_attention": 0.5,
            "as_of": "2h",
            "as_agent": "vajra",
            "track": False,
            "sure": True,
            "explain": True,
            "here": str(Path.cwd()),
        }

    @pytest.mark.parametrize("command", ["search", "recall"])
    def test_projects(
        self,
        asked: Asked,
        command: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The folder is always said; a project is one of the caller's folders, a name, or none."""
        monkeypatch.chdir(tmp_path)
        for words in ([], ["--project", "atlas"], ["--project", "."], ["--global"]):
            assert 0 == entry.main([command, "deploy", *words])
        assert 64 == entry.main([command, "deploy", "--project", "atlas", "--global"])

        assert [None, "atlas", str(tmp_path), ""] == [each.get("project") for _, each in asked]
        assert {str(tmp_path)} == {each["here"] for _, each in asked}

    def test_original(self, asked: Asked) -> None:
        """What was said, not what was made of it, is for `search` alone."""
        assert 0 == entry.main(["search", "deploy", "--original"])
        assert 64 == entry.main(["recall", "deploy", "--original"])

        assert [("search", {**PLAIN, "original_only": True})] == asked

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (["search"], 64),
            (["search", "x", "--realm", "secret"], 64),
            (["search", "x", "--layer", "deep"], 64),
            (["search", "x", "--limit", "0"], 64),
            (["search", "x", "--min-attention", "2"], 64),
            (["search", "\udcff"], 65),
        ],
    )
    def test_refused(self, asked: Asked, words: list[str], code: int) -> None:
        """What is no question is refused before anybody is asked."""
        assert code == entry.main(words)

        assert [] == asked


class TestShown:
    def test_memory(self, asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
        """A memory says whose it is, how old, what is special about it, and what contradicts it."""
        assert 0 == entry.main(["search", "deploy"])
        shown = capsys.readouterr().out

        assert "1. 0.875  VAJRA  private  working  release  3 d ago\n" in shown
        assert "   Deploys at nine.\n   Never on Fridays.\n" in shown
        assert "   mem_1 · #ops · pinned · made of 2\n" in shown
        assert "   contradicted by mem_2\n" in shown
        assert "note: 2 texts have no vector yet" in shown

    def test_long(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A person is shown how a long text begins, and where it is whole; a program all of it."""
        text = "a line of words\n" * 4_000
        answering(monkeypatch, {"search": {**FOUND, "hits": [{**MEMORY, "text": text}]}})
        assert 0 == entry.main(["search", "deploy", "--limit", "200"])
        shown = capsys.readouterr().out
        assert 0 == entry.main(["search", "deploy", "--json"])

        assert "... (64,000 characters: cortex memory show mem_1)" in shown
        assert 40 > shown.count("\n")
        assert text == json.loads(capsys.readouterr().out)["hits"][0]["text"]

    def test_past(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One of another time says what became of it, and when it was believed."""
        extra = {
            **MEMORY["extra"],
            "status": "superseded",
            "believed_from": 0,
            "believed_until": None,
        }
        found = {**FOUND, "hits": [{**MEMORY, "extra": extra}]}
        answering(monkeypatch, {"search": found})
        assert 0 == entry.main(["search", "deploy", "--as-of", "7d"])
        shown = capsys.readouterr().out

        assert "no longer believed: another one says what holds" in shown
        assert "believed from 1970-01-01T00:00:00Z until today" in shown

    def test_plain(self, asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
        """`--plain` prints what an agent reads, and nothing that could move a cursor."""
        for command in ("search", "recall"):
            assert 0 == entry.main([command, "deploy", "--plain"])

            assert FOUND["text"].replace("\x1b", "\\x1b") + "\n" == capsys.readouterr().out

    def test_json(self, asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
        """`--json` prints the answer as it came."""
        assert 0 == entry.main(["search", "deploy", "--json"])

        assert FOUND == json.loads(capsys.readouterr().out)

    def test_nothing(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Finding nothing is an answer."""
        answering(monkeypatch, {"search": NOTHING})
        assert 0 == entry.main(["search", "deploy"])
        people = capsys.readouterr().out
        assert 0 == entry.main(["search", "deploy", "--plain"])

        assert people.startswith("No memories found.\n")
        assert "No memories found.\n" == capsys.readouterr().out


class TestAge:
    @pytest.mark.parametrize(
        ("ago", "shown"),
        [
            (-5, "just now"),
            (0, "just now"),
            (59 * SECOND, "just now"),
            (60 * SECOND, "1 min ago"),
            (DAY - 1, "23 h ago"),
            (DAY, "1 d ago"),
            (400 * DAY, "1 y ago"),
        ],
    )
    def test_age(self, ago: int, shown: str) -> None:
        """An age is told in the largest unit that fits."""
        assert shown == format_age(10**15, 10**15 + ago)


class TestColour:
    @pytest.mark.parametrize(("plain", "count"), [(None, 1), ("1", 0)])
    def test_matches(
        self, asked: Asked, monkeypatch: pytest.MonkeyPatch, plain: str | None, count: int
    ) -> None:
        """A terminal shows the score and the words that were asked in colours."""
        out = io.StringIO()
        monkeypatch.delenv("NO_COLOR", raising=False)
        if plain:
            monkeypatch.setenv("NO_COLOR", plain)
        terminal = Console(file=out, force_terminal=True, color_system="standard", width=100)
        monkeypatch.setattr("cortex_actors.cli.show.make_console", lambda: terminal)

        assert 0 == entry.main(["search", "deploys"])
        assert count == out.getvalue().count("\x1b[1;33mDeploys\x1b[0m")
