"""The ledger's tables, as the code sees them, behind one name; what each is for: docs/ledger.md.

Migrations make them, and a test compares the two. Times are UTC microseconds. Constraints live
here, not in code: what must be unique is unique in the schema, and what is one of a few words or
between two numbers is checked there. Numbers that can be counted are counted (an insight's
observations are rows), because a counter that is incremented is wrong after the first replay.
"""

from __future__ import annotations

from cortex_actors.storage.tables.agent import agents, crumbs
from cortex_actors.storage.tables.alert import alerts
from cortex_actors.storage.tables.belief import (
    beliefs,
    memory_apart,
    memory_changes,
    memory_conflicts,
)
from cortex_actors.storage.tables.columns import Text, metadata
from cortex_actors.storage.tables.event import dead_letters, deliveries, events
from cortex_actors.storage.tables.file import file_states, file_writes
from cortex_actors.storage.tables.insight import (
    cluster_insights,
    clusters,
    contradictions,
    insight_slots,
    insight_sources,
    insights,
    observations,
)
from cortex_actors.storage.tables.knowledge import documents, knowledge_chunks
from cortex_actors.storage.tables.memory import (
    memories,
    memory_agents,
    memory_attention,
    memory_replies,
    memory_tags,
)
from cortex_actors.storage.tables.ownership import leases, owner
from cortex_actors.storage.tables.passage import passages
from cortex_actors.storage.tables.principle import derivations, principle_links, principles
from cortex_actors.storage.tables.project import projects, runs
from cortex_actors.storage.tables.resolution import resolutions, resolved_bullets
from cortex_actors.storage.tables.trust import approvals, reviews, revocations
from cortex_actors.storage.tables.upkeep import jobs, meta, verdicts
from cortex_actors.storage.tables.vector import (
    embedding_models,
    index_ops,
    index_state,
    vectors,
)
from cortex_actors.storage.tables.village import convergence_memories, convergences, posts_due
from cortex_actors.storage.version import SCHEMA_VERSION

__all__ = [
    "SCHEMA_VERSION",
    "Text",
    "agents",
    "alerts",
    "approvals",
    "beliefs",
    "cluster_insights",
    "clusters",
    "contradictions",
    "convergence_memories",
    "convergences",
    "crumbs",
    "dead_letters",
    "deliveries",
    "derivations",
    "documents",
    "embedding_models",
    "events",
    "file_states",
    "file_writes",
    "index_ops",
    "index_state",
    "insight_slots",
    "insight_sources",
    "insights",
    "jobs",
    "knowledge_chunks",
    "leases",
    "memories",
    "memory_agents",
    "memory_apart",
    "memory_attention",
    "memory_changes",
    "memory_conflicts",
    "memory_replies",
    "memory_tags",
    "meta",
    "metadata",
    "observations",
    "owner",
    "passages",
    "posts_due",
    "principle_links",
    "principles",
    "projects",
    "resolutions",
    "resolved_bullets",
    "reviews",
    "revocations",
    "runs",
    "vectors",
    "verdicts",
]
