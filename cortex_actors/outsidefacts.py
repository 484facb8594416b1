"""Facts for other programs: principles and statements under the keys by which one asks for them.

A statement that has become a principle is told as that: it holds in every project. Where several
say nearly the same, or one stands at two places, it is told once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from cortex_actors import outsideviews
from cortex_actors.rules import fusion
from cortex_actors.storage import (
    insight_records,
    principle_decay,
    principles,
    projects,
    resolutions,
)
from cortex_actors.storage.search.hits import shown
from cortex_actors.storage.search.query import Query, Where

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.domain.hit import Hit
    from cortex_actors.storage.ledger.actor import Connection

#: The project of what holds everywhere.
EVERYWHERE: Final = "*"

#: Projects of one name that are looked into.
NAMESAKES: Final = 5

#: How many times as many statements are looked for: several may have become one principle.
SPARE: Final = 2


@dataclass(frozen=True, slots=True)
class Look:
    """One search for facts: what it is narrowed to, and what of it counts."""

    where: Where
    statements: bool
    principles: bool


@dataclass(frozen=True, slots=True)
class Sought:
    """What is asked: by its key first, then by what it says."""

    query: str
    limit: int
    looks: tuple[Look, ...]

    @property
    def depth(self) -> int:
        """How many statements are looked for."""
        return min(self.limit * SPARE, fusion.MOST)


def sought(
    connection: Connection, query: str, limit: int, *, project: str | None, fundamentals: bool
) -> Sought:
    """Return where facts are looked for: everywhere, among principles, or in a project by name."""
    anywhere = Where(outward=True)
    if project is None:
        return Sought(query, limit, (Look(anywhere, statements=True, principles=True),))
    if project == EVERYWHERE:
        return Sought(query, limit, (Look(anywhere, statements=False, principles=True),))
    known = [each.id for each in projects.followed(connection) if project in (each.id, each.name)]
    looks = [
        Look(Where(outward=True, project_id=each), statements=True, principles=fundamentals)
        for each in known[:NAMESAKES]
    ]
    if fundamentals:
        looks.append(Look(anywhere, statements=False, principles=True))
    return Sought(query, limit, tuple(looks))


def facts(
    connection: Connection, asked: Sought, found: Sequence[Sequence[Hit]]
) -> list[dict[str, Any]]:
    """Return facts, best first; `found` is what each look came upon."""
    roots = [each.root for each in projects.followed(connection)]
    exact = _exact(connection, asked, roots)
    near = _near(connection, asked, found, roots=roots)
    told: dict[str, dict[str, Any]] = {}
    for each in (*exact, *near):
        told.setdefault(each["id"], each)
    some = list(told.values())
    scores = [
        fusion.FULL if each["match"] == "exact" else _score(each["distance"]) for each in some
    ]
    ordered = zip(some, fusion.descending(scores), strict=True)
    return [{**each, "score": score} for each, score in ordered]


def _exact(connection: Connection, asked: Sought, roots: Sequence[str]) -> list[dict[str, Any]]:
    """Return what has the question for its key."""
    made: list[dict[str, Any]] = []
    if any(look.principles for look in asked.looks):
        ids = resolutions.principles_at(connection, asked.query, limit=asked.limit)
        made += _principles(connection, ids).values()
    for look in asked.looks:
        if look.statements:
            made += _statements_at(connection, asked, look.where, roots=roots)
    return [{**each, "match": "exact"} for each in made]


def _statements_at(
    connection: Connection, asked: Sought, where: Where, *, roots: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the statements whose key is the question; those that are principles are left out."""
    ids = resolutions.statements_at(
        connection, asked.query, project_id=where.project_id, limit=asked.limit
    )
    gone = resolutions.principles_of(connection, ids)
    query = Query(asked.query, None, "", asked.limit, where=where)
    items = dict.fromkeys((each for each in ids if each not in gone), insight_records.COLLECTION)
    known = shown(connection, items, dict.fromkeys(items, fusion.FULL), query)
    return [outsideviews.statement(known[each], roots) for each in items if each in known]


def _near(
    connection: Connection,
    asked: Sought,
    found: Sequence[Sequence[Hit]],
    *,
    roots: Sequence[str],
) -> list[dict[str, Any]]:
    """Return what the looks came upon, the best of all of them first."""
    pairs = [(hit, look) for look, hits in zip(asked.looks, found, strict=True) for hit in hits]
    pairs.sort(key=lambda pair: -pair[0].score)
    became = resolutions.principles_of(connection, [hit.id for hit, _ in pairs])
    known = _principles(connection, set(became.values()))
    made: list[dict[str, Any]] = []
    for hit, look in pairs:
        whole = known.get(became.get(hit.id, ""))
        if whole is not None and look.principles:
            made.append({**whole, "distance": outsideviews.far(hit)})
        elif look.statements:
            made.append(outsideviews.statement(hit, roots))
    return [{**each, "match": "near"} for each in made]


def _principles(connection: Connection, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return principles as facts, by id."""
    wanted = list(ids)
    known, counted = (
        principles.by_ids(connection, wanted),
        principle_decay.evidence(connection, wanted),
    )
    return {
        each: outsideviews.principle(known[each], counted.get(each))
        for each in wanted
        if each in known
    }


def _score(distance: float | None) -> float:
    """Return what a fact counts that was not asked for by its key."""
    return fusion.of_fact(fusion.UNMEASURED if distance is None else distance)
