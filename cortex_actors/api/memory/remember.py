"""The verb that remembers: what an agent says is admitted here, and the archivist keeps it.

The verbs that find things: `recall` asks every store, `search` memories alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.api import parameters
from cortex_actors.api.registry import Call, operation
from cortex_actors.api.shapes import describe_question
from cortex_actors.bus.commits import refuse_key
from cortex_actors.domain.agent import read_agent_id
from cortex_actors.domain.hit import REMOTE, RankedHit
from cortex_actors.domain.memory import PROBE, Access, Layer, MemoryType, Realm
from cortex_actors.errors import BadInput
from cortex_actors.federation.store import LOCAL, Question
from cortex_actors.memory.archivist import Archivist
from cortex_actors.memory.request import RememberRequest, list_ids
from cortex_actors.rules.admission import ABSTRACT, ROLE, THREAD, check_name, check_tags, check_text
from cortex_actors.rules.merging import Prefer
from cortex_actors.rules.ranking import relevance
from cortex_actors.rules.ranking.fusion import WORDS_ALONE
from cortex_actors.storage import memory_records, projects
from cortex_actors.storage.search.query import AskedAbout
from cortex_actors.storage.search.scope import ROOMS, count_late, make_scope
from cortex_actors.text import terms
from cortex_actors.text.hazards import clear_secrets
from cortex_actors.text.terms import parse_moment, read_words
from cortex_actors.topics import MEMORY_REMEMBERED

if TYPE_CHECKING:
    from cortex_actors.domain.project import Project


@operation("remember", http="POST /memories", agents=True)
async def remember(
    call: Call,
    content: str,
    layer: str | None = None,
    realm: str | None = None,
    *,
    project: str | None = None,
    agent: str | None = None,
    tags: list[str] | None = None,
    type: str = MemoryType.OBSERVATION,
    role: str = "",
    thread: str = "",
    related_agents: list[str] | None = None,
    responding_to: list[str] | None = None,
    abstract: str | None = None,
    said_from: int | str | None = None,
    said_until: int | str | None = None,
    supersedes: list[str] | None = None,
    prefer: str | None = None,
    redact: bool = False,
    merge: bool = True,
    idempotency_key: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """Remember a text; what the agent knows already in other words becomes one memory with it.

    It belongs to `project` ("" for none), else to that of the folder `here`, if there is one.
    Returns what became of it, once it is on the disk. What contradicts it is named, and both are
    kept until a person or an agent decides. Raises `BadInput`, `NotYours`, `NotFound`,
    `UnknownProject`, `Refused` for a secret (`redact` masks it), and `Busy`.
    """
    owner = await call.find_project(project, here)
    texts = partial(_texts, content, role, thread, tags=tags, abstract=abstract, redact=redact)
    with call.life.turn():
        wish = RememberRequest(
            # On a thread: 64 KB that are made to be slow take up to 2 s to look through.
            **await asyncio.to_thread(texts),
            agent=call.caller.choose_agent(agent, call.settings().memory.agent),
            **_words(layer, realm, type_=type, prefer=prefer or call.settings().memory.prefer),
            **_links(related_agents, responding_to, supersedes=supersedes),
            **_times(said_from, said_until, now=call.clock.now()),
            merge=merge,
            key=_key(idempotency_key),
            caller=call.caller,
            project_id="" if owner is None else owner.id,
        )
        return await _done(call, wish, owner=owner)


async def _done(call: Call, wish: RememberRequest, *, owner: Project | None) -> dict[str, Any]:
    """Return what becomes of a wish as clients get it, with what its project is called.

    Raises `BadInput` for a bridge that leads to its speaker alone.
    """
    if wish.realm is Realm.BRIDGE and not {*wish.related} - {wish.agent}:
        raise BadInput(
            "cannot remember on a bridge to no agent: name whom it is for in related_agents "
            "(--about AGENT)"
        )
    done = await call.actors.archivist.limit(None).ask(Archivist.remember, wish)
    return {**done.as_dict(), "project": None if owner is None else owner.name}


def _links(
    related: list[str] | None, replies_to: list[str] | None, *, supersedes: list[str] | None
) -> dict[str, Any]:
    """Return the agents and the memories that a memory names."""
    return {
        "related": tuple(
            dict.fromkeys(map(read_agent_id, list_ids(related or (), "related_agents")))
        ),
        "replies_to": list_ids(replies_to or (), "responding_to"),
        "supersedes": list_ids(supersedes or (), "supersedes"),
    }


def _texts(
    content: str,
    role: str,
    thread: str,
    *,
    tags: list[str] | None,
    abstract: str | None,
    redact: bool,
) -> dict[str, Any]:
    """Return what a memory says, what it is called, and what it is filed under."""
    return {
        "content": check_text(content, redact=redact),
        "role": check_name(role, what="the role", most=ROLE, redact=redact),
        "thread": check_name(thread, what="the thread", most=THREAD, redact=redact),
        "tags": check_tags(tags or [], redact=redact),
        "abstract": _abstract(abstract, redact=redact),
    }


def _key(given: str | None) -> str | None:
    """Return an idempotency key that can be kept."""
    if given is not None:
        refuse_key(MEMORY_REMEMBERED, given, durable=True)
        clear_secrets(given, what="the idempotency key", redact=None)
    return given


def _words(layer: str | None, realm: str | None, *, type_: str, prefer: str) -> dict[str, Any]:
    """Return the words of closed sets."""
    return {
        "layer": Layer.SENSORY if layer is None else terms.parse_word(Layer, layer, name="layer"),
        "realm": Realm.PRIVATE if realm is None else terms.parse_word(Realm, realm, name="realm"),
        "type": terms.parse_word(MemoryType, type_, name="type"),
        "prefer": terms.parse_word(Prefer, prefer, name="prefer"),
    }


def _abstract(given: str | None, *, redact: bool) -> str | None:
    """Return an agent's own abstract, which is kept; None where it gave none."""
    if given is None:
        return None
    text = " ".join(check_text(given, what="the abstract", redact=redact).split())
    if len(text) > ABSTRACT:
        raise BadInput(f"the abstract has {len(text)} characters, and at most {ABSTRACT} are kept")
    return text


