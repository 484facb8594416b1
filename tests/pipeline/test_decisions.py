"""What people say of two texts, what is only possible, and at which place two texts disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.insight import AgentVerdict, Conflict, Decider, Judgement, Relation
from cortex_actors.pipeline import relations
from cortex_actors.rules.clustering import make_pair
from cortex_actors.rules.proposals import Proposal, ProposalKind
from cortex_actors.storage import projects
from cortex_actors.storage.pipeline import contradictions, verdicts
from cortex_actors.storage.pipeline.verdicts import Handout, PairKind, make_id
from tests.pipeline.histories import World, ids
from tests.pipeline.test_beyond import Model
from tests.pipeline.test_reconciling import (
    ALL,
    ALWAYS,
    NEVER,
    TABS,
    TESTS,
    apart,
    open_ones,
    status,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.domain.insight import Claim
    from cortex_actors.domain.project import Project
    from cortex_actors.rules.clustering import Pair
    from cortex_actors.storage.pipeline.verdicts import Proposed
    from tests.pipeline.support import Office

WARM, COLD, EMPTY = "The cache is warm.", "The cache is cold at night.", "Empty the cache by hand."

#: What the planted score makes of two texts.
SCORES = {
    frozenset((WARM, COLD)): (ProposalKind.CONTRADICTION, 0.7),
    frozenset((WARM, EMPTY)): (ProposalKind.DUPLICATE, 0.9),
}


@pytest.fixture
async def world(office: Office) -> AsyncIterator[World]:
    """Give a world in which what is said of tabs is near, and of the cache, too."""
    found = World(office)
    found.vectors = dict(zip(ALL, apart(0.95, 0.9, 0.1), strict=True))
    found.vectors |= dict(zip((WARM, COLD, EMPTY), apart(0.7, 0.8), strict=True))
    yield found
    found.close()


@pytest.fixture(autouse=True)
def score(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have some pairs proposed, whatever is trained."""

    def propose(left: Claim, right: Claim, **_: object) -> Proposal | None:
        found = SCORES.get(frozenset((left.text, right.text)))
        return None if found is None else Proposal(*found, "they share cache")

    monkeypatch.setattr(relations, "propose", propose)


async def proposed(world: World) -> list[Proposed]:
    """Return what is proposed."""
    return await world.office.read(verdicts.list_proposals)


async def say(world: World, two: Pair, relation: Relation, said: str) -> None:
    """Have a person say what two texts are, and the two compared again."""
    at = world.office.clock.now()
    await world.office.write(lambda c: verdicts.say(c, two, relation=relation, said=said, at=at))
    world.changed.update(two)
    await world.reconcile()


async def judge(world: World, two: Pair, said: AgentVerdict) -> None:
    """Have an agent say what two texts are, and the two compared again."""
    given = Handout("dup_1", "VAJRA", PairKind.DUPLICATE, *two, 1)
    at = world.office.clock.now()
    await world.office.write(lambda c: verdicts.give(c, given, said=said, at=at, reason=None))
    world.changed.update(two)
    await world.reconcile()


def between(left: str, right: str) -> Pair:
    """Return the ids of two texts."""
    return make_pair(*ids(left, right))


class TestPlaces:
    async def test_parts(self, world: World, project: Project) -> None:
        """What holds in two parts of one project is not held against one another."""
        await world.write(project, "CLAUDE.md", [TABS], places=[("", "web")])
        await world.write(project, "AGENTS.md", [NEVER], places=[("", "api")])
        await world.reconcile()

        assert [] == await open_ones(world)

    async def test_removed(self, world: World, project: Project, other: Project) -> None:
        """What only a project says that is not followed any more differs from nothing."""
        await world.write(project, "CLAUDE.md", [TABS])
        await world.write(other, "CLAUDE.md", [NEVER])
        await world.reconcile()
        assert ["contextual"] == [each.type for each in await open_ones(world)]
        await world.office.write(lambda c: projects.remove(c, other.id))
        await world.reconcile(full=True)

        assert [] == await open_ones(world)

    async def test_under_another_wording(
        self, world: World, project: Project, other: Project
    ) -> None:
        """Two texts of one project contradict each other whoever's wording speaks for them."""
        for name in ("CLAUDE.md", "AGENTS.md"):
            await world.write(other, name, [TABS])
        await world.write(project, "CLAUDE.md", [ALWAYS, NEVER])
        await world.reconcile()

        assert ["direct"] == [each.type for each in await open_ones(world)]


