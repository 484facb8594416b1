"""MemoryCore's form: what it holds comes back, and what others make of it is understood."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cortex_actors.clock import start_ulid
from cortex_actors.domain.memory import CrumbRecord, Memory, MemoryType, Realm
from cortex_actors.domain.project import Trust
from cortex_actors.errors import BadInput
from cortex_actors.render import memorycore
from cortex_actors.render.memorycore import format_record
from cortex_actors.rules.admission import LONGEST
from cortex_actors.testing import EPOCH

KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"

SAID = {"content": "x", "agent_id": "A", "created_at": 1}

MEMORY = Memory(
    id="mem_01M829ZJ33QR80BXYYJ2W257T1",
    realm=Realm.BRIDGE,
    agent_id="AZOTH",
    text="one",
    created_at=EPOCH,
    thread="talk",
    type=MemoryType.FACT,
    abstract="o",
    tags=("a",),
    related=("VAJRA",),
    replies_to=("mem_01M829ZJ33QR80BXYYJ2W257T2",),
    attention=0.5,
    access_count=3,
    accessed_at=EPOCH + 5,
    pinned_at=EPOCH + 1,
    said_from=EPOCH,
    said_until=EPOCH + 2,
    trust=Trust.IMPORT,
    project_id="prj_1",
)

CRUMB = CrumbRecord(
    id=f"crm_{start_ulid(EPOCH)}0123456789ABCDEF",
    agent_id="AZOTH",
    session_id="s",
    summary="Moved the tests.",
    left_at=EPOCH,
    unfinished=("the docs",),
    references={"files": ("a.md",)},
    emotional_state={"calm": "very"},
    saved_by=Trust.IMPORT,
    project_id="prj_1",
)


def read(**fields: Any) -> memorycore.CarriedRecord:
    """Return the memory as it comes back with other fields."""
    return memorycore.read_record("cortex_bridges", format_record(MEMORY, "atlas") | fields)


class TestThereAndBack:
    @pytest.mark.parametrize("item", [MEMORY, CRUMB], ids=["memory", "crumb"])
    def test_same(self, item: Memory | CrumbRecord) -> None:
        """What the form holds of a record comes back as it was."""
        given = json.loads(json.dumps(format_record(item, "atlas")))
        found = memorycore.read_record("cortex_bridges", given)

        assert (item, "atlas", 0) == found


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
        found = memorycore.read_record("cortex_shared", {"content": "one", "metadata": metadata})
        made = found.item

        assert isinstance(made, Memory)
        assert (Realm.VILLAGE, "AZOTH") == (made.realm, made.agent_id)
        assert (("a", "b"), ("NOURI", "VAJRA")) == (made.tags, made.related)
        assert 1_700_000_000_500_000 == made.accessed_at

    @pytest.mark.parametrize(
        ("collection", "record", "said"),
        [
            ("cortex_village", [], "no JSON object"),
            ("cortex_stars", {"content": "x"}, "collection 'cortex_stars' is not known"),
            ("cortex_village", {"content": "x", "agent_id": "A"}, "created_at is missing"),
            ("cortex_village", {"created_at": "soon"}, "no time"),
            ("cortex_village", {"created_at": float("nan")}, "no time"),
            ("cortex_village", SAID | {"tags": 7}, "tags 7 is no list"),
            ("cortex_crumbs", {"content": 7}, "content is no text"),
            ("cortex_crumbs", {"content": "hello"}, "crumb"),
        ],
    )
    def test_refused(self, collection: str, record: Any, said: str) -> None:
        """What cannot be understood is refused as what it is."""
        with pytest.raises(BadInput, match=said):
            memorycore.read_record(collection, record)


class TestRecords:
    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"visibility": "public"}, "private, village, bridge"),
            ({"layer": "deep"}, "sensory, working, long_term, cortex"),
            ({"agent_id": "a b"}, "no agent's id"),
            ({"agent_id": None}, "no agent's id"),
            ({"content": ""}, "content is empty"),
            ({"content": 7}, "content must be a text"),
            ({"content": "x" * (LONGEST + 1)}, "at most 65,536"),
            ({"created_at": True}, "is no time"),
            ({"created_at": 1e30}, "is no time"),
            ({"attention_weight": 3}, "no number between 0 and 2"),
            ({"access_count": -1}, "access_count -1 is no number"),
            ({"tags": 7}, "no list"),
            ({"id": 7}, "is no id"),
            ({"responding_to": ["x" * 501]}, "is no id"),
            ({"said_from": 5}, "given together"),
        ],
    )
    def test_wrong(self, fields: dict[str, Any], said: str) -> None:
        """A record that the ledger could not keep is refused, naming the field."""
        with pytest.raises(BadInput, match=said):
            read(**{"said_from": None, "said_until": None} | fields)

    def test_secrets(self) -> None:
        """A secret is left out and counted; what nobody sees is written out."""
        found = read(content=f"The token is {KEY}\u200b.")

        assert isinstance(found.item, Memory)
        assert (1, "The token is [secret: github-token]") == (
            found.redacted,
            found.item.text[:35],
        )
        assert "\u200b" not in found.item.text

    def test_ids(self) -> None:
        """An id of ours stays; another one becomes one of ours, the same each time."""
        given = (MEMORY.id, "village_AZOTH_1", "village_AZOTH_1", "village_AZOTH_2")
        ours, one, again, other = (memorycore.make_id(each) for each in given)

        assert MEMORY.id == ours
        assert one == again != other
        assert (30, "mem_") == (len(one), one[:4])
