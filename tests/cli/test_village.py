"""What the commands of the village and of crumbs print, and what they ask the daemon for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from tests.cli.answering import answering

if TYPE_CHECKING:
    from tests.cli.answering import Asked

pytestmark = pytest.mark.usefixtures("asked")

AT = 1_767_225_600_000_000

MESSAGE: dict[str, Any] = {
    "id": "mem_1",
    "agent": "AZOTH",
    "agent_display": "Azoth",
    "realm": "village",
    "type": "dialogue",
    "content": "Pin it.\nAlways.",
    "responding_to": [],
    "answered_by": ["mem_2"],
    "created_at": AT,
}
ANSWER = {
    **MESSAGE,
    "id": "mem_2",
    "agent_display": "Vajra",
    "realm": "bridge",
    "type": "fact",
    "content": "Agreed.",
    "responding_to": ["mem_1", "mem_9"],
}
SAID = {"id": "mem_1", "preview": "Pin it.", "thread": "deps"}
GROUP = {"likeness": 0.7312, "by_agent": {"AZOTH": [SAID], "VAJRA": [{**SAID, "id": "mem_2"}]}}
CRUMB = {
    "id": "crm_1",
    "agent": "AZOTH",
    "message": "Forward crumb left: s1",
    "text": "SESSION SUMMARY:\ndone \x1b[31m",
}

ANSWERS: dict[str, dict[str, Any]] = {
    "post": {"id": "mem_1", "state": "saved", "message": "Posted to village: mem_1"},
    "thread": {"thread": "deps", "total": 3, "messages": [MESSAGE, ANSWER]},
    "threads": {
        "total": 1,
        "threads": [{"thread": "deps", "posts": 3, "agents": ["A", "B"], "last_at": AT}],
    },
    "village_stats": {
        "total": 1_500,
        "by_realm": {"bridge": 2, "village": 1_498},
        "by_agent": {},
        "by_type": {},
        "threads": 3,
        "convergences": {"HARMONY": 2, "CONSENSUS": 1},
        "waiting": 4,
    },
    "convergence": {
        "has_convergence": True,
        "type": "HARMONY",
        "converging_agents": ["AZOTH", "VAJRA"],
        "groups": [GROUP],
        "apart": [{"agents": ["A", "B"], "memory_ids": ["mem_1", "mem_3"], "reason": "never"}],
        "compared": 5,
    },
    "leave_crumb": CRUMB,
    "latest_crumb": {"crumb": CRUMB},
    "crumbs": {
        "crumbs": [CRUMB],
        "summary": {"total_found": 3, "by_priority": {"HIGH": 3}, "by_type": {"task": 3}},
    },
    "unfinished": {
        "tasks": [
            {"task": "port it", "agent": "A", "priority": "HIGH", "left_at": AT, "crumb": "crm_1"}
        ],
        "total": 1,
    },
}

_SHOWN = {
    "post Pin it.": ["Posted to village: mem_1"],
    "thread deps": [
        "2 of 3 posts in deps",
        "1.  Pin it.\n    Always.\n    Azoth · 2026-01-01T00:00:00Z\n    mem_1",
        "Vajra · 2026-01-01T00:00:00Z · bridge · fact\n    answers 1, mem_9",
    ],
    "threads": ["1 of 1 thread", "3  deps", "A, B · last 2026-01-01T00:00:00Z"],
    "village": ["posts        1,500", "village 1,498, bridge 2", "to compare   4"],
    "convergence pin": [
        "HARMONY: AZOTH, VAJRA say alike (5 posts near this)",
        "2 messages alike by 0.73 at least",
        "AZOTH  Pin it.\n       mem_1 · deps",
        "A and B are near each other and apart: never\n  mem_1, mem_3",
    ],
    "crumb leave done": ["Forward crumb left: s1"],
    "crumb get": ["AZOTH  crm_1\nSESSION SUMMARY:\ndone ", "1 of 3 crumbs; HIGH 3, task 3"],
    "crumb latest": ["SESSION SUMMARY:\ndone "],
    "crumb tasks": ["1 unfinished task", "1.  port it\n    A · HIGH · 2026-01-01T00:00:00Z"],
}


class TestShown:
    @pytest.mark.parametrize("line", _SHOWN)
    def test_prints(self, line: str, capsys: pytest.CaptureFixture[str]) -> None:
        """What was said is printed with who, when and where, and nothing moves the cursor."""
        assert 0 == entry.main(line.split())

        shown = capsys.readouterr().out
        assert all(part in shown for part in _SHOWN[line]), shown
        assert "\x1b" not in shown

    @pytest.mark.parametrize("line", ["post x", "convergence pin", "crumb get"])
    def test_json(self, line: str, capsys: pytest.CaptureFixture[str]) -> None:
        """With --json it is the daemon's answer."""
        assert 0 == entry.main([*line.split(), "--json"])

        assert json.loads(capsys.readouterr().out) in list(ANSWERS.values())

    def test_none(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where there is nothing a sentence says so."""
        nothing: dict[str, dict[str, Any]] = {
            "threads": {"total": 0, "threads": []},
            "convergence": {"has_convergence": False, "compared": 1, "apart": []},
            "crumbs": {"crumbs": [], "summary": {"total_found": 0}},
            "unfinished": {"tasks": []},
            "latest_crumb": {"crumb": None},
            "post": {"state": "existing", "id": "mem_1"},
        }
        answering(monkeypatch, nothing)
        for line in ("threads", "convergence x", "crumb get", "crumb tasks", "post x"):
            assert 0 == entry.main(line.split())
        shown = capsys.readouterr().out.splitlines()

        assert "NONE: no 2 agents say alike among 1 post near this" in shown
        assert "nothing was left unfinished in that time" in shown
        assert "said there before: mem_1" in shown
        assert 5 == len(shown)
        assert 66 == entry.main(["crumb", "latest"])


class TestAsked:
    def test_post(self, asked: Asked) -> None:
        """What is posted goes as it was written; the words of the original system are known."""
        line = "post two words --visibility bridge --to A --to B --type fact --tags x --agent c"
        assert 0 == entry.main([*line.split(), "--reply-to", "mem_1", "--thread", "t t"])

        (_, given), *_ = asked
        assert {
            "content": "two words",
            "realm": "bridge",
            "agent": "c",
            "type": "fact",
            "thread": "t t",
            "responding_to": ["mem_1"],
            "related_agents": ["A", "B"],
            "tags": ["x"],
            "redact": False,
            "here": str(Path.cwd()),
        } == given

    def test_project(self, asked: Asked, tmp_path: Path) -> None:
        """What is posted, left or taken in is of the project that is named, or of none."""
        for line in ("post x", "crumb leave x"):
            for options in (["--project", "atlas/"], ["--global"], []):
                assert 0 == entry.main([*line.split(), *options])

        assert ["atlas", "", None] * 2 == [given.get("project") for _, given in asked]
        assert {str(Path.cwd())} == {given["here"] for _, given in asked}

    def test_crumb(self, asked: Asked) -> None:
        """Every part of a crumb can be given."""
        line = "crumb leave sum --discoveries d --unfinished u --priority high --type technical"
        more = ["--feeling", "joy=very high", "--reference", "thread_ids=a=b", "--session", "s"]
        assert 0 == entry.main([*line.split(), *more, "--reference", "thread_ids=c"])

        (_, given), *_ = asked
        assert ({"joy": "very high"}, {"thread_ids": ["a=b", "c"]}) == (
            given["emotional_state"],
            given["references"],
        )
        assert ("HIGH", "technical", "s", ["d"], ["u"]) == (
            given["priority"],
            given["crumb_type"],
            given["session_id"],
            given["key_discoveries"],
            given["unfinished_business"],
        )

    @pytest.mark.parametrize(
        ("line", "code"),
        [
            ("crumb leave x --priority BOGUS", 64),
            ("crumb leave x --feeling joy", 65),
            ("crumb get --hours 0", 64),
            ("post x --realm nowhere", 64),
            ("convergence x --threshold 0.4", 64),
            ("convergence x --min-agents 1", 64),
        ],
    )
    def test_refused(self, line: str, code: int, asked: Asked) -> None:
        """What cannot be meant is refused before the daemon is asked."""
        assert code == entry.main(line.split())
        assert [] == asked
