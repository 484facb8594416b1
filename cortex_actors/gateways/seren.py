"""SerenLoci's contract, answered with principles and with what shared files of projects say.

A fact's key is the heading of a statement, or the words it begins with; its value is the statement,
and why it holds is where it was read and how often it was seen. What holds everywhere, the project
`*`, are the principles. A value that files say no more is not kept for others, so
`include_superseded` finds nothing more.

SerenMemory's contract, answered with the memories of the village.

Its three tiers are our layers: what is fresh is `short`, what is being worked on `near`, what has
sunk in `long`. A topic is a memory's tags, what a memory was made of are its satellites. What was
replaced or forgotten is not kept for others, so `include_superseded` finds nothing more, and parts
come with their whole alone (`include_satellites`).

Callosum's own contract: the fan over all stores, and how it is set.

A question is a recall by the owner of the token; stores and knobs are the owner's. Statuses and
shapes are Callosum's as far as we have what they tell of; docs/serving.md lists what differs.

What everybody may know: that a daemon answers, which version, and which stores it asks.

What another Cortex asks: one question over everything that is everybody's here.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Depends, Request

from cortex_actors.domain.hit import REMOTE
from cortex_actors.errors import BadInput, CortexError, Refused, StoreUnusable
from cortex_actors.federation import federation
from cortex_actors.federation.fan import QUESTION_LIMIT
from cortex_actors.gateways import admission
from cortex_actors.rules.ranking import fusion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cortex_actors.gateways.admission import Premises

#: Hits of one answer at most.
MOST: Final = 200

#: What every store's health is summed up as.
STATUSES: Final = ("healthy", "degraded", "unhealthy", "unknown")

#: What is shown of a hit as its store measured it, and its rank there.
_MEASURES: Final = ("store_rank", "base_relevance", "native_score", "raw_distance")

#: What is shown of a store.
_STORE: Final = "name type url weight floor enabled managed auth status".split()

#: Where a hit was read, if it was read anywhere.
_PLACE: Final = ("project", "path", "line_start", "heading")

#: What surrounds a hit, by its source: how it names that hit, and what it is itself.
_AROUND: Final = {
    "satellite-edge": ("core_id", "satellite"),
    "supersedes-edge": ("superseded_by", "core"),
}

#: What only we say of a hit, whether or not there is anything to say: how it was found, and
#: whether to believe it. The contract has a store's own words beside these.
_OURS: Final = frozenset(
    {"around", "edge_of", "hop", "hop_bridge", "matched_topics", "overlap", "suspicious", "trust"}
)

#: What we say under `source` of what is beside an answer; a store has other words there.
_WAYS: Final = (federation.SOURCE, federation.HOP_SOURCE, *_AROUND)

#: Callosum's switch for what a `satellite_budget` above 0 adds here.
SATELLITES: Final = "satellite_edges_enabled"

#: Statuses that this contract has otherwise.
_OF_STORES: Final[Mapping[type[CortexError], int]] = {BadInput: 400, Refused: 400}
_OF_ADDING: Final = {**_OF_STORES, StoreUnusable: 400, Refused: 409}
_OF_TURNING: Final[Mapping[type[CortexError], int]] = {Refused: 422}


def _questions(router: APIRouter, premises: Premises) -> None:
    """Add the fan."""
    desk = premises.desk

    @router.post("/search")
    async def search(body: admission.FanSearch, request: Request) -> dict[str, Any]:
        """Return what all stores know about a question, as far as the caller may read it."""
        query, limit = admission.trim_question(body.query), body.n_results
        found: dict[str, Any] = {}
        if query and (limit is None or limit > 0):
            found = await desk.recall(
                query,
                None if limit is None else min(limit, MOST),
                budget_tokens=body.budget_tokens,
                caller=admission.find_caller(request),
            )
        return _answered(body, found)


def _stores(router: APIRouter, premises: Premises) -> None:
    """Add what is about stores."""
    desk = premises.desk
    owners = [Depends(admission.require_owner("change the stores"))]

    @router.get("/stores", dependencies=owners)
    async def stores() -> dict[str, Any]:
        """Return the stores and how the fan is set."""
        return _listed(await desk.stores())

    @router.post("/stores", dependencies=owners)
    async def add(body: admission.NewStore) -> dict[str, Any]:
        """Ask a store from now on."""
        given = {name: value for name, value in body.model_dump().items() if value is not None}
        with admission.apply_contract(_OF_ADDING):
            found = await desk.add_store(**given)
        told = {"ok": True, "added": found["added"], "active": len(found["active"])}
        return {**told, "warnings": found["warnings"]} if found.get("warnings") else told

    @router.delete("/stores/{name}", dependencies=owners)
    async def remove(name: str) -> dict[str, Any]:
        """Ask a store no more."""
        with admission.apply_contract(_OF_STORES):
            found = await desk.remove_store(name)
        return {"ok": True, "removed": found["removed"], "active": len(found["active"])}

    @router.get("/health/stores", dependencies=owners)
    async def health() -> dict[str, Any]:
        """Return how each store has been doing."""
        found = [_health(each) for each in (await desk.store_health())["stores"]]
        counts = Counter(each["health_status"] for each in found)
        summed = {name: counts.get(name, 0) for name in STATUSES}
        return {"stores": found, **summed, "ts": admission.to_seconds(premises.clock.now())}


def _knobs(router: APIRouter, premises: Premises) -> None:
    """Add what is about how the fan is set."""
    desk = premises.desk
    owners = [Depends(admission.require_owner("turn the fan's knobs"))]

    @router.post("/configure", dependencies=owners)
    async def configure(body: admission.Changes) -> dict[str, Any]:
        """Turn some of the knobs, all at one stroke or none of them."""
        given = body.list_knobs()
        if body.satellite_edges_enabled and "satellite_budget" not in given:
            row = _budget((await desk.knobs())["knobs"])
            # Nothing is to be changed where they are shown already.
            given |= {} if row["live"] else {"satellite_budget": row["settings"] or row["default"]}
        with admission.apply_contract(_OF_TURNING):
            found = await desk.configure(given)
        changed = dict(found["changed"])
        if body.satellite_edges_enabled is not None:
            changed[SATELLITES] = body.satellite_edges_enabled
        return {"ok": True, "changed": changed, "active": len(found["active"])}

    @router.get("/knobs", dependencies=owners)
    async def knobs() -> dict[str, Any]:
        """Return what may be turned: as it is, as the settings say, and by default."""
        rows = (await desk.knobs())["knobs"]
        # The switch of the satellites as if it were a knob.
        on = {name: _budget(rows)[name] > 0 for name in ("live", "settings", "default")}
        switch = {"name": SATELLITES, **on, "twiddled": on["live"] != on["settings"]}
        found = [_knob(each) for each in (*rows, switch)]
        return {
            "ok": True,
            "federation": found,
            "runtime_settable": [each["key"] for each in found],
        }


def _answered(body: admission.FanSearch, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recall as the answer of a search."""
    hits, skipped = found.get("hits", ()), _reasons(found.get("skipped", ()))
    cut = _cut(body.query, wanted=body.n_results, given=len(hits))
    return {
        "query": body.query,
        "hits": [_hit(each) for each in (*hits, *found.get("beside", ()))],
        "budget_tokens": body.budget_tokens,
        "tokens": found.get("tokens", 0),
        "stores_searched": list(found.get("stores_searched", ())),
        "failed": _reasons(found.get("failed", ())),
        "skipped": [*skipped, *({"name": name, "reason": why} for name, why in cut.items())],
    }


