"""When a compiled form is made, and what a failure of that is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cortex_actors.embedding.factory import AbsentProvider
from cortex_actors.errors import CompileFailed, NotCompilable, Refused
from cortex_actors.storage import models
from cortex_actors.storage.models import ChosenModel
from cortex_actors.testing import eventually
from tests.embedding.migrating import Bench, Steered, bench
from tests.storage.support import text_hash

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.storage.ledger.actor import Connection

FLOAT = ChosenModel("mini", "sentence-transformers", "mini", 8)
COMPILED = ChosenModel("mini+int8-0123abcd", "sentence-transformers", "mini", 8)

#: Of the texts in the home.
HASHES = frozenset({text_hash("a"), text_hash("b")})


def steered(chosen: ChosenModel) -> Steered:
    """Return a provider that calls itself that model."""
    found = Steered(chosen.dimension)
    found.model_id = chosen.model_id
    return found


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Bench]:
    """Give a home in which a float model answers that has a compiled form."""
    async with bench(tmp_path) as found:
        await found.says("a", "b")
        await found.store.write(lambda c: models.settle(c, FLOAT, 1))
        found.seat.provider = steered(FLOAT)
        found.seat.form = COMPILED
        found.seat.known = {each.model_id: steered(each) for each in (FLOAT, COMPILED)}
        yield found


async def answers(home: Bench, chosen: ChosenModel) -> None:
    """Wait until a model answers, in the ledger, too."""
    await eventually(lambda: chosen.model_id == home.seat.provider.model_id)
    assert chosen == await home.store.read(models.find_active)


class TestByItself:
    async def test_migrates(self, home: Bench) -> None:
        """The model that answers is compiled, everything embedded with that, and it answers."""
        async with home.runs(compiles=True):
            await answers(home, COMPILED)

        assert 1 == home.seat.compiles

    async def test_not_wanted(self, home: Bench) -> None:
        """Without `embedding.compile` the float model goes on."""
        async with home.runs():
            await home.is_at("idle")

        assert 0 == home.seat.compiles

    async def test_once(self, home: Bench) -> None:
        """A compiled model that answers and is there is not compiled again."""
        await home.store.write(lambda c: models.begin(c, COMPILED, 2))
        async with home.runs(compiles=True):
            await answers(home, COMPILED)
            await home.is_at("idle")

        assert 0 == home.seat.compiles

    async def test_other_model(self, home: Bench) -> None:
        """A migration to a float model goes to its compiled form at once, not by way of it."""
        other = ChosenModel("maxi", "sentence-transformers", "maxi", 8)
        home.seat.known["maxi"] = steered(other)
        home.seat.form = large = ChosenModel("maxi+int8-0123abcd", other.provider, "maxi", 8)
        home.seat.known[large.model_id] = steered(large)
        await home.store.write(lambda c: models.begin(c, other, 2))
        async with home.runs(compiles=True):
            await answers(home, large)

        assert ["maxi+int8-0123abcd"] == home.seat.taken

    async def test_own_source(self, home: Bench) -> None:
        """A migration back to the float form is refused while compiled forms are wanted."""
        async with home.runs(compiles=True):
            await answers(home, COMPILED)
            with pytest.raises(Refused, match=r"set embedding\.compile = false"):
                await home.migrate("mini")
        async with home.runs():
            await home.migrate("mini")
            await answers(home, FLOAT)


class TestFailure:
    async def test_passes(self, home: Bench) -> None:
        """A compile that failed is a state with its reason, and tried again when asked to."""
        home.seat.form = CompileFailed("the child was killed")
        async with home.runs(compiles=True):
            await home.is_at("idle", "the child was killed")
            assert FLOAT == await home.store.read(models.find_active)
            home.seat.form = COMPILED
            await home.prepare()
            await answers(home, COMPILED)
            assert "" == (await home.describe()).reason

    async def test_for_ever(self, home: Bench) -> None:
        """A model that has no compiled form is no fault: it answers as it is, and that is noted."""
        home.seat.form = NotCompilable("it is made of something else")
        async with home.runs(compiles=True):
            await eventually(lambda: 1 == home.seat.compiles)
            info = await home.is_at("idle")

        assert ("", "it is made of something else") == (info.reason, info.note)

    async def test_on_the_way(self, home: Bench) -> None:
        """A coming model that cannot be compiled comes as it is."""
        other = ChosenModel("maxi", "sentence-transformers", "maxi", 8)
        home.seat.known["maxi"] = steered(other)
        home.seat.form = NotCompilable("no")
        await home.store.write(lambda c: models.begin(c, other, 2))
        async with home.runs(compiles=True):
            await answers(home, other)

    async def test_failed_on_the_way(self, home: Bench) -> None:
        """A coming model whose compile failed comes in its float form, and that is told."""
        other = ChosenModel("maxi", "sentence-transformers", "maxi", 8)
        home.seat.known["maxi"] = steered(other)
        home.seat.form = CompileFailed("the child was killed")
        await home.store.write(lambda c: models.begin(c, other, 2))
        async with home.runs(compiles=True):
            await answers(home, other)
            info = await home.is_at("idle")

        told = "the child was killed; the migration goes on with its float form"
        assert told == info.reason

    async def test_under_way(self, home: Bench) -> None:
        """A compile that is under way tells its model, since when, and its last step."""
        goes, before = asyncio.Event(), home.clock.now()
        home.seat.compiling = goes.wait
        home.seat.form = COMPILED
        async with home.runs(compiles=True):
            making = (await home.is_at("compiling")).making
            goes.set()
            await answers(home, COMPILED)

        assert making is not None
        assert ("mini", "quantising") == (making.source, making.step)
        assert before <= making.since


class TestDamaged:
    @pytest.fixture
    async def damaged(self, home: Bench) -> Bench:
        """Give a home whose compiled model answers and is not to be read any more."""

        def unit(connection: Connection) -> None:
            models.begin(connection, COMPILED, 2)
            models.switch(connection, COMPILED.model_id, but=HASHES, at=3)

        await home.store.write(unit)
        home.seat.provider = AbsentProvider(COMPILED.model_id, 8, "a byte was flipped")
        return home

    async def test_same_again(self, damaged: Bench) -> None:
        """Made again byte for byte, it answers at once, and nothing is embedded again."""
        async with damaged.runs(compiles=True):
            await eventually(lambda: [COMPILED.model_id] == damaged.seat.taken)
            await damaged.is_at("idle")

        assert COMPILED == await damaged.store.read(models.find_active)
        assert isinstance(damaged.seat.provider, Steered)
        assert [] == damaged.seat.provider.batches

    async def test_another(self, damaged: Bench) -> None:
        """Where it comes out another one, everything is embedded with that, and nothing mixed."""
        again = ChosenModel("mini+int8-ffffffff", "sentence-transformers", "mini", 8)
        damaged.seat.form = again
        damaged.seat.known[again.model_id] = steered(again)
        async with damaged.runs(compiles=True):
            await answers(damaged, again)

        assert [again.model_id] == damaged.seat.taken
