"""What a daemon answers to the verbs about trust."""

from __future__ import annotations

from typing import Any

from tests.cli.tuned import CHECKS, ODD

_REVIEW: dict[str, Any] = {
    "id": "ins_aaaaaaaabbbb",
    "content": ODD,
    "category": "warning",
    "confidence": 0.5,
    "observations": 3,
    "projects": ["atlas"],
    "sources": [{"path": "/a/CLAUDE.md", "line_start": 3}],
    "asks": "promotion",
    "because": "1 of 2 independent projects say it",
    "trust": ["remote"],
}
_WHOLE = {
    **_REVIEW,
    "status": "active",
    "decision": "approved",
    "decided_at": 0,
    "note": "as we do",
    "principles": [],
    "places": [
        {
            "project": "atlas",
            "path": "/a/CLAUDE.md",
            "line_start": 3,
            "trust": "import",
            "first_at": 0,
            "withdrawn_at": 1,
        }
    ],
    "promotion": {"checks": CHECKS},
}
TAKEN: dict[str, Any] = {
    "kind": "project",
    "key": "prj_1",
    "name": "atlas",
    "revoked": ["prj_1"],
    "places": 7,
    "gone": 12,
    "texts": [{"id": "ins_aaaaaaaabbbb", "content": ODD}],
    "freed": [{"id": "ins_ccccccccdddd", "content": "Use spaces."}],
    "principles": [{"id": "pri_aaaaaaaabbbb", "content": ODD}],
    "weaker": [],
    "files": [{"path": "/b/CLAUDE.md", "agent": "claude"}],
    "checkouts": ["/copy/of/atlas"],
    "dry_run": False,
}
ANSWERS: dict[str, dict[str, Any]] = {
    "reviews": {
        "total": 3,
        "use": 1,
        "promotion": 1,
        "write": 1,
        "approved": 4,
        "rejected": 1,
        "reviews": [
            _REVIEW,
            {**_REVIEW, "asks": "use", "because": "hidden characters"},
            {**_REVIEW, "id": "pri_aaaaaaaabbbb", "asks": "write", "because": "a principle"},
        ],
    },
    "review": _WHOLE,
    "approve": _WHOLE,
    "reject": {**_WHOLE, "decision": "rejected"},
    "revoke": TAKEN,
    "lift": {"kind": "project", "key": "prj_1", "name": "atlas", "read_again": True},
    "revoked": {
        "revoked": [
            {
                "kind": "insight",
                "key": "ins_aaaaaaaabbbb",
                "name": "ins_aaaaaaaabbbb",
                "content": ODD,
                "note": "wrong",
                "at": 0,
            }
        ],
        "left_over": [
            {
                "path": "/b/CLAUDE.md",
                "agent": "claude",
                "bullet": f"- {ODD}",
                "reason": "edited by hand",
            }
        ],
    },
}