def _times(
    said_from: int | str | None, said_until: int | str | None, *, now: int
) -> dict[str, Any]:
    """Return when what it tells of began and ended; one of the two alone is both."""
    begun = None if said_from is None else parse_moment(said_from, now, name="said_from")
    ended = None if said_until is None else parse_moment(said_until, now, name="said_until")
    begun, ended = (ended if begun is None else begun), (begun if ended is None else ended)
    if begun is not None and ended is not None and begun > ended:
        raise BadInput("said_from lies behind said_until; give them in the order of time")
    return {"said_from": begun, "said_until": ended}


#: Where memories lie.
_MEMORIES = tuple(memory_records.COLLECTIONS.values())


@operation("recall", http="GET /recall", agents=True)
async def recall(
    call: Call,
    query: str,
    limit: int | None = None,
    project: str | None = None,
    *,
    stores: Sequence[str] = (),
    budget_tokens: int | None = None,
    hops: int | None = None,
    sure: bool = False,
    explain: bool = False,
    as_of: int | str | None = None,
    as_agent: str | None = None,
    track: bool = True,
    here: str | None = None,
    **narrow: Any,  # noqa: ANN401 - as they are declared
) -> dict[str, Any]:
    """Ask everything that is known, here and in other stores; each answer says whose it is.

    The best come first. With `budget_tokens` and no `limit` there are as many as that pays for. A
    condition that a kind of thing cannot meet leaves the kind out; `as_of` leaves memories alone;
    `sure` leaves out weak hits. Without a `project` that of the folder `here` is preferred ("" for
    none), and so is what is of none. Raises `BadInput`, `UnknownProject`, `NotFound` for an unknown
    store, `NotYours`, and `Busy`.
    """
    where, near = await call.make_conditions(project, here, as_agent=as_agent, **narrow)
    question = Question(
        query,
        parameters.read_whole_number(limit, name="limit"),
        where=where,
        past=parameters.make_past(as_of, now=call.clock.now()),
        here=near,
        sure=sure,
        explain=explain,
        stores=read_words(stores, name="stores"),
        hops=parameters.read_whole_number(hops, name="hops"),
        budget_tokens=parameters.read_whole_number(budget_tokens, name="budget_tokens"),
    )
    return await _answered(call, question, track=track)


