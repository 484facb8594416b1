"""Random lives of memories: the ledger agrees with a model of them after every step."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from cortex_actors.domain.memory import MemoryStatus
from cortex_actors.storage import memory_history, memory_records
from cortex_actors.storage.health import passages
from cortex_actors.storage.health import rows as believed
from cortex_actors.storage.tables.schema import memories as rows
from tests.storage.lives import Lives
from tests.storage.things import active_ids, in_memory

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: What may happen; what is there twice does so more often.
DEEDS = (
    *("remember", "remember", "merge", "merge", "supersede", "archive", "restore"),
    *("split", "split", "undo", "undo", "pin"),
)

#: What happens, and two numbers that choose to whom.
STEP = st.tuples(st.sampled_from(DEEDS), st.integers(0, 30), st.integers(0, 30))
STEPS = st.lists(STEP, min_size=4, max_size=24)


class TestLives:
    @pytest.mark.slow
    @given(STEPS)
    @settings(max_examples=12, deadline=None)
    def test_agrees(self, steps: list[tuple[str, int, int]]) -> None:
        """Whatever is merged, split, superseded, archived, restored and undone, in any order."""
        lived(steps)

    @pytest.mark.soak
    @given(st.lists(STEP, min_size=10, max_size=60))
    @settings(max_examples=100, deadline=None)
    def test_agrees_at_length(self, steps: list[tuple[str, int, int]]) -> None:
        """The same for longer lives, and more of them."""
        lived(steps)


def lived(steps: list[tuple[str, int, int]]) -> None:
    """Live through some steps, and compare what there is and what was with the model."""
    with in_memory() as tables:
        lives = Lives(tables)
        for first in ("one", "two"):
            lives.remember(first)
        lives.remark()
        for what, one, other in steps:
            happen(lives, what, one, other)
            lives.remark()
            assert lives.active == set(tables.read(active_ids))
        agrees(lives)
        assert lives.past == {at: held(tables.connection, at) for at in lives.past}


def happen(lives: Lives, what: str, one: int, other: int) -> None:
    """Let something happen to whom two numbers choose."""
    names = list(lives.known)
    if what == "remember":
        lives.remember(f"text {one % 6}")
    elif what == "undo":
        if lives.deeds:
            lives.undo(list(lives.deeds)[one % len(lives.deeds)])
    elif what in {"merge", "supersede"}:
        getattr(lives, what)(names[one % len(names)], names[other % len(names)])
    else:
        getattr(lives, what)(names[one % len(names)])


def agrees(lives: Lives) -> None:
    """Compare a ledger with its model."""
    read = lives.tables.read
    assert [] == read(believed.list_disagreeing)
    assert [] == read(passages.list_lacking) + read(passages.list_stray)
    assert current(lives) == read(lambda c: memory_history.find_current(c, lives.known))
    for name in lives.known:
        parts = {each for each, life in lives.known.items() if life.whole == name}
        nodes = read(partial(memory_history.load_tree, memory_id=name))
        assert parts == {each.id for each in nodes if each.parent == name}


def current(lives: Lives) -> dict[str, str | None]:
    """Return what each memory stands for, by the model."""
    found: dict[str, str | None] = {}
    for name in lives.known:
        top = name
        while (whole := lives.known[top].whole) is not None:
            top = whole
        found[name] = top if lives.known[top].status is MemoryStatus.ACTIVE else None
    return found


def held(connection: Connection, at: int) -> frozenset[str]:
    """Return what was believed at a moment, by the ledger."""
    query = select(rows.c.id).where(memory_records.match_held_at(at))
    return frozenset(connection.execute(query).scalars())
