"""What an agent can ask for: every verb that agents may call, with what it is asked about others.

A verb that agents may call and that is not here fails a test: whoever adds one says what kind of
question it is, and is then held to what others keep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.realms.world import SHARED, Kept

#: Makes the parameters of a question about something of another agent's.
About = Callable[[Kept], dict[str, Any]]

#: Makes the parameters of what is done with two memories.
Pair = Callable[[str, str], dict[str, Any]]

#: Microseconds of a moment that is long past whatever a test does.
LATER = 4_000_000_000_000_000

#: Hits that are asked for: more than there are.
ALL = 200

#: Questions to which the answer is a list: whatever is asked, what one may not read is not in it.
LOOKS: Mapping[str, tuple[About, ...]] = {
    "recall": (
        lambda k: {"query": k.word, "limit": ALL, "explain": True, "track": False},
        lambda k: {"query": SHARED, "limit": ALL, "thread": k.thread or "x", "track": False},
        lambda k: {"query": SHARED, "agent": k.agent, "limit": ALL, "track": False},
        lambda k: {"query": SHARED, "tags": [k.word], "limit": ALL, "track": False},
        lambda _: {"query": SHARED, "realm": "private", "limit": ALL, "track": False},
        lambda _: {"query": SHARED, "realm": "bridge", "limit": ALL, "track": False},
        lambda _: {"query": SHARED, "as_of": LATER, "limit": ALL, "track": False},
    ),
    "search": (
        lambda k: {"query": k.word, "limit": ALL, "explain": True, "track": False},
        lambda k: {"query": SHARED, "agent": k.agent.lower(), "limit": ALL, "track": False},
        lambda k: {"query": SHARED, "tags": [k.word], "limit": ALL, "track": False},
        lambda _: {"query": SHARED, "original_only": True, "limit": ALL, "track": False},
        lambda _: {"query": SHARED, "as_of": LATER, "limit": ALL, "track": False},
        lambda _: {"query": SHARED, "min_attention": 0.1, "limit": ALL, "track": False},
    ),
    "memories": (
        lambda _: {"limit": ALL, "status": "all"},
        lambda k: {"limit": ALL, "agent": k.agent},
        lambda k: {"limit": ALL, "tags": [k.word]},
        lambda k: {"limit": ALL, "thread": k.thread or "x"},
        lambda _: {"limit": ALL, "realm": "private"},
        lambda _: {"limit": ALL, "realm": "bridge", "conflicts": True},
    ),
    "memory_changes": (lambda _: {"limit": ALL},),
    "conflicts": (lambda _: {"limit": ALL},),
    "thread": (lambda k: {"thread": k.thread or "x"},),
    "threads": (lambda _: {"limit": ALL},),
    "convergence": (
        lambda k: {"query": k.word, "threshold": 0.5},
        lambda _: {"query": SHARED, "threshold": 0.5},
    ),
    "village_stats": (lambda _: {},),
    "crumbs": (lambda _: {"limit": ALL}, lambda k: {"agent": k.agent, "limit": ALL}),
    "latest_crumb": (lambda _: {}, lambda k: {"agent": k.agent}),
    "unfinished": (lambda _: {"limit": ALL}, lambda k: {"agent": k.agent}),
    "agents": (lambda _: {"limit": ALL},),
    "agent": (lambda k: {"agent": k.about or k.agent},),
    "stale": (lambda _: {"limit": ALL, "days": 0},),
    "duplicates": (lambda _: {"limit": ALL, "threshold": 0.1},),
    "memory_health": (lambda _: {}, lambda _: {"duplicates": True}),
    "memory_promotions": (lambda _: {"dry_run": True},),
    "memory_decay": (lambda _: {"dry_run": True},),
    "knowledge_search": (lambda k: {"query": k.word, "limit": ALL},),
    "knowledge_documents": (lambda _: {"limit": ALL},),
    "knowledge_topics": (lambda _: {},),
    "export": (lambda _: {},),
    "judge_next": (lambda _: {"limit": 10},),
    "brief": (lambda _: {"budget_tokens": 100_000},),
    "hook_last": (lambda _: {"limit": 20},),
}

#: Questions about one memory, by its id.
READS: Mapping[str, About] = {
    "memory": lambda k: {"id": k.id},
    "memory_changes": lambda k: {"memory": k.id},
}

#: What is done with one memory, by its id.
CHANGES: Mapping[str, tuple[About, ...]] = {
    "save": (lambda k: {"id": k.id},),
    "promote": (lambda k: {"id": k.id}, lambda k: {"id": k.id, "to": "cortex"}),
    "crystallize": (lambda k: {"id": k.id},),
    "pin": (lambda k: {"id": k.id},),
    "unpin": (lambda k: {"id": k.id},),
    "archive": (lambda k: {"ids": [k.id]},),
    "restore": (lambda k: {"ids": [k.id]},),
    "split": (lambda k: {"id": k.id},),
    "edit": (lambda k: {"id": k.id, "content": "other words"},),
    "forget": (lambda k: {"ids": [k.id]},),
}

#: What is done with two memories: one is the agent's own.
PAIRS: Mapping[str, Pair] = {
    "supersede": lambda one, other: {"old": one, "new": other},
    "keep_both": lambda one, other: {"left": one, "right": other},
    "consolidate": lambda one, other: {"first": one, "second": other},
}

#: What an agent says anew, naming something of another's.
SAYS: Mapping[str, tuple[About, ...]] = {
    "remember": (
        lambda k: {"content": f"an answer to {k.word}", "responding_to": [k.id]},
        lambda k: {"content": f"in place of {k.word}", "supersedes": [k.id]},
    ),
    "post": (lambda k: {"content": f"an answer to {k.word}", "responding_to": [k.id]},),
}

#: What an agent does in its own name; another's is refused. A hook reads in that name, too: what
#: it gives is the brief's, and the recall's.
ACTS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "hook_start": lambda who: {"agent": who},
    "hook_prompt": lambda who: {"prompt": "the harbour keeps its ledger", "agent": who},
    "hook_compact": lambda who: {"summary": "in another's name", "agent": who},
    "hook_end": lambda who: {"summary": "in another's name", "agent": who},
    "remember": lambda who: {"content": "in another's name", "agent": who},
    "post": lambda who: {"content": "in another's name", "agent": who},
    "leave_crumb": lambda who: {"session_summary": "in another's name", "agent": who},
    "introduce": lambda who: {"agent": who},
    "judge_next": lambda who: {"agent": who},
    "judge_answer": lambda who: {"id": "dup_1", "verdict": "same", "agent": who},
    "summon": lambda who: {"agent_id": who, "specialization": "to be somebody else"},
}

#: What is done with all memories that are the agent's own.
TENDS = ("memory_promotions", "memory_decay")

#: What names a change by its number.
NUMBERED: Mapping[str, Callable[[int], dict[str, Any]]] = {"undo": lambda n: {"change": n}}

#: Every verb that was thought about.
KNOWN = {
    *LOOKS,
    *READS,
    *CHANGES,
    *PAIRS,
    *SAYS,
    *ACTS,
    *NUMBERED,
    *TENDS,
}


def either(pair: Pair, own: str) -> tuple[About, About]:
    """Return what is done with two memories of which another's is the first, or the second."""
    return (lambda kept: pair(kept.id, own), lambda kept: pair(own, kept.id))
