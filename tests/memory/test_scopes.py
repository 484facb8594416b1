"""Within what memories become one: whatever is said, a whole and its parts are of one place."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.memory import Memory, Realm
from cortex_actors.storage.search.similar_memories import MergeScope
from cortex_actors.storage.tables import schema
from tests.memory.remembering import Planted, Remembering
from tests.memory.test_archivist import AGAIN, AT, OTHERS, REDIS
from tests.pipeline.support import opened

if TYPE_CHECKING:
    from pathlib import Path

#: What may differ between two who say the same.
PLACES: dict[str, tuple[str, ...]] = {
    "project_id": ("", "prj_a", "prj_b"),
    "agent": ("A", "B"),
    "thread": ("", "t"),
    "realm": (Realm.PRIVATE, Realm.BRIDGE),
}

_PARTS = (
    "SELECT w.id, p.id FROM memories AS w JOIN memories AS p ON p.merged_into = w.id ORDER BY p.id"
)


@pytest.mark.parametrize("seed", range(3))
async def test_one_place(tmp_path: Path, seed: int) -> None:
    """A whole and its parts have one realm, agent, thread and project; each place has its own."""
    chance = random.Random(seed)
    async with opened(tmp_path) as office:
        there = await Remembering(office, Planted(AT)).begin()
        said = set()
        for _ in range(60):
            where: dict[str, Any] = {name: chance.choice(some) for name, some in PLACES.items()}
            text = chance.choice((REDIS, AGAIN, *OTHERS))
            await there.say(text, **where, related=("C",))
            said.add((text in {REDIS, AGAIN} or text, *where.values()))
        pairs = await office.read(lambda c: c.exec_driver_sql(_PARTS).all())
        every = await there.all()

    assert pairs
    assert all(
        MergeScope.from_memory(every[whole]) == MergeScope.from_memory(every[part])
        for whole, part in pairs
    )
    active = [each for each in every.values() if each.status == "active"]
    assert len(said) == len(active)


def test_every_condition() -> None:
    """A scope is of all that a memory has of a place, so that no part of it is forgotten."""
    one = Memory("mem_1", Realm.PRIVATE, "A", "x", 0)
    for name in ("realm", "agent_id", "thread", "role", "project_id"):
        assert name in schema.memories.c
        assert MergeScope.from_memory(one).place != MergeScope.from_memory(_other(one, name)).place


def _other(memory: Memory, name: str) -> Memory:
    """Return a memory that lies elsewhere by one thing."""
    given = {each: getattr(memory, each) for each in ("id", "realm", "agent_id", "text")}
    value = Realm.VILLAGE if name == "realm" else "prj_x"
    return Memory(**{**given, "created_at": 0, name: value})
