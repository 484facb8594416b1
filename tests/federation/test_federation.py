"""The federation: one question, every store, and an honest account of who did not answer."""

from __future__ import annotations

import asyncio

import pytest

from cortex_actors.domain.memory import Layer
from cortex_actors.endpoint.client import LeftAlone
from cortex_actors.errors import (
    ActorAway,
    BadInput,
    CortexError,
    DeadlineExceeded,
    IndexDown,
    ModelChanged,
    ModelMissing,
    Unembeddable,
)
from cortex_actors.federation.fan import HITS_LIMIT, QUESTION_LIMIT
from cortex_actors.federation.store import LOCAL
from cortex_actors.sections import FederationSettings
from cortex_actors.storage.search.query import Past, Where
from cortex_actors.testing import EPOCH, eventually
from tests.federation.support import MODEL, PATIENCE, Shelf, Village


class TestAnswer:
    async def test_single_store(self, one: Shelf) -> None:
        """While only what is known here answers, its own order and scores are kept."""
        one.kind = LOCAL
        found = await (await Village([one]).begin()).recall()

        assert [("a", 0.9), ("b", 0.5), ("c", 0.1)] == [(h.id, h.score) for h in found.hits]
        assert ((), ()) == (found.failed, found.skipped)

    async def test_limit(self, one: Shelf) -> None:
        """No more hits come back than were asked for, whatever a store says."""
        found = await (await Village([one]).begin()).recall(limit=2)

        assert ["a", "b"] == [hit.id for hit in found.hits]

    async def test_two_stores(self, one: Shelf, two: Shelf) -> None:
        """Two stores are fused by rank, because their scores share no scale; ours keep theirs."""
        found = await (await Village([one, two]).begin()).recall()

        assert ["a", "x", "b", "y", "c"] == [hit.id for hit in found.hits]
        assert [1 / 61, 1 / 61] == [hit.fused_score for hit in found.hits[:2]]
        assert [0.9, 0.03] == [hit.score for hit in found.hits[:2]]
        assert [1, 1, 2, 2, 3] == [hit.store_rank for hit in found.hits]
        assert ("one", "two") == found.asked
        assert ["one", "two"] == [hit.store for hit in found.hits[:2]]

    async def test_same_id(self, one: Shelf) -> None:
        """Two stores' hits with one id are two hits: each names its own thing."""
        found = await (await Village([one, Shelf("two", ("a", 0.9))]).begin()).recall()

        assert [("a", "one"), ("a", "two")] == [(h.id, h.store) for h in found.hits[:2]]

    async def test_nothing_known(self) -> None:
        """A store that knows nothing has answered."""
        found = await (await Village([Shelf("empty")]).begin()).recall()

        assert ((), ()) == (found.hits, found.failed)

    async def test_no_stores(self) -> None:
        """Without any store the answer is empty."""
        assert () == (await (await Village([]).begin()).recall()).hits

    async def test_question(self, one: Shelf) -> None:
        """A store is given the question with its vector, its conditions and its moment."""
        village = await Village([one]).begin()
        where = Where(project_id="prj_1", tags=("x",))
        found = await village.recall("tabs", 3, where=where, explain=True)

        (question,) = one.asked
        assert ("tabs", 3, where) == (question.text, question.limit, question.where)
        assert question.now > EPOCH
        assert question.vector is not None
        assert (384,) == question.vector.shape
        assert (MODEL, True) == (question.model, question.explain)
        assert "tabs" == found.query
        assert found.took_ms > 0


class TestUnable:
    async def test_condition(self, one: Shelf, two: Shelf) -> None:
        """A store that cannot narrow its answer as asked is not asked, and is listed with why."""
        two.knows = ("tags",)
        village = await Village([one, two]).begin()
        found = await village.recall(where=Where(tags=("x",), layers=(Layer.WORKING,)))

        assert ["a", "b", "c"] == [hit.id for hit in found.hits]
        assert (("two", "it cannot narrow its answer by layers"),) == found.skipped
        assert [] == two.asked

    async def test_known_condition(self, one: Shelf, two: Shelf) -> None:
        """One that knows every condition is asked."""
        two.knows = ("tags",)
        village = await Village([one, two]).begin()

        assert 5 == len((await village.recall(where=Where(tags=("x",)))).hits)

    async def test_past(self, one: Shelf) -> None:
        """Another time is a condition like any other."""
        one.knows = ()
        found = await (await Village([one]).begin()).recall(past=Past(as_of=5, original=True))

        assert (("one", "it cannot narrow its answer by as_of, original"),) == found.skipped

    async def test_named(self, one: Shelf, two: Shelf) -> None:
        """Only the stores that are named are asked, and the others are no news."""
        found = await (await Village([one, two]).begin()).recall(stores=("two",))

        assert (["x", "y"], ()) == ([hit.id for hit in found.hits], found.skipped)
        assert [] == one.asked


