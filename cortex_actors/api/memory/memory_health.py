"""The verbs about the health of memories: what lies idle, what is said twice, what sinks and fades.

An agent's answers are about what it may read, and it tends its own; the owner's are about
everything.

What the verbs about the health of memories answer: shapes for clients.

The verb that tries the daemon: remember, recall and forget, as an agent would.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from cortex_actors import topics
from cortex_actors.api import parameters, status
from cortex_actors.api.memory import memory_changes, remember
from cortex_actors.api.registry import SOON, Call, Said, operation
from cortex_actors.api.shapes import shape_fields
from cortex_actors.clock import DAY
from cortex_actors.domain.event import Ids
from cortex_actors.domain.memory import Layer, Memory, MemoryStatus, Realm
from cortex_actors.memory.custodian import Custodian
from cortex_actors.rules import decay
from cortex_actors.rules.merging import are_opposites
from cortex_actors.storage import memory_records
from cortex_actors.storage.memory import memory_attention, memory_lists, memory_merge
from cortex_actors.storage.memory.memory_attention import Tending, WeighedMemories
from cortex_actors.storage.search.scope import match_memories, match_present
from cortex_actors.storage.search.similar_memories import load_conflicts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from cortex_actors.domain.agent import Caller
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.memory.memory_attention import Where


#: From how many on something is worth saying (the document's): stale memories, promotions.
MANY_STALE, MANY_CANDIDATES = 10, 5

#: Decimals of an attention and of a cosine.
_DECIMALS = 4


def shape_idle(
    one: memory_lists.Idle, now: int, decays: Mapping[Layer, decay.Decay]
) -> dict[str, Any]:
    """Return a memory that was not read for long."""
    held = one.held
    return {
        **shape_fields(one, "id", "realm", agent="agent_id", content_preview="text"),
        **shape_fields(held, "layer", "access_count"),
        "last_accessed": one.last_at,
        "days_since_access": round((now - one.last_at) / DAY, 1),
        "attention_weight": round(held.compute(now, decays), _DECIMALS),
        "pinned": held.pinned_at is not None,
    }


def format_pairs(
    connection: Connection, found: Sequence[memory_lists.Pair], *, letters: int
) -> list[dict[str, Any]]:
    """Return pairs of memories that say nearly the same; one may have gone by now.

    Two that cannot both hold are left out: they are opposites, however alike their words are.
    """
    ids = {each for pair in found for each in (pair.left, pair.right)}
    known = memory_records.read(connection, ids, (MemoryStatus.ACTIVE,))
    disputes = load_conflicts(connection, ids)
    return [
        {
            "first": _side(known[pair.left], letters),
            "second": _side(known[pair.right], letters),
            "similarity": round(pair.cosine, _DECIMALS),
        }
        for pair in found
        if pair.left in known
        and pair.right in known
        and pair.right not in dict(disputes.get(pair.left, ()))
        and not are_opposites(known[pair.left].text, known[pair.right].text)
    ]


def _side(memory: Memory, letters: int) -> dict[str, Any]:
    """Return one of a pair."""
    told = shape_fields(memory, "id", "realm", "layer", "access_count", agent="agent_id")
    return {**told, "content_preview": memory.text[:letters]}


def measure_health(
    found: Mapping[Realm, memory_lists.RealmHealth], pairs: int | None
) -> dict[str, Any]:
    """Return how the memories of each realm are, with what could be done about it."""
    realms = {str(realm): asdict(each) for realm, each in found.items()}
    stale = sum(each.stale_count for each in found.values())
    candidates = sum(each.promotion_candidates for each in found.values())
    said = []
    if stale > MANY_STALE:
        said.append(f"{stale} memories were not read for 30 days: cortex memory stale")
    if candidates > MANY_CANDIDATES:
        said.append(f"{candidates} memories have earned a deeper layer: cortex memory promotions")
    if pairs:
        said.append(f"{pairs} pairs say nearly the same: cortex memory duplicates")
    return {
        "realms": realms,
        "summary": {
            "total_memories": sum(each.total for each in found.values()),
            "total_stale": stale,
            "total_promotion_candidates": candidates,
            "total_duplicates": pairs,
        },
        "recommendations": said,
    }


#: Days without a look after which a memory is stale, unless asked otherwise (the document's).
STALE_DAYS = 30.0

#: Cosine from which on two memories say nearly the same, unless asked otherwise (as above).
ALIKE = 0.95

#: Characters that a list shows of a text: of one that is idle, and of one of a pair.
IDLE_LETTERS, PAIR_LETTERS = 150, 100

#: Days that can be asked for: a thousand years.
MOST_DAYS = 365_250.0


@operation("memory.stale", http="GET /memories/stale", agents=True)
async def stale(
    call: Call,
    days: float = STALE_DAYS,
    limit: int = 20,
    *,
    below: float | None = None,
    realm: str | None = None,
    as_agent: str | None = None,
) -> dict[str, Any]:
    """List memories that were not read for some days, the longest unread first.

    One that was never read counts from when it was said. `below` leaves out those that have
    that attention, or more. Raises `BadInput`.
    """
    parameters.check_page(limit, 0, of="memories")
    now = call.clock.now()
    before = now - round(parameters.read_number(days, 0, MOST_DAYS, name="days") * DAY)
    where = _seen(call, as_agent, realm)
    decays = call.settings().memory.decays
    if below is not None:
        least = parameters.read_number(below, 0, 2, name="below")
        where = (*where, ~match_present(least, now, decays))
    some, total = await call.records.read(
        lambda c: memory_lists.list_idle(
            c, *where, before=before, limit=limit, letters=IDLE_LETTERS
        )
    )
    return {"stale": [shape_idle(each, now, decays) for each in some], "total": total, "days": days}


@operation("memory.duplicates", http="GET /memories/duplicates", agents=True)
async def duplicates(
    call: Call,
    threshold: float = ALIKE,
    limit: int = 50,
    *,
    realm: str | None = None,
    as_agent: str | None = None,
) -> dict[str, Any]:
    """List pairs of memories that say nearly the same, the most similar first.

    Each pair once, of one project or of none, without those that were taken apart. All are
    compared with all, by the cosines of their texts; `without_vector` could not be. Raises
    `BadInput`.
    """
    parameters.check_page(limit, 0, of="pairs")
    parameters.read_number(threshold, name="threshold")
    where = _seen(call, as_agent, realm)
    pairs, total, compared = await _pairs(call, where, threshold, limit)
    return await call.records.read(
        lambda c: {
            "duplicates": (listed := format_pairs(c, pairs, letters=PAIR_LETTERS)),
            "total": total - len(pairs) + len(listed),
            "compared": compared,
            "without_vector": memory_attention.count_active(c, *where) - compared,
            "threshold": threshold,
        }
    )


@operation("memory.consolidate", http="POST /memories/consolidate", agents=True)
async def consolidate(
    call: Call,
    first: str,
    second: str,
    keep: str = memory_merge.Keep.HIGHER_ACCESS,
    *,
    as_agent: str | None = None,
) -> dict[str, Any]:
    """Merge one of two memories into the other; nothing is deleted, and it can be undone.

    Returns which one is kept, and what it has now. `keep` is `higher_access`, `higher_attention` or
    the id of one of them; of equals the first is kept. It gets the accesses of both, the latest of
    them, the tags of both and the deeper of their layers. `split` and `undo` take them apart.
    Raises `NotFound`, `NotYours`, `BadInput` for two of which one cannot replace the other, and
    `Refused` for one that is not active or is pinned and would go.
    """
    now, decays = call.clock.now(), call.settings().memory.decays
    caller = call.caller.choose_rights(as_agent)

    def work(connection: Connection) -> tuple[dict[str, Any], list[Said]]:
        one, other = (
            memory_changes.require_active(
                memory_changes.require_mine(connection, each, caller), "consolidate"
            )
            for each in (first, second)
        )
        kept, gone = memory_merge.choose_kept(one, other, keep, now=now, decays=decays)
        number = memory_merge.consolidate(
            connection, kept, gone, at=now, by=caller.by, decays=decays, reader=caller.agent
        )
        whole = memory_lists.load_memory(connection, kept.id)
        told = {
            "discarded_id": gone.id,
            "new_attention_weight": round(decay.compute_attention(whole, now, decays), _DECIMALS),
            **shape_fields(whole, "layer", "tags", kept_id="id", new_access_count="access_count"),
            "change": number,
        }
        return told, [(topics.MEMORY_MERGED, Ids((kept.id, gone.id)))]

    return await call.change_and_publish(work)


@operation("memory.health", http="GET /memories/health", agents=True)
async def memory_health(
    call: Call, *, duplicates: bool = False, as_agent: str | None = None
) -> dict[str, Any]:
    """Show how the memories of each realm are, and what could be done about it.

    With `duplicates` the pairs that say nearly the same are counted, which costs what the verb
    of that name does. Raises `BadInput`.
    """
    now, earning = call.clock.now(), call.settings().memory.earning
    where = _seen(call, as_agent)
    before = now - round(STALE_DAYS * DAY)
    found = await call.records.read(
        lambda c: memory_lists.count_health(c, *where, before=before, now=now, earning=earning)
    )
    told = measure_health(found, (await _pairs(call, where, ALIKE, 1))[1] if duplicates else None)
    if call.caller.choose_reader(as_agent) is not None:
        return told
    return {**told, "accesses": await describe_accesses(call)}


@operation("memory.promotions", http="POST /memories/promotions", agents=True)
async def memory_promotions(call: Call, *, dry_run: bool = False) -> dict[str, Any]:
    """Promote every memory that has earned a deeper layer, by one layer.

    Returns which. A dry run changes nothing, and says which have earned what and why.
    """
    found = await _tending(call).sink(*_own(call), dry_run=dry_run)
    told: dict[str, Any] = {
        "total_records": found.total,
        "eligible_count": len(found.eligible),
        "promoted_count": len(found.promoted),
        "dry_run": dry_run,
    }
    if dry_run:
        return {**told, "eligible": [each._asdict() for each in found.eligible]}
    return {**told, "promoted": list(found.promoted)}


@operation("memory.decay", http="POST /memories/decay", agents=True)
async def memory_decay(call: Call, *, dry_run: bool = False) -> dict[str, Any]:
    """Recalculate the attention of all memories, and archive those that faded long ago.

    None is archived unless `memory.archive_days` says so. A dry run changes nothing, and says
    how many would change, and which would be archived.
    """
    tending, where = _tending(call), _own(call)
    weighed: WeighedMemories = await tending.weigh(*where, dry_run=dry_run)
    days = call.settings().memory.archive_days
    return {
        **shape_fields(weighed, "updated", "faded", total_records="total", below_threshold="below"),
        "archived": await tending.archive(days, *where, dry_run=dry_run),
        "archive_days": days,
        "dry_run": dry_run,
    }


async def describe_accesses(call: Call) -> dict[str, Any]:
    """Return how reads are taken down; `unheard` are those that the custodian did not get."""
    found = await status.read_guarded(call.actors.custodian.limit(SOON).ask(Custodian.describe))
    return {**found, "unheard": call.accesses.lost}


def _tending(call: Call) -> Tending:
    """Return who tends memories in the caller's name."""
    return Tending(call.publisher, call.clock, call.settings().memory, call.caller.by)


