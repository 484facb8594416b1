"""What comes before what in a thread, whoever may read it and in whichever order it came."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.memory import Realm
from cortex_actors.storage import memory_records
from cortex_actors.storage.memory import memory_states
from cortex_actors.testing import EPOCH
from tests.storage.things import active_ids, memory

if TYPE_CHECKING:
    from cortex_actors.domain.memory import Memory
    from tests.storage.things import Tables

#: Memories of a run, and steps in which they change.
MANY, STEPS = 40, 12

#: Circles of readers of a bridge: who says it, and for whom.
CIRCLES = (("A", ("B",)), ("B", ("A",)), ("A", ("B", "C")), ("C", ("A",)), ("B", ()))


def some_memories(random: Random) -> list[Memory]:
    """Return memories of two threads, some of them of one moment, in no order."""
    made = []
    for number in range(MANY):
        agent, related = random.choice(CIRCLES)
        realm = random.choice([Realm.BRIDGE, Realm.BRIDGE, Realm.PRIVATE, Realm.VILLAGE])
        thread, at = random.choice(["talk", "other"]), random.randrange(MANY // 2)
        made.append(
            memory(f"m{number}", at, agent_id=agent, related=related, realm=realm, thread=thread)
        )
    return made


def kept(tables: Tables) -> list[tuple[object, ...]]:
    """Return all passages."""
    return tables.rows("SELECT item_id, place, text FROM passages ORDER BY item_id, place")


@pytest.mark.parametrize("seed", range(4))
def test_agrees(tables: Tables, seed: int) -> None:
    """Whatever came and went, memories are found as they are when all of them are made anew."""
    random = Random(seed)
    left = some_memories(random)
    for _ in range(STEPS):
        some = [left.pop() for _ in range(min(len(left), random.randrange(1, 9)))]
        tables.write(partial(memory_records.save, some=some))
        there = tables.read(active_ids)
        gone = random.sample(there, min(len(there), 2))
        tables.write(partial(memory_states.archive, ids=gone, at=EPOCH))
        if random.random() < 0.5:
            tables.write(partial(memory_states.restore, ids=gone[:1], at=EPOCH))
        before = kept(tables)
        tables.write(lambda c: memory_records.remake(c, active_ids(c)))

        assert kept(tables) == before, f"seed {seed}"


class TestFollowing:
    def test_bridge(self, tables: Tables) -> None:
        """On a bridge only the next one of each circle of readers follows, however long it is."""
        talk = [
            memory(f"{n}", n, realm=Realm.BRIDGE, related=("B",) if n % 2 else ("B", "C"))
            for n in range(20)
        ]
        tables.write(lambda c: memory_records.save(c, talk))
        found = tables.read(lambda c: memory_records.list_following(c, [talk[4].id]))

        assert [talk[5].id, talk[6].id] == found

    def test_nothing(self, tables: Tables) -> None:
        """Nothing comes before or behind nothing."""
        assert ([], {}) == tables.read(
            lambda c: (
                memory_records.list_following(c, []),
                memory_records.load_predecessors(c, []),
            )
        )
