"""What a daemon answers to the verbs about principles."""

from __future__ import annotations

from typing import Any

from tests.cli.tuned import CHECKS, ODD

_SHORT: dict[str, Any] = {
    "id": "pri_aaaaaaaabbbb",
    "content": ODD,
    "category": "heuristic",
    "status": "active",
    "rank": 0.55,
}
_OTHER = {**_SHORT, "id": "pri_ccccccccdddd", "content": "Use spaces."}
_WHY: dict[str, Any] = {
    "stored": 0.5,
    "rank": 0.552,
    "parts": [
        {"name": "confidence", "value": 0.7, "weight": 0.35, "points": 0.245},
        {"name": "frequency", "value": 0.22, "weight": 0.25, "points": 0.055},
        {"name": "recency", "value": 0.89, "weight": 0.2, "points": 0.177},
        {"name": "quality", "value": 0.5, "weight": 0.15, "points": 0.075},
        {"name": "links", "value": 0.0, "weight": 0.05, "points": 0.0},
    ],
    "days": 14,
    "half_life_days": 152.4,
}
_ROW: dict[str, Any] = {
    **_SHORT,
    "elaboration": None,
    "tags": ["style"],
    "domains": ["python"],
    "confidence": 0.7,
    "quality": 0.5,
    "origin": "single",
    "created_at": 0,
    "observations": 2,
    "last_seen": 0,
    "linked": 1,
    "projects": ["atlas", "harbor"],
    "revoked": False,
    "insights": 1,
    "resolved": 2,
}
_WHOLE: dict[str, Any] = {
    **_ROW,
    "status": "decaying",
    "elaboration": "Two projects said so.",
    "bullet": None,
    "no_bullet": "it names an issue: #7",
    "why": _WHY,
    "made_of": [
        {
            "weight": 0.75,
            "id": "ins_aaaaaaaabbbb",
            "content": ODD,
            "status": "active",
            "sources": [{"path": "/a/CLAUDE.md", "line_start": 3, "line_end": 3}],
        },
        {
            "weight": 0.25,
            "id": "ins_ccccccccdddd",
            "content": "Indent so.",
            "status": "withdrawn",
            "sources": [],
        },
    ],
    "links": [
        {
            "type": "depends_on",
            "needed": True,
            "strength": 0.8,
            "decided_by": "rules",
            "reason": "needs tabs",
            "other": _OTHER,
        },
        {
            "type": "contradicts",
            "needed": False,
            "strength": 0.9,
            "decided_by": "rules",
            "reason": "tabs against spaces",
            "other": {"id": "pri_eeeeeeeeffff"},
        },
    ],
    "files": [
        {
            "path": "/c/CLAUDE.md",
            "agent": "claude",
            "project": "c",
            "principle_id": _SHORT["id"],
            "ordinal": 1,
            "text": "Use tabs.",
            "is_conflict": True,
            "run_id": "run_1",
            "state": "written",
            "resolved_at": 0,
        }
    ],
}
_WHAT_IF: dict[str, Any] = {
    "id": "ins_aaaaaaaabbbb",
    "content": ODD,
    "eligible": False,
    "checks": [*CHECKS, {**CHECKS[1], "met": True, "waived": True}],
    "missing": ["confidence", "age", "no_contradiction"],
    "nearest": "confidence",
    "together": ["ins_ccccccccdddd"],
    "would": "would_promote",
    "compared": True,
    "reason": "",
    "same_as": None,
    "replaces": False,
    "preview": {**_ROW, "why": {**_WHY, "stored": 0.552}},
    "links": _WHOLE["links"],
}
_LINE: dict[str, Any] = {
    "said_id": "ins_aaaaaaaabbbb",
    "project_id": "prj_a",
    "project": "atlas",
    "path": "/a/CLAUDE.md",
    "heading": "Style",
    "scope": "",
    "trust": "import",
    "line_start": 3,
    "line_end": 3,
    "revisions": 2,
    "first_at": 0,
    "last_at": 0,
    "withdrawn_at": 86_400_000_000,
}
_INSIGHT: dict[str, Any] = {
    "id": "ins_aaaaaaaabbbb",
    "content": ODD,
    "status": "active",
    "category": "convention",
    "confidence": 0.7,
    "observations": 2,
    "first_seen": 0,
    "last_seen": 0,
    "counts_for": None,
    "lines": [_LINE],
}
_MERGED = {**_INSIGHT, "id": "ins_ccccccccdddd", "counts_for": "ins_aaaaaaaabbbb", "lines": []}
_HISTORY: dict[str, Any] = {
    "asked": {"kind": "insight", "id": "ins_aaaaaaaabbbb"},
    "insights": [_INSIGHT, _MERGED],
    "clusters": [
        {"id": "clu_12345678", "members": 3, "coherence": 0.9, "made_at": 0, "ids": []},
    ],
    "contradictions": [
        {
            "id": "con_12345678",
            "said": {"ins_aaaaaaaabbbb": ODD, "ins_eeeeeeeeffff": "Use spaces."},
            "type": "direct",
            "status": "resolved",
            "reason": "tabs against spaces",
            "resolution": "we like tabs",
            "detected_at": 0,
        }
    ],
    "reviews": [{"insight_id": "ins_aaaaaaaabbbb", "decision": "approved", "at": 0, "note": None}],
    "approvals": [
        {"principle_id": "pri_aaaaaaaabbbb", "decision": "approved", "decided_by": "owner"}
        | {"way": "review", "at": 0, "note": "ours", "ended_at": None},
    ],
    "revocations": [
        {"kind": "path", "key": "/b", "at": 0, "ended_at": 0, "note": "a mistake"},
    ],
    "principles": [
        {
            **_SHORT,
            "origin": "single",
            "created_at": 0,
            "made_of": [{"id": "ins_aaaaaaaabbbb", "weight": 1.0, "content": ODD}],
        }
    ],
    "files": _WHOLE["files"],
}

#: Verb -> what the daemon answers.
ANSWERS: dict[str, dict[str, Any]] = {
    "principles": {
        "total": 4,
        "by_status": {"active": 3, "decaying": 1, "pruned": 0},
        "principles": [_ROW, {**_ROW, "id": "pri_ccccccccdddd", "revoked": True}],
    },
    "principle": _WHOLE,
    "promotions": {
        "looked_at": 9,
        "eligible": 1,
        "reasons": {"ready": 1, "not_promoted": 2, "confidence": 6, "age": 0},
        "insights": [{**_INSIGHT, "projects": ["atlas"], "missing": CHECKS[1:]}],
    },
    "what_if": _WHAT_IF,
    "history": _HISTORY,
}
