"""SerenLoci's contract, answered with principles and with what shared files of projects say.

A fact's key is the heading of a statement, or the words it begins with; its value is the statement,
and why it holds is where it stands and how often it was seen. What holds everywhere, the project
`*`, are the principles. A value that files say no more is not kept for others, so
`include_superseded` finds nothing more.

SerenMemory's contract, answered with the memories of the village.

Its three tiers are our layers: what is fresh is `short`, what is being worked on `near`, what has
sunk in `long`. A topic is a memory's tags, what a memory was made of are its satellites. What was
replaced or forgotten is not kept for others, so `include_superseded` finds nothing more, and parts
are told with their whole alone (`include_satellites`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter

from cortex_actors.gateways import admission
from cortex_actors.gateways.callosum import counting
from cortex_actors.rules import fusion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.gateways.admission import Premises


#: Where a Callosum finds it.
LOCI_PREFIX: Final = "/seren/loci"

#: How facts are found: by meaning and words, or by words alone.
HYBRID, LEXICAL = "hybrid", "lexical"

#: Where a fact comes from -> the word that SerenLoci has for it.
_SOURCES: Final = {"file": "user", "synthesis": "model"}

#: What a search says that did not look for meaning.
_WORDS_ALONE: Final = "what is near in meaning was not looked for"


def loci_routes(premises: Premises) -> APIRouter:
    """Return the routes of the contract."""
    router = APIRouter(prefix=LOCI_PREFIX, tags=["seren_loci"])

    @router.post("/search")
    async def search(body: admission.FactSearch) -> dict[str, Any]:
        """Return facts about a question, the one with that key first."""
        found: dict[str, Any] = {"facts": [], "skipped": []}
        if query := admission.asked(body.query):
            found = await premises.desk.outside_facts(
                query, body.n_results, project=body.project, fundamentals=body.include_fundamentals
            )
        is_lexical = any(each.startswith(_WORDS_ALONE) for each in found["skipped"])
        finder = LEXICAL if is_lexical else HYBRID
        hits = [_hit(each, finder) for each in found["facts"]]
        return {"query": body.query, "project": body.project, "hits": hits, "finder": finder}

    _about(router, premises)
    return router


def _about(router: APIRouter, premises: Premises) -> None:
    """Add what is known of the store itself."""
    finder = {"finder": HYBRID, "finder_state": "ready"}
    counts = counting(premises)

    @router.get("/")
    async def root() -> dict[str, Any]:
        """Return what is served here."""
        kept = (await counts())["facts"]
        return {
            "service": premises.service,
            "version": premises.version,
            "counts": {"live": kept["principles"] + kept["statements"], "history": 0, **kept},
            **finder,
        }

    @router.get("/health")
    async def health() -> dict[str, Any]:
        """Say that somebody is there."""
        return {"ok": True, "ts": premises.seconds(), "version": premises.version, **finder}


def _hit(fact: Mapping[str, Any], finder: str) -> dict[str, Any]:
    """Return a fact as a hit."""
    is_exact = fact["match"] == "exact"
    return {
        "id": fact["id"],
        **{name: admission.clean(fact[name]) for name in ("project", "key", "value", "why")},
        "score": fact["score"],
        "match_kind": "exact" if is_exact else finder,
        "source": _SOURCES.get(fact["source"], "system"),
        "raw_distance": None if is_exact else fact["distance"],
        "live": True,
        "superseded_at": None,
        "why_changed": None,
        "figures": 0,
        "recheck": None,
    }


#: Where a Callosum finds it.
MEMORY_PREFIX: Final = "/seren/memory"

#: Tier -> our layers.
LAYERS: Final[Mapping[str, tuple[str, ...]]] = {
    "short": ("sensory",),
    "near": ("working",),
    "long": ("long_term", "cortex"),
}

#: Layer -> its tier.
_TIER: Final = {layer: tier for tier, layers in LAYERS.items() for layer in layers}

#: What stands between the tags of a topic.
_COMMA: Final = ", "

#: What is found where nothing is asked.
_NOTHING: dict[str, Any] = {"hits": []}


def memory_routes(premises: Premises) -> APIRouter:
    """Return the routes of the contract."""
    router, counts = APIRouter(prefix=MEMORY_PREFIX, tags=["seren_memory"]), counting(premises)

    @router.post("/search")
    async def search(body: admission.MemorySearch) -> dict[str, Any]:
        """Return memories about a question, best first."""
        tiers, query = _tiers(body), admission.asked(body.query)
        found = _NOTHING
        if tiers and query:
            found = await premises.desk.outside_memories(
                query, body.n_results, layers=_layers(tiers), surroundings=True
            )
        hits = _hits(found["hits"], inline=body.with_surroundings)
        return {"query": body.query, "hits": hits, "searched_tiers": tiers}

    @router.post("/by_topic")
    async def by_topic(body: admission.TopicSearch) -> dict[str, Any]:
        """Return memories that have any of some tags."""
        tiers = _tiers(body)
        found = _NOTHING
        if tiers:
            found = await premises.desk.outside_topics(
                body.topics, body.n_results, layers=_layers(tiers), exclude_ids=body.exclude_ids
            )
        hits = [_matching(each) for each in found["hits"]]
        return {"topics": body.topics, "hits": hits, "searched_tiers": tiers}

    @router.get("/")
    async def root() -> dict[str, Any]:
        """Return what is served here."""
        kept = (await counts())["memories"]
        tiers = {tier: sum(kept.get(each, 0) for each in some) for tier, some in LAYERS.items()}
        return {"service": premises.service, "version": premises.version, "tiers": tiers}

    @router.get("/health")
    async def health() -> dict[str, Any]:
        """Say that somebody is there."""
        return {"ok": True, "ts": premises.seconds(), "features": []}

    return router


def _tiers(body: admission.Tiers) -> list[str]:
    """Return the tiers that are to be searched, in their order."""
    wanted = {"short": body.include_short, "near": body.include_near, "long": body.include_long}
    return [tier for tier, is_wanted in wanted.items() if is_wanted]


def _layers(tiers: Sequence[str]) -> list[str]:
    """Return the layers of some tiers."""
    return [layer for tier in tiers for layer in LAYERS[tier]]


def _matching(each: Mapping[str, Any]) -> dict[str, Any]:
    """Return a memory as a hit of its tags."""
    matched = [admission.clean(tag) for tag in each["matched"]]
    return _row(each, matched_topics=matched, overlap=len(matched))


def _hits(found: Sequence[Mapping[str, Any]], *, inline: bool) -> list[dict[str, Any]]:
    """Return memories as hits of a search."""
    far = [fusion.UNMEASURED if e["distance"] is None else e["distance"] for e in found]
    scores = fusion.descending(
        [
            fusion.of_memory(distance, _TIER[each["layer"]], evidence=each["evidence"])
            for each, distance in zip(found, far, strict=True)
        ]
    )
    return [
        {
            **_row(each, score=score, raw_distance=distance),
            "surroundings": (
                _surroundings(each, inline=inline) if _TIER[each["layer"]] == "long" else None
            ),
            "matched_via": None,
        }
        for each, score, distance in zip(found, scores, far, strict=True)
    ]


def _row(found: Mapping[str, Any], **more: object) -> dict[str, Any]:
    """Return what both kinds of hits say of a memory, and what only one of them says."""
    tier = _TIER[found["layer"]]
    topic = admission.clean(_COMMA.join(found["tags"])) or None
    metadata = {
        "topic": topic,
        "created_at": admission.seconds(found["created_at"]),
        "source": "agent",
        "agent": found["agent"],
        "type": found["type"],
        "layer": found["layer"],
    }
    if tier == "long":
        metadata |= {"kind": "core", "evidence_count": found["evidence"]}
    text = admission.clean(found["text"])
    told = {name: value for name, value in metadata.items() if value is not None}
    row = {"tier": tier, "content": text, "topic": topic, **more}
    return {**row, "id": found["id"], "metadata": told}


def _surroundings(found: Mapping[str, Any], *, inline: bool) -> dict[str, Any]:
    """Return what lies around a memory; its episodes in full where that was asked."""
    around = found["surroundings"]
    before, latest = around["replaced"], around["latest_at"]
    told: dict[str, Any] = {
        "satellites": around["parts"],
        "latest_satellite_at": None if latest is None else admission.seconds(latest),
        "supersedes": None if before is None else before["id"],
        "superseded_by": None,
    }
    if inline:
        told["recent"] = [_episode(each) for each in around["recent"]]
        if before is not None:
            told["supersedes_entry"] = _episode(before)
    return told


def _episode(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return one episode."""
    return {
        "id": found["id"],
        "content": admission.clean(found["text"]),
        "created_at": admission.seconds(found["created_at"]),
    }
