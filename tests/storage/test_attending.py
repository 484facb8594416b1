"""What is written of how memories are read; and the formula as SQL, the same as the formula."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from cortex_actors.domain.memory import PROBE, Layer, MemoryStatus
from cortex_actors.rules import decay
from cortex_actors.rules.decay import CLOSE, DECAYS, HOUR, Decay, find_floor
from cortex_actors.storage import memory_records
from cortex_actors.storage.memory import memory_attention, memory_states
from cortex_actors.storage.memory.memory_attention import AccessCount
from cortex_actors.storage.search.scope import match_faded, match_present
from cortex_actors.storage.tables.schema import memories as rows
from cortex_actors.testing import EPOCH
from tests.storage.things import Tables, in_memory, mem, memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.domain.memory import Memory

#: Memories that the formula is compared on.
COUNT = 150

half_lives = st.floats(0.1, 10_000)
decays = st.fixed_dictionaries(
    {layer: st.builds(Decay, half_lives, st.floats(0, 1)) for layer in DECAYS}
)


def scattered(seed: int = 8) -> list[Memory]:
    """Return memories of every kind, at all ages, some of them at the edges of the windows."""
    random = Random(seed)
    return [_one(random, number) for number in range(COUNT)]


def _one(random: Random, number: int) -> Memory:
    layer = random.choice(list(Layer))
    age = random.choice([0, 6 * HOUR, 72 * HOUR, random.randrange(2_000 * HOUR)])
    known: dict[str, Any] = {}
    if random.random() < 0.5:
        known |= {"accessed_at": EPOCH - age // 2, "access_count": random.randrange(8)}
    if random.random() < 0.2:
        known["promoted_at"] = EPOCH - age // 3
    if random.random() < 0.1:
        known["pinned_at"] = EPOCH
    return memory(f"x {number}", -age, layer=layer, thread="", **known)


@pytest.fixture(scope="module")
def scene() -> Iterator[tuple[Tables, list[Memory]]]:
    """Give memories of every kind, in tables that no test changes."""
    with in_memory() as tables:
        some = scattered()
        tables.write(lambda c: memory_records.save(c, some))
        yield tables, some


class TestFormula:
    @pytest.mark.slow
    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(least=st.floats(0, 1.6), ahead=st.integers(-HOUR, 500 * HOUR), other=decays)
    def test_present(
        self,
        scene: tuple[Tables, list[Memory]],
        least: float,
        ahead: int,
        other: dict[Layer, Decay],
    ) -> None:
        """The condition in SQL holds for exactly those that have that attention by the formula."""
        tables, some = scene
        now = EPOCH + ahead
        query = select(rows.c.id).where(match_present(least, now, other))

        found = set(tables.read(lambda c: list(c.execute(query).scalars())))
        assert found == {
            each.id for each in some if decay.compute_attention(each, now, other) >= least
        }

    @pytest.mark.parametrize("least", [0.1, 0.2, 0.3, 0.5, 0.6, 1.0, 1.1, 1.5])
    def test_round_numbers(self, scene: tuple[Tables, list[Memory]], least: float) -> None:
        """That is so for the numbers that people ask for, which lie on the edges."""
        tables, some = scene
        query = select(rows.c.id).where(match_present(least, EPOCH, DECAYS))

        found = set(tables.read(lambda c: list(c.execute(query).scalars())))
        assert found == {each.id for each in some if decay.compute_attention(each, EPOCH) >= least}

    @pytest.mark.slow
    @settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(ahead=st.integers(0, 5_000 * HOUR), other=decays)
    def test_faded(
        self, scene: tuple[Tables, list[Memory]], ahead: int, other: dict[Layer, Decay]
    ) -> None:
        """Faded are exactly those that are near what they keep for ever, and fade at all."""
        tables, some = scene
        before = EPOCH + ahead
        query = select(rows.c.id).where(match_faded(before, other))

        found = set(tables.read(lambda c: list(c.execute(query).scalars())))
        assert found == {each.id for each in some if _has_faded(each, before, other)}


def _has_faded(memory: Memory, at: int, decays: dict[Layer, Decay]) -> bool:
    if (
        memory.layer not in decays
        or memory.pinned_at is not None
        or at < decay.find_touched(memory)
    ):
        return False
    most = find_floor(memory.layer, memory.access_count, decays) + CLOSE
    return decay.compute_attention(memory, at, decays) <= most


class TestRead:
    def test_counts(self, tables: Tables) -> None:
        """What was read is counted, its time is the latest, and its attention the formula's."""
        tables.write(lambda c: memory_records.save(c, [memory("x", layer=Layer.WORKING)]))
        now = EPOCH + 80 * HOUR
        for at in (now - 72 * HOUR, now - 73 * HOUR):  # the second one came late
            readings = {mem("x"): AccessCount(2, at)}
            tables.write(
                partial(memory_attention.write_accesses, readings=readings, now=now, decays=DECAYS)
            )

        found = tables.read(lambda c: memory_records.read(c, [mem("x")], MemoryStatus))[mem("x")]
        assert (4, now - 72 * HOUR) == (found.access_count, found.accessed_at)
        assert 0.9 == found.attention

    def test_active_alone(self, tables: Tables) -> None:
        """What is unknown, is not active or is a probe is left alone."""
        some = [memory("gone"), memory("probe", agent_id=PROBE, thread="")]
        tables.write(lambda c: memory_records.save(c, some))
        tables.write(lambda c: memory_states.archive(c, [mem("gone")], EPOCH))
        readings = {each: AccessCount(1, EPOCH) for each in (mem("gone"), mem("probe"), "mem_no")}

        assert [] == tables.write(
            lambda c: memory_attention.write_accesses(c, readings, now=EPOCH, decays=DECAYS)
        )


class TestRipe:
    def test_in_time(self, tables: Tables) -> None:
        """Those that wait for their age are found when it has come, the longest wait first."""
        some = [memory(each, at) for each, at in (("a", 9), ("b", 5), ("c", 7))]
        tables.write(lambda c: memory_records.save(c, some))
        until = {each.id: each.created_at + HOUR for each in some}
        tables.write(lambda c: memory_attention.note_due(c, until))

        def ripe(at: int) -> list[str]:
            return [
                each.id for each in tables.read(lambda c: memory_attention.list_ripe(c, at, 10))
            ]

        assert [] == ripe(EPOCH)
        assert [mem("b"), mem("c")] == ripe(EPOCH + HOUR + 7)

    def test_by_the_index(self, tables: Tables) -> None:
        """Looking for them costs what is ripe, and not what there is."""
        found: list[str] = []
        tables.connection.connection.driver_connection.set_trace_callback(found.append)  # type: ignore[union-attr]
        tables.read(lambda c: memory_attention.list_ripe(c, EPOCH, 10))
        plan = tables.rows(f"EXPLAIN QUERY PLAN {found[-1]}")

        assert any("memory_attention_due" in str(row[-1]) for row in plan)
        assert not any(str(row[-1]).startswith("SCAN") for row in plan)

    def test_waits_for_nothing(self, tables: Tables) -> None:
        """What waits for nothing is not found."""
        tables.write(lambda c: memory_records.save(c, [memory("a")]))
        until = decay.find_ripe_time(Layer.LONG_TERM, 99, said_at=EPOCH)
        tables.write(lambda c: memory_attention.note_due(c, {mem("a"): until}))

        assert [] == tables.read(lambda c: memory_attention.list_ripe(c, EPOCH * 2, 10))
