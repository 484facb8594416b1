"""What the verbs of the village show: posts, threads, and what agents say alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.rules import convergence as agreeing
from cortex_actors.storage import agent_records, memory_records, village

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.memory import Memory
    from cortex_actors.memory.village import Answer
    from cortex_actors.rules.convergence import Apart, Group
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.village import Post, Thread, Told

#: Decimals of a cosine in an answer.
_DECIMALS = 4


def messages(
    connection: Connection, posts: Sequence[Memory], reader: str | None
) -> list[dict[str, Any]]:
    """Return posts in JSON's words, with what they answer and who answers them."""
    ids = [each.id for each in posts]
    names = agent_records.displays(connection, [each.agent_id for each in posts])
    answers = village.answers(connection, ids, reader=reader)
    named = [replied for each in posts for replied in each.replies_to]
    known = memory_records.readers_part(connection, named, reader)
    return [
        {
            "id": each.id,
            "agent": each.agent_id,
            "agent_display": names.get(each.agent_id, each.agent_id),
            "realm": str(each.realm),
            "type": str(each.type),
            "content": each.text,
            "responding_to": [replied for replied in each.replies_to if replied in known],
            "answered_by": list(answers.get(each.id, ())),
            "related_agents": list(each.related),
            "tags": list(each.tags),
            "layer": str(each.layer),
            "created_at": each.created_at,
        }
        for each in posts
    ]


def converged(query: str, answer: Answer, threshold: float) -> dict[str, Any]:
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
        "groups": [_group(each, answer.posts) for each in groups],
        "apart": [_apart(each) for each in answer.found.apart],
        "compared": len(answer.posts),
    }


def thread(each: Thread) -> dict[str, Any]:
    """Return a thread in JSON's words."""
    return {
        "thread": each.id,
        "posts": each.posts,
        "agents": list(each.agents),
        "first_at": each.first_at,
        "last_at": each.last_at,
    }


def told(each: Told) -> dict[str, Any]:
    """Return a group that was told of."""
    return {
        "type": str(each.kind),
        "memory_ids": list(each.memory_ids),
        "likeness": round(each.likeness, _DECIMALS),
        "found_at": each.found_at,
    }


def _by_agent(group: Group, posts: Mapping[str, Post]) -> dict[str, list[dict[str, Any]]]:
    """Return how the messages of each agent begin."""
    found: dict[str, list[dict[str, Any]]] = {agent: [] for agent in group.agents}
    for voice in group.voices:
        post = posts[voice.id]
        shown = {
            "id": voice.id,
            "preview": agreeing.preview(voice.text),
            "similarity": round(post.cosine, _DECIMALS),
            "realm": str(post.memory.realm),
            "thread": post.memory.thread,
            "created_at": post.memory.created_at,
        }
        found[voice.agent].append(shown)
    return found


def _group(group: Group, posts: Mapping[str, Post]) -> dict[str, Any]:
    """Return one group; `likeness` is the least cosine of any two of its messages."""
    return {
        "type": str(group.kind),
        "agents": list(group.agents),
        "likeness": round(group.likeness, _DECIMALS),
        "memory_ids": [each.id for each in group.voices],
        "by_agent": _by_agent(group, posts),
    }


def _apart(pair: Apart) -> dict[str, Any]:
    """Return two messages that are alike and say the opposite."""
    return {
        "memory_ids": [pair.left.id, pair.right.id],
        "agents": [pair.left.agent, pair.right.agent],
        "likeness": round(pair.likeness, _DECIMALS),
        "reason": pair.reason,
    }
