"""What a daemon answers to the verbs about what was learned."""

from __future__ import annotations

from typing import Any

#: Text that would do something to a terminal, or to a table, if it were not shown as it is.
ODD = "Use [bold]tabs[/bold].\x1b]0;title\x07"

_SIDE: dict[str, Any] = {
    "id": "ins_aaaaaaaabbbb",
    "content": ODD,
    "status": "contradicted",
    "domain": "python",
    "confidence": 0.4,
    "projects": ["atlas"],
    "sources": [{"path": "/a/CLAUDE.md", "line_start": 3, "line_end": 3}],
}
_OTHER = {**_SIDE, "id": "ins_ccccccccdddd", "content": "Use spaces."}
#: Two insights that cannot both hold, as the daemon gives them.
PAIR: dict[str, Any] = {
    "id": "con_1234567890",
    "insight_a": _SIDE["id"],
    "insight_b": _OTHER["id"],
    "type": "direct",
    "similarity": 0.712,
    "detected_by": "reconciler",
    "decided_by": "rules",
    "reason": "tabs against spaces",
    "detected_at": 0,
    "status": "unresolved",
    "resolved_at": None,
    "kept_id": None,
    "resolution": None,
    "a": _SIDE,
    "b": _OTHER,
}
#: Checks of a promotion: met, too low, too young, and one too many.
CHECKS: list[dict[str, Any]] = [
    {"need": "active", "actual": "active", "required": "active", "gap": None, "met": True},
    {"need": "confidence", "actual": 0.5, "required": 0.7, "gap": 0.2, "met": False},
    {"need": "age", "actual": 2.25, "required": 7.0, "gap": 4.75, "met": False},
    {"need": "no_contradiction", "actual": 2, "required": 0, "gap": 2.0, "met": False},
]
_INSIGHT = {
    **_SIDE,
    "heading": "Atlas > Style",
    "granularity": "statement",
    "kind": "rule",
    "category": "convention",
    "verdict": 0.5,
    "tags": ["style"],
    "review": None,
    "observations": 2,
    "first_seen": 0,
    "last_seen": 0,
    "sources": [{**_SIDE["sources"][0], "scope": "docs"}],
    "represents": [_OTHER],
    "represented_by": None,
    "contradictions": [{**PAIR, "other": _OTHER}],
    "cluster": {
        "id": "clu_12345678",
        "size": 2,
        "coherence": 0.9,
        "members": [_SIDE, _OTHER],
    },
    "principles": [
        {"id": "pri_aaaaaaaabbbb", "category": "heuristic", "rank": 0.5, "status": "active"}
    ],
    "why": {
        "category": {
            "decided_by": "keywords",
            "confidence": 0.5,
            "words": [{"name": "convention", "words": ["style"]}],
            "tied": ["convention", "fact"],
        },
        "domain": [{"name": "python", "words": ["pytest"]}],
        "tags": [],
        "confidence": {
            "stored": 0.4,
            "steps": [{"about": "seen once", "does": "base", "value": 0.5}],
        },
        "status": "1 contradiction speaks against it",
    },
    "promotion": {"checks": CHECKS},
}
_FIGURES = {
    "cluster": 0.88,
    "judged": 0.5,
    "merges": {"precision": 1.0, "recall": 0.5},
    "contradictions": {"precision": None, "recall": None},
    "contradictions_merged": 0,
}
_SUGGESTION = {
    "domain": None,
    "counts": {"duplicate": 21, "contradiction": 0},
    "now": _FIGURES,
    "then": {**_FIGURES, "judged": 0.45},
    "better": True,
    "reason": "",
}
_FEW = {**_SUGGESTION, "domain": "rust", "better": False, "reason": "1 of 20 decided pairs"}

#: Verb -> what the daemon answers.
ANSWERS: dict[str, dict[str, Any]] = {
    "contradictions": {"total": 3, "open": 1, "contextual": 4, "contradictions": [PAIR]},
    "contradiction": PAIR,
    "resolve_contradiction": {**PAIR, "status": "resolved", "kept_id": _OTHER["id"]},
    "dismiss_contradiction": {**PAIR, "status": "dismissed"},
    "insight": _INSIGHT,
    "promotions": {
        "looked_at": 9,
        "eligible": 1,
        "reasons": {"ready": 1, "not_promoted": 2, "confidence": 6, "age": 0},
        "insights": [{**_INSIGHT, "missing": CHECKS[1:]}],
    },
    "fragments": {
        "total": 1,
        "fragments": [
            {
                "heading": "Style",
                "project": "atlas",
                "path": "/a/CLAUDE.md",
                "scope": "docs",
                "line_start": 3,
                "line_end": 9,
                "statements": 4,
                "shared": 1,
                "contradicted": 1,
                "waiting": 0,
            }
        ],
    },
    "calibrate": {
        "pairs": 21,
        "suggestions": [_SUGGESTION, _FEW],
        "written": None,
        "changed": [],
    },
    "pace": {"scans": 0, "files": 0, "texts": 0, "others": 0},
    "scan": {"id": "evt_1", "topic": "scan:requested", "seq": 7},
    "insights": {"total": 14, "insights": []},
}
