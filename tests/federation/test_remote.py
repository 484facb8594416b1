"""Another program as a store: what it is asked, how long it may take, and when it is left alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from cortex_actors.domain.hit import REMOTE
from cortex_actors.errors import StoreDown, StoreTimeout, StoreUnusable
from cortex_actors.federation.store import ByTopic, Outward, Question
from cortex_actors.storage.search.query import Past, Where
from cortex_actors.testing import ManualClock, eventually
from tests.federation.remotes import ASKED, Far, Filed, hit, remote

#: Seconds a store may take here that is to be late, and one that is to answer: a machine that
#: stalls makes nobody late.
SOON, LONG = 0.05, 20.0


class TestAsking:
    async def test_outward_only(self) -> None:
        """It is sent what may leave this machine, and not the question."""
        far = Far()
        asked = Question("my password", outward=Outward("my [secret]", model="m"))
        await remote(far).recall(asked, limit=3, seconds=LONG)

        (sent,) = far.asked
        assert ("my [secret]", 3, None, "m") == (sent.text, sent.limit, sent.vector, sent.model)
        assert 0 < sent.seconds <= LONG

    async def test_nothing_may_leave(self) -> None:
        """Whoever asks all the same while nothing may leave gets an error, and nothing is sent."""
        far = Filed()
        asked = Question("x", why_not="no check")
        with pytest.raises(StoreDown, match="no check"):
            await remote(far).recall(asked, limit=1, seconds=LONG)
        with pytest.raises(StoreDown, match="no check"):
            await remote(far).find_by_topic(
                ByTopic(["x"], limit=1, exclude_ids=[], seconds=LONG), asked
            )

        assert ([], []) == (far.asked, far.topics)

    @pytest.mark.parametrize(("limit", "sent"), [(0, 1), (-3, 1), (4, 4), (5, 5), (60, 5)])
    async def test_clamped(self, limit: int, sent: int) -> None:
        """A store is never asked for more than it gives, or for fewer hits than one."""
        far = Far()
        await remote(far).recall(ASKED, limit=limit, seconds=LONG)

        assert [sent] == [each.limit for each in far.asked]

    async def test_order(self) -> None:
        """The order that the store gives is kept, whatever its measures say."""
        far = Far(hit("low", base=0.1), hit("high", base=0.9))
        answer = await remote(far).recall(ASKED, limit=5, seconds=LONG)

        assert ["low", "high"] == [each.id for each in answer.hits]
        assert {("far", REMOTE)} == {(each.store, each.trust) for each in answer.hits}

    async def test_too_many(self) -> None:
        """A store that gives more than it was asked for is cut off."""
        far = Far(*(hit(str(number)) for number in range(9)))

        assert 2 == len((await remote(far).recall(ASKED, limit=2, seconds=LONG)).hits)

    async def test_own_name(self) -> None:
        """A store cannot pass for another one: its hits have the name that it has here."""
        far = Far(replace(hit("a"), store="cortex_private"))
        (found,) = (await remote(far).recall(ASKED, limit=2, seconds=LONG)).hits

        assert "far" == found.store


class TestUnmet:
    def test_may_be_asked(self) -> None:
        """A plain question that may leave is met."""
        assert "" == remote(Far()).explain_unmet(ASKED)

    def test_condition(self) -> None:
        """A condition that its adapter cannot narrow by leaves it out, and is named."""
        asked = replace(ASKED, where=Where(tags=("x",), thread="t"), past=Past(as_of=1))

        assert "it cannot narrow its answer by tags, thread, as_of" == remote(Far()).explain_unmet(
            asked
        )

    def test_reader(self) -> None:
        """What other programs say is for every agent."""
        assert "" == remote(Far()).explain_unmet(replace(ASKED, where=Where(reader="A")))

    def test_outward(self) -> None:
        """A question that came from outside goes to nobody else: two daemons ask no circles."""
        asked = replace(ASKED, where=Where(outward=True))

        assert "it cannot narrow its answer by outward" == remote(Far()).explain_unmet(asked)

    def test_why_not(self) -> None:
        """It is not asked while nothing may leave, for the reason that is known."""
        assert "no check" == remote(Far()).explain_unmet(Question("x", why_not="no check"))


class TestFailing:
    async def test_late(self) -> None:
        """An answer that is late is a timeout with its seconds, and the guard counts it."""
        far = Far()
        far.gate.clear()
        store = remote(far, failures=1, clock=ManualClock())
        with pytest.raises(StoreTimeout, match=r"^timeout after 0\.05 s$"):
            await store.recall(ASKED, limit=1, seconds=SOON)

        assert store.explain_unmet(ASKED).startswith(
            "left alone for 30 s more: timeout after 0.05 s"
        )

    async def test_waiting_counts(self) -> None:
        """Waiting for a free place is part of the time that a store has."""
        far = Far()
        far.gate.clear()
        store = remote(far)
        first = [asyncio.create_task(store.recall(ASKED, limit=1, seconds=LONG)) for _ in range(2)]
        await eventually(lambda: 2 == len(far.asked))
        with pytest.raises(StoreTimeout, match=r"timeout after 0\.05 s, waiting"):
            await store.recall(ASKED, limit=1, seconds=SOON)
        far.gate.set()
        await asyncio.gather(*first)

        assert 2 == len(far.asked)

    async def test_left_alone(self) -> None:
        """After failures in a row it is not asked for a while, and then once to see."""
        clock, far = ManualClock(), Far(hit("a"))
        store = remote(far, clock=clock)
        far.fails = StoreDown("refused")
        for _ in range(2):
            with pytest.raises(StoreDown, match="refused"):
                await store.recall(ASKED, limit=1, seconds=LONG)
        assert "left alone for 30 s more: refused" == store.explain_unmet(ASKED)

        clock.advance(31)
        far.fails = None
        assert "" == store.explain_unmet(ASKED)
        assert 1 == len((await store.recall(ASKED, limit=1, seconds=LONG)).hits)
        assert 3 == len(far.asked)

    async def test_unforeseen(self) -> None:
        """What nobody foresaw in an adapter is the store's failure, without the store's words."""
        far = Far()
        far.fails = KeyError("obey me")
        with pytest.raises(StoreDown, match="^failed in an unexpected way: KeyError$"):
            await remote(far).recall(ASKED, limit=1, seconds=LONG)

    async def test_own_errors(self) -> None:
        """An adapter's own error passes as it is: somebody has to know what to mend."""
        far = Far()
        far.fails = StoreUnusable("its token is refused")
        with pytest.raises(StoreUnusable, match="^its token is refused$"):
            await remote(far).recall(ASKED, limit=1, seconds=LONG)

    async def test_cancelled(self) -> None:
        """A question that nobody wants any more says nothing about the store."""
        far = Far()
        far.gate.clear()
        store = remote(far, failures=1)
        task = asyncio.create_task(store.recall(ASKED, limit=1, seconds=LONG))
        await eventually(lambda: 1 == len(far.asked))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert "" == store.explain_unmet(ASKED)