class TestFailing:
    @pytest.mark.parametrize(
        ("error", "reason"),
        [
            (IndexDown("the index is away"), "the index is away"),
            (ConnectionRefusedError(111, "refused"), "refused"),
            (ZeroDivisionError(), "ZeroDivisionError"),
            (KeyError("ids"), "ids"),
        ],
    )
    async def test_raises(self, one: Shelf, two: Shelf, error: Exception, reason: str) -> None:
        """A store that raises, whatever it raises, costs only its part and is listed."""
        one.fails = error
        found = await (await Village([one, two]).begin()).recall()

        assert ["x", "y"] == [hit.id for hit in found.hits]
        ((name, why),) = found.failed
        assert "one" == name
        assert reason in why

    async def test_late(self, one: Shelf, two: Shelf) -> None:
        """A store that does not answer in time costs only its part and is listed."""
        one.gate.clear()
        knobs = FederationSettings(per_store_timeout_s=PATIENCE)
        found = await (await Village([one, two], knobs=knobs).begin()).recall()

        assert ["x", "y"] == [hit.id for hit in found.hits]
        assert (("one", "timeout after 0.05 s"),) == found.failed

    async def test_all(self, one: Shelf) -> None:
        """When nobody answers the answer is empty and says so: silence is not ignorance."""
        one.fails = IndexDown("away")
        found = await (await Village([one]).begin()).recall()

        assert ((), (("one", "away"),)) == (found.hits, found.failed)

    async def test_asked_again(self, one: Shelf) -> None:
        """A store that failed is asked again the next time."""
        village = await Village([one]).begin()
        one.fails = IndexDown("away")
        await village.recall()
        one.fails = None

        assert 3 == len((await village.recall()).hits)

    async def test_noted(self, one: Shelf, two: Shelf) -> None:
        """How every store did is taken down once for each question, with the time it took."""
        one.fails = IndexDown("away")
        village = await Village([one, two]).begin()
        await village.recall()
        await eventually(lambda: 2 == len(village.roster.outcomes))

        outcomes = village.roster.outcomes
        assert [("one", "away"), ("two", "")] == [(each.store, each.reason) for each in outcomes]
        assert all(each.seconds >= 0 for each in outcomes)

    @pytest.mark.parametrize("error", [IndexDown("the ledger is away"), KeyError("one")])
    async def test_not_noted(self, one: Shelf, error: Exception) -> None:
        """An answer is given even if nobody can take down how the store did."""
        village = await Village([one]).begin()
        village.roster.fails = error

        assert 3 == len((await village.recall()).hits)
        assert 3 == len((await village.recall()).hits)


class TestQuestion:
    @pytest.mark.parametrize("text", ["", " \n\t ", "x" * (QUESTION_LIMIT + 1)])
    async def test_refused(self, one: Shelf, text: str) -> None:
        """A question that is empty or longer than a page is refused, and no store is asked."""
        village = await Village([one]).begin()

        with pytest.raises(BadInput, match="cannot search: the question"):
            await village.recall(text)
        assert [] == one.asked

    @pytest.mark.parametrize("limit", [0, -1, HITS_LIMIT + 1])
    async def test_limit(self, one: Shelf, limit: int) -> None:
        """So is one that asks for no hits or for too many."""
        with pytest.raises(BadInput, match=f"{limit} hits were asked for"):
            await (await Village([one]).begin()).recall(limit=limit)

    async def test_longest(self, one: Shelf) -> None:
        """A question of exactly the limit is asked."""
        assert (await (await Village([one]).begin()).recall("x" * QUESTION_LIMIT)).hits


class TestWithoutVector:
    @pytest.mark.parametrize(
        "error",
        [ModelMissing("set embedding.model"), ActorAway("no cache"), DeadlineExceeded("too late")],
    )
    async def test_embedder_away(self, one: Shelf, error: CortexError) -> None:
        """While no text can be embedded every store is asked all the same, and told why."""
        village = await Village([one]).begin()
        village.embedding_fails = error
        found = await village.recall()

        (question,) = one.asked
        assert (None, str(error)) == (question.vector, question.why)
        assert 3 == len(found.hits)

    async def test_refused_by_model(self, one: Shelf) -> None:
        """A question that the model refuses is asked by its words."""
        village = await Village([one]).begin()
        village.embedding_fails = Unembeddable("too long for it", (0,))

        assert 3 == len((await village.recall()).hits)

    async def test_model_changed(self, one: Shelf) -> None:
        """When another model answers by now the question is to be asked again: no store is."""
        village = await Village([one]).begin()
        village.embedding_fails = ModelChanged("another one")

        with pytest.raises(ModelChanged):
            await village.recall()
        assert [] == one.asked

    async def test_skipped(self, one: Shelf, two: Shelf) -> None:
        """What a store left out is told with its name."""
        two.left_out = ("half of it",)
        found = await (await Village([one, two]).begin()).recall()

        assert (("two", "half of it"),) == found.skipped
        assert ("one", "two") == found.asked

    async def test_left_alone(self, one: Shelf, two: Shelf) -> None:
        """A store that is left alone, such as one of another model, has not answered or failed."""
        two.fails = LeftAlone("its vectors are of another model")
        village = await Village([one, two]).begin()
        found = await village.recall()

        assert (("two", "its vectors are of another model"),) == found.skipped
        assert (("one",), ()) == (found.asked, found.failed)
        assert "its vectors are of another model" in found.text
        await eventually(lambda: 1 == len(village.roster.outcomes))
        assert ["one"] == [each.store for each in village.roster.outcomes]


class TestConcurrent:
    async def test_mailbox_goes_on(self, one: Shelf) -> None:
        """Questions are answered side by side: one that hangs holds up no other."""
        village = await Village([one]).begin()
        one.gate.clear()
        asks = [asyncio.create_task(village.recall(f"question {n}")) for n in range(20)]
        await eventually(lambda: 20 == len(one.asked))
        one.gate.set()

        found = await asyncio.gather(*asks)
        assert [f"question {n}" for n in range(20)] == [each.query for each in found]
        assert {3} == {len(each.hits) for each in found}

    async def test_refused_beside_good(self, one: Shelf) -> None:
        """A question that is refused leaves the others and the actor alone."""
        village = await Village([one]).begin()
        found = await asyncio.gather(village.recall(""), village.recall(), return_exceptions=True)

        assert isinstance(found[0], BadInput)
        assert not isinstance(found[1], BaseException)
        assert village.names.whereis("federation") is not None
