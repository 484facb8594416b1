"""What a daemon answers to the verbs about stores."""

from __future__ import annotations

from typing import Any

LOCAL: dict[str, Any] = {
    "name": "local",
    "type": "local",
    "url": "",
    "weight": 1.0,
    "floor": 0.0,
    "enabled": True,
    "managed": False,
    "auth": False,
    "status": "active",
    "options": {},
}
NOTES: dict[str, Any] = {
    **LOCAL,
    "name": "notes",
    "type": "seren_memory",
    "url": "http://127.0.0.1:7420",
    "weight": 0.5,
    "floor": 0.25,
    "managed": True,
    "auth": True,
    "options": {"include_short": False},
}
AWAY = {
    **NOTES,
    "name": "team",
    "type": "chroma",
    "status": "skipped: it needs options.collection\x1b[31m",
}
_HEALTH: dict[str, Any] = {
    "name": "notes",
    "status": "degraded",
    "up": True,
    "total": 40,
    "succeeded": 38,
    "failed": 2,
    "success_rate": 0.95,
    "latency_ms": 12.345,
    "last_latency_ms": 9.0,
    "max_latency_ms": 1_234.5,
    "last_error": "timeout after 5.00 s",
    "consecutive_failures": 1,
}
ANSWERS: dict[str, dict[str, Any]] = {
    "stores": {
        "stores": [LOCAL, NOTES, AWAY],
        "active": ["local", "notes"],
        "types": ["chroma", "seren_memory"],
        "knobs": {"k": 30},
        "turned": {"k": {"live": 30, "settings": 60}},
        "tuned": {"away": {"enabled": {"live": True, "settings": False}}},
        "supported_knobs": ["k"],
        "trouble": ["/h/runtime-stores.json is not used: it is no JSON"],
    },
    "add_store": {
        "added": "notes",
        "store": NOTES,
        "resolves": {"127.0.0.1": "loopback"},
        "active": ["local", "notes"],
        "warnings": ["the token of notes is kept in runtime-stores.json"],
    },
    "remove_store": {
        "removed": "notes",
        "active": ["local"],
        "warnings": ["a token is still in the keyring as cortex-actors/notes"],
    },
    "enable_store": {"store": NOTES, "active": ["local", "notes"], "lasts": "kept"},
    "disable_store": {
        "store": {**NOTES, "enabled": False},
        "active": ["local"],
        "lasts": "restart",
    },
    "tune_store": {"store": NOTES, "active": ["local", "notes"], "lasts": "kept"},
    "configure": {
        "changed": {"k": 30, "fusion_mode": "rrf_pct"},
        "active": ["local", "notes"],
        "lasts": "restart",
        "kept": [],
    },
    "knobs": {
        "knobs": [
            {"name": "k", "live": 30, "settings": 60, "default": 60, "twiddled": True},
            {
                "name": "edges_enabled",
                "live": True,
                "settings": True,
                "default": True,
                "twiddled": False,
            },
        ]
    },
    "store_health": {
        "stores": [
            {
                **_HEALTH,
                "name": "local",
                "status": "unknown",
                "total": 0,
                "success_rate": 0.0,
                "last_error": "",
            },
            _HEALTH,
        ]
    },
    "ping_store": {
        "stores": [
            {
                "name": "notes",
                "ok": True,
                "ms": 3.2,
                "reason": "",
                "says": {"service": "SerenMemory", "version": "5.4.0\x1b[31m"},
            }
        ]
    },
}
