"""Whatever ends the index's child costs nobody but the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cortex_actors.errors import (
    BadInput,
    IndexDown,
    LedgerDown,
)
from cortex_actors.storage.index import life, pending, vectors
from cortex_actors.storage.index.life import PAUSES, REST
from cortex_actors.storage.index.vectors import USUAL
from cortex_actors.testing import eventually
from tests.process.branch import INSIGHTS
from tests.storage.fragile import HERE, TEXTS, world
from tests.storage.support import id_of, unit

if TYPE_CHECKING:
    from tests.storage.support import Store


class TestDeaths:
    @pytest.mark.slow
    async def test_hundred_by_questions(self, store: Store) -> None:
        """A hundred deaths, by a question each, restart nobody; every question is answered."""
        async with world(store) as here:
            for number in range(100):
                await here.branch.ready()
                here.shelf.deadly = {"query"}
                answer = await here.branch.answer(unit(1, number, 0), 1)
                exact = await here.branch.exact(unit(1, number, 0), 1)
                assert (exact, False) == answer
                here.shelf.deadly = set()
                await here.rest()
            await here.branch.ready()

            assert 100 == here.branch.info.deaths
            assert [] == here.branch.restarts
            assert ([id_of("z")], True) == await here.branch.answer(unit(0, 0, 1), 1)

    @pytest.mark.slow
    async def test_hundred_at_once(self, store: Store) -> None:
        """A child that dies as soon as it starts is started after longer and longer pauses."""
        async with world(store) as here:
            here.shelf.deadly = {"load"}
            found = []
            for _ in range(100):
                found.append(await here.away())
                await here.rest()
            here.shelf.deadly = set()
            await here.rest()
            await here.branch.ready()

            assert list(PAUSES) == [pytest.approx(each) for each in found[: len(PAUSES)]]
            assert max(PAUSES) == pytest.approx(max(found))
            assert [] == here.branch.restarts

    async def test_over_its_files(self, store: Store) -> None:
        """A child that dies of itself while its files are looked at begins a new generation."""
        async with world(store) as here:
            await here.branch.ready()
            here.shelf.deadly = {"get"}
            here.shelf.children[0].kill()
            await here.rest()
            await here.away()
            here.shelf.deadly = set()
            await here.rest()

            assert 2 == await here.branch.ready()


class TestFailures:
    @pytest.mark.parametrize("op", ["open", "put", "query"])
    async def test_inside(self, store: Store, op: str) -> None:
        """An error inside of Chroma gives the generation up; the next one has everything."""
        async with world(store) as here:
            if op == "open":
                here.shelf.failing = {op}
            else:
                await here.branch.ready()
                here.shelf.failing = {op}
                await here.branch.answer(unit(1, 0, 0), 1)
            if op == "put":
                with pytest.raises(IndexDown, match="on purpose"):
                    await here.branch.put(INSIGHTS, ["a"], np.stack([unit(1, 0, 0)]))
            await here.away()
            here.shelf.failing = set()
            await here.rest()

            assert 2 == await here.branch.ready()
            assert 4 == len(await here.branch.ids(1, 0, 0))

    async def test_hang(self, store: Store) -> None:
        """A child that does not answer in time is killed, and its files are not opened again."""
        async with world(store, index_timeout_s=0.05) as here:
            await here.branch.ready()
            here.shelf.silent = {"query"}
            answer = await here.branch.answer(unit(0, 0, 1), 1)
            here.shelf.silent = set()
            await here.rest()
            await here.branch.ready()

            assert ([id_of("z")], False) == answer
            assert 1 == here.branch.info.given_up

    async def test_busy(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """A question is not kept waiting for a child that is busy, and does it no harm."""
        monkeypatch.setattr(vectors, "PATIENCE", 0.05)
        async with world(store) as here:
            await here.branch.ready()
            here.shelf.silent = {"query"}
            answer = await here.branch.answer(unit(0, 0, 1), 1)

            assert ([id_of("z")], False) == answer
            assert ("ready", 0) == (here.branch.info.state, here.branch.info.given_up)

    async def test_unknown_collection(self, store: Store) -> None:
        """A collection that there is not is the asker's mistake."""
        async with world(store) as here:
            await here.branch.ready()
            with pytest.raises(BadInput, match="cortex_nothing"):
                await here.branch.query("cortex_nothing", unit(1, 0, 0), 1)

    async def test_never_found(self, store: Store) -> None:
        """When no generation finds its own vectors, the second is the last one for an hour."""
        async with world(store) as here:
            here.shelf.deaf = True

            def given_up() -> bool:
                # Found at the first look when the vectors come before it, and at a later one else.
                both = 2 == here.branch.info.given_up
                if not both:
                    here.clock.advance(1)
                    store.clock.advance(1)
                return both

            await eventually(given_up)
            rest = await here.away()

            assert REST == pytest.approx(rest)
            assert 2 == here.branch.info.given_up
            assert "do not find themselves" in here.branch.info.reason


class TestRenewal:
    async def test_begun_once(self, store: Store) -> None:
        """A generation that is given up twice, because an answer was lost, is replaced once."""
        await store.says(HERE, *TEXTS)
        broken = await store.write(lambda c: life.renew_state(c, "test/3", None))
        first = await store.write(lambda c: life.renew_state(c, "test/3", broken))
        second = await store.write(lambda c: life.renew_state(c, "test/3", broken))

        assert (2, first) == (first.generation, second)
        assert 4 == await store.read(pending.count_pending)

    async def test_answer_lost(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """When the ledger commits the new generation and its answer is lost, there is but one."""
        async with world(store) as here:
            await here.branch.ready()
            write, lost = store.records.write, list[pending.IndexState]()

            async def losing(unit: Any, **how: Any) -> Any:
                answer = await write(unit, **how)
                if isinstance(answer, pending.IndexState) and not lost:
                    lost.append(answer)
                    raise LedgerDown("the answer is lost")
                return answer

            monkeypatch.setattr(store.records, "write", losing)
            await here.branch.renew("on purpose")
            while not lost:
                here.clock.advance(await here.away())
                await eventually(lambda: bool(lost) or "ready" == here.branch.info.state)
            await here.rest()

            assert 2 == await here.branch.ready()
            assert 2 == lost[0].generation


class TestTold:
    async def test_usual_start(self, store: Store) -> None:
        """A start is no news until it takes long; then it says for how long."""
        async with world(store) as here:
            here.shelf.silent = {"load"}
            await eventually(lambda: here.shelf.begun > 0)
            early = here.branch.info
            here.clock.advance(USUAL + 5)
            late = here.branch.info
            here.shelf.silent = set()
            here.shelf.children[0].kill()

            assert ("opening", "") == (early.state, early.reason)
            assert "it has been opening for 35 s" == late.reason

    async def test_away(self, store: Store) -> None:
        """An index that is away says why, and when it is tried again."""
        async with world(store) as here:
            here.shelf.deadly = {"load"}
            await here.away()

            assert here.branch.info.reason == (
                "its process ended by signal 11 while it was starting; next attempt in 0.2 s"
            )
