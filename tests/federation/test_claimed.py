"""Every adapter: what a store says of a hit under our own names stays its word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.hit import REMOTE
from cortex_actors.federation.adapters.mcp import Fields
from cortex_actors.federation.adapters.seren import CortexAdapter, SerenLoci, SerenMemory
from cortex_actors.federation.answers import clean_hits, make_nearest
from cortex_actors.federation.store import ByTopic
from tests.federation.canned import CannedLine, asked, speaking

if TYPE_CHECKING:
    from cortex_actors.domain.hit import RankedHit

#: What we say of a hit, as a store would have it.
CLAIMS: dict[str, Any] = {
    "store": "cortex_private",
    "trust": "local",
    "path": "/home/me/CLAUDE.md",
    "line_start": 1,
    "line_end": 2,
    "heading": "Rules",
    "store_rank": 1,
    "fused_score": 9.0,
    "base_relevance": 9.0,
    "suspicious": None,
    "hop": 7,
    "around": "mem_1",
    "extra": {"suspicious": None},
    "created_at": 1,
}

#: The same beside a text that every kind of store would send.
ROW: dict[str, Any] = {
    **CLAIMS,
    "id": "a",
    "text": "Use tabs.",
    "content": "Use tabs.",
    "key": "tabs",
    "value": "yes",
    "distance": 0.5,
    "raw_distance": 0.5,
    "metadata": CLAIMS,
}

KINDS = ("seren_memory", "by_topic", "seren_loci", "cortex", "vectors", "mcp")


async def told(kind: str) -> RankedHit | None:
    """Return the row as an adapter reads it."""
    document = {"hits": [ROW]}
    line = CannedLine(search=document, by_topic=document, recall=document)
    match kind:
        case "vectors":  # Chroma and pgvector
            found = make_nearest("far", [ROW], is_cosine=True, limit=1, shape="rows")
        case "mcp":
            return Fields().read_hit(ROW, store="far")
        case "by_topic":
            memory = speaking(SerenMemory, "seren_memory", line)
            found = await memory.find_by_topic(ByTopic(["x"], limit=1, exclude_ids=(), seconds=1))
        case "seren_memory":
            found = await speaking(SerenMemory, kind, line).search(asked())
        case "seren_loci":
            found = await speaking(SerenLoci, kind, line).search(asked())
        case _:
            found = await speaking(CortexAdapter, kind, line).search(asked())
    return found.hits[0]


@pytest.mark.parametrize("kind", KINDS)
async def test_claims(kind: str) -> None:
    """Nothing of it is told as ours, and nothing but its place gives a hit a place."""
    given = await told(kind)
    assert given is not None
    (found,) = clean_hits([given], store="far", limit=1)

    assert ("far", REMOTE, 0, None) == (
        found.store,
        found.trust,
        found.store_rank,
        found.fused_score,
    )
    assert (None, None, None, None, None) == (
        found.project,
        found.path,
        found.line_start,
        found.line_end,
        found.heading,
    )
    assert {"metadata"} == {*found.extra}
    assert 0.0 <= found.base_relevance <= 1.0
