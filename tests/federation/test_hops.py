"""Asking again with what was found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import BadInput, EmbedderDown
from cortex_actors.federation.fan import Bridge
from cortex_actors.federation.federation import make_bridge
from cortex_actors.federation.store import LOCAL, Answer
from cortex_actors.sections import FederationSettings
from tests.federation.remotes import Far, hit, remote
from tests.federation.support import Shelf, Village
from tests.federation.test_outward import KEY, mine

if TYPE_CHECKING:
    from cortex_actors.domain.hit import RankedHit, Recall
    from cortex_actors.federation.answers import OutgoingQuestion


class Reader(Far):
    """A program that finds what has a word of the question in it."""

    async def search(self, asked: OutgoingQuestion) -> Answer:
        """Return the texts that share a word."""
        self.asked.append(asked)
        words = set(asked.text.lower().split())
        found = [each for each in self.hits if words & set(each.text.lower().split())]
        return Answer(tuple(found[: asked.limit]))


#: One leads to the next.
CHAIN = (
    hit("one", "queue belongs to atlas"),
    hit("two", "atlas is looked after by mira"),
    hit("three", "mira sits in oslo"),
    hit("four", "unrelated"),
)


async def ask(*stores: Any, hops: int | None = None, **knobs: Any) -> Recall:
    """Return what a fan over some stores answers about the queue."""
    knobs = {"per_store_timeout_s": 5.0, "edges_enabled": False, **knobs}
    village = await Village(stores, knobs=FederationSettings(**knobs)).begin()
    return await village.recall("queue", hops=hops)


class TestBridge:
    def test_beginnings(self) -> None:
        """The beginnings of the first hits are asked with, each on one line."""
        some = [hit("a", "x" * 300), hit("b", "two\nlines"), hit("c", "not this")]

        assert Bridge("x" * 200 + " two lines", "x" * 200 + " two lines") == make_bridge(some, 2)

    def test_private(self) -> None:
        """Only what others may hear of is sent to them."""
        some: list[RankedHit] = [
            replace(mine("private"), text="private"),
            replace(mine("bridge"), text="bridged"),
            replace(mine(None), text="file"),
            replace(mine("village"), text="posted"),
            hit("a", "remote"),
        ]

        assert Bridge("private bridged file posted remote", "posted remote") == make_bridge(some, 9)

    def test_secret(self) -> None:
        """A hit that holds a secret is not sent, even where the secret is cut in two."""
        some = [hit("a", "x" * 190 + " " + KEY), hit("b", "plain")]

        assert "plain" == make_bridge(some, 2).theirs


class TestHops:
    async def test_one(self) -> None:
        """The stores are asked once, unless more is wanted."""
        far = Reader(*CHAIN)
        found = await ask(remote(far))

        assert (["one"], (), 1) == ([h.id for h in found.hits], found.beside, len(far.asked))

    async def test_two(self) -> None:
        """The second time finds what lies one step behind, and says what led there."""
        found = await ask(remote(Reader(*CHAIN)), hops=2)

        assert ["one"] == [each.id for each in found.hits]
        (behind,) = found.beside
        assert ("two", 0.0, "hop", 2, "queue belongs to atlas") == (
            behind.id,
            behind.score,
            behind.extra["source"],
            behind.extra["hop"],
            behind.extra["hop_bridge"],
        )

    async def test_three(self) -> None:
        """The third time goes on from what the second has found, and nothing is found twice."""
        found = await ask(remote(Reader(*CHAIN)), hops=3)

        assert [("two", 2), ("three", 3)] == [(each.id, each.extra["hop"]) for each in found.beside]

    async def test_exhausted(self) -> None:
        """Nobody is asked again once nothing new was found."""
        far = Reader(CHAIN[0])
        await ask(remote(far), hops=4)

        assert 2 == len(far.asked)

    async def test_knob(self) -> None:
        """How often is a knob, and a question may say otherwise."""
        assert 1 == len((await _with_knob(2)).beside)
        assert () == (await _with_knob(2, hops=1)).beside

    async def test_budget(self) -> None:
        """There are no more of them than the budget."""
        more = [hit(f"m{n}", f"atlas {n}") for n in range(4)]
        found = await ask(remote(Reader(CHAIN[0], *more)), hops=2, hop_budget=2)

        assert ["m0", "m1"] == [each.id for each in found.beside]

    async def test_slow_store(self) -> None:
        """What lies behind the others' hits is found though a slow store used up its seconds."""
        far, slow = Reader(*CHAIN), Far()
        slow.gate.clear()
        found = await ask(remote(far), remote(slow, "slow"), hops=2, per_store_timeout_s=0.5)

        assert ["one"] == [each.id for each in found.hits]
        assert ["two"] == [each.id for each in found.beside]
        assert (("slow", "timeout after 0.50 s"),) == found.failed

    async def test_no_vector(self) -> None:
        """While no text can be embedded stores are asked again by words."""
        village = await Village([remote(Reader(*CHAIN))], knobs=FederationSettings(hops=2)).begin()
        village.embedding_fails = EmbedderDown("away")

        assert ["two"] == [each.id for each in (await village.recall("queue")).beside]

    async def test_known_here_alone(self) -> None:
        """What is known here is asked again as well, with everything that was found."""
        only = Shelf(LOCAL, ("a", 0.5), kind=LOCAL)
        far = Reader()
        await ask(only, remote(far), hops=2)

        assert ["queue", "queue\ntext of a"] == [each.text for each in only.asked]
        assert ["queue"] == [each.text for each in far.asked]

    @pytest.mark.parametrize("hops", [0, -1, 5])
    async def test_refused(self, hops: int) -> None:
        """A number of times that makes no sense is bad input."""
        with pytest.raises(BadInput, match=f"hops is {hops}; the stores are asked 1 to 4 times"):
            await ask(remote(Reader()), hops=hops)


async def _with_knob(knob: int, hops: int | None = None) -> Recall:
    """Return what is found where a knob says how often stores are asked."""
    village = await Village([remote(Reader(*CHAIN))], knobs=FederationSettings(hops=knob)).begin()
    return await village.recall("queue", hops=hops)
