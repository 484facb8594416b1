"""What may be turned: how much is asked for, and how answers become one."""

from __future__ import annotations

import asyncio

import pytest

from cortex_actors.errors import BadInput
from cortex_actors.federation.fan import BUDGET_LIMIT
from cortex_actors.federation.store import LOCAL, Fan, Member
from cortex_actors.sections import FederationSettings
from cortex_actors.testing import eventually
from tests.federation.support import Shelf, Village


class TestNumbers:
    async def test_asked_for_more(self, one: Shelf, two: Shelf) -> None:
        """Every store is asked for more than is wanted, as far as it gives so many."""
        two.most = 7
        await (await Village([one, two]).begin()).recall(limit=5)

        assert ([10], [7]) == (one.limits, two.limits)

    async def test_alone(self, one: Shelf) -> None:
        """What is known here is asked for what is wanted while nobody else is asked."""
        one.kind = LOCAL
        await (await Village([one]).begin()).recall(limit=5)

        assert [5] == one.limits

    async def test_knobs(self, one: Shelf, two: Shelf) -> None:
        """Whoever names no number has as many hits as the knobs say."""
        village = await Village(
            [one, two], knobs=FederationSettings(n_results=2, fetch_multiplier=3)
        ).begin()

        assert 2 == len((await village.recall(limit=None)).hits)
        assert [6] == one.limits

    async def test_budget(self, one: Shelf, two: Shelf) -> None:
        """A budget of tokens is filled with whole hits, and what they cost is told."""
        found = await (await Village([one, two]).begin()).recall(limit=None, budget_tokens=35)

        # A line of 31 and one of 13 characters with their ends: two hits have 92, 23 tokens.
        assert (2, 23, 35) == (len(found.hits), found.tokens, found.budget_tokens)
        assert 92 == len(f"{found.text}\n")

    async def test_budget_and_limit(self, one: Shelf) -> None:
        """A number beside a budget is kept, too."""
        found = await (await Village([one]).begin()).recall(limit=1, budget_tokens=1_000)

        assert (1, 12) == (len(found.hits), found.tokens)

    async def test_budget_asks(self, one: Shelf, two: Shelf) -> None:
        """Stores are asked for as many short hits as would fill a budget."""
        await (await Village([one, two]).begin()).recall(limit=None, budget_tokens=1_600)

        assert [100] == one.limits

    async def test_no_budget(self, one: Shelf) -> None:
        """Without a budget it is told what the answer costs, and nothing is left out."""
        found = await (await Village([one]).begin()).recall()

        assert (35, None) == (found.tokens, found.budget_tokens)

    @pytest.mark.parametrize("budget", [0, -5, BUDGET_LIMIT + 1])
    async def test_refused(self, one: Shelf, budget: int) -> None:
        """A budget that nothing fits into, or everything, is bad input."""
        with pytest.raises(BadInput, match=f"budget_tokens is {budget}"):
            await (await Village([one]).begin()).recall(budget_tokens=budget)


class TestKnobs:
    async def test_weight(self, one: Shelf, two: Shelf) -> None:
        """A heavier store comes first."""
        found = await (await Village([one, two], weights={"two": 2.0}).begin()).recall()

        assert ["x", "y"] == [hit.id for hit in found.hits[:2]]

    async def test_floor(self, one: Shelf, two: Shelf) -> None:
        """What does not reach its store's floor has no place, and those behind it move up."""
        found = await (await Village([one, two], floors={"one": 0.4}).begin()).recall()

        assert ["a", "x", "b", "y"] == [hit.id for hit in found.hits]

    async def test_quota(self, one: Shelf, two: Shelf) -> None:
        """Every store has its seats, however light it is."""
        village = await Village([one, two], weights={"one": 9.0}).begin()

        assert ["a", "x"] == [hit.id for hit in (await village.recall(limit=2)).hits]

    async def test_share(self, one: Shelf, two: Shelf) -> None:
        """A limit of one store's share is for other programs, and not for what is known here."""
        one.kind = LOCAL
        village = await Village([one, two], knobs=FederationSettings(max_store_share=0.2)).begin()

        found = [hit.store for hit in (await village.recall(limit=5)).hits]
        assert (3, 1) == (found.count("one"), found.count("two"))

    async def test_silent_others(self, one: Shelf, two: Shelf) -> None:
        """While nobody else has an answer, what is known here stays as its search ranked it."""
        one.kind, two.hits = LOCAL, []
        found = await (await Village([one, two]).begin()).recall()

        assert [0.9, 0.5, 0.1] == [hit.score for hit in found.hits]
        assert ("one", "two") == found.asked

    async def test_unbindable(self, one: Shelf) -> None:
        """A store that cannot be asked as it is described is listed with why."""
        village = Village([one], unbindable=(("odd", "there is no type odd"),))

        assert (("odd", "there is no type odd"),) == (
            await (await village.begin()).recall()
        ).skipped

    async def test_swapped(self, one: Shelf, two: Shelf) -> None:
        """Whatever is turned meanwhile, one question sees one state of the roster."""
        one.gate.clear()
        village = await Village([one]).begin()
        task = asyncio.create_task(village.recall())
        await eventually(lambda: 1 == len(one.asked))
        village.roster.now = Fan((Member(two),))
        one.gate.set()

        assert ("one",) == (await task).asked
        assert ("two",) == (await village.recall()).asked
