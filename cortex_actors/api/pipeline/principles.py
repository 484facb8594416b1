"""Operations on principles: which there are, why they rank so, and where they came from.

`links` returns how principles are related, as a graph.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from cortex_actors.api import parameters, shapes
from cortex_actors.api.pipeline import history as provenance
from cortex_actors.api.pipeline import insights
from cortex_actors.api.registry import Call, operation
from cortex_actors.domain.insight import SHOWN, PrincipleSort
from cortex_actors.domain.principle import LinkType, PrincipleCategory, PrincipleStatus
from cortex_actors.pipeline import reading
from cortex_actors.pipeline.organiser import Organiser
from cortex_actors.storage.pipeline import principle_lists
from cortex_actors.storage.pipeline import principles as stored
from cortex_actors.storage.pipeline.insight_lists import Named, find
from cortex_actors.storage.pipeline.principle_decay import DecayScales

if TYPE_CHECKING:
    from cortex_actors.storage.ledger.actor import Connection


#: A line of a file: its absolute path, and a number that a file may have lines of.
_LINE = re.compile(r"(/.*):([0-9]{1,9})", re.DOTALL)


#: Seconds for which an operation waits for the organiser, which may be at work.
SUPPOSE_TIMEOUT = 60.0


@operation("principles.list", http="GET /principles")
async def principles(
    call: Call,
    project: str | None = None,
    limit: int = 20,
    *,
    status: str = SHOWN,
    category: str | None = None,
    domain: str | None = None,
    tag: str | None = None,
    least: float | None = None,
    search: str = "",
    sort: str = "rank",
    skip: int = 0,
) -> dict[str, Any]:
    """List principles, the highest ranked first.

    `least` is the least rank, `search` words that all occur, `domain` may be `none`, `project`
    says what it was made of. Raises `UnknownProject`, `BadInput`.
    """
    parameters.check_page(limit, skip, of="principles")
    wanted = principle_lists.PrincipleFilter(
        statuses=parameters.read_statuses(PrincipleStatus, status, shown=principle_lists.GIVEN),
        project_id=await call.require_project_id(project),
        category=parameters.read_word(PrincipleCategory, category, what="category"),
        domain=domain,
        tag=tag,
        least=parameters.read_number(least, name="the least rank"),
        words=tuple(search.split()),
        sort=parameters.read_word(PrincipleSort, sort, what="order") or PrincipleSort.RANK,
    )
    found = await call.records.read(lambda c: shapes.shape_page(c, wanted, limit=limit, skip=skip))
    written = await provenance.filter_in_files(found.pop("written"))
    files = Counter(each["principle_id"] for each in written)
    for each in found["principles"]:
        each["resolved"] = files[each["id"]]
    return found


@operation("principles.show", http="GET /principles/{principle}")
async def principle(call: Call, principle: str) -> dict[str, Any]:
    """Show one principle: why it ranks as it does, its insights, its links and its files.

    Raises `NotFound`, and `BadInput` for what means several.
    """
    now, scales = call.clock.now(), DecayScales.from_settings(call.settings().organisation)

    def look(connection: Connection) -> dict[str, Any]:
        name = find(connection, Named.PRINCIPLE, principle)
        return shapes.load_principle(connection, name, now=now, scales=scales)

    found = await call.records.read(look)
    return {**found, "files": await provenance.filter_in_files(found["files"])}


@operation("principles.what-if", http="GET /insights/{insight}/what-if")
async def what_if(call: Call, insight: str) -> dict[str, Any]:
    """Show what an insight lacks to become a principle, and what its promotion would do now.

    `would` is `would_promote`, `would_dedup_exact`, `would_dedup_semantic`, `already_promoted`
    or `would_do_nothing`; `preview` is the principle as it would be, `links` what it would be
    linked with. Nothing is written. Raises `NotFound`, `BadInput`.
    """
    name = await call.records.read(lambda c: find(c, Named.INSIGHT, insight))
    supposed = await call.actors.organiser.limit(SUPPOSE_TIMEOUT).ask(Organiser.suppose, name)
    return await call.records.read(lambda c: insights.shape_eligibility(c, supposed, call=call))


@operation("insights.history", http="GET /history/{thing}")
async def history(call: Call, thing: str) -> dict[str, Any]:
    """Show how something came to be known and what became of it, from line to file and back.

    `thing` is the id of an insight, a cluster or a principle, or the beginning of one, or
    `/path/of/a/FILE:LINE`: a line of our section is a principle's, any other a person's. Raises
    `NotFound`, and `BadInput` for what means several.
    """
    read = call.records.read
    if place := _LINE.fullmatch(thing):
        path = await asyncio.to_thread(reading.resolve_place, place[1])
        start = await provenance.find_line_start(call.records, path, int(place[2]))
    else:
        start = await read(lambda c: provenance.find_start(c, thing))
    found = await read(lambda c: provenance.load_history(c, start))
    return {**found, "files": await provenance.filter_in_files(found["files"])}


@operation("principles.links", http="GET /links")
async def links(
    call: Call,
    principle: str | None = None,
    limit: int = 40,
    *,
    kind: str | None = None,
    least: float | None = None,
    status: str = SHOWN,
) -> dict[str, Any]:
    """Show how principles are linked. With ID, show one principle and what it is linked with.

    The highest ranked come first. `principle` may be the beginning of an id. `kind` is the type of
    a link, `least` its least strength, `status` that of both ends, `limit` how many principles.
    Raises `NotFound`, `BadInput`.
    """
    parameters.check_page(limit, 0, of="principles")
    chosen = parameters.read_word(LinkType, kind, what="link")
    kinds = frozenset(LinkType) if chosen is None else frozenset({chosen})
    ways = frozenset({LinkType.GENERALIZES, LinkType.SPECIALIZES})  # one type, from both ends
    kinds = kinds if kinds.isdisjoint(ways) else kinds | ways
    wanted = principle_lists.LinkFilter(
        kinds=kinds,
        least=parameters.read_number(least, name="the least strength") or 0.0,
        statuses=parameters.read_statuses(PrincipleStatus, status, shown=principle_lists.GIVEN),
        limit=limit,
    )

    def look(connection: Connection) -> dict[str, Any]:
        if principle is None:
            return _shaped(connection, principle_lists.load_overview(connection, wanted))
        name = find(connection, Named.PRINCIPLE, principle)
        return _shaped(
            connection, principle_lists.load_around(connection, name, wanted), asked=name
        )

    return await call.records.read(look)


def _shaped(
    connection: Connection, found: principle_lists.PrincipleGraph, *, asked: str | None = None
) -> dict[str, Any]:
    """Return a graph as clients get it."""
    known = stored.load_principles(connection, found.ids)
    return {
        "principle": asked,
        "total": found.total,
        "principles": [
            shapes.shape_brief(known[each]) | shapes.shape_fields(known[each], "domains")
            for each in found.ids
        ],
        # Told from the principle that was asked for, where it is one of the ends.
        "links": [
            shapes.shape_dataclass(each.view_from(asked) if asked in each.pair else each)
            for each in found.links
        ],
    }
