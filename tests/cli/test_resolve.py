"""What `resolve` and `project auto` ask for, and what they print."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry, show
from cortex_actors.client.connection import Client

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: Text that would act on a terminal if it were not shown as it is.
ODD = "Use [bold]tabs[/bold].\x1b]0;title\x07"

DIFF = f"--- a\n+++ b\n@@ -1 +1,2 @@\n Human.\n-Old.\n+{ODD}"

WRITTEN: dict[str, Any] = {
    "path": "/code/atlas/CLAUDE.md",
    "agent": "claude",
    "state": "written",
    "reason": None,
    "refusal": None,
    "diff": DIFF,
    "section": "## Ours\n\n- Use tabs.\n",
    "bullets": [{"id": "pri_1", "text": "- Use tabs.", "conflict": None, "approved": True}],
    "tokens": 74,
    "already_said": [{"text": "Run pytest.", "why": "/code/atlas/CLAUDE.md:7 says it"}],
    "counts": {
        "principles_resolved": 1,
        "conflicts_detected": 1,
        "already_said": 2,
        "not_near": 7,
        "over_budget": 0,
    },
}

EDITED = {**WRITTEN, "state": "edited", "reason": "refused to write it: edited; keep or discard"}

LEFT = {"path": "GEMINI.md", "agent": "gemini", "reason": "GEMINI.md is not there; --create makes"}


class Daemon:
    """What a daemon would answer, and what it was asked."""

    def __init__(self) -> None:
        self.answer: dict[str, Any] = {"files": [WRITTEN], "left": []}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def call(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Answer a call."""
        self.asked.append((method, params))
        return self.answer


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch, tmp_home: Path, tmp_path: Path) -> Daemon:
    """Give a daemon that answers every call, and a folder to stand in."""
    found = Daemon()
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "cortex_actors.client.connection.Client.call",
        lambda _, method, /, **params: found.call(method, **params),
    )
    return found


def run(words: str) -> int:
    """Run a command."""
    return entry.main(words.split())