class TestTopics:
    async def test_asked(self) -> None:
        """A store that can be asked by topic is, about those topics and without those ids."""
        far = Filed(filed=[hit("t")])
        store = remote(far)
        answer = await store.find_by_topic(
            ByTopic(["ci"], limit=3, exclude_ids=["a"], seconds=LONG), ASKED
        )

        assert store.has_topics
        assert [(("ci",), ("a",))] == far.topics
        assert [("t", REMOTE)] == [(each.id, each.trust) for each in answer.hits]

    async def test_cannot(self) -> None:
        """One that cannot has nothing under any topic."""
        store = remote(Far())
        answer = await store.find_by_topic(
            ByTopic(["ci"], limit=3, exclude_ids=[], seconds=LONG), ASKED
        )

        assert (False, ()) == (store.has_topics, answer.hits)


class TestPing:
    async def test_says(self) -> None:
        """A store is asked for itself even while it is left alone."""
        far = Far()
        store = remote(far, failures=1)
        far.fails = StoreDown("refused")
        with pytest.raises(StoreDown):
            await store.recall(ASKED, limit=1, seconds=LONG)
        far.fails = None

        assert {"service": "far"} == await store.ping(LONG)

    async def test_late(self) -> None:
        """A ping takes no longer than it may."""
        far = Far()
        far.gate.clear()
        with pytest.raises(StoreTimeout, match=r"timeout after 0\.05 s"):
            await remote(far).ping(SOON)

    async def test_close(self) -> None:
        """Letting go of a store lets go of its connections."""
        far = Far()
        await remote(far).close()

        assert 1 == far.closed
