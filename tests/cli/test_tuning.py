"""What the commands print by which people look at what was learned, and decide about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from cortex_actors.cli import entry, show
from cortex_actors.cli.pipeline import projects
from cortex_actors.cli.pipeline.principles import format_check
from tests.cli.answering import for_programs
from tests.cli.tuned import ANSWERS, CHECKS, PAIR

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.answering import Asked

pytestmark = pytest.mark.usefixtures("asked")

_SHOWN = {
    "contradictions": [
        "1 of 3 contradictions",
        "con_12345678",
        "tabs against spaces",
        "Use spaces",
    ],
    "contradictions show con_1": ["cosine   0.712", "the rules", "/a/CLAUDE.md:3", "sure 0.40"],
    "contradictions resolve con_1 --keep b": ["con_1234567890: resolved, b holds", "still said"],
    "contradictions dismiss con_1": ["con_1234567890: dismissed"],
    "insights --explain ins_a": [
        "id         ins_aaaaaaaabbbb",
        "goes to the first in the alphabet",
        "seen once  0.50  base",
        "computed again",
        "confidence      --  0.50 of 0.70, 0.20 to go",
        "same as    ins_cccccccc  Use spaces.",
        "cluster    clu_12345678, 2 insights, coherence 0.90",
        "principle  pri_aaaaaaaa · heuristic · rank 0.50 · active",
    ],
    "fragments": ["3-9  Style", "4 insights · 1 said elsewhere, too · 1 contradicted", "in docs"],
    "calibrate": ["21 duplicate", "0.45", "1.00 / 0.50", "- / -", "their own: rust 21", "--write"],
}


class TestPrinting:
    @pytest.mark.parametrize("words", _SHOWN)
    @pytest.mark.parametrize("width", [80, 120])
    def test_for_people(
        self,
        words: str,
        width: int,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A command shows what matters within the width, and no text acts on the terminal."""
        monkeypatch.setattr("cortex_actors.cli.show.PLAIN_WIDTH", width)
        assert 0 == entry.main(words.split())
        shown = capsys.readouterr().out

        assert [] == [text for text in _SHOWN[words] if text not in shown]
        assert "\x1b" not in shown
        assert [] == [line for line in shown.splitlines() if len(line) > max(width, 88)]

    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_programs(
        self, words: str, capsys: pytest.CaptureFixture[str], asked: Asked
    ) -> None:
        """With `--json` a command prints the daemon's answer whole."""
        for_programs(words.split(), ANSWERS, asked, capsys)


