"""What the commands about trust print, and what they ask the daemon for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.cli import entry
from tests.cli.answering import for_people, for_programs
from tests.cli.trusted import ANSWERS, TAKEN

if TYPE_CHECKING:
    from tests.cli.answering import Asked

pytestmark = pytest.mark.usefixtures("asked")

_SHOWN = {
    "review": [
        "3 wait for a person: 1 to be used at all, 1 to become principles",
        "1 to be written into files (4 approved, 1 rejected so far)",
        "1 of 2 independent projects say it",
        "of another store",
        "cortex review show ID",
    ],
    "review list": ["promote?", "use it?", "write it?", "hidden characters", "/a/CLAUDE.md:3"],
    "review list --status approved": ["3 of 3 texts approved"],
    "review show ins_a": [
        "asked    whether it may become a principle, and be written into files of other projects",
        "decided  approved 1970-01-01",
        "imported · until 1970-01-01",
        "confidence      --  0.50 of 0.70",
    ],
    "review approve ins_a": ["approved ins_aaaaaaaabbbb", "still lacks confidence (0.5)"],
    "review reject ins_a": ["rejected ins_aaaaaaaabbbb", "it becomes no principle"],
    "revoke": ["1 source taken back", "wrong", "still standing in files:", "edited by hand"],
    "revoke atlas": [
        "took back project atlas: 7 places · 12 texts · 1 principle · 1 file to update",
        "and 11 more",
        "says the same, and stays (--same):",
        "another checkout of it, and counts:",
        "/b/CLAUDE.md: edited by hand",
        "cortex projects revoke --undo prj_1",
    ],
    "revoke atlas --undo": ["project atlas counts again; what it says is read again"],
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
        """A command shows what matters, and no text acts on the terminal."""
        monkeypatch.setattr("cortex_actors.cli.show.PLAIN_WIDTH", width)
        for_people(words.split(), _SHOWN[words], capsys)

    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_programs(
        self, words: str, capsys: pytest.CaptureFixture[str], asked: Asked
    ) -> None:
        """With `--json` a command prints the daemon's answer whole, and asks once."""
        for_programs(words.split(), ANSWERS, asked, capsys)


class TestAsking:
    def test_paths(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        asked: Asked,
    ) -> None:
        """A file or folder is asked for by its whole path, a name and an id as they are."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "CLAUDE.md").write_text("# A\n")
        (tmp_path / "atlas").mkdir()
        for word in ("CLAUDE.md", "./atlas", ".", "atlas", "ins_a", "gone/CLAUDE.md"):
            entry.main(["revoke", word, "--json"])

        here = Path.cwd()
        wanted = [
            here / "CLAUDE.md",
            here / "atlas",
            here,
            "atlas",
            "ins_a",
            here / "gone/CLAUDE.md",
        ]
        assert [str(each) for each in wanted] == [params["source"] for _, params in asked]

    @pytest.mark.parametrize(
        "words",
        [
            "revoke --undo",
            "revoke --note why",
            "revoke atlas --undo --same",
            "revoke atlas --undo -n",
            "review list --status odd",
            "review show",
        ],
    )
    def test_usage(self, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Words that mean nothing are refused (64)."""
        assert 64 == entry.main(words.split())
        assert capsys.readouterr().err

    def test_none(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Where there is nothing, a sentence says so."""
        empty = {**ANSWERS["reviews"], "total": 0, "reviews": []}
        monkeypatch.setitem(ANSWERS, "reviews", empty)
        monkeypatch.setitem(ANSWERS, "revoked", {"revoked": [], "left_over": []})
        again = {**TAKEN, "revoked": []}
        monkeypatch.setitem(ANSWERS, "revoke", again)
        for words in ("review", "revoke", "revoke atlas"):
            entry.main(words.split())

        shown = capsys.readouterr().out
        for text in (
            "nothing waits for a person",
            "nothing is taken back",
            "atlas is taken back already",
        ):
            assert text in shown
