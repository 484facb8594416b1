"""The operations by which other programs are answered: only what every agent may read.

No memory of the private realm or of a bridge is in an answer, no crumb, and nothing that a file of
one person's own says: `Where.outward` has the ledger leave these out before anything is ranked.
Other stores are not asked: two daemons that ask each other would go on for ever. Nor does an answer
count as reading.

What other programs get of what every agent may read here, as plain JSON values.

Facts for other programs: principles and statements under the keys by which one asks for them.

A statement that has become a principle is given as that: it holds in every project. Where several
say nearly the same, or one has two places, it is given once.

The operations on the stores that a recall asks: which there are, how they do, what each counts.
These are the owner's alone. No answer holds a token; it says where one lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.api import parameters
from cortex_actors.api.registry import Call, operation
from cortex_actors.api.shapes import shape_fields
from cortex_actors.errors import BadInput
from cortex_actors.federation.roster import Roster
from cortex_actors.federation.store import LOCAL, Auth, Question, StoreSpec
from cortex_actors.rules import sameness
from cortex_actors.rules.ranking import fusion
from cortex_actors.rules.ranking.fusion import MOST
from cortex_actors.storage import memory_records, projects
from cortex_actors.storage.insight_records import COLLECTION
from cortex_actors.storage.memory.memory_lists import list_originals, list_replaced
from cortex_actors.storage.pipeline import principle_decay, principles, resolutions
from cortex_actors.storage.search.hits import list_tagged, load_hits
from cortex_actors.storage.search.query import Query, Where

if TYPE_CHECKING:
    from cortex_actors.domain.hit import RankedHit, Recall
    from cortex_actors.domain.principle import Principle
    from cortex_actors.federation.roster import Work
    from cortex_actors.storage.ledger.actor import Connection


#: Episodes of a memory that are given.
RECENT: Final = 3

#: What is given of a memory beside its text. (Not its attention: that says who has read it when.)
_TOLD: Final = ("agent", "realm", "layer", "type", "created_at")


def shape_memory(hit: RankedHit) -> dict[str, Any]:
    """Return a memory: its text, where it lies, and how far it is from the question."""
    extra = hit.extra
    tags, parts = extra.get("tags"), extra.get("merged_from")
    return {
        **shape_fields(hit, "id", "text", "score"),
        "distance": find_distance(hit),
        "tags": list(tags) if isinstance(tags, list) else [],
        "evidence": parts if isinstance(parts, int) and parts else 1,
        **{name: extra.get(name) for name in _TOLD},
    }


def format_found(hit: RankedHit, roots: Sequence[str] = ()) -> dict[str, Any]:
    """Return whatever was found, as another daemon gets it."""
    place = None if hit.path is None else f"{make_relative(hit.path, roots)}:{hit.line_start}"
    tags = hit.extra.get("tags")
    return {
        **shape_fields(hit, "id", "text", "score", "project", "heading", collection="store"),
        "distance": find_distance(hit),
        "place": place,
        "tags": list(tags) if isinstance(tags, list) else [],
        "agent": hit.extra.get("agent"),
    }


def find_distance(hit: RankedHit) -> float | None:
    """Return how far a hit is from the question; None where nothing measured it."""
    cosine = hit.extra.get("cosine")
    return fusion.distance(cosine) if isinstance(cosine, float) else None


def format_surroundings(connection: Connection, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what lies around memories: what they were made of, and what they replaced."""
    made_of, gone = list_originals(connection, ids), list_replaced(connection, ids)
    found = {}
    for each in ids:
        parts = made_of.get(each, [])
        found[each] = {
            "parts": len(parts),
            "latest_at": parts[0]["created_at"] if parts else None,
            "recent": parts[:RECENT],
            "replaced": gone.get(each),
        }
    return found


def shape_statement(hit: RankedHit, roots: Sequence[str]) -> dict[str, Any]:
    """Return a statement as a fact of its project."""
    place = f"{make_relative(hit.path or '', roots)}:{hit.line_start}"
    return {
        "id": hit.id,
        "project": hit.project or "",
        "key": resolutions.make_key(hit.text, hit.heading),
        "value": hit.text,
        "why": f"{place} says so, seen {format_times(hit.extra.get('observed'))}",
        "source": "file",
        "distance": find_distance(hit),
    }


def shape_principle(
    found_: Principle, known: principle_decay.PrincipleEvidence | None
) -> dict[str, Any]:
    """Return a principle as a fact of every project."""
    observed = known.observed if known else 0
    return {
        **shape_fields(found_, "id", value="content", source="origin"),
        "project": EVERYWHERE,
        "key": resolutions.make_key(found_.content),
        "why": f"{found_.category} distilled from what projects say, seen {format_times(observed)}",
        "distance": None,
    }


