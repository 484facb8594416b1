"""The verbs of the village: posts, threads, and what agents say alike.

What one may not read is not there: not in a thread, not among the answers to a post, not in what is
said to converge.

What the verbs of the village show: posts, threads, and what agents say alike.

The verbs about forward crumbs: what a session leaves for the next one of its agent.

An agent reads and leaves its own; the owner leaves them for any agent, and reads them all.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.api import parameters
from cortex_actors.api.registry import Call, ask_repeatedly, operation
from cortex_actors.api.shapes import shape_dataclass, shape_fields
from cortex_actors.clock import SECOND
from cortex_actors.domain.agent import read_agent_id
from cortex_actors.domain.memory import CrumbRecord, CrumbType, Memory, Priority, Realm
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.memory.request import Message
from cortex_actors.memory.trail import Trail
from cortex_actors.memory.village import Village, VillageFinding
from cortex_actors.rules import admission
from cortex_actors.rules import convergence as agreeing
from cortex_actors.storage import agent_records as kept
from cortex_actors.storage import realms
from cortex_actors.storage.memory import village
from cortex_actors.text.summary import render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.project import Project
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.memory.village import Post


#: Decimals of a cosine in an answer.
_DECIMALS = 4


def list_messages(
    connection: Connection, posts: Sequence[Memory], reader: str | None
) -> list[dict[str, Any]]:
    """Return posts in JSON's words, with what they answer and who answers them."""
    ids = [each.id for each in posts]
    names = kept.load_display_names(connection, [each.agent_id for each in posts])
    answers = village.list_answers(connection, ids, reader=reader)
    named = [replied for each in posts for replied in each.replies_to]
    known = realms.filter_readable(connection, named, reader)
    return [
        {
            **shape_fields(each, "id", "realm", "type", "tags", "layer", "created_at"),
            **shape_fields(each, agent="agent_id", content="text", related_agents="related"),
            "agent_display": names.get(each.agent_id, each.agent_id),
            "responding_to": [replied for replied in each.replies_to if replied in known],
            "answered_by": list(answers.get(each.id, ())),
        }
        for each in posts
    ]


def shape_convergence(query: str, answer: VillageFinding, threshold: float) -> dict[str, Any]:
    """Return what a question found, in the document's keys and some more."""
    groups = answer.found.groups
    first = groups[0] if groups else None
    named = list(first.agents) if first else []
    return {
        "query": query,
        "has_convergence": first is not None,
        "type": str(first.kind) if first else agreeing.NONE,
        "converging_agents": named,
        "agent_count": len(named),
        "total_messages": len(first.voices) if first else 0,
        "threshold": threshold,
        "by_agent": _by_agent(first, answer.posts) if first else {},
        # The likeness of a group is the least cosine of any two of its messages.
        "groups": [
            {
                **shape_fields(each, "agents", type="kind"),
                "likeness": round(each.likeness, _DECIMALS),
                "memory_ids": [voice.id for voice in each.voices],
                "by_agent": _by_agent(each, answer.posts),
            }
            for each in groups
        ],
        "apart": [
            {
                "memory_ids": [each.left.id, each.right.id],
                "agents": [each.left.agent, each.right.agent],
                "likeness": round(each.likeness, _DECIMALS),
                "reason": each.reason,
            }
            for each in answer.found.apart
        ],
        "compared": len(answer.posts),
    }


def _by_agent(
    group: agreeing.AgreeingGroup, posts: Mapping[str, Post]
) -> dict[str, list[dict[str, Any]]]:
    """Return how the messages of each agent begin."""
    found: dict[str, list[dict[str, Any]]] = {agent: [] for agent in group.agents}
    for voice in group.voices:
        post = posts[voice.id]
        shown = {
            "id": voice.id,
            "preview": agreeing.preview(voice.text),
            "similarity": round(post.cosine, _DECIMALS),
            **shape_fields(post.memory, "realm", "thread", "created_at"),
        }
        found[voice.agent].append(shown)
    return found


#: Characters a question may have: a page, not a book.
QUESTION_LIMIT = 4_096

#: Looks for vectors that posts lack, and seconds between two: 2 s in all, 0.3 s is usual.
LOOKS, PAUSE = 40, 0.05

#: Agents that may be asked for, and cosines.
AGENTS, THRESHOLDS = (2, 10), (0.5, 1.0)

#: Groups that statistics name.
LATEST = 10