class Watched(Daemon):
    """Resolves all projects, and is asked meanwhile how far that is."""

    steps: Sequence[str] = ()

    #: When the newest file was done: before the command, and after that in the future.
    ended = 0

    def call(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Answer a call."""
        if method == "projects":
            own = {"id": "prj_0", "name": "~", "auto": False}
            others = [{"id": f"prj_{n}", "name": "x", "auto": False} for n in (1, 2)]
            return {"projects": [own, *others]}
        if method == "runs":
            newest = {"started_at": self.ended, "project_id": "prj_2", "project": "atlas\x1b"}
            self.ended = sys.maxsize
            return {"runs": [newest]}
        wait = Client.when_slow
        if isinstance(wait, partial):
            self.steps = [next(wait.keywords["steps"]) for _ in range(2)]
        return super().call(method, **params)


class TestWatched:
    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("resolve --all -n", ["", "resolving project 2 of 2 (atlas\\x1b)"]),
            ("resolve --all -n --json", []),
            ("resolve -n", []),
        ],
    )
    def test_steps(
        self, daemon: Daemon, monkeypatch: pytest.MonkeyPatch, words: str, told: list[str]
    ) -> None:
        """A terminal sees which of all projects is resolved, without those that are not asked."""
        watched = Watched()
        monkeypatch.setattr(daemon, "call", watched.call)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        run(words)

        assert told == list(watched.steps)
        assert Client.when_slow is None


class TestAsked:
    def test_path(self, daemon: Daemon, tmp_path: Path) -> None:
        """A path of the caller's is asked for whole, a word that is none as a name."""
        (tmp_path / "atlas").mkdir()
        for words in ("resolve", "resolve atlas", "resolve AGENTS.md", "resolve harbor"):
            run(words)

        assert [str(tmp_path), f"{tmp_path}/atlas", f"{tmp_path}/AGENTS.md", "harbor"] == [
            params["path"] for _, params in daemon.asked
        ]

    def test_options(self, daemon: Daemon) -> None:
        """Options are asked for by their names."""
        run("resolve x -a cursor -n --create --adopt --edited keep --include-metadata")
        run("resolve --all")

        first, second = (params for _, params in daemon.asked)
        wanted = {"agent": "cursor", "edited": "keep", "metadata": True, "text_only": False}
        assert wanted.items() <= first.items()
        assert first["dry_run"]
        assert first["create"]
        assert first["adopt"]
        assert (None, True) == (second["path"], second["everything"])

    @pytest.mark.parametrize(
        "words",
        [
            "resolve x --all",
            "resolve --all --undo",
            "resolve x --undo -n",
            "resolve x --undo -a claude",
            "resolve x --yes -n",
            "resolve x --yes --stdout",
            "resolve x --yes --undo",
            "resolve --what",
        ],
    )
    def test_wrong(self, daemon: Daemon, words: str) -> None:
        """Words that cannot be meant together are refused, and nobody is asked."""
        assert 64 == run(words)
        assert [] == daemon.asked

    def test_auto(self, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
        """A project is told to be written by itself, or not to be; any other word is refused."""
        daemon.answer = {"name": "atlas", "auto": True, "new": False}

        assert [0, 64] == [run(f"project auto atlas {word}") for word in ("on", "maybe")]
        assert [("set_auto", {"project": "atlas", "on": True})] == daemon.asked
        assert "atlas is already resolved by itself" in capsys.readouterr().out


class TestShown:
    def test_written(self, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
        """What was written is told in a line, with what was left out."""
        assert 0 == run("resolve")

        wanted = (
            "1 note · 74 tokens · 1 contradicted by the project · 2 said there already · "
            "7 not near enough (resolution.least)"
        )
        assert f"wrote /code/atlas/CLAUDE.md (claude): {wanted}\n" == capsys.readouterr().out

    def test_dry_run(self, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
        """A dry run shows the diff, and no text of it acts on the terminal."""
        daemon.answer = {"files": [{**WRITTEN, "state": "shown"}], "left": []}

        assert 0 == run("resolve -n")
        shown = capsys.readouterr().out
        assert shown.startswith("would write /code/atlas/CLAUDE.md")
        assert "+Use [bold]tabs[/bold]." in shown
        assert "  said already: Run pytest.\n    /code/atlas/CLAUDE.md:7 says it\n" in shown
        assert "\x1b" not in shown
        daemon.answer = {"files": [{**WRITTEN, "state": "shown", "diff": ""}], "left": []}
        assert 0 == run("resolve -n")
        assert capsys.readouterr().out.startswith("nothing to change in /code/atlas/CLAUDE.md")

    def test_same_diff(self, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
        """A diff that two files share is shown once, wherever in them its lines are."""
        one = {**WRITTEN, "state": "shown"}
        same = {**one, "path": "/code/atlas/AGENTS.md", "diff": DIFF.replace("-1 +1,2", "-7 +7,2")}
        other = {**one, "path": "/code/atlas/GEMINI.md", "diff": DIFF.replace("Old", "Older")}
        daemon.answer = {"files": [one, same, other], "left": []}

        assert 0 == run("resolve -n")
        shown = capsys.readouterr().out
        assert (1, 1) == (shown.count("\n-Old.\n"), shown.count("\n-Older.\n"))
        assert "  the same diff as for /code/atlas/CLAUDE.md\n" in shown

    def test_taken_out(self, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
        """A section that has nothing left to say is told to be taken out, not to be written."""
        diff = "--- a\n+++ b\n@@ -1,2 +1 @@\n Human.\n-<!-- cortex:begin v1 sha256=0 -->"
        emptied = {**WRITTEN, "diff": diff, "section": "", "tokens": 0, "counts": {}}
        for state, words in (("shown", "resolve -n"), ("written", "resolve")):
            daemon.answer = {"files": [{**emptied, "state": state}], "left": []}
            assert 0 == run(words)

        shown = [each for each in capsys.readouterr().out.splitlines() if " of /code" in each]
        assert ["would take the section", "took the section"] == [
            each.partition(" out of ")[0] for each in shown
        ]

    def test_not_done(self, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
        """What was refused, or left alone, is told with its reason and ends with 77."""
        daemon.answer = {"files": [EDITED], "left": [LEFT]}

        assert 77 == run("resolve")
        shown = capsys.readouterr().out
        assert "edited; keep or discard\n--- a" in shown
        assert "left alone: GEMINI.md is not there" in shown
        daemon.answer = {"files": [], "left": [LEFT]}
        assert 77 == run("resolve")
        daemon.answer = {"files": [WRITTEN], "left": [LEFT]}
        assert 0 == run("resolve")

    def test_json(self, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
        """With `--json` the answer is printed whole, with the same exit code."""
        daemon.answer = {"files": [EDITED], "left": []}

        assert 77 == run("resolve --json")
        assert daemon.answer == json.loads(capsys.readouterr().out)

    def test_undo(self, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
        """A write that was taken back is told, with what that changed."""
        daemon.answer = WRITTEN

        assert 0 == run("resolve CLAUDE.md --undo")
        assert "took the last write into /code/atlas/CLAUDE.md back" in capsys.readouterr().out

    def test_colours(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Where nobody watches a diff has no colours, and an empty one is nothing."""
        show.diff("")
        show.diff("+added\n-taken")

        assert "+added\n-taken\n" == capsys.readouterr().out


class TestApproval:
    @pytest.fixture(autouse=True)
    def _waiting(self, daemon: Daemon) -> None:
        """Have a note that waits, one that stands in the file already, and one that is approved."""
        notes = [("pri_1", ODD, False), ("pri_2", "- Stands.", False), ("pri_3", "- Ours.", True)]
        bullets = [
            {"id": name, "text": text, "conflict": None, "approved": approved}
            for name, text, approved in notes
        ]
        daemon.answer = {"files": [{**WRITTEN, "state": "shown", "bullets": bullets}], "left": []}

    def answered(self, monkeypatch: pytest.MonkeyPatch, *, yes: bool) -> list[str]:
        """Have a person at a terminal who answers; return what is asked."""
        asked: list[str] = []

        def confirm(text: str) -> bool:
            asked.append(text)
            return yes

        monkeypatch.setattr("cortex_actors.cli.pipeline.resolve._is_watched", lambda: True)
        monkeypatch.setattr("click.confirm", confirm)
        return asked

    def test_marked(self, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
        """A dry run marks each note that nobody has approved, also one that stands there."""
        assert 0 == run("resolve -n")
        shown = capsys.readouterr().out

        assert "+Use [bold]tabs[/bold].\\x1b]0;title\\x07   <- not approved\n" in shown
        assert " - Stands.   <- not approved, is there already\n" in shown
        assert "2 not approved (cortex review)" in shown
        assert 1 == len(daemon.asked)

    def test_accepted(
        self,
        daemon: Daemon,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """In a terminal the diff is shown and asked about once, and what it showed is approved."""
        asked = self.answered(monkeypatch, yes=True)

        assert 0 == run("resolve x")
        assert ["Approve 2 notes and write?"] == asked
        first, second = (params for _, params in daemon.asked)
        assert first["dry_run"]
        assert (False, ["pri_1", "pri_2"]) == (second["dry_run"], second["approve"])
        assert "<- not approved" in capsys.readouterr().out

    def test_declined(self, daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever says no has nothing written (77)."""
        self.answered(monkeypatch, yes=False)

        assert 77 == run("resolve x")
        assert [True] == [params["dry_run"] for _, params in daemon.asked]

    def test_not_asked(
        self,
        daemon: Daemon,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """`--yes` accepts unasked; a script, `--json` and text alone approve nothing."""
        run("resolve x")
        asked = self.answered(monkeypatch, yes=True)
        for words in ("x --json", "x --stdout", "x -n", "x --yes"):
            run(f"resolve {words}")

        assert [] == asked
        wanted = [[], [], [], [], [], ["pri_1", "pri_2"]]
        assert wanted == [params.get("approve", []) for _, params in daemon.asked]
        assert "2 not approved (cortex review)" in capsys.readouterr().err


class TestText:
    def test_printed(self, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
        """The section alone is printed as it is, and so is that of an agent without a file."""
        assert 0 == run("resolve --stdout")
        assert WRITTEN["section"] == capsys.readouterr().out
        daemon.answer = {"files": [{**WRITTEN, "path": "", "state": "shown"}], "left": []}
        assert 0 == run("resolve -a chatgpt")
        assert WRITTEN["section"] == capsys.readouterr().out

    def test_refused(self, daemon: Daemon) -> None:
        """A file that is no text has no section."""
        daemon.answer = {"files": [{**EDITED, "state": "refused"}], "left": []}

        assert 77 == run("resolve --stdout")