def format_times(number: object) -> str:
    """Return how often something was seen, in words."""
    return "once" if number in (0, 1, None) else f"{number} times"


def make_relative(path: str, roots: Iterable[str]) -> str:
    """Return a file's path within its project: other programs do not learn where that lies."""
    for root in sorted(roots, key=len, reverse=True):
        if PurePosixPath(path).is_relative_to(root):
            return str(PurePosixPath(path).relative_to(root))
    return PurePosixPath(path).name


#: The project of what holds everywhere.
EVERYWHERE: Final = "*"

#: Projects of one name that are looked into.
NAMESAKES: Final = 5

#: How many times as many statements are looked for: several may have become one principle.
SPARE: Final = 2


@dataclass(frozen=True, slots=True)
class FactLook:
    """One search for facts: what it is narrowed to, and what of it counts."""

    where: Where
    statements: bool
    principles: bool


def list_looks(
    connection: Connection, project: str | None, *, fundamentals: bool
) -> list[FactLook]:
    """Return where facts are looked for: everywhere, among principles, or in a project by name."""
    anywhere = Where(outward=True)
    if project is None or project == EVERYWHERE:
        return [FactLook(anywhere, statements=project is None, principles=True)]
    known = [
        each.id for each in projects.list_followed(connection) if project in (each.id, each.name)
    ]
    looks = [
        FactLook(Where(outward=True, project_id=each), statements=True, principles=fundamentals)
        for each in known[:NAMESAKES]
    ]
    if fundamentals:
        looks.append(FactLook(anywhere, statements=False, principles=True))
    return looks


def load_facts(
    connection: Connection, query: str, *, limit: int, found: Sequence[tuple[FactLook, Recall]]
) -> list[dict[str, Any]]:
    """Return facts, best first, by their key and by what they say; `found` has what looks found."""
    roots = [each.root for each in projects.list_followed(connection)]
    exact = _exact(connection, query, limit=limit, looks=[look for look, _ in found], roots=roots)
    pairs = [(hit, look) for look, each in found for hit in each.hits]
    near = _near(connection, pairs, roots=roots)
    told: dict[str, dict[str, Any]] = {}
    for each in (*exact, *near):
        told.setdefault(each["id"], each)
    some = list(told.values())
    scores = []
    for each in some:
        far_off = fusion.UNMEASURED if each["distance"] is None else each["distance"]
        scores.append(fusion.FULL if each["match"] == "exact" else fusion.weigh_fact(far_off))
    ordered = zip(some, fusion.order_scores(scores), strict=True)
    return [{**each, "score": score} for each, score in ordered]


def _exact(
    connection: Connection, query: str, *, limit: int, looks: Sequence[FactLook], roots: list[str]
) -> list[dict[str, Any]]:
    """Return what has the question for its key."""
    made: list[dict[str, Any]] = []
    if any(look.principles for look in looks):
        ids = resolutions.find_principles(connection, query, limit=limit)
        made += _principles(connection, ids).values()
    for look in looks:
        if look.statements:
            ids = resolutions.find_statements(
                connection, query, project_id=look.where.project_id, limit=limit
            )
            # Those that are principles are left out.
            gone = resolutions.load_principles(connection, ids)
            items = {each: COLLECTION for each in ids if each not in gone}
            asked = Query(query, None, "", limit, where=look.where)
            known = load_hits(connection, items, dict.fromkeys(items, fusion.FULL), asked)
            made += [shape_statement(known[each], roots) for each in items if each in known]
    return [{**each, "match": "exact"} for each in made]


def _near(
    connection: Connection, pairs: list[tuple[RankedHit, FactLook]], *, roots: Sequence[str]
) -> list[dict[str, Any]]:
    """Return what the looks came upon, the best of all of them first."""
    pairs.sort(key=lambda pair: -pair[0].score)
    became = resolutions.load_principles(connection, [hit.id for hit, _ in pairs])
    known = _principles(connection, list(set(became.values())))
    made: list[dict[str, Any]] = []
    for hit, look in pairs:
        whole = known.get(became.get(hit.id, ""))
        if whole is not None and look.principles:
            made.append({**whole, "distance": find_distance(hit)})
        elif look.statements:
            made.append(shape_statement(hit, roots))
    return [{**each, "match": "near"} for each in made]