class TestWord:
    async def test_apart(self, world: World, project: Project) -> None:
        """What a person finds to be two claims is merged no more, also when it comes back."""
        await world.write(project, "CLAUDE.md", [TABS])
        await world.write(project, "AGENTS.md", [ALWAYS])
        await world.reconcile()
        before = {await status(world, text) for text in (TABS, ALWAYS)}
        await say(world, between(TABS, ALWAYS), Relation.RELATED, "apart")
        await world.write(project, "AGENTS.md", [TESTS])
        await world.reconcile()
        await world.write(project, "AGENTS.md", [ALWAYS])
        await world.reconcile(full=True)

        assert {"active", "superseded"} == before
        assert ["active", "active"] == [await status(world, text) for text in (TABS, ALWAYS)]

    async def test_same(self, world: World, project: Project) -> None:
        """What a person finds to be one claim is merged; taking that back parts it again."""
        await world.write(project, "CLAUDE.md", [WARM, EMPTY])
        await world.reconcile()
        two = between(WARM, EMPTY)
        await say(world, two, Relation.SAME, "same")
        merged = {await status(world, text) for text in (WARM, EMPTY)}
        name = make_id(ProposalKind.DUPLICATE, two)
        await world.office.write(lambda c: contradictions.reopen(c, name, at=1))
        world.changed.update(two)
        await world.reconcile()

        assert {"active", "superseded"} == merged
        assert ["active", "active"] == [await status(world, text) for text in (WARM, EMPTY)]
        assert [name] == [each.id for each in await proposed(world)]

    async def test_before_a_model(self, world: World, project: Project) -> None:
        """A person's word is the last: no model is asked about what a person has decided."""
        world.judge = Model(Judgement(Relation.SAME, Decider.LLM, "one claim"))
        two = between(WARM, COLD)
        at = world.office.clock.now()
        await world.write(project, "CLAUDE.md", [WARM, COLD])
        await world.office.write(
            lambda c: verdicts.say(c, two, relation=Relation.RELATED, said="apart", at=at)
        )
        await world.reconcile()

        assert [] == world.judge.asked
        assert ["active", "active"] == [await status(world, text) for text in (WARM, COLD)]

    async def test_other_wording(self, world: World, project: Project) -> None:
        """A decision holds for a wording that counted for the text, once that text is gone."""
        await world.write(project, "CLAUDE.md", [TABS, NEVER])
        await world.write(project, "AGENTS.md", [ALWAYS])
        await world.reconcile()
        (one,) = await open_ones(world)
        kept = next(each for each in one.pair if each != ids(NEVER)[0])
        at = world.office.clock.now()
        await world.office.write(
            lambda c: contradictions.decide(c, one.id, status="resolved", kept_id=kept, at=at)
        )
        gone = TABS if kept == ids(TABS)[0] else ALWAYS
        await world.write(project, "CLAUDE.md", [NEVER] if gone is TABS else [NEVER, TABS])
        await world.write(project, "AGENTS.md", [ALWAYS] if gone is TABS else [])
        await world.reconcile()

        left = ALWAYS if gone is TABS else TABS
        assert [] == await open_ones(world)
        assert ["active", "contradicted"] == [await status(world, text) for text in (left, NEVER)]

    async def test_taken_back(self, world: World, project: Project) -> None:
        """A decision that is taken back leaves the contradiction as the rules find it."""
        await world.write(project, "CLAUDE.md", [TABS, NEVER])
        await world.reconcile()
        (one,) = await open_ones(world)
        at = world.office.clock.now()
        await world.office.write(
            lambda c: contradictions.decide(c, one.id, status="dismissed", at=at)
        )
        await world.office.write(lambda c: contradictions.reopen(c, one.id, at=1))
        world.changed.update(one.pair)
        await world.reconcile()

        assert [one.id] == [each.id for each in await open_ones(world)]
        assert ["contradicted"] * 2 == [await status(world, text) for text in (TABS, NEVER)]


