"""What the commands print by which people look at principles, and at how they came to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.api.pipeline.insights import BLOCKS
from cortex_actors.cli import entry, fast
from cortex_actors.cli.pipeline.principles import format_check, format_gap
from cortex_actors.domain.insight import PrincipleSort
from cortex_actors.rules.promotion import Need
from tests.cli.answering import for_programs
from tests.cli.principled import ANSWERS
from tests.cli.test_figures import WELL

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.answering import Asked

pytestmark = pytest.mark.usefixtures("asked")

#: Columns in which no fact is broken into two lines.
WIDE = 160

_SHOWN = {
    "principles": [
        "2 of 4 principles, highest rank first (3 active, 1 decaying)",
        "0.55  Use [bold]tabs[/bold].",
        "heuristic · python · sure 0.70 · seen 2 · 1 link · in 2 files · atlas, harbor",
        "pri_cccccccc",
        "taken back",
    ],
    "principles pri_aaaa": [
        "Two projects said so.",
        "heuristic, decaying, of one insight",
        "none: it names an issue: #7",
        "how sure    0.70 x 0.35 = 0.245",
        "how often   0.22 x 0.25 = 0.055  seen 2 times",
        "how lately  0.89 x 0.20 = 0.177  14 days ago",
        "stored      0.500  counted again",
        "half of its recency in 152 days",
        "0.25  ins_cccccccc  Indent so.  (withdrawn)",
        "is needed by  pri_cccccccc  Use spaces.",
        "contradicts   pri_eeeeeeee  (gone)",
        "for claude, bullet 2 · conflicts with the project",
    ],
    "promotion": [
        "9 insights on the way to a principle",
        "ready             1  nothing is missing",
        "principles of it  2  they are principles already",
        "confidence        6  they are not believed enough",
        "1 insight, nearest first",
    ],
    "promotion --reason confidence": ["1 insight, held up by: confidence"],
    "promotion ins_aaaa": [
        "0.50 of 0.70, 0.20 to go",
        "0.50, and a person has approved it",
        "it has earned it together with 1 other of its cluster",
        "it would become pri_aaaaaaaabbbb: heuristic, rank 0.55",
        "how good    0.50 x 0.15 = 0.075",
        "What it would be linked with",
    ],
    "history ins_aaaa": [
        "/a/CLAUDE.md:3",
        "atlas · under Style · from an import · in 2 revisions",
        "until 1970-01-02T00:00:00Z",
        "counts for ins_aaaaaaaa",
        "3 insights · coherence 0.90",
        "tabs against spaces · we like tabs · 1970-01-01T00:00:00Z",
        "approved · 1970-01-01T00:00:00Z",
        "path taken back 1970-01-01T00:00:00Z · lifted 1970-01-01T00:00:00Z · a mistake",
        "1.00 of ins_aaaaaaaa",
        "for claude, bullet 2",
        "take it back with: cortex projects revoke pri_aaaaaaaa",
    ],
}


class TestPrinting:
    @pytest.mark.parametrize("words", _SHOWN)
    @pytest.mark.parametrize("width", [90, WIDE])
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

        if width == WIDE:
            assert [] == [text for text in _SHOWN[words] if text not in shown]
        assert "\x1b" not in shown
        assert [] == [line for line in shown.splitlines() if len(line) > width]

    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_programs(
        self, words: str, capsys: pytest.CaptureFixture[str], asked: Asked
    ) -> None:
        """With `--json` a command prints the daemon's answer whole."""
        for_programs(words.split(), ANSWERS, asked, capsys)


