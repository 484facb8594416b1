"""What `schedule`, `runs` and the commands that start something print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from cortex_actors.clock import SECOND
from cortex_actors.testing import EPOCH
from tests.cli.answering import for_programs

if TYPE_CHECKING:
    from tests.cli.answering import Asked

pytestmark = pytest.mark.usefixtures("asked")

_JOB: dict[str, Any] = {
    "name": "scan",
    "every_s": 86_400.0,
    "jitter_s": 600.0,
    "started_at": EPOCH,
    "finished_at": EPOCH + SECOND,
    "due_at": EPOCH,
    "state": "failed",
    "said": "no disk\x1b[31m",
    "due_in_s": 290.0,
    "running_s": None,
}

_RUN: dict[str, Any] = {
    "id": "run_1",
    "kind": "accumulator",
    "started_at": EPOCH,
    "finished_at": EPOCH + 12_300,
    "state": "completed",
    "project_id": "prj_1",
    "project": "atlas",
    "path": None,
    "counts": {"since": EPOCH, "new_insights": 3, "alerts": 0},
    "error": None,
}

ANSWERS: dict[str, dict[str, Any]] = {
    "schedule": {
        "jobs": [
            _JOB,
            {**_JOB, "name": "prune", "finished_at": None, "jitter_s": 0.0, "said": None},
            {**_JOB, "name": "check", "running_s": 3.0, "due_in_s": None},
        ]
    },
    "run_job": {"job": "digest", "said": "", "took_s": 0.25},
    "runs": {
        "kinds": ["accumulator"],
        "runs": [
            _RUN,
            {**_RUN, "state": "failed", "error": "it is no text", "path": "/a/CLAUDE.md"},
            {**_RUN, "counts": {}, "dry_run": True},
        ],
    },
    "reconcile": {"id": "evt_1", "topic": "reconciliation:requested", "seq": 7},
    "organise": {"id": "evt_2", "topic": "organisation:requested", "seq": 8},
    "projects": {"projects": [], "broken": []},
    "remove_project": {"id": "prj_1", "name": "atlas", "root": "/a"},
}

_SHOWN = {
    "schedule": [
        "3 jobs",
        "scan   no disk",
        "every 1.0 d (+10.0 min) · failed 2026-01-01T00:00:01Z · next in 4.8 min",
        "prune  not due yet",
        "every 1.0 d (+10.0 min) · running",
    ],
    "schedule --run digest": ["digest: there was nothing to do, in 0.25 s"],
    "runs": [
        "3 runs",
        "accumulator",
        "atlas",
        "12.3",
        "since 2026-01-01T00:00:00Z, 3 new insights",
        "completed, dry run",
    ],
    "runs --failed": ["/a/CLAUDE.md", "failed", "it is no text", "nothing new"],
    "reconcile": ["comparing all insights again, seq 7", "cortex debug runs --kind reconciler"],
    "reconcile --full": ["comparing all insights from nothing, seq 7"],
    "organise": ["distilling principles, seq 8"],
    "project list": ["no project is followed"],
    "project remove atlas": ["no longer following atlas (prj_1)"],
}


class TestPrinting:
    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_people(self, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        """A command shows what matters, and no text of others can act on the terminal."""
        assert 0 == entry.main(words.split())
        shown = capsys.readouterr().out

        assert [] == [text for text in _SHOWN[words] if text not in shown]
        assert "\x1b" not in shown

    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_programs(
        self, words: str, capsys: pytest.CaptureFixture[str], asked: Asked
    ) -> None:
        """With `--json` a command prints the daemon's answer."""
        for_programs(words.split(), ANSWERS, asked, capsys)


class TestParameters:
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ("reconcile --full", {"full": True}),
            ("schedule --run backup", {"job": "backup"}),
            (
                "runs --kind digest --project atlas --failed --limit 3",
                {"kind": "digest", "project": "atlas", "failed": True, "limit": 3},
            ),
            ("project remove atlas", {"path": "atlas"}),
        ],
    )
    def test_are_passed_on(self, words: str, expected: dict[str, Any], asked: Asked) -> None:
        """What the words say is what the daemon is asked; a project's name stays a name."""
        entry.main(words.split())

        assert expected == asked[0][1]

    def test_wrong(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Words that a command does not know are 64."""
        assert 64 == entry.main(["runs", "--limit", "0"])
        assert "see: cortex debug runs --help" in capsys.readouterr().err