def _principles(connection: Connection, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return principles as facts, by id."""
    known = principles.load_principles(connection, ids)
    counted = principle_decay.load_evidence(connection, ids)
    return {each: shape_principle(known[each], counted.get(each)) for each in ids if each in known}


#: Where memories lie.
_MEMORIES: Final = tuple(memory_records.COLLECTIONS.values())

#: Topics of one question that are looked for.
TOPICS: Final = 100


@operation("peers.recall", http="GET /peers/recall", sessions=False)
async def outside_recall(call: Call, query: str, limit: int = 10) -> dict[str, Any]:
    """Return what is everybody's about a question, from every collection, best first.

    Raises `BadInput`.
    """
    found = await _outside(call, query, limit)
    roots = [each.root for each in await call.records.read(projects.list_followed)]
    return {
        "query": query,
        "hits": [format_found(hit, roots) for hit in found.hits[:limit]],
        "skipped": _gaps(found),
    }


@operation("peers.memories", http="GET /peers/memories", sessions=False)
async def outside_memories(
    call: Call,
    query: str,
    limit: int = 5,
    *,
    layers: Sequence[str] = (),
    surroundings: bool = False,
) -> dict[str, Any]:
    """Return memories of the village about a question, best first.

    `surroundings` tells of each what it was made of, and what it replaced. Raises `BadInput`.
    """
    where = Where(outward=True, layers=parameters.read_layers(layers))
    found = await _outside(call, query, limit, where=where, collections=_MEMORIES)
    hits = [shape_memory(hit) for hit in found.hits[:limit]]
    if surroundings and hits:
        ids = [each["id"] for each in hits]
        around = await call.records.read(lambda c: format_surroundings(c, ids))
        hits = [{**each, "surroundings": around[each["id"]]} for each in hits]
    return {"query": query, "hits": hits, "skipped": _gaps(found)}


@operation("peers.topics", http="GET /peers/topics", sessions=False)
async def outside_topics(
    call: Call,
    topics: Sequence[str],
    limit: int = 5,
    *,
    layers: Sequence[str] = (),
    exclude_ids: Sequence[str] = (),
) -> dict[str, Any]:
    """Return memories of the village that have any of those tags; most of them, then newest.

    Of many topics the first `TOPICS` are looked for: a Callosum sends those of a whole answer.
    Raises `BadInput`.
    """
    where, now = Where(outward=True, layers=parameters.read_layers(layers)), call.clock.now()
    some, most = list(topics[:TOPICS]), min(limit, MOST)
    found = await call.records.read(
        lambda c: list_tagged(c, some, limit=most, where=where, exclude=exclude_ids, now=now)
    )
    hits = [{**shape_memory(each.hit), "matched": list(each.matched)} for each in found]
    return {"topics": list(topics), "hits": hits}


@operation("peers.facts", http="GET /peers/facts", sessions=False)
async def outside_facts(
    call: Call,
    query: str,
    limit: int = 10,
    *,
    project: str | None = None,
    fundamentals: bool = True,
) -> dict[str, Any]:
    """Return principles (of the project `*`) and what projects say, as facts with a key.

    What has the question for its key leads. `fundamentals` adds principles to what one project
    says. An unknown project has no facts. Raises `BadInput`.
    """
    if limit < 1:
        return {"query": query, "project": project, "facts": [], "skipped": []}
    read, most = call.records.read, min(limit, MOST)
    looks = await read(lambda c: list_looks(c, project, fundamentals=fundamentals))
    depth = min(most * SPARE, fusion.MOST)
    found = [
        (look, await _outside(call, query, depth, where=look.where, collections=(COLLECTION,)))
        for look in looks
    ]
    facts = await read(lambda c: load_facts(c, query, limit=most, found=found))
    skipped = [why for _, each in found for why in _gaps(each)]
    return {"query": query, "project": project, "facts": facts[:limit], "skipped": skipped}


@operation("peers.counts", http="GET /peers/counts", sessions=False)
async def outside_counts(call: Call) -> dict[str, Any]:
    """Return how much there is that other programs may read."""

    def look(connection: Connection) -> dict[str, Any]:
        return {
            "memories": memory_records.count_shared(connection),
            "facts": resolutions.count_facts(connection),
        }

    return await call.records.read(look)


async def _outside(call: Call, query: str, limit: int, **narrowed: object) -> Recall:
    """Ask the collections that are kept here for what is everybody's."""
    asked: dict[str, Any] = {"where": Where(outward=True), **narrowed}
    question = Question(query, min(limit, MOST), stores=(LOCAL,), hops=1, **asked)
    return await call.recall(question)


def _gaps(found: Recall) -> list[str]:
    """Return which parts of a search were left out, and why; not how the search went."""
    return [why for _, why in (*found.failed, *found.skipped) if sameness.is_gap(why)]


@operation("stores.list", http="GET /stores")
async def stores(call: Call) -> dict[str, Any]:
    """List the stores that a recall asks, what is known here first.

    The settings of the fan over them are part of the answer.
    `status` of a store is `active`, `disabled`, or `skipped: ` and why it cannot be asked;
    `trouble` is what a person has to mend.
    """
    return dict(await call.actors.roster.ask(Roster.list_stores))


@operation("stores.add", http="POST /stores")
async def add_store(
    call: Call,
    name: str,
    type: str,
    url: str,
    *,
    weight: float = 1.0,
    floor: float = 0.0,
    token: str | None = None,
    token_env: str | None = None,
    token_keyring: str | None = None,
    options: dict[str, Any] | None = None,
    enabled: bool = True,
) -> dict[str, Any]:
    """Ask a store in every recall, from now on and without a restart.

    Nothing is sent to it yet; `resolves` is where its address leads. It is kept in the home's
    runtime-stores.json, its token in the keyring of the operating system where there is one, and
    the token is never shown again. Raises `BadInput` for what is no store,
    `Refused` for a name that is taken, `StoreUnusable` for one that could not be asked.
    """
    spec = StoreSpec(
        name.strip(),
        type.strip(),
        url.strip().rstrip("/"),
        weight=weight,
        floor=floor,
        enabled=enabled,
        options=dict(options or {}),
        managed=True,
        auth=Auth(token or "", token_keyring or "", token_env or ""),
    )
    return await _changed(call, lambda stores: stores.add(spec))


@operation("stores.remove", http="POST /stores/{name}/remove")
async def remove_store(call: Call, name: str) -> dict[str, Any]:
    """Remove a store, and forget its token; a store of cortex.toml is removed there, or disabled.

    Of two stores of one name that of cortex.toml stays. The other one, which is never asked, goes:
    `shadowed` says so. Raises `NotFound`, and `Refused` for a store that is in the settings alone.
    """
    return await _changed(call, lambda stores: stores.remove(name))


@operation("stores.enable", http="POST /stores/{name}/enable")
async def enable_store(call: Call, name: str) -> dict[str, Any]:
    """Ask a store again from now on.

    `lasts` is `kept`, or `restart` for a store of the settings. Raises `NotFound`, and
    `StoreUnusable` for one that cannot be asked; it stays as it was.
    """
    return await _changed(call, lambda stores: stores.enable(name, on=True))


@operation("stores.disable", http="POST /stores/{name}/disable")
async def disable_store(call: Call, name: str) -> dict[str, Any]:
    """Do not ask a store until it is enabled again.

    Answers and raises as `enable_store`.
    """
    return await _changed(call, lambda stores: stores.enable(name, on=False))


@operation("stores.tune", http="POST /stores/{name}/tune")
async def tune_store(
    call: Call, name: str, weight: float | None = None, floor: float | None = None
) -> dict[str, Any]:
    """Let a store's hits count more or less (weight), or let only its better hits through (floor).

    Raises `BadInput`, `NotFound`.
    """
    if weight is None and floor is None:
        raise BadInput(f"cannot tune {name}: nothing was said; give a weight, a floor, or both")
    return await _changed(call, lambda stores: stores.tune(name, weight=weight, floor=floor))


@operation("stores.configure", http="POST /federation")
async def configure(call: Call, changes: dict[str, Any]) -> dict[str, Any]:
    """Change how stores are asked and fused, all of it at once.

    What may be changed is what `knobs` lists, and `stores` (`name` with `weight` or `floor`).
    Everything is checked first: with `BadInput` or `NotFound` nothing has changed, and no
    question sees half of it. What is of the settings lasts until the daemon restarts.
    """
    return await _changed(call, lambda stores: stores.configure(changes))


@operation("stores.knobs", http="GET /federation")
async def knobs(call: Call) -> dict[str, Any]:
    """Show how stores are asked and fused: now, after a restart, and by default."""
    return dict(await call.actors.roster.ask(Roster.list_knobs))


@operation("stores.health", http="GET /stores/health")
async def store_health(call: Call) -> dict[str, Any]:
    """Show how each store has been answering since the daemon started; times in milliseconds."""
    return dict(await call.actors.roster.ask(Roster.list_health))


@operation("stores.ping", http="GET /stores/ping")
async def ping_store(call: Call, name: str | None = None) -> dict[str, Any]:
    """Ask stores whether they are there, and what they are: one, or all that are enabled.

    One that is disabled is asked if it is named. Raises `NotFound`.
    """
    return dict(await call.actors.roster.limit(None).ask(Roster.ping, name))


async def _changed(call: Call, work: Work) -> dict[str, Any]:
    """Have the roster do a change, however long that takes; return its answer."""
    return dict(await call.actors.roster.limit(None).ask(Roster.change, work))