@operation("agents.post", http="POST /village", agents=True)
async def post(
    call: Call,
    content: str,
    realm: str = Realm.VILLAGE,
    *,
    agent: str | None = None,
    type: str = "dialogue",
    responding_to: list[str] | None = None,
    thread: str | None = None,
    related_agents: list[str] | None = None,
    tags: list[str] | None = None,
    project: str | None = None,
    redact: bool = False,
    here: str | None = None,
) -> dict[str, Any]:
    """Say something to the other agents: to all in the village, or on a bridge to some.

    In the private realm no other agent reads it. An answer without a thread of its own joins that
    of what it answers, where the two are in one realm. Its project is that of a memory. Raises
    `BadInput`, `NotFound` for what it answers, `UnknownProject`, `Refused` for a secret (`redact`
    takes them out), `NotYours`.
    """
    owner = await call.find_project(project, here)
    message = Message(
        content,
        realm=realm,
        type=type,
        responding_to=responding_to or (),
        thread=thread,
        related_agents=related_agents or (),
        tags=tags or (),
        redact=redact,
        project_id=_place(owner),
    )
    posted = await call.actors.village.ask(Village.post, message, agent=agent, caller=call.caller)
    return {**posted, "project": None if owner is None else owner.name}


@operation("agents.thread", http="GET /village/threads/{thread}", agents=True)
async def thread(
    call: Call, thread: str, limit: int = 200, *, as_agent: str | None = None
) -> dict[str, Any]:
    """Read a conversation: what was said in the village and on bridges, in its order.

    Returns its newest posts, oldest first, and who answered which. Raises `NotFound` where there is
    no post that one may read, `BadInput`, `NotYours`.
    """
    reader, name = call.caller.choose_reader(as_agent), parameters.read_thread(thread)
    parameters.check_page(limit, 0, of="posts")

    def read(connection: Connection) -> tuple[list[dict[str, Any]], int]:
        posts, total = village.list_posts(connection, name, reader=reader, limit=limit)
        return list_messages(connection, posts, reader), total

    messages, total = await call.records.read(read)
    if not messages:
        raise NotFound(
            f"no thread of the village or a bridge is called {name!r}; list them with: cortex "
            "threads (what is private in it: cortex memory list --thread)"
        )
    return {
        "thread": name,
        "total": total,
        "agents": sorted({each["agent"] for each in messages}),
        "messages": messages,
    }


@operation("agents.threads", http="GET /village/threads", agents=True)
async def threads(
    call: Call, limit: int = 50, skip: int = 0, *, as_agent: str | None = None
) -> dict[str, Any]:
    """List the conversations, the one with the newest post first. Raises `BadInput`."""
    reader = call.caller.choose_reader(as_agent)
    parameters.check_page(limit, skip, of="threads")
    found, total = await call.records.read(
        lambda c: village.list_threads(c, reader, limit=limit, skip=skip)
    )
    return {"total": total, "threads": found}


@operation("agents.convergence", http="GET /village/convergence", agents=True)
async def convergence(
    call: Call,
    query: str,
    min_agents: int = 2,
    threshold: float | None = None,
    *,
    as_agent: str | None = None,
) -> dict[str, Any]:
    """Find out whether different agents say the same about something; opposites never count.

    Posts near the question are compared with one another; two that say the opposite are under
    `apart`, however alike. `converging_agents`, `type` and `by_agent` are of the group of most
    agents, `groups` has them all. Nothing counts as read. Raises `BadInput`, `EmbedderDown`,
    `NotYours`.
    """
    reader = call.caller.choose_reader(as_agent)
    least = call.settings().memory.convergence if threshold is None else threshold
    if not query.strip() or len(query) > QUESTION_LIMIT:
        raise BadInput(
            "cannot look for a convergence: say what it is to be about, in 1 to "
            f"{QUESTION_LIMIT:,} characters"
        )
    parameters.read_number(min_agents, *AGENTS, name="min_agents")
    parameters.read_number(least, *THRESHOLDS, name="threshold")
    # Wait for the vectors of posts said just now: an agent posts and asks at once. The question's
    # own vector first: where no model answers, that says so soon.
    await ask_repeatedly(lambda: call.embed([query]))
    lacking = partial(village.lack_vectors, model=call.model())
    for _ in range(LOOKS):
        if not await call.records.read(lacking):
            break
        await call.clock.sleep(PAUSE)
    ask = call.actors.village.limit(None).ask  # a model may have to load
    answer = await ask_repeatedly(
        lambda: ask(Village.converge, query, reader=reader, min_agents=min_agents, threshold=least)
    )
    return shape_convergence(query, answer, least)