def _seen(call: Call, as_agent: str | None, realm: str | None = None) -> Where:
    """Return the conditions for the memories that the reader may read, of a realm or of all."""
    reader, now = call.caller.choose_reader(as_agent), call.clock.now()
    return tuple(match_memories(parameters.make_where(now=now, reader=reader, realm=realm), now))


def _own(call: Call) -> Where:
    """Return the conditions for what the caller may change: an agent its own memories."""
    reader, now = call.caller.choose_reader(), call.clock.now()
    mine = parameters.make_where(now=now, reader=reader, agent=call.caller.agent)
    return tuple(match_memories(mine, now))


async def _pairs(
    call: Call, where: Where, threshold: float, limit: int
) -> tuple[list[memory_lists.Pair], int, int]:
    """Return the nearest pairs, how many there are, and how many memories were compared."""
    read, model = call.records.read, call.model()
    some: list[memory_lists.Row] = []
    while len(some) < memory_lists.MOST:
        before = some[-1][0] if some else None
        page = await read(
            partial(memory_lists.read_vectors, model=model, before=before, where=where)
        )
        if not page:
            break
        some += page
    texts = await asyncio.to_thread(memory_lists.sort_vectors, some)
    parted = await read(memory_lists.list_apart)
    search = memory_lists.PairSearch(texts, threshold=threshold, limit=limit, apart=parted)
    for start in search.list_steps():
        await asyncio.to_thread(search.step, start)
    pairs, total = search.list_pairs()
    return pairs, total, len(texts.ids)


#: The job of the schedule that tries it; of its failures the last trial tells.
JOB = "probe"


@operation("doctor.round-trip", http="POST /round-trip")
async def round_trip(call: Call) -> dict[str, Any]:
    """Remember, recall and forget a probe through the verbs that agents use.

    Returns how each step went, in milliseconds; a step that fails is an outcome, no error.
    What part of the work did not answer makes a trial degraded. No search finds the probe.
    """

    async def asked(
        run: Callable[..., Awaitable[Any]], *given: object, caller: Caller, **params: object
    ) -> Mapping[str, Any]:
        found: Mapping[str, Any] = await run(replace(call, caller=caller), *given, **params)
        return found

    verbs = (remember.remember, remember.recall, memory_changes.forget)
    desk = SimpleNamespace(**{each.__name__: partial(asked, each) for each in verbs})
    return asdict(await call.trial(desk))