class TestAsking:
    def test_filters(self, asked: Asked) -> None:
        """Filters are passed on under their names, and those that were not given are left out."""
        entry.main("insights tabs or --category warning --min-confidence 0 --limit 3".split())

        wanted = {"search": "tabs or", "category": "warning", "least": 0.0}
        usual = {"status": "live", "skip": 0, "sort": "sure"}
        assert [("insights", {**wanted, **usual, "limit": 3})] == asked

    def test_project(
        self,
        asked: Asked,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A folder of the caller's is asked for by its whole path, a name as it is."""
        monkeypatch.chdir(tmp_path)
        for project in (".", "atlas"):
            entry.main(["contradictions", "--project", project])

        assert [str(tmp_path), "atlas"] == [params["project"] for _, params in asked]

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            ("insights --category rule", "'--category': 'rule' is not one of 'convention'"),
            ("insights --status alive", "'alive' is not one of 'live', 'all', 'active'"),
            ("contradictions --status closed", "is not one of 'unresolved', 'resolved'"),
            ("insights --min-confidence 2", "not in the range 0<=x<=1"),
            ("contradictions resolve con_1", "--keep a"),
            ("contradictions --type odd", "contextual"),
            ("insights --explain a --project atlas", "nothing else"),
            ("schedule --run digest check", "Got unexpected extra argument"),
        ],
    )
    def test_usage(self, words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Words that mean nothing are refused with what there is (64)."""
        assert 64 == entry.main(words.split())
        assert text in capsys.readouterr().err


class TestNothing:
    @pytest.mark.parametrize(
        ("words", "verb"),
        [
            ("insights --skip 9", "insights"),
            ("contradictions --skip 9", "contradictions"),
            ("fragments --skip 9", "fragments"),
        ],
    )
    def test_skipped(
        self,
        words: str,
        verb: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Who skips all there are is told how many, and not that nothing was learned."""
        monkeypatch.setitem(ANSWERS, verb, {**ANSWERS[verb], "total": 7, verb: []})
        assert 0 == entry.main(words.split())

        assert "there are only 7; give a smaller --skip" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            ("insights", "follow a project with: cortex init PATH"),
            ("insights --tag odd", "leave out a filter"),
        ],
    )
    def test_none(
        self,
        words: str,
        text: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """An empty list says what to do: less to ask for, or something to do first."""
        verb = words.split(maxsplit=1)[0]
        empty = {"total": 0, verb: []}
        monkeypatch.setitem(ANSWERS, verb, empty)
        assert 0 == entry.main(words.split())

        assert text in capsys.readouterr().out

    def test_merged(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What counts for another insight is listed with that one, and with its own place."""
        merged = {**ANSWERS["insight"], "status": "superseded", "represented_by": PAIR["b"]}
        monkeypatch.setitem(ANSWERS, "insights", {"total": 1, "insights": [merged]})
        assert 0 == entry.main(["insights", "--status", "superseded"])

        shown = capsys.readouterr().out
        assert "counts for ins_cccccccc: Use spaces." in shown
        assert "/a/CLAUDE.md:3" in shown

    @pytest.mark.parametrize("words", ["contradictions", "contradictions show con_1"])
    def test_nowhere(
        self, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of a pair of which one side is edited away, it is said which side that is."""
        pair = {**PAIR, "b": {**PAIR["b"], "sources": []}}
        monkeypatch.setitem(ANSWERS, "contradiction", pair)
        monkeypatch.setitem(
            ANSWERS, "contradictions", {**ANSWERS["contradictions"], "contradictions": [pair]}
        )
        assert 0 == entry.main(words.split())

        assert "no file says it any more" in capsys.readouterr().out


class TestWaiting:
    def test_scan(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who waits for a scan is told when it is done, and what is known then."""
        monkeypatch.setattr(projects, "POLL", 0.0)
        assert 0 == entry.main(["scan", "--wait"])

        assert "14 insights known" in capsys.readouterr().out

    def test_stuck(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A model that is away does not keep anybody waiting for ever."""
        monkeypatch.setattr(projects, "POLL", 0.0)
        monkeypatch.setitem(ANSWERS, "pace", {"scans": 0, "files": 0, "texts": 3, "others": 0})
        assert 0 == entry.main(["scan", "--wait", "--json"])

        assert 14 == json.loads(capsys.readouterr().out)["insights"]

    def test_not_watched(self, asked: Asked) -> None:
        """Where nobody watches a scan returns at once."""
        entry.main(["scan"])

        assert ["scan"] == [method for method, _ in asked]


class TestBlocks:
    def test_wide(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Texts stand in a column of their own, whatever their letters, and no line ends blank."""
        show.blocks(
            "two",
            [show.ListEntry("漢字", "an entry", ["about"]), show.ListEntry("1", "x")],
            empty="none",
        )

        assert "two\n\n漢字  an entry\n      about\n\n1     x\n" == capsys.readouterr().out

    def test_narrow(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A long text is broken between words, and a long word anywhere."""
        monkeypatch.setattr(show, "make_console", lambda: Console(width=30, markup=False))
        show.facts(("name", "some words that are long " + "x" * 40), ("", "y"), ("no", ""))

        lines = capsys.readouterr().out.splitlines()
        assert "name  some words that are long" == lines[0]
        assert all(len(line) <= 30 for line in lines)
        assert "      y" == lines[-1]

    @pytest.mark.parametrize(
        ("check", "line"),
        [
            (CHECKS[0], "ok  active"),
            ({**CHECKS[0], "actual": "withdrawn", "met": False}, "--  withdrawn, must be active"),
            (CHECKS[2], "--  2.2 of 7 days, 4.8 to go"),
            (CHECKS[3], "--  2, must be none"),
        ],
    )
    def test_checks(self, check: dict[str, Any], line: str) -> None:
        """A check says what there is, what is asked for, and what is missing."""
        assert line == format_check(check)