@operation("agents.village", http="GET /village", agents=True)
async def village_stats(call: Call, *, as_agent: str | None = None) -> dict[str, Any]:
    """Show how much agents have told one another, and what they agree on."""
    reader = call.caller.choose_reader(as_agent)

    def read(connection: Connection) -> dict[str, Any]:
        spoken = village.count_spoken(connection, reader)
        _, named = village.list_threads(connection, reader, limit=1)
        latest = village.list_groups(connection, reader, limit=LATEST)
        return {
            "total": sum(spoken["by_realm"].values()),
            **spoken,
            "threads": named,
            "convergences": village.count_groups(connection, reader),
            "latest": [
                {
                    "memory_ids": each["memory_ids"],
                    "found_at": each["found_at"],
                    "type": each["kind"],
                    "likeness": round(each["likeness"], _DECIMALS),
                }
                for each in latest
            ],
            # Only the owner sees how many wait: an agent may read some of them alone.
            **({"waiting": village.count_waiting(connection)} if reader is None else {}),
        }

    return await call.records.read(read)


#: Hours that are looked back for, unless asked otherwise: a week; and at most: a hundred years.
LOOKBACK, FARTHEST = 168, 876_000

#: Microseconds of an hour.
_HOUR = 3_600 * SECOND

#: Kinds of references that an answer always has.
_KINDS = ("message_ids", "thread_ids")


@operation("crumbs.leave", http="POST /crumbs", agents=True)
async def leave_crumb(
    call: Call,
    session_summary: str,
    key_discoveries: list[str] | None = None,
    *,
    emotional_state: dict[str, Any] | None = None,
    unfinished_business: list[str] | None = None,
    references: dict[str, Any] | None = None,
    if_disoriented: list[str] | None = None,
    priority: str = "MEDIUM",
    crumb_type: str | None = None,
    session_id: str | None = None,
    project: str | None = None,
    agent: str | None = None,
    redact: bool = False,
    here: str | None = None,
) -> dict[str, Any]:
    """Leave a crumb for an agent's next session: what was done, found out and left to do.

    Returns it, with its text. Without a type it is a task where something is unfinished, else for
    orientation. Its project is that of a memory. Raises `BadInput`, `UnknownProject`, `Refused` for
    a secret (`redact` takes them out), `NotYours`.
    """
    owner = await call.find_project(project, here)
    given = admission.AdmissionRequest(
        summary=session_summary,
        discoveries=key_discoveries,
        emotional_state=emotional_state,
        unfinished=unfinished_business,
        references=references,
        if_disoriented=if_disoriented,
        priority=priority,
        type=crumb_type,
        session_id=session_id,
        redact=redact,
    )
    acting = call.caller.choose_agent(agent, call.settings().memory.agent)
    left = await call.actors.trail.ask(
        Trail.leave, given, agent=acting, by=call.caller.by, project_id=_place(owner)
    )
    return _told(left)


