"""What the commands about the health of memories print, and what they ask the daemon for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from tests.cli.answering import for_people, for_programs
from tests.cli.tuned import ODD

if TYPE_CHECKING:
    from tests.cli.answering import Asked

pytestmark = pytest.mark.usefixtures("asked")

_ONE, _OTHER = "mem_01KATQ8W0000000000000000AA", "mem_01KB0D3F0000000000000000BB"

_IDLE: dict[str, Any] = {
    "id": _ONE,
    "content_preview": ODD,
    "realm": "private",
    "agent": "CLAUDE",
    "layer": "working",
    "last_accessed": 0,
    "days_since_access": 40.5,
    "access_count": 1,
    "attention_weight": 0.2,
    "pinned": True,
}
_SIDE = {key: _IDLE[key] for key in ("content_preview", "realm", "agent", "layer", "access_count")}
_PAIR = {
    "first": {**_SIDE, "id": _ONE},
    "second": {**_SIDE, "id": _OTHER},
    "similarity": 0.9712,
}
_REALM = {
    "total": 12,
    "by_layer": {"sensory": 11, "working": 0, "long_term": 0, "cortex": 1},
    "avg_attention": 0.25,
    "stale_count": 11,
    "promotion_candidates": 0,
}
_EARNED = {"id": _ONE, "layer": "sensory", "to": "working", "access_count": 2}
ANSWERS: dict[str, dict[str, Any]] = {
    "memory_health": {
        "realms": {"private": _REALM},
        "summary": {
            "total_memories": 12,
            "total_stale": 11,
            "total_promotion_candidates": 0,
            "total_duplicates": 3,
        },
        "recommendations": ["11 memories were not read for 30 days: cortex memory stale"],
        "accesses": {
            "waiting": 1,
            "written": 7,
            "promoted": 0,
            "irrelevant": 2,
            "lost": 1,
            "window_s": 5.0,
            "trouble": "the disk is full",
            "unheard": 1,
        },
    },
    "stale": {"stale": [_IDLE], "total": 9, "days": 30.0},
    "duplicates": {
        "duplicates": [_PAIR, _PAIR],
        "total": 2,
        "compared": 20,
        "without_vector": 2,
        "threshold": 0.95,
    },
    "consolidate": {
        "kept_id": _ONE,
        "discarded_id": _OTHER,
        "new_access_count": 5,
        "new_attention_weight": 1.5,
        "layer": "working",
        "tags": [],
        "change": 12,
    },
    "memory_promotions": {
        "total_records": 4,
        "eligible_count": 1,
        "promoted_count": 1,
        "dry_run": True,
        "eligible": [{**_EARNED, "reason": "Access count 2 >= threshold 2"}],
        "promoted": [_ONE],
    },
    "memory_decay": {
        "total_records": 4,
        "updated": 2,
        "below_threshold": 1,
        "faded": 1,
        "archived": [_ONE],
        "archive_days": 90.0,
        "dry_run": False,
    },
}

_SHOWN = {
    "health": [
        "sensory 11, cortex 1",
        "0.250",
        "duplicates 3 pairs",
        "11 memories were not read for 30 days: cortex memory stale",
    ],
    "stale": [
        "1 of 9 memories not read for 30 days",
        "40.5 days, since 1970-01-01",
        "read 1 time · attention 0.20 · CLAUDE, private, working · pinned",
    ],
    "duplicates": [
        "2 of 2 pairs from 0.95 on, among 20 memories",
        "0.971",
        "2 could not be compared",
        "cortex memory consolidate ID OTHER",
    ],
    f"consolidate {_ONE} {_OTHER}": [
        f"{_OTHER} is part of {_ONE}: 5 accesses, attention 1.50",
        "cortex memory undo 12",
    ],
    "promotions": ["1 of 4 memories promoted"],
    "promotions --dry-run": ["1 of 4 memories would be promoted", "Access count 2 >= threshold 2"],
    "decay": ["2 of 4 memories computed again; 1 have faded", "1 archived: faded for 90 days"],
    "decay --dry-run": ["2 of 4 memories would be computed again", "1 would be archived"],
}


class TestPrinting:
    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_people(self, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        """A command shows what matters, and no text acts on the terminal."""
        for_people(["memory", *words.split()], _SHOWN[words], capsys)

    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_programs(
        self, words: str, capsys: pytest.CaptureFixture[str], asked: Asked
    ) -> None:
        """With `--json` a command prints the daemon's answer whole, and asks once."""
        for_programs(["memory", *words.split()], ANSWERS, asked, capsys)


class TestAsking:
    def test_options(self, asked: Asked) -> None:
        """What is asked for is what the options say."""
        entry.main("memory stale --days 90 --below 0.3 --realm village --as vajra --json".split())
        entry.main("memory duplicates --threshold 0.9 --limit 3 --json".split())
        entry.main(["memory", "consolidate", _ONE, _OTHER, "--keep", _OTHER, "--json"])

        stale, pairs, one = (params for _, params in asked)
        assert (90.0, 0.3, "village", "vajra") == (
            stale["days"],
            stale["below"],
            stale["realm"],
            stale["as_agent"],
        )
        assert (0.9, 3) == (pairs["threshold"], pairs["limit"])
        assert {"first": _ONE, "second": _OTHER, "keep": _OTHER} == one

    @pytest.mark.parametrize(
        "words", ["stale --days -1", "duplicates --threshold 2", "consolidate mem_1", "stale x"]
    )
    def test_wrong(self, words: str, asked: Asked) -> None:
        """What cannot be meant is refused before the daemon is asked."""
        assert 64 == entry.main(["memory", *words.split()])
        assert not asked
