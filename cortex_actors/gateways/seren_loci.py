"""SerenLoci's contract, answered with principles and with what shared files of projects say.

A fact's key is the heading of a statement, or the words it begins with; its value is the statement,
and why it holds is where it stands and how often it was seen. What holds everywhere, the project
`*`, are the principles. A value that files say no more is not kept for others, so
`include_superseded` finds nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter

from cortex_actors.gateways.bodies import FactSearch  # noqa: TC001 - read at run time
from cortex_actors.gateways.counts import Counts
from cortex_actors.gateways.wording import asked, clean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.gateways.premises import Premises

#: Where a Callosum finds it.
PREFIX: Final = "/seren/loci"

#: How facts are found: by meaning and words, or by words alone.
HYBRID, LEXICAL = "hybrid", "lexical"

#: Where a fact comes from -> the word that SerenLoci has for it.
_SOURCES: Final = {"file": "user", "synthesis": "model"}

#: What a search says that did not look for meaning.
_WORDS_ALONE: Final = "what is near in meaning was not looked for"


def routes(premises: Premises) -> APIRouter:
    """Return the routes of the contract."""
    router = APIRouter(prefix=PREFIX, tags=["seren_loci"])

    @router.post("/search")
    async def search(body: FactSearch) -> dict[str, Any]:
        """Return facts about a question, the one with that key first."""
        found: dict[str, Any] = {"facts": [], "skipped": []}
        if query := asked(body.query):
            found = await premises.desk.outside_facts(
                query,
                body.n_results,
                project=body.project,
                fundamentals=body.include_fundamentals,
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
    counts = Counts(premises)

    @router.get("/")
    async def root() -> dict[str, Any]:
        """Return what is served here."""
        kept = (await counts.now())["facts"]
        return {
            "service": premises.service,
            "version": premises.version,
            "counts": {"live": kept["principles"] + kept["statements"], "history": 0, **kept},
            **finder,
        }

    @router.get("/health")
    async def health() -> dict[str, Any]:
        """Say that somebody is there."""
        return {
            "ok": True,
            "ts": premises.seconds(),
            "version": premises.version,
            **finder,
        }


def _hit(fact: Mapping[str, Any], finder: str) -> dict[str, Any]:
    """Return a fact as a hit."""
    is_exact = fact["match"] == "exact"
    return {
        "id": fact["id"],
        "project": clean(fact["project"]),
        "key": clean(fact["key"]),
        "value": clean(fact["value"]),
        "why": clean(fact["why"]),
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
