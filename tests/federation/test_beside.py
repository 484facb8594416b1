"""What stands beside an answer moves nothing of it, and never holds it up."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.hit import RankedHit
from cortex_actors.federation import federation
from cortex_actors.federation.store import LOCAL, ByTopic
from cortex_actors.sections import FederationSettings
from cortex_actors.testing import PATIENCE, ManualClock
from cortex_actors.text.summary import BESIDE, compute_price, count_tokens
from tests.federation.remotes import Filed, hit, remote
from tests.federation.support import Shelf, Village

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from cortex_actors.domain.hit import Recall
    from cortex_actors.federation.store import Answer, RecallStore

#: Turns everything off that looks for more.
NOTHING: dict[str, Any] = {"edges_enabled": False, "satellite_budget": 0, "hops": 1}

#: Seconds a store may take here.
SOON = 0.05


class Hanging(Filed):
    """A program that never answers when it is asked by topic."""

    async def find_by_topic(self, asked: ByTopic) -> Answer:
        """Wait for ever."""
        self.topics.append((tuple(asked.topics), tuple(asked.exclude_ids)))
        await asyncio.Event().wait()
        return await super().find_by_topic(asked)


def program(dice: random.Random, name: str) -> Filed:
    """Return a program that knows a few things, with topics and surroundings."""
    some = []
    for number in range(dice.randint(0, 6)):
        near = [{"id": f"{name}s{number}", "text": "near", "edge": "satellite", "metadata": {}}]
        found = hit(f"{name}{number}", base=dice.random(), topic=dice.choice(["ci", "ops", ""]))
        some.append(replace(found, extra={**found.extra, "surroundings": near}))
    return Filed(*some, filed=[hit(f"{name}t{n}") for n in range(3)])


async def ask(
    stores: Sequence[RecallStore], *, clock: ManualClock | None = None, **knobs: Any
) -> Recall:
    """Return what a fan over some stores answers."""
    village = await Village(stores, clock=clock, knobs=FederationSettings(**knobs)).begin()
    return await village.recall(limit=None)


class TestAdditive:
    async def test_by_chance(self) -> None:
        """Whatever stores say and however much more is looked for, the answer is the same."""
        seed = random.randrange(1 << 32)
        dice = random.Random(seed)
        for _ in range(15):
            stores: list[RecallStore] = [
                Shelf(LOCAL, *((f"l{n}", dice.random()) for n in range(3)), kind=LOCAL),
                *(remote(program(dice, name), name) for name in ("a", "b")),
            ]
            turned: dict[str, Any] = {
                "n_results": dice.randint(1, 12),
                "min_per_store": dice.randint(0, 3),
                "fusion_mode": dice.choice(["rrf", "percentile", "rrf_pct"]),
            }
            plain = await ask(stores, **turned, **NOTHING)
            more = await ask(stores, **turned, hops=dice.randint(1, 4), edge_budget=5)

            assert () == plain.beside
            assert plain.hits == more.hits, f"seed {seed}"
            keys = [(each.store, each.id) for each in (*more.hits, *more.beside)]
            assert len(set(keys)) == len(keys), f"seed {seed}"

    async def test_order(self) -> None:
        """First what stands around a hit, then what shares a topic, then what lies behind."""
        near = [{"id": "s", "text": "near", "edge": "satellite", "metadata": {}}]
        first = hit("a", topic="ci")
        far = Filed(replace(first, extra={**first.extra, "surroundings": near}), filed=[hit("t")])
        local = Shelf(LOCAL, ("l", 0.5), ("m", 0.4), kind=LOCAL)
        found = await ask([local, remote(far)], n_results=2, hops=2)

        assert ["s", "t", "m"] == [each.id for each in found.beside]
        assert {0.0} == {each.score for each in found.beside}

    async def test_budget(self) -> None:
        """What is left of a budget pays for it, and nothing beyond."""
        far = Filed(hit("a", topic="ci"), filed=[hit("t", "x" * 400), hit("u", "x" * 4)])
        village = await Village([remote(far)]).begin()
        budget = 2 * compute_price(hit("a")) + count_tokens(f"{BESIDE}\n")
        found = await village.recall(limit=None, budget_tokens=budget)

        assert (["a"], ["u"]) == (
            [each.id for each in found.hits],
            [each.id for each in found.beside],
        )
        assert len(f"{found.text}\n") / 4 <= found.tokens <= budget

    async def test_document(self) -> None:
        """A document that lies behind the answer still says where it was read."""
        local = Shelf(LOCAL, ("l", 0.5), ("d", 0.4), kind=LOCAL)
        local.hits = [
            local.hits[0],
            RankedHit("d", "page", 0.4, "cortex_knowledge", extra={"source": "/docs/d.md"}),
        ]
        found = await ask([local], n_results=1, hops=2)

        (behind,) = found.beside
        assert ("hop", "/docs/d.md") == (behind.extra["source"], behind.extra["document"])


class TestTime:
    """By a clock that stands still, on which a machine that stalls uses up nobody's time."""

    async def test_hangs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A store that hangs when it is asked for more costs no more than its seconds."""
        # More than anybody waits here, so that the store's own seconds are what ends it.
        monkeypatch.setattr(federation, "LONGEST", 10 * PATIENCE)
        clock, far = ManualClock(), Hanging(hit("a", topic="ci"))
        found = await ask([remote(far, clock=clock)], clock=clock, per_store_timeout_s=SOON)

        assert (["a"], (), ()) == ([each.id for each in found.hits], found.beside, found.failed)
        assert 1 == len(far.topics)

    async def test_others(self) -> None:
        """The others' part of it is there all the same."""
        clock = ManualClock()
        hanging, far = Hanging(hit("a", topic="ci")), Filed(filed=[hit("t")])
        stores = remote(hanging, "hanging", clock=clock), remote(far, "far", clock=clock)
        found = await ask(stores, clock=clock, per_store_timeout_s=SOON)

        assert ["t"] == [each.id for each in found.beside]
