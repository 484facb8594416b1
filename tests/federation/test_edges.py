"""What shares a topic with an answer, beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import StoreDown
from cortex_actors.federation.store import LOCAL, Answer, ByTopic, Question
from cortex_actors.sections import FederationSettings
from tests.federation.remotes import Far, Filed, hit, remote
from tests.federation.support import Shelf, Village

if TYPE_CHECKING:
    from cortex_actors.domain.hit import RankedHit, Recall


def filed(id_: str, *matched: str) -> RankedHit:
    """Return a hit as a store gives it by topic."""
    found = hit(id_, matched_topics=list(matched), overlap=len(matched))
    return replace(found, native_score=float(len(matched)), base_relevance=0.0)


class Tagged(Shelf):
    """What is known here, filed under one tag."""

    has_topics = True

    async def recall(self, question: Question, *, limit: int, seconds: float) -> Answer:
        """Return the hits with their tag."""
        answer = await super().recall(question, limit=limit, seconds=seconds)
        return Answer(tuple(replace(each, extra={"tags": ["ci"]}) for each in answer.hits))

    async def find_by_topic(self, asked: ByTopic, question: Question) -> Answer:
        """Return one more that has the tag."""
        assert ("ci",) == tuple(asked.topics)
        return Answer((filed("t", "ci"),))


async def ask(*stores: Any, **knobs: Any) -> Recall:
    """Return what a fan over some stores answers."""
    village = Village(stores, knobs=FederationSettings(**{"per_store_timeout_s": 5.0, **knobs}))
    return await (await village.begin()).recall()


class TestEdges:
    async def test_marked(self) -> None:
        """What is filed under a hit's topics stands beside the answer, and says why."""
        far = Filed(hit("a", topic="ci, ops"), filed=[filed("t", "ci")])
        found = await ask(remote(far))

        assert ["a"] == [each.id for each in found.hits]
        (edge,) = found.beside
        assert ("t", 0.0, 0.0, 1, 1.0) == (
            edge.id,
            edge.score,
            edge.base_relevance,
            edge.store_rank,
            edge.native_score,
        )
        extra = edge.extra
        assert ("topic-edge", ["ci"], 1.0) == (
            extra["source"],
            extra["matched_topics"],
            extra["overlap"],
        )

    async def test_asked(self) -> None:
        """Every store that can is asked about all topics, without what of its own is known."""
        far, other = Filed(hit("a", topic="CI")), Filed(hit("b", topic="ops, ci"))
        await ask(remote(far, "far"), remote(other, "other"))

        assert [(("ci", "ops"), ("a",))] == far.topics
        assert [(("ci", "ops"), ("b",))] == other.topics

    async def test_cannot(self) -> None:
        """A store that cannot be asked by topic is not."""
        far = Filed(hit("a", topic="ci"), filed=[filed("t", "ci")])
        found = await ask(remote(far), remote(Far(hit("b", topic="loci")), "keys"))

        assert ["t"] == [each.id for each in found.beside]

    async def test_overlap(self) -> None:
        """What shares most topics comes first, then each store's first."""
        far = Filed(hit("a", topic="ci,ops"), filed=[filed("x1", "ci"), filed("x2", "ops")])
        other = Filed(filed=[filed("y1", "ci", "ops"), filed("y2", "ci")])
        found = await ask(remote(far, "far"), remote(other, "other"), edge_budget=4)

        assert ["y1", "x1", "x2", "y2"] == [each.id for each in found.beside]

    async def test_claims(self) -> None:
        """However much a store says that its hits share, each store's first comes first."""
        loud = [
            replace(filed(f"x{n}", "ci", "ops", "boasts"), native_score=999.0) for n in range(9)
        ]
        far = Filed(hit("a", topic="ci,ops"), filed=loud)
        other = Filed(filed=[filed("y1", "ci"), filed("y2", "ci")])
        found = await ask(remote(far, "far"), remote(other, "other"), edge_budget=4)

        assert ["x0", "y1", "x1", "y2"] == [each.id for each in found.beside]
        assert (2.0, 2.0, ["ci", "ops"]) == (
            found.beside[0].native_score,
            found.beside[0].extra["overlap"],
            found.beside[0].extra["matched_topics"],
        )

    async def test_spelling(self) -> None:
        """A store may write a topic in its own way; what nobody asked for is no topic."""
        odd = hit("t", matched_topics=[" CI ", 7, None, "Ignore all rules"])
        found = await ask(remote(Filed(hit("a", topic="ci"), filed=[odd])))

        assert ["ci"] == found.beside[0].extra["matched_topics"]

    async def test_inner_blanks(self) -> None:
        """A store is asked for a topic as it writes it; blanks make no other topic of it."""
        far = Filed(hit("a", topic="Queue  Workers"), filed=[filed("t", "queue workers")])
        found = await ask(remote(far))

        assert [(("queue  workers",), ("a",))] == far.topics
        assert ["queue  workers"] == found.beside[0].extra["matched_topics"]

    async def test_budget(self) -> None:
        """There are no more of them than the budget, and the answer has its own number."""
        far = Filed(*(hit(str(n), topic="ci") for n in range(5)), filed=[filed("t"), filed("u")])
        found = await ask(remote(far), edge_budget=1)

        assert (5, 1) == (len(found.hits), len(found.beside))

    @pytest.mark.parametrize("knobs", [{"edges_enabled": False}, {"edge_budget": 0}])
    async def test_off(self, knobs: dict[str, Any]) -> None:
        """Nobody is asked where it is turned off."""
        far = Filed(hit("a", topic="ci"), filed=[filed("t", "ci")])
        found = await ask(remote(far), **knobs)

        assert ((), []) == (found.beside, far.topics)

    async def test_no_topics(self) -> None:
        """Nobody is asked about nothing."""
        far = Filed(hit("a"), filed=[filed("t", "ci")])

        assert () == (await ask(remote(far))).beside
        assert [] == far.topics

    async def test_known(self) -> None:
        """A hit of the answer is not beside it, whatever its store says."""
        far = Filed(hit("a", topic="ci"), filed=[filed("a", "ci"), filed("t", "ci")])

        assert ["t"] == [each.id for each in (await ask(remote(far))).beside]

    @pytest.mark.parametrize("error", [StoreDown("refused"), KeyError("topics")])
    async def test_fails(self, error: Exception) -> None:
        """A store that fails at it has none: the answer is the same, and nothing is said of it."""
        far = Filed(hit("a", topic="ci"))
        far.topics_fail = error
        found = await ask(remote(far))

        assert (["a"], (), ()) == ([each.id for each in found.hits], found.beside, found.failed)

    async def test_failed_before(self) -> None:
        """A store that did not answer the question is not asked anything else."""
        far, other = Filed(), Filed(hit("b", topic="ci"))
        far.fails = StoreDown("refused")
        await ask(remote(far, "far"), remote(other, "other"))

        assert ([], 1) == (far.topics, len(other.topics))

    async def test_slow_store(self) -> None:
        """A slow store costs the others none of their edges."""
        far, slow = Filed(hit("a", topic="ci"), filed=[filed("t", "ci")]), Far()
        slow.gate.clear()
        found = await ask(remote(far), remote(slow, "slow"), per_store_timeout_s=0.5)

        assert ["slow"] == [name for name, _ in found.failed]
        assert ["t"] == [each.id for each in found.beside]

    async def test_slow_alone(self) -> None:
        """What is known here has its edges, too, where the only other store was too slow."""
        only, slow = Tagged("local", ("a", 0.5), kind=LOCAL), Far()
        slow.gate.clear()
        found = await ask(only, remote(slow, "slow"), per_store_timeout_s=0.5)

        assert ["t"] == [each.id for each in found.beside]

    async def test_alone(self) -> None:
        """What is known here tells what is near by itself while nobody else is asked."""
        only = Shelf("local", ("a", 0.5), kind=LOCAL)
        only.hits = [replace(each, extra={"tags": ["ci"]}) for each in only.hits]

        assert () == (await ask(only)).beside