@operation("memory.search", http="GET /memories/search", agents=True)
async def search(
    call: Call,
    query: str,
    limit: int = 10,
    *,
    project: str | None = None,
    sure: bool = False,
    explain: bool = False,
    as_of: int | str | None = None,
    original_only: bool = False,
    as_agent: str | None = None,
    track: bool = True,
    here: str | None = None,
    **narrow: Any,  # noqa: ANN401 - as they are declared
) -> dict[str, Any]:
    """Search the memories, of now or of another time; the best come first.

    `original_only` looks at what was said and not at what was made of it, active or not; with
    `as_of` at what was believed at a moment; `sure` leaves out what is hardly an answer. Raises as
    `recall` does.
    """
    where, near = await call.make_conditions(project, here, as_agent=as_agent, **narrow)
    past = parameters.make_past(as_of, now=call.clock.now(), original=original_only)
    alone: dict[str, Any] = {"collections": _MEMORIES, "stores": (LOCAL,), "here": near}
    question = Question(query, limit, where=where, past=past, sure=sure, explain=explain, **alone)
    return await _answered(call, question, track=track)


async def _answered(call: Call, question: Question, *, track: bool) -> dict[str, Any]:
    """Ask; return the answer as JSON, and let be noted which memories were in it."""
    about = relevance.find_subject(question.text, await call.records.read(projects.list_called))
    if about.named:
        question = replace(question, about=AskedAbout(about.text, about.named))
    found = await call.recall(question)
    waits = await _waiting(call, question)
    hits = found.hits
    if track and question.past is None:
        call.accesses.report(_accesses(hits))
    limit = {} if found.budget_tokens is None else {"budget_tokens": found.budget_tokens}
    return {
        **describe_question(found, waits),
        "count": len(hits),
        "hits": [_plain(hit) for hit in hits],
        "text": found.text,
        "beside": [_plain(hit) for hit in found.beside],
        "stores_searched": list(found.asked),
        **limit,
        "tokens": found.tokens,
    }


async def _waiting(call: Call, question: Question) -> list[tuple[str, str]]:
    """Return what was looked for by its words alone, if anything: what has no vector yet."""
    if question.past is not None:
        return []
    model, now = call.model(), call.clock.now()
    # The collections that the question is put to here; none for all of them.
    rooms = question.collections
    if not rooms and LOCAL not in question.stores:
        rooms = tuple(each for each in ROOMS if each in question.stores)
    seen = make_scope(question.where, rooms, now=now, decays=call.settings().memory.decays)
    missing, is_all = await call.records.read(lambda c: count_late(c, model, seen))
    if not missing:
        return []
    # An agent does not see how many there are: they are not all its own.
    number = f"{missing} texts" if is_all else f"{missing} or more texts"
    some = number if question.where.reader is None else "some texts"
    return [(LOCAL, f"{some} have no vector yet and were looked for by their words alone")]


def _plain(hit: RankedHit) -> dict[str, Any]:
    """Return a hit as JSON; what a store says beside it is plain already."""
    return {each.name: getattr(hit, each.name) for each in fields(hit)} | {"extra": {**hit.extra}}


def _accesses(hits: Iterable[RankedHit]) -> list[Access]:
    """Return which memories are in an answer, and how each came there; a probe counts for none.

    What another program said is no memory of this daemon, whatever it calls itself.
    """
    found = []
    for hit in hits:
        if hit.store in _MEMORIES and hit.trust != REMOTE and hit.extra.get("agent") != PROBE:
            cosine, names = hit.extra.get("cosine"), hit.extra.get("found_by")
            near = cosine if isinstance(cosine, float) else None
            by_words = isinstance(names, list) and WORDS_ALONE in names
            found.append(Access(hit.id, cosine=near, by_words=by_words))
    return found
