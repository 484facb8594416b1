"""MemoryCore's form: what it holds comes back, and what others make of it is understood."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cortex_actors.errors import BadInput
from cortex_actors.render import memorycore
from cortex_actors.rules import interchange
from cortex_actors.testing import EPOCH

KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"

MEMORY: dict[str, Any] = {
    "project_id": "prj_1",
    "project": "atlas",
    "kind": "memory",
    "id": "mem_01M829ZJ33QR80BXYYJ2W257T1",
    "agent": "AZOTH",
    "realm": "bridge",
    "layer": "working",
    "type": "fact",
    "text": "one",
    "thread": "talk",
    "tags": ["a"],
    "related_agents": ["VAJRA"],
    "responding_to": ["mem_01M829ZJ33QR80BXYYJ2W257T2"],
    "created_at": EPOCH,
    "accessed_at": EPOCH + 5,
    "access_count": 3,
    "attention": 0.5,
}

CRUMB: dict[str, Any] = {
    "kind": "crumb",
    "id": "crm_01M829ZJ33QR80BXYYJ2W257T1",
    "agent": "AZOTH",
    "left_at": EPOCH,
    "summary": "Moved the tests.",
    "session": "s",
    "project_id": "prj_1",
    "project": "atlas",
    "unfinished": ["the docs"],
    "references": {"files": ["a.md"]},
    "emotional_state": {"calm": "very"},
}


def changed(found: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a record with other fields."""
    return {**found, **fields}


class TestThereAndBack:
    @pytest.mark.parametrize("record", [MEMORY, CRUMB], ids=["memory", "crumb"])
    def test_same(self, record: dict[str, Any]) -> None:
        """What the form holds of a record comes back as it was."""
        made = interchange.record(record)
        collection, given = memorycore.given(made)

        assert made == interchange.record(
            memorycore.taken(collection, json.loads(json.dumps(given)))
        )


class TestGenerous:
    def test_metadata(self) -> None:
        """What stands beside a record's text may stand in it or under `metadata`, in any form."""
        metadata = {
            "agent_id": "azoth",
            "tags": '["a", "b"]',
            "related_agents": "vajra, nouri",
            "posted_at": "2026-01-01T00:00:00",
            "last_accessed_ts": 1_700_000_000.5,
        }
        found = memorycore.taken("cortex_shared", {"content": "one", "metadata": metadata})
        made = interchange.record(found)

        assert ("village", "AZOTH", ["a", "b"], ["NOURI", "VAJRA"]) == tuple(
            made[name] for name in ("realm", "agent", "tags", "related_agents")
        )
        assert 1_700_000_000_500_000 == made["accessed_at"]

    @pytest.mark.parametrize(
        ("collection", "record", "said"),
        [
            ("cortex_village", [], "no JSON object"),
            ("cortex_stars", {"content": "x"}, "collection 'cortex_stars' is not known"),
            ("cortex_village", {"content": "x", "agent_id": "A"}, "created_at is missing"),
            ("cortex_village", {"created_at": "soon"}, "no time"),
            ("cortex_village", {"created_at": 1, "tags": 7}, "tags 7 is no list"),
            ("cortex_crumbs", {"content": 7}, "content is no text"),
            ("cortex_crumbs", {"content": "hello"}, "crumb"),
        ],
    )
    def test_refused(self, collection: str, record: Any, said: str) -> None:
        """What cannot be understood is refused as what it is."""
        with pytest.raises(BadInput, match=said):
            memorycore.taken(collection, record)


class TestRecords:
    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"kind": "star"}, "kind 'star' is not known"),
            ({"realm": "public"}, "private, village, bridge"),
            ({"layer": "deep"}, "sensory, working, long_term, cortex"),
            ({"agent": "a b"}, "no agent's id"),
            ({"agent": None}, "no agent's id"),
            ({"text": ""}, "text is no text"),
            ({"text": "x" * (interchange.TEXT_LIMIT + 1)}, "at most 65,536"),
            ({"created_at": "now"}, "created_at 'now' is no moment"),
            ({"created_at": True}, "is no moment"),
            ({"attention": 3}, "not between 0 and 2"),
            ({"access_count": -1}, "access_count -1 is no count"),
            ({"tags": "a"}, "no list"),
            ({"id": 7}, "is no id"),
            ({"said_from": 5}, "given together"),
            ({"status": "merged"}, "does not say which"),
            ({"status": "archived"}, "archived_at None"),
            ({"beliefs": [[5, 1]]}, "ends before it begins"),
            ({"beliefs": [[1, None], [2, None]]}, "an open one too many"),
        ],
    )
    def test_wrong(self, fields: dict[str, Any], said: str) -> None:
        """A record that the ledger could not keep is refused, naming the field."""
        with pytest.raises(BadInput, match=said):
            interchange.record(changed(MEMORY, **fields))

    def test_secrets(self) -> None:
        """A secret is left out and counted; what nobody sees is written out."""
        made = interchange.record(changed(MEMORY, text=f"The token is {KEY}\u200b."))

        assert (1, "The token is [secret: github-token]") == (
            made["redacted"],
            made["text"][:35],
        )
        assert "\u200b" not in made["text"]

    def test_ids(self) -> None:
        """An id of ours stays; another one becomes one of ours, the same each time."""
        ours, one, again, other = (
            interchange.foreign_id(each, "A")
            for each in (MEMORY["id"], "village_AZOTH_1", "village_AZOTH_1", "village_AZOTH_2")
        )

        assert MEMORY["id"] == ours
        assert one == again != other
        assert (30, "mem_") == (len(one), one[:4])