def _cut(query: str, *, wanted: int | None = None, given: int = 0) -> dict[str, str]:
    """Return what of a request was not done in full, by the field that asked for it."""
    cut, most, length = {}, QUESTION_LIMIT, len(query.strip())
    if length > most:
        cut["query"] = f"it has {length:,} characters, and the first {most:,} were looked for"
    if wanted is not None and wanted > MOST <= given:
        cut["n_results"] = f"{wanted:,} were asked for, and one answer has {MOST} at most"
    return cut


def _hit(hit: Mapping[str, Any]) -> dict[str, Any]:
    """Return one hit with where it comes from."""
    return {
        "store": hit["store"],
        "id": hit["id"],
        "content": admission.clean(hit["text"]),
        "score": hit["score"] if hit["fused_score"] is None else hit["fused_score"],
        **{name: hit[name] for name in _MEASURES},
        "metadata": _metadata(hit),
    }


def _metadata(hit: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said beside a hit: what we say, and below that what its store does."""
    ours = dict(hit["extra"])
    # A store's words, without those that would pass for ours.
    said = ours.pop("metadata", None)
    theirs = {n: v for n, v in said.items() if n not in _OURS} if isinstance(said, dict) else {}
    if theirs.get("source") in _WAYS:
        del theirs["source"]
    ours |= {name: hit[name] for name in _PLACE if hit[name] is not None}
    if hit["trust"] == REMOTE:
        ours["trust"] = REMOTE
    if ours.get("source") in _AROUND:
        name, kind = _AROUND[ours["source"]]
        ours |= {"edge_of": ours["around"], name: ours["around"], "kind": kind}
    told = {**theirs, **ours}
    tags = told.get("tags")
    if isinstance(tags, list) and tags:
        told.setdefault("topic", ", ".join(map(str, tags)))
    return {name: value for name, value in told.items() if value is not None}


def _reasons(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return stores without an answer, and why."""
    return [{"name": each["store"], "reason": each["reason"]} for each in rows]


def _listed(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stores and how the fan is set."""
    return {
        # Without the options, which may hold secrets.
        "stores": [{name: each[name] for name in _STORE} for each in found["stores"]],
        "active": len(found["active"]),
        **found["knobs"],
        SATELLITES: found["knobs"]["satellite_budget"] > 0,
        "budget_tokens": None,
        "types": found["types"],
        "supported_knobs": [*found["supported_knobs"], SATELLITES],
    }


def _budget(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return how many satellites are shown: as it is, as the settings say, and by default."""
    return next(each for each in rows if each["name"] == "satellite_budget")


def _knob(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return one knob as the contract lists it."""
    return {
        "key": row["name"],
        "live": row["live"],
        "yaml": row["settings"],
        "default": row["default"],
        "is_default": row["live"] == row["default"],
        "twiddled": row["twiddled"],
        "runtime_settable": True,
    }


def _health(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return how one store has been doing; times in seconds, 0 for what never was."""
    return {
        "name": row["name"],
        "total_calls": row["total"],
        "successful_calls": row["succeeded"],
        "failed_calls": row["failed"],
        "success_rate": row["success_rate"],
        "avg_latency": row["latency_ms"] / 1_000,
        "max_latency": row["max_latency_ms"] / 1_000,
        "last_latency": row["last_latency_ms"] / 1_000,
        "last_call_ts": admission.to_seconds(row["asked_at"] or 0),
        "last_success_ts": admission.to_seconds(row["answered_at"] or 0),
        "error_count": row["failed"],
        "last_error": row["last_error"],
        "consecutive_failures": row["consecutive_failures"],
        "health_status": row["status"],
    }


def _everybody(router: APIRouter, premises: Premises) -> None:
    """Add what everybody may know."""

    @router.get("/")
    async def root() -> dict[str, Any]:
        """Return who answers here; stores are left out while they are not known."""
        told: dict[str, Any] = {"service": premises.service, "version": premises.version}
        found: dict[str, Any] = {"stores": [], "active": []}
        with suppress(CortexError):
            found = await premises.desk.stores()
        # The reason itself names addresses, and where tokens lie.
        why = "it cannot be asked; GET /stores says why, to the owner"
        rows = [each for each in found["stores"] if each["status"].startswith("skipped: ")]
        skipped = [{"name": each["name"], "reason": why} for each in rows]
        return {**told, "stores": found["active"], "skipped": skipped}

    _alive(router, premises)


def _alive(router: APIRouter, premises: Premises, **more: object) -> None:
    """Add what says that a daemon answers."""

    @router.get("/health")
    async def health() -> dict[str, Any]:
        """Say that a daemon answers."""
        return {"ok": True, "ts": admission.to_seconds(premises.clock.now()), **more}


def _recall(router: APIRouter, premises: Premises) -> None:
    """Add what another Cortex asks."""

    @router.post("/recall")
    async def recall(body: admission.Recalled) -> dict[str, Any]:
        """Return hits, best first, each with where it was read."""
        found: dict[str, Any] = {"hits": [], "skipped": []}
        if query := admission.trim_question(body.query):
            found = await premises.desk.outside_recall(query, body.limit)
        return {
            "service": premises.service,
            "version": premises.version,
            "query": body.query,
            "hits": [_cleaned(hit) for hit in found["hits"]],
            "skipped": [*found["skipped"], *_cut(body.query).values()],
        }


def _cleaned(hit: Mapping[str, Any]) -> dict[str, Any]:
    """Return a hit in valid Unicode."""
    return {n: admission.clean(said) if isinstance(said, str) else said for n, said in hit.items()}


#: Where a Callosum finds it.
LOCI_PREFIX: Final = "/seren/loci"

#: How facts are found: by meaning and words, or by words alone.
HYBRID, LEXICAL = "hybrid", "lexical"

#: Where a fact comes from -> the word that SerenLoci has for it.
_SOURCES: Final = {"file": "user", "synthesis": "model"}

#: What a search says that did not look for meaning.
_WORDS_ALONE: Final = "what is near in meaning was not looked for"


def _facts(router: APIRouter, premises: Premises) -> None:
    """Add the search for facts."""

    @router.post("/search")
    async def search(body: admission.FactSearch) -> dict[str, Any]:
        """Return facts about a question, the one with that key first."""
        found: dict[str, Any] = {"facts": [], "skipped": []}
        if query := admission.trim_question(body.query):
            found = await premises.desk.outside_facts(
                query, body.n_results, project=body.project, fundamentals=body.include_fundamentals
            )
        is_lexical = any(each.startswith(_WORDS_ALONE) for each in found["skipped"])
        finder = LEXICAL if is_lexical else HYBRID
        hits = [_fact(each, finder) for each in found["facts"]]
        cut = _cut(body.query, wanted=body.n_results, given=len(hits))
        told = {"query": body.query, "project": body.project, "hits": hits, "finder": finder}
        return {**told, "skipped": cut} if cut else told


def _kept_facts(router: APIRouter, premises: Premises) -> None:
    """Add what is known of the store itself."""
    finder = {"finder": HYBRID, "finder_state": "ready"}

    @router.get("/")
    async def root() -> dict[str, Any]:
        """Return what is served here."""
        kept = (await premises.desk.outside_counts())["facts"]
        return {
            "service": premises.service,
            "version": premises.version,
            "counts": {"live": kept["principles"] + kept["statements"], "history": 0, **kept},
            **finder,
        }

    _alive(router, premises, version=premises.version, **finder)


def _fact(fact: Mapping[str, Any], finder: str) -> dict[str, Any]:
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

#: What is found where nothing is asked.
_NOTHING: dict[str, Any] = {"hits": []}


def _memories(router: APIRouter, premises: Premises) -> None:
    """Add the memories of the village."""

    @router.post("/search")
    async def search(body: admission.MemorySearch) -> dict[str, Any]:
        """Return memories about a question, best first."""
        tiers, query = _tiers(body), admission.trim_question(body.query)
        found = _NOTHING
        if tiers and query:
            found = await premises.desk.outside_memories(
                query, body.n_results, layers=_layers(tiers), surroundings=True
            )
        hits = _hits(found["hits"], inline=body.with_surroundings)
        told = {"query": body.query, "hits": hits, "searched_tiers": tiers}
        return {**told, "skipped": cut} if (cut := _cut(body.query)) else told

    @router.post("/by_topic")
    async def by_topic(body: admission.TopicSearch) -> dict[str, Any]:
        """Return memories that have any of some tags."""
        tiers = _tiers(body)
        found = _NOTHING
        if tiers:
            found = await premises.desk.outside_topics(
                body.topics, body.n_results, layers=_layers(tiers), exclude_ids=body.exclude_ids
            )
        matched = [[admission.clean(tag) for tag in each["matched"]] for each in found["hits"]]
        hits = [
            _row(each, matched_topics=some, overlap=len(some))
            for each, some in zip(found["hits"], matched, strict=True)
        ]
        return {"topics": body.topics, "hits": hits, "searched_tiers": tiers}

    @router.get("/")
    async def root() -> dict[str, Any]:
        """Return what is served here."""
        kept = (await premises.desk.outside_counts())["memories"]
        tiers = {tier: sum(kept.get(each, 0) for each in some) for tier, some in LAYERS.items()}
        return {"service": premises.service, "version": premises.version, "tiers": tiers}

    _alive(router, premises, features=[])


def _tiers(body: admission.Tiers) -> list[str]:
    """Return the tiers that are to be searched, in their order."""
    return [tier for tier in LAYERS if getattr(body, f"include_{tier}")]


def _layers(tiers: Sequence[str]) -> list[str]:
    """Return the layers of some tiers."""
    return [layer for tier in tiers for layer in LAYERS[tier]]


def _hits(found: Sequence[Mapping[str, Any]], *, inline: bool) -> list[dict[str, Any]]:
    """Return memories as hits of a search."""
    far = [fusion.UNMEASURED if e["distance"] is None else e["distance"] for e in found]
    scores = fusion.order_scores(
        [
            fusion.weigh_memory(distance, _TIER[each["layer"]], evidence=each["evidence"])
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
    topic = admission.clean(", ".join(found["tags"])) or None
    metadata = {
        "topic": topic,
        "created_at": admission.to_seconds(found["created_at"]),
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
    before, at = around["replaced"], around["latest_at"]
    told: dict[str, Any] = {
        "satellites": around["parts"],
        "latest_satellite_at": None if at is None else admission.to_seconds(at),
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
        "created_at": admission.to_seconds(found["created_at"]),
    }


#: What is served: where, what the contract is called, and what adds its routes.
CONTRACTS: Final = (
    ("", "about", (_everybody,)),
    ("", "callosum", (_questions, _stores, _knobs)),
    ("", "cortex", (_recall,)),
    (MEMORY_PREFIX, "seren_memory", (_memories,)),
    (LOCI_PREFIX, "seren_loci", (_facts, _kept_facts)),
)


def make_routers(premises: Premises) -> Iterator[APIRouter]:
    """Yield the routes of each contract."""
    for prefix, name, adders in CONTRACTS:
        router = APIRouter(prefix=prefix, tags=[name])
        for add in adders:
            add(router, premises)
        yield router