@operation("crumbs.list", http="GET /crumbs", agents=True)
async def crumbs(
    call: Call,
    agent: str | None = None,
    lookback_hours: float = LOOKBACK,
    priority: str | None = None,
    type: str | None = None,
    limit: int = 10,
    *,
    project: str | None = None,
    as_agent: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """Read what sessions left in the last hours, newest first, and what of it is still to do.

    `agent` is whose: without one, everybody's whose crumbs one may read. Without a `project` they
    are those of the folder `here`'s and of none; where it is of none, or with "", everything's.
    `summary` counts all there are in that time, `crumbs` shows `limit` of them. Raises `BadInput`,
    `UnknownProject`, `NotYours`.
    """
    wanted = replace(
        await _wanted(call, agent, as_agent, project=project, here=here, hours=lookback_hours),
        priority=parameters.read_word(Priority, priority, what="priority"),
        type=parameters.read_word(CrumbType, type, what="type"),
    )
    parameters.check_page(limit, 0, of="crumbs")

    def read(connection: Connection) -> tuple[list[CrumbRecord], dict[str, dict[str, int]]]:
        return kept.list_crumbs(connection, wanted, limit=limit), kept.count_crumbs(
            connection, wanted
        )

    found, tally = await call.records.read(read)
    tasks = (task for each in found for task in each.unfinished)
    return {
        "crumbs": [_shown(each) for each in found],
        "most_recent": _shown(found[0]) if found else None,
        "unfinished_tasks": list(dict.fromkeys(tasks)),
        "key_references": _references(found),
        "summary": {**tally, "total_found": sum(tally["by_type"].values())},
    }


@operation("crumbs.latest", http="GET /crumbs/latest", agents=True)
async def latest_crumb(
    call: Call,
    agent: str | None = None,
    *,
    project: str | None = None,
    as_agent: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """Read the crumb that an agent left last, however long ago; its project is as in `crumbs`.

    Without an agent it is that of whom is spoken for, as in `leave_crumb`: no session follows what
    another agent left for its own. Where there is none the answer is None. Raises `BadInput`,
    `UnknownProject`, `NotYours`.
    """
    whose = as_agent if agent is None else agent
    whose = call.caller.choose_agent(None, call.settings().memory.agent) if whose is None else whose
    wanted = await _wanted(call, whose, as_agent, project=project, here=here)
    found = await call.records.read(lambda c: kept.list_crumbs(c, wanted, limit=1))
    return {"crumb": _shown(found[0]) if found else None}


@operation("crumbs.unfinished", http="GET /crumbs/unfinished", agents=True)
async def unfinished(
    call: Call,
    agent: str | None = None,
    lookback_hours: float = LOOKBACK,
    limit: int = 50,
    *,
    project: str | None = None,
    as_agent: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """List what sessions left to do, the newest first; their project is as in `crumbs`.

    Each task comes once; `limit` crumbs are read. Raises `BadInput`, `UnknownProject`, `NotYours`.
    """
    found = await _wanted(call, agent, as_agent, project=project, here=here, hours=lookback_hours)
    wanted = replace(found, unfinished=True)
    parameters.check_page(limit, 0, of="crumbs")
    left_behind = await call.records.read(lambda c: kept.list_crumbs(c, wanted, limit=limit))
    tasks: dict[tuple[str, str], dict[str, Any]] = {}
    for crumb in left_behind:
        for task in crumb.unfinished:
            left = shape_fields(crumb, "session_id", "priority", "left_at", agent="agent_id")
            left |= {"task": task, "crumb": crumb.id}
            tasks.setdefault((crumb.agent_id, task), left)
    return {"tasks": list(tasks.values()), "total": len(tasks)}


def _place(owner: Project | None) -> str:
    """Return the id of a project, as what belongs to it keeps it; empty for none."""
    return "" if owner is None else owner.id


async def _wanted(
    call: Call,
    agent: str | None,
    as_agent: str | None,
    *,
    project: str | None,
    here: str | None,
    hours: float | None = None,
) -> kept.CrumbFilter:
    """Return which crumbs are meant; raises `BadInput`, `UnknownProject`, `NotYours`."""
    wanted = kept.CrumbFilter(
        reader=call.caller.choose_reader(as_agent),
        agent=None if agent is None else read_agent_id(agent),
        since=None if hours is None else call.clock.now() - int(_span(hours) * _HOUR),
    )
    found = await call.find_project(project, here)
    name = None if found is None else found.id
    return replace(wanted, project_id=name) if project else replace(wanted, here=name)


def _span(hours: object) -> float:
    """Return the hours that are looked back for; raises `BadInput`."""
    if isinstance(hours, int | float) and not isinstance(hours, bool) and 0 < hours <= FARTHEST:
        return float(hours)
    raise BadInput(f"cannot look back {hours!r} hours: give a number above 0, {FARTHEST:,} at most")


def _told(crumb: CrumbRecord) -> dict[str, Any]:
    """Return a crumb that was just left."""
    return {**_shown(crumb), "message": f"Forward crumb left: {crumb.session_id}"}


def _shown(crumb: CrumbRecord) -> dict[str, Any]:
    """Return a crumb in JSON's words."""
    return {
        **shape_dataclass(
            crumb,
            agent="agent_id",
            session_summary="summary",
            key_discoveries="discoveries",
            unfinished_business="unfinished",
        ),
        "has_unfinished": crumb.has_unfinished,
        "emotional_state": dict(crumb.emotional_state),
        "references": {kind: list(some) for kind, some in crumb.references.items()},
        "text": render(crumb),
    }


def _references(found: Sequence[CrumbRecord]) -> dict[str, list[str]]:
    """Return what all crumbs refer to, by kind and each once."""
    named: dict[str, dict[str, None]] = {kind: {} for kind in _KINDS}
    for crumb in found:
        for kind, some in crumb.references.items():
            named.setdefault(kind, {}).update(dict.fromkeys(some))
    return {kind: list(some) for kind, some in named.items()}
