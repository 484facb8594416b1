"""The least attention: the ledger selects what has it by the formula, and leaves what has not."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from cortex_actors.domain.memory import Layer, Memory
from cortex_actors.rules import decay
from cortex_actors.rules.decay import DECAYS, HOUR, Decay
from cortex_actors.storage import memory_records
from cortex_actors.storage.search.query import Where
from cortex_actors.storage.search.scope import match_present
from cortex_actors.storage.tables.schema import memories as rows
from cortex_actors.testing import EPOCH
from tests.storage.room import Room
from tests.storage.things import mem, memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.storage.things import Tables

#: A layer that fades in another way than the document's.
OTHERS = {**DECAYS, Layer.SENSORY: Decay(1.0, 0.0)}


def selected(
    tables: Tables, least: float, now: int, decays: Mapping[Layer, Decay] = DECAYS
) -> set[str]:
    """Return the memories that have that attention, as the ledger says."""
    query = select(rows.c.id).where(match_present(least, now, decays))
    return set(tables.connection.execute(query).scalars())


def some_memories(chance: random.Random, count: int) -> list[Memory]:
    """Return memories of every layer, read and promoted now and then, a few of them pinned."""
    return [
        memory(
            f"n{number}",
            -chance.randrange(2_000 * HOUR),
            layer=chance.choice(list(Layer)),
            access_count=chance.choice([0, 0, 1, 4, 5, 9]),
            accessed_at=chance.choice([None, EPOCH - chance.randrange(200 * HOUR)]),
            promoted_at=chance.choice([None, None, EPOCH - chance.randrange(100 * HOUR)]),
            pinned_at=chance.choice([None] * 9 + [EPOCH]),
        )
        for number in range(count)
    ]


class TestPresent:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", [1, random.randrange(10**6)])
    def test_formula(self, tables: Tables, seed: int) -> None:
        """For any memories, any moment and any least one, the ledger agrees with the formula."""
        chance = random.Random(seed)
        some = some_memories(chance, 60)
        memory_records.save(tables.connection, some)
        for _ in range(3):
            now = EPOCH + chance.randrange(-50 * HOUR, 500 * HOUR)
            decays = chance.choice([DECAYS, OTHERS])
            weights = {each.id: decay.compute_attention(each, now, decays) for each in some}
            for least in (chance.uniform(0, 1.5), chance.choice(list(weights.values()))):
                expected = {name for name, weight in weights.items() if weight >= least}
                assert expected == selected(tables, least, now, decays), (seed, now, least)

    def test_to_the_microsecond(self, tables: Tables) -> None:
        """A memory that halves in six hours has a half until then, and not a microsecond longer."""
        memory_records.save(tables.connection, [memory("x", layer=Layer.SENSORY)])

        assert {mem("x")} == selected(tables, 0.5, EPOCH + 6 * HOUR)
        assert set() == selected(tables, 0.5, EPOCH + 6 * HOUR + 1)

    def test_more_than_any(self, tables: Tables) -> None:
        """More attention than anything can have selects nothing, not even what is pinned."""
        memory_records.save(tables.connection, [memory("x", pinned_at=EPOCH, layer=Layer.CORTEX)])

        assert set() == selected(tables, 1.6, EPOCH)
        assert {mem("x")} == selected(tables, 1.0, EPOCH)

    async def test_at_the_search(self, tables: Tables) -> None:
        """A search weighs attention at its own moment, by its own settings, and shows it."""
        room = Room(tables, working_half_life_h=1.0, working_floor=0.0)
        room.remember(memory("deploy"))
        where = Where(attention=0.25)

        (hit,) = (await room.ask("deploy", where=where, now=EPOCH + 2 * HOUR)).hits
        assert (0.25, 1.0) == (hit.extra["attention"], hit.extra["decay_rate"])
        assert [] == await room.texts("deploy", where=where, now=EPOCH + 2 * HOUR + 1)
