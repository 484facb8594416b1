"""One valid row and more for each table: what constraints are tried on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Ids as the code makes them.
INSIGHTS = tuple(f"ins_{digit * 20}" for digit in "abc")
PRINCIPLES = tuple(f"pri_{digit * 20}" for digit in "ab")
MEMORIES = tuple(f"mem_{number:026}" for number in range(4))
EVENTS = tuple(f"evt_{number:026}" for number in range(2))

#: What embedded texts are found by.
DIGESTS = tuple(bytes([number]) * 32 for number in range(4))

#: Table -> its rows, parents first.
ROWS: Mapping[str, Sequence[Mapping[str, object]]] = {
    "owner": [{"one": 1, "epoch": 3, "pid": 42, "started_at": 1}],
    "leases": [{"name": "reconciler", "holder": "here", "epoch": 1, "until": 9}],
    "projects": [
        {"id": "prj_a", "name": "atlas", "root": "/atlas", "added_at": 1},
        {"id": "prj_b", "name": "harbor", "root": "/harbor", "added_at": 1},
    ],
    "runs": [
        {"id": "run_1", "kind": "resolver", "state": "completed", "counts": "{}"}
        | {"started_at": 1, "finished_at": 2}
    ],
    "insights": [
        {"id": each, "content": each, "content_hash": each[-1] * 64, "category": "fact"}
        | {"tags": "[]", "confidence": 0.5, "status": status, "superseded_by": successor}
        | {"first_seen_at": 1, "last_seen_at": 2, "text_hash": DIGESTS[0]}
        for each, status, successor in (
            (INSIGHTS[0], "active", None),
            (INSIGHTS[1], "active", None),
            (INSIGHTS[2], "superseded", INSIGHTS[0]),
        )
    ],
    "insight_sources": [
        {"id": number, "insight_id": INSIGHTS[number], "said_id": INSIGHTS[number]}
        | {"fragment_id": "f", "ordinal": number}
        | {"project_id": "prj_a", "path": "/atlas/CLAUDE.md", "line_start": 1, "line_end": 2}
        | {"seen_at": 1}
        for number in range(2)
    ],
    "observations": [{"source_id": 1, "file_hash": "r1", "at": 1}],
    "said_since": [{"said_id": INSIGHTS[0], "project_id": "prj_a", "at": 1}],
    "scans": [{"project_id": "prj_a", "day": 0, "at": 1}],
    "agreements": [{"left_id": INSIGHTS[0], "right_id": INSIGHTS[1], "score": 0.7}],
    "insight_slots": [{"slot": "package-manager", "insight_id": INSIGHTS[0]}],
    "alerts": [
        {"kind": "secret", "project_id": "prj_a", "path": "/atlas/CLAUDE.md", "fragment_id": "f"}
        | {"line_start": 1, "line_end": 2, "detail": detail, "found_at": 1}
        for detail in ("a token", "a key")
    ],
    "jobs": [{"name": "backup", "every_s": 3600.0}],
    "verdicts": [
        {"key": DIGESTS[0], "decider": "llm", "name": "m", "question": "same", "answer": "{}"}
        | {"at": 1}
    ],
    "handouts": [
        {"item": "dup_1", "agent": "VAJRA", "kind": "duplicate", "at": 1}
        | {"insight_a": INSIGHTS[0], "insight_b": INSIGHTS[1]}
    ],
    "file_vectors": [
        {"path": "/atlas/CLAUDE.md", "model": "test/3", "digest": DIGESTS[0], "vector": b"0000"}
    ],
    "meta": [{"name": "rules", "value": b"1"}],
    "contradictions": [
        {"id": "ctr_1", "insight_a": INSIGHTS[0], "insight_b": INSIGHTS[1], "type": "direct"}
        | {"similarity": 0.6, "detected_by": "reconciler", "decided_by": "rules"}
        | {"reason": "always / never", "detected_at": 1}
    ],
    "proposals": [
        {"id": "dup_1", "insight_a": INSIGHTS[0], "insight_b": INSIGHTS[1], "kind": "duplicate"}
        | {"score": 0.8, "reason": "they share words", "found_at": 1}
    ],
    "clusters": [
        {"id": "clu_1", "medoid_id": INSIGHTS[0], "model": "test/3", "centroid": b"0000"}
        | {"coherence": 1.0, "made_at": 1}
    ],
    "cluster_insights": [{"insight_id": INSIGHTS[0], "cluster_id": "clu_1"}],
    "principles": [
        {"id": each, "content": each, "content_hash": each[-1] * 64, "category": "learning"}
        | {"tags": "[]", "domains": "[]", "confidence": 0.9, "rank": 0.7, "status": "active"}
        | {"created_at": 1, "text_hash": DIGESTS[0]}
        for each in PRINCIPLES
    ],
    "derivations": [
        {"principle_id": PRINCIPLES[0], "insight_id": INSIGHTS[0], "weight": 1.0},
    ],
    "principle_links": [
        {"source_id": PRINCIPLES[0], "target_id": PRINCIPLES[1], "type": "related"}
        | {"strength": 0.8, "decided_by": "rules", "reason": "alike", "linked_at": 1}
    ],
    "reviews": [{"insight_id": INSIGHTS[0], "decision": "approved", "at": 1}],
    "approvals": [
        {"principle_id": PRINCIPLES[0], "decision": "approved", "decided_by": "owner", "at": 1}
        | {"way": "review"}
    ],
    "revocations": [
        {"id": number, "kind": "path", "key": f"/atlas/{number}/CLAUDE.md", "at": 1}
        for number in range(2)
    ],
    "resolutions": [
        {"path": "/atlas/CLAUDE.md", "agent": agent, "project_id": "prj_a", "run_id": "run_1"}
        | {"revision": "r", "inputs": "i", "section": "", "state": "written", "resolved_at": 1}
        for agent in ("claude", "agents")
    ],
    "resolved_bullets": [
        {"path": "/atlas/CLAUDE.md", "agent": "claude", "ordinal": number}
        | {"principle_id": PRINCIPLES[number], "text": "use ruff"}
        for number in range(2)
    ],
    "file_states": [
        {"path": "/atlas/CLAUDE.md", "project_id": "prj_a", "size": 1, "mtime_ns": 1}
        | {"ctime_ns": 1, "inode": 1, "sha256": "", "seen_at": 1}
    ],
    "file_writes": [
        {"seq": 1, "run_id": "run_1", "project_id": "prj_a", "path": "/atlas/CLAUDE.md"}
        | {"agent": "claude", "before_sha256": "b", "before_bytes": b"b", "after_sha256": "a"}
        | {"aside": ".CLAUDE.md.cortex", "began_at": 1}
    ],
    "events": [
        {"seq": number, "id": EVENTS[number], "topic": "custom:a", "payload": "{}", "at": 1}
        | {"source": "me", "idempotency_key": f"key-{number}"}
        for number in range(2)
    ],
    "deliveries": [{"consumer": "reconciler", "seq": 0}],
    "dead_letters": [
        {"consumer": "reconciler", "seq": 1, "attempts": 5, "error": "Traceback", "at": 1}
    ],
    "agents": [
        {"id": each, "display_name": each.title(), "symbol": each[0], "registered_at": 1}
        for each in ("CLAUDE", "VAJRA")
    ],
    "crumbs": [
        {"id": f"crm_{0:026}", "agent_id": "CLAUDE", "session_id": "s", "summary": "begun"}
        | {"left_at": 1}
    ],
    "memories": [
        {"id": MEMORIES[number], "realm": "private", "agent_id": "CLAUDE", "layer": "working"}
        | {"type": "fact", "text": f"text {number}", "abstract": "", "summary": ""}
        | {"text_hash": DIGESTS[number], "created_at": 1, "layer_since": 1}
        | (
            {"status": "merged", "merged_into": MEMORIES[0], "merged_as": number - 2}
            | {"merged_at": 2, "merged_by": "rules"}
            if number > 1
            else {}
        )
        for number in range(4)
    ],
    "memory_tags": [{"memory_id": MEMORIES[0], "tag": "ports"}],
    "memory_agents": [{"memory_id": MEMORIES[0], "agent_id": "VAJRA"}],
    "memory_replies": [{"memory_id": MEMORIES[1], "replied_id": MEMORIES[0]}],
    "memory_attention": [{"memory_id": MEMORIES[0], "attention": 1.0, "weighed_at": 1}],
    "beliefs": [
        {"memory_id": MEMORIES[number], "began_at": 1, "ended_at": 2 if number > 1 else None}
        for number in range(4)
    ],
    "memory_changes": [
        {"id": 1, "kind": "merge", "memory_id": MEMORIES[0], "by": "CLAUDE", "at": 2}
    ],
    "memory_apart": [{"left_id": MEMORIES[0], "right_id": MEMORIES[1], "at": 1}],
    "memory_conflicts": [
        {"left_id": MEMORIES[0], "right_id": MEMORIES[1], "decided_by": "rules"}
        | {"reason": "opposites", "found_at": 1}
    ],
    "posts_due": [{"memory_id": MEMORIES[0]}],
    "convergences": [{"id": 1, "kind": "HARMONY", "likeness": 0.9, "found_at": 1}],
    "convergence_memories": [{"convergence_id": 1, "memory_id": MEMORIES[0]}],
    "documents": [
        {"source": "guide.md", "content_hash": DIGESTS[0], "read_as": 1, "topic": "guide"}
        | {"title": "Guide", "size": 7, "read_at": 1}
    ],
    "knowledge_chunks": [
        {"id": f"kb_{number}", "source": "guide.md", "ordinal": number, "topic": "guide"}
        | {"title": "Guide", "text": "how to", "text_hash": DIGESTS[0], "read_at": 1}
        for number in range(2)
    ],
    "passages": [
        {"id": 1, "collection": "cortex_insights", "item_id": INSIGHTS[0], "place": "both"}
        | {"text": "use ruff", "text_hash": DIGESTS[0]},
        {"id": 2, "collection": "cortex_private", "item_id": MEMORIES[0], "place": "alone"}
        | {"text": "b", "text_hash": DIGESTS[1]},
        {"id": 3, "collection": "cortex_private", "item_id": MEMORIES[0], "place": "paired"}
        | {"text": "a\nb", "text_hash": DIGESTS[2]},
    ],
    "embedding_models": [
        {"id": f"test/{state}", "dimension": 3, "state": state, "since": 1}
        for state in ("active", "coming", "retired")
    ],
    "vectors": [
        {"seq": 1, "model": "test/active", "text_hash": DIGESTS[0], "vector": b"0000"},
        {"seq": 2, "model": "test/active", "text_hash": DIGESTS[1], "vector": b"0000"},
    ],
    "index_ops": [{"seq": 1, "collection": "cortex_insights", "item_id": "x", "op": "put"}],
    "index_state": [
        {"one": 1, "generation": 1, "token": "t", "model": "test/active", "applied_seq": 0}
    ],
}
