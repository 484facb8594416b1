"""The same file, read by a real Corpus Callosum and by us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.federation.callosum import read_text
from tests.federation import seren

if TYPE_CHECKING:
    from pathlib import Path

_AT = {"type": "seren_loci", "url": "http://127.0.0.1:4"}

#: Stores as people write them, and as they mistype them.
_STORES: list[Any] = [
    {"name": "memory", "type": "seren_memory", "url": "http://127.0.0.1:1/", "bearer_token": "x"},
    {**_AT, "name": "facts", "floor": 0.3, "enabled": False, "project": "*"},
    {**_AT, "name": "facts", "url": "http://127.0.0.1:3"},
    {**_AT, "name": "both", "token": "a", "bearer_token": "b", "weight": "2"},
    {**_AT, "name": "heavy", "weight": "heavy"},
    {**_AT},
    "words",
    {**_AT, "name": 7},
    {**_AT, "name": "odd", "type": "weaviate"},
    {"name": "nowhere", "type": "seren_loci"},
]

#: What both show of a store.
_SHOWN = ("name", "type", "url", "weight", "floor", "enabled", "auth")


@pytest.mark.slow
class TestTheSameFile:
    def test_real(self, tmp_path: Path) -> None:
        """A Callosum's own file means the same stores and the same knobs to both programs."""
        with seren.callosum(tmp_path, _STORES, k=30, n_results=7, hop_terms=2) as server:
            theirs = server.get("/stores")
        ours = read_text((tmp_path / "config.yaml").read_text())

        rows = [
            (each.name, each.type, each.url, each.weight, each.floor, each.enabled, bool(each.auth))
            for each in ours.stores
        ]
        assert [tuple(each[key] for key in _SHOWN) for each in theirs["stores"]] == rows
        assert {key: theirs[key] for key in ours.knobs} == ours.knobs
        assert {"k", "n_results", "hop_terms"} == set(ours.knobs)
