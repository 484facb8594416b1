"""The federation: one question, every store, and an honest account of who did not answer."""

from __future__ import annotations

import asyncio

import pytest

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
from cortex_actors.federation.federation import HITS_LIMIT, QUESTION_LIMIT
from cortex_actors.federation.roster import Roster
from cortex_actors.testing import eventually
from tests.federation.support import MODEL, Shelf, Village


@pytest.fixture
async def one() -> Shelf:
    """Give a store with three hits."""
    return Shelf("one", ("a", 0.9), ("b", 0.5), ("c", 0.1))


@pytest.fixture
async def two() -> Shelf:
    """Give another store, on another scale."""
    return Shelf("two", ("x", 0.03), ("y", 0.02))


class TestAnswer:
    async def test_single_store(self, one: Shelf) -> None:
        """A single store's own order and scores are kept."""
        found = await (await Village([one]).begin()).recall()

        assert [("a", 0.9), ("b", 0.5), ("c", 0.1)] == [(h.id, h.score) for h in found.hits]
        assert ((), ()) == (found.failed, found.skipped)

    async def test_limit(self, one: Shelf) -> None:
        """No more hits come back than were asked for, whatever a store says."""
        found = await (await Village([one]).begin()).recall(limit=2)

        assert ["a", "b"] == [hit.id for hit in found.hits]

    async def test_two_stores(self, one: Shelf, two: Shelf) -> None:
        """Two stores are fused by rank, because their scores share no scale."""
        found = await (await Village([one, two]).begin()).recall()

        assert ["a", "x", "b", "y", "c"] == [hit.id for hit in found.hits]
        assert [0.5, 0.5] == [hit.score for hit in found.hits[:2]]
        assert ["one", "two"] == [hit.store for hit in found.hits[:2]]

    async def test_same_id(self, one: Shelf) -> None:
        """Two stores' hits with one id are two hits: each names its own thing."""
        found = await (await Village([one, Shelf("two", ("a", 1.0))]).begin()).recall()

        assert [("a", "one"), ("a", "two")] == [(h.id, h.store) for h in found.hits[:2]]

    async def test_nothing_known(self) -> None:
        """A store that knows nothing has answered."""
        found = await (await Village([Shelf("empty")]).begin()).recall()

        assert ((), ()) == (found.hits, found.failed)

    async def test_no_stores(self) -> None:
        """Without any store the answer is empty."""
        assert () == (await (await Village([]).begin()).recall()).hits

    async def test_question(self, one: Shelf) -> None:
        """A store is given the question with its vector, its limit and its project."""
        village = await Village([one]).begin()
        found = await village.ask("tabs", 3, "prj_1", explain=True)

        (question,) = one.asked
        assert ("tabs", 3, "prj_1") == (question.text, question.limit, question.project_id)
        assert question.vector is not None
        assert (384,) == question.vector.shape
        assert (MODEL, True) == (question.model, question.explain)
        assert "tabs" == found.query
        assert found.took_ms > 0


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
        found = await (await Village([one, two]).begin()).recall()

        assert ["x", "y"] == [hit.id for hit in found.hits]
        assert (("one", "no answer within 0.05 s"),) == found.failed

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

    async def test_not_noted(self, one: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
        """An answer is given even if nobody can take down how the store did."""

        async def note(*_: object) -> None:
            raise IndexDown("the ledger is away")

        monkeypatch.setattr(Roster, "note", note)

        assert 3 == len((await (await Village([one]).begin()).recall()).hits)


class TestQuestion:
    @pytest.mark.parametrize("text", ["", " \n\t ", "x" * (QUESTION_LIMIT + 1)])
    async def test_refused(self, one: Shelf, text: str) -> None:
        """A question that is empty or longer than a page is refused, and no store is asked."""
        village = await Village([one]).begin()

        with pytest.raises(BadInput, match="cannot recall: the question"):
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