class TestAsking:
    def test_filters(self, asked: Asked) -> None:
        """Filters are passed on under their names, and those that were not given are left out."""
        words = "principles tabs or --category moral --min-rank 0.5 --tag a --sort seen --skip 2"
        entry.main(words.split())

        wanted = {"search": "tabs or", "category": "moral", "least": 0.5, "tag": "a"}
        page = {"limit": 20, "skip": 2, "sort": PrincipleSort.SEEN, "status": "live"}
        assert [("principles", {**wanted, **page})] == asked

    def test_line(
        self,
        asked: Asked,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A line of a file is asked for by the whole path, wherever somebody stands."""
        monkeypatch.chdir(tmp_path)
        entry.main(["history", "docs/a:b.md:12"])

        assert [("history", {"thing": f"{tmp_path}/docs/a:b.md:12"})] == asked

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            ("principles pri_a tabs", "leave out the filters"),
            ("principles pri_a --tag x", "leave out the filters"),
            (
                "principles --status live2",
                "is not one of 'live', 'all', 'active', 'decaying', 'pruned'",
            ),
            ("principles --category rule", "'rule' is not one of 'learning'"),
            ("principles --min-rank 2", "not in the range 0<=x<=1"),
            ("promotion ins_a --reason age", "leave out --project and --reason"),
            ("promotion --reason luck", "'luck' is not one of 'ready', 'not_promoted'"),
            ("history", "Missing argument"),
        ],
    )
    def test_usage(self, words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Words that mean nothing are refused with what there is (64)."""
        assert 64 == entry.main(words.split())
        assert text in capsys.readouterr().err


class TestNothing:
    @pytest.mark.parametrize(
        ("words", "known", "text"),
        [
            ("principles", 0, "what is nearest to it is shown by: cortex principles promotion"),
            ("principles", 2, "leave out a filter"),
            ("principles --tag x", 0, "leave out a filter"),
        ],
    )
    def test_principles(
        self,
        words: str,
        known: int,
        text: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """An empty list says what to do: less to ask for, or what comes first."""
        empty = {"total": 0, "by_status": {"pruned": known}, "principles": []}
        monkeypatch.setitem(ANSWERS, "principles", empty)
        assert 0 == entry.main(words.split())

        assert text in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("words", "looked_at", "text"),
        [
            ("promotion", 0, "cortex init PATH"),
            ("promotion", 3, "all of them are principles"),
            ("promotion --reason age", 3, "no insight is held up by age"),
        ],
    )
    def test_promotion(
        self,
        words: str,
        looked_at: int,
        text: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """An overview that lists nothing says why."""
        empty = {"looked_at": looked_at, "eligible": 0, "reasons": {}, "insights": []}
        monkeypatch.setitem(ANSWERS, "promotions", empty)
        assert 0 == entry.main(words.split())

        assert text in capsys.readouterr().out

    def test_no_principle_yet(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where a chain ends before a principle, it is said who tells why."""
        found = {**ANSWERS["history"], "principles": [], "files": []}
        found["insights"] = found["insights"][::-1]
        monkeypatch.setitem(ANSWERS, "history", found)
        assert 0 == entry.main(["history", "ins_c"])

        assert "cortex principles promotion ins_aaaaaaaa" in capsys.readouterr().out


class TestWhatIf:
    @pytest.mark.parametrize(
        ("would", "text"),
        [
            ("would_dedup_exact", "it would only add to pri_cccccccc (Use spaces.), which says it"),
            ("would_dedup_semantic", "which says the same: cosine 0.95"),
            ("already_promoted", "it is part of pri_cccccccc (Use spaces.) already"),
        ],
    )
    def test_no_principle(
        self,
        would: str,
        text: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """What would not make a principle says to which one it belongs, and why."""
        other = {"id": "pri_ccccccccdddd", "content": "Use spaces."}
        found = {**ANSWERS["what_if"], "would": would, "same_as": other, "reason": "cosine 0.95"}
        monkeypatch.setitem(ANSWERS, "what_if", found)
        assert 0 == entry.main(["promotion", "ins_a"])
        shown = capsys.readouterr().out

        assert text in shown
        assert "What it would be" not in shown

    def test_takes_the_place(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What would be said in its words from then on is shown as it would be."""
        other = {"id": "pri_ccccccccdddd", "content": "Use spaces."}
        found = {**ANSWERS["what_if"], "would": "would_dedup_semantic", "same_as": other}
        monkeypatch.setitem(ANSWERS, "what_if", {**found, "replaces": True, "reason": "cosine 1"})
        assert 0 == entry.main(["promotion", "ins_a"])
        shown = capsys.readouterr().out

        assert "it would take the place of pri_cccccccc (Use spaces.), which says" in shown
        assert "What it would be" in shown

    def test_without_a_vector(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where a text could not be compared, that is said."""
        monkeypatch.setitem(ANSWERS, "what_if", {**ANSWERS["what_if"], "compared": False})
        assert 0 == entry.main(["promotion", "ins_a"])

        assert "it has no vector yet" in capsys.readouterr().out


class TestChecks:
    def test_words(self) -> None:
        """What must not be is said in the words of what is wrong."""
        bad: dict[str, Any] = {"need": "not_wary", "gap": None, "met": False}
        bad |= {"actual": "it moves credentials", "required": "no"}

        assert "--  it moves credentials" == format_check(bad)
        assert "it moves credentials" == format_gap(bad)
        assert "ok  no" == format_check({**bad, "actual": "no", "met": True})

    def test_every_need(self) -> None:
        """Whatever promotion asks for can be what holds it up, once."""
        assert sorted(Need) == sorted(BLOCKS)


class TestStatus:
    def test_principles(self) -> None:
        """A status says how many principles there are, how many fade, and in how many files."""
        waning = {"active": 9, "decaying": 2, "pruned": 0}
        rows = {"principles": 11, "principles_by_status": waning, "resolved_files": 3}

        assert (
            "11, 2 decaying, in 3 files" == dict(fast.list_figures({**WELL, **rows}))["principles"]
        )
        assert "principles" not in dict(fast.list_figures(WELL))
