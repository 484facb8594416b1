"""What a result calls the parts of an answer, held against the answers of real verbs."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from cortex_actors import Cortex
from cortex_actors.client.results import Convergence, Duplicate
from tests.process.commands import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cortex_actors.client.results import Result, Saved

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("hashing")]

#: Results -> fields that may say nothing: no memory of these tests has any such thing.
SILENT = {
    "Saved": {
        *("merged", "pending", "conflicts", "message", "type", "thread"),
        *("superseded", "tags_added", "project"),
    },
    "Crumb": {"message"},
    "Convergence": {"apart"},
    "Stale": {"access_count", "last_accessed", "days_since_access"},
    "Imported": {"differing", "redacted", "dry_run", "added", "unplaced"},
    "Found": {"beside", "failed", "skipped"},
    "Detail": {
        *("access_count", "changes", "conflicts", "lineage", "merged_into", "pinned", "project"),
    },
    "Hit": {
        *("access_count", "conflicts", "merged_from", "pinned", "promoted_at"),
        *("heading", "line_start", "line_end", "path", "project", "source", "title", "topic"),
    },
}


@pytest.fixture
def cortex(tmp_home: Path) -> Iterator[Cortex]:
    """Give a memory in which two agents have said the same."""
    with Cortex(tmp_home, embedded=True) as found:
        yield found


class TestNames:
    def test_said(self, cortex: Cortex, tmp_path: Path) -> None:
        """Every field of a result says something where its verb does."""
        saved = _saved(cortex)
        for agent in ("AZOTH", "VAJRA"):
            cortex.post("The tests run in parallel.", agent=agent, conversation_thread="ci")
        links = {"message_ids": [saved.id]}
        left = cortex.leave_crumb(
            "Moved.",
            links=links,
            emotional_state={"calm": "very"},
            discoveries=["a"],
            unfinished=["b"],
            if_disoriented=["c"],
        )
        file = tmp_path / "all.jsonl"
        until(lambda: _agreed(cortex).has_convergence, "the posts have vectors")
        until(lambda: cortex.get_duplicates(0.5), "the memories have vectors")
        told: list[Result] = [
            saved,
            left,
            cortex.thread("ci"),
            found := cortex.search("release"),
            next(hit for hit in found if hit.id == saved.id),
            cortex.memory(saved.id),
            _agreed(cortex),
            cortex.get_duplicates(0.5)[0],
            cortex.get_stale(0)[0],
            cortex.export_to(file),
            cortex.import_from(file),
        ]

        assert {} == {type(each).__name__: empty for each in told if (empty := _empty(each))}
        (pair,) = (each for each in told if isinstance(each, Duplicate))
        assert [pair.content1, pair.content2] == [
            cortex.memory(each).content for each in (pair.id1, pair.id2)
        ]
        assert "t" == cortex.memory(saved.id).thread


def _saved(cortex: Cortex) -> Saved:
    """Return what was remembered with everything that can be said of it."""
    text = "Deploy the release on monday morning."
    first = cortex.remember(f"{text[:-1]} first.", merge=False)
    return cortex.remember(
        text,
        merge=False,
        conversation_thread="t",
        responding_to=[first.id],
        related_agents=["VAJRA"],
        tags=["ops"],
        role="user",
        said_from="2026-01-01",
        said_until="2026-01-02",
    )


def _agreed(cortex: Cortex) -> Convergence:
    """Return whether the agents agree."""
    return cortex.detect_convergence("The tests run in parallel", threshold=0.5)


def _empty(result: Result) -> set[str]:
    """Return the fields that say nothing and are not known to."""
    silent = {each.name for each in fields(result) if not getattr(result, each.name)} - {"raw"}
    return silent - SILENT.get(type(result).__name__, set())