class TestPossible:
    async def test_without_effect(self, world: World, project: Project) -> None:
        """What is only possible is kept with its score and reason, and changes nothing."""
        await world.write(project, "CLAUDE.md", [WARM, COLD])
        await world.reconcile()

        (one,) = await proposed(world)
        assert (ProposalKind.CONTRADICTION, 0.7, "they share cache") == (
            *(one.kind, one.score, one.reason),
        )
        assert 0.7 == pytest.approx(one.similarity, abs=0.001)
        assert [] == await open_ones(world)
        assert ["active", "active"] == [await status(world, text) for text in (WARM, COLD)]

    async def test_one_place(self, world: World, project: Project, other: Project) -> None:
        """A contradiction is possible within one project; near duplicates between two as well."""
        await world.write(project, "CLAUDE.md", [WARM])
        await world.write(other, "CLAUDE.md", [COLD, EMPTY])
        await world.reconcile()

        assert [ProposalKind.DUPLICATE] == [each.kind for each in await proposed(world)]

    async def test_leaves(self, world: World, project: Project) -> None:
        """A proposal is gone with its text, and when a person has decided it."""
        await world.write(project, "CLAUDE.md", [WARM, COLD, EMPTY])
        await world.reconcile()
        first = [each.kind for each in await proposed(world)]
        await world.write(project, "CLAUDE.md", [WARM, COLD])
        await world.reconcile()
        (one,) = await proposed(world)
        at = world.office.clock.now()
        await world.office.write(
            lambda c: contradictions.decide(
                c, one.id, status="resolved", kept_id=ids(WARM)[0], at=at
            )
        )
        world.changed.update(one.pair)
        await world.reconcile()

        assert [ProposalKind.DUPLICATE, ProposalKind.CONTRADICTION] == first
        assert [] == await proposed(world)
        assert ["active", "contradicted"] == [await status(world, text) for text in (WARM, COLD)]

    async def test_most(
        self, world: World, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One run keeps the likeliest, as many as a queue can use."""
        monkeypatch.setattr(verdicts, "PROPOSED", 1)
        await world.write(project, "CLAUDE.md", [WARM, COLD, EMPTY])
        await world.reconcile()

        assert [0.9] == [each.score for each in await proposed(world)]

    async def test_asked_first(self, world: World, project: Project) -> None:
        """A model is asked the likeliest proposals first, and what it has answered is decided."""
        said = Judgement(Relation.CONTRADICTION, Decider.LLM, "warm or not", Conflict.DIRECT)
        world.judge = Model(said)
        await world.write(project, "CLAUDE.md", [WARM, COLD, EMPTY])
        await world.reconcile()

        asked = [{left.text, right.text} for left, right, _ in world.judge.asked]
        assert [{WARM, EMPTY}, {WARM, COLD}] == asked[:2]
        assert [] == await proposed(world)
        assert 3 == len(asked) == len(await open_ones(world))


class TestAgent:
    async def test_two_projects(self, world: World, project: Project, other: Project) -> None:
        """What an agent calls the same in two projects stays two."""
        await world.write(project, "CLAUDE.md", [WARM])
        await world.write(other, "CLAUDE.md", [EMPTY])
        await world.reconcile()
        await judge(world, between(WARM, EMPTY), AgentVerdict.SAME)

        assert ["active", "active"] == [await status(world, text) for text in (WARM, EMPTY)]

    async def test_gives_no_voice(self, world: World, project: Project, other: Project) -> None:
        """What one project says counts for what two say, and never stands for it."""
        await world.write(project, "CLAUDE.md", [WARM, EMPTY])
        await world.write(other, "CLAUDE.md", [EMPTY])
        await world.reconcile()
        await judge(world, between(WARM, EMPTY), AgentVerdict.SAME)

        assert ["superseded", "active"] == [await status(world, text) for text in (WARM, EMPTY)]

    async def test_below_the_rules(self, world: World, project: Project) -> None:
        """What the rules are sure of stays, whatever an agent says."""
        await world.write(project, "CLAUDE.md", [TABS, NEVER])
        await world.reconcile()
        await judge(world, between(TABS, NEVER), AgentVerdict.APART)

        assert ["rules"] == [each.decided_by for each in await open_ones(world)]

    async def test_before_a_model(self, world: World, project: Project) -> None:
        """No model is asked about what an agent has judged, and a person's word replaces both."""
        world.judge = Model(Judgement(Relation.SAME, Decider.LLM, "one claim"))
        two = between(WARM, COLD)
        await world.write(project, "CLAUDE.md", [WARM, COLD])
        await judge(world, two, AgentVerdict.CONTRADICT)
        shown = [each.decided_by for each in await open_ones(world)]
        await say(world, two, Relation.SAME, "same")

        assert (["agent"], []) == (shown, world.judge.asked)
        assert [] == await open_ones(world)
        assert {"active", "superseded"} == {await status(world, text) for text in (WARM, COLD)}
