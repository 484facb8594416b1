"""Contradictions of two projects, and of statements that the rules leave to a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.insight import Claim, Conflict, Decider, Granularity, Judgement, Relation
from cortex_actors.domain.project import StatementKind
from cortex_actors.pipeline.relations import Relations
from cortex_actors.storage.pipeline.insight_evidence import SpokenText
from tests.pipeline.histories import World
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
    from collections.abc import AsyncIterator, Sequence

    from cortex_actors.domain.project import Project
    from tests.pipeline.support import Office


@dataclass
class Model:
    """A model that has an opinion of pairs."""

    found: Judgement | None
    asked: list[tuple[Claim, Claim, float | None]] = field(default_factory=list)
    is_there: bool = True
    named: str = "tiny"

    async def compare(
        self, pairs: Sequence[tuple[Claim, Claim, float | None]], *, run: str
    ) -> list[Judgement | None]:
        """Say the same of every pair."""
        assert run
        self.asked += pairs
        return [self.found for _ in pairs]


def row(content: str) -> SpokenText:
    """Return a statement of one list."""
    return SpokenText(
        id=content,
        content=content,
        heading="Rules",
        granularity=Granularity.STATEMENT,
        domain=None,
        superseded_by=None,
        is_free=True,
        category="fact",
        status="active",
        confidence=0.5,
        kind=None,
        projects={"prj_1"},
        places={("prj_1", "")},
        paths={"/a/CLAUDE.md"},
    )


@pytest.fixture
async def world(office: Office) -> AsyncIterator[World]:
    """Give a world in which what is said of tabs is near, and of tests far from it."""
    found = World(office)
    found.vectors = dict(zip(ALL, apart(0.95, 0.9, 0.1), strict=True))
    yield found
    found.close()


class TestElsewhere:
    async def test_stack(self, world: World, project: Project, other: Project) -> None:
        """Two projects that chose other tools disagree in context only, and stay active."""
        await world.write(project, "CLAUDE.md", ["Use npm."], embedded=False)
        await world.write(other, "CLAUDE.md", ["Use pnpm."], embedded=False)
        await world.reconcile()

        (one,) = await open_ones(world)
        assert ("contextual", "active") == (one.type, await status(world, "Use npm."))

    async def test_same_project(self, world: World, project: Project, other: Project) -> None:
        """Where one project says both, its tools are a contradiction like any other."""
        await world.write(project, "CLAUDE.md", ["Use npm.", "Use pnpm."], embedded=False)
        await world.write(other, "CLAUDE.md", ["Use pnpm."], embedded=False)
        await world.reconcile()

        assert ["direct"] == [each.type for each in await open_ones(world)]

    async def test_comes_home(self, world: World, project: Project, other: Project) -> None:
        """A contradiction between two projects becomes one of a project that says both."""
        await world.write(project, "CLAUDE.md", ["Use npm."], embedded=False)
        await world.write(other, "CLAUDE.md", ["Use pnpm."], embedded=False)
        await world.reconcile()
        await world.write(other, "AGENTS.md", ["Use npm."], embedded=False)
        found = await world.reconcile()

        assert ["direct"] == [each.type for each in await open_ones(world)]
        assert ["contradicted"] * 2 == [await status(world, f"Use {n}.") for n in ("npm", "pnpm")]
        assert [] == list(found.detected)

    async def test_habit(self, world: World, project: Project, other: Project) -> None:
        """What two projects choose differently is a difference, and keeps neither from counting."""
        await world.write(project, "CLAUDE.md", [TABS])
        await world.write(other, "CLAUDE.md", [NEVER])
        await world.reconcile()

        assert ["contextual"] == [each.type for each in await open_ones(world)]
        assert ["active"] * 2 == [await status(world, text) for text in (TABS, NEVER)]

    async def test_private(self, world: World, project: Project, other: Project) -> None:
        """What only one person says of a project is never held against another one."""
        await world.write(project, "CLAUDE.local.md", [TABS])
        await world.write(other, "CLAUDE.md", [NEVER])
        await world.reconcile()

        assert [] == await open_ones(world)


class TestSiblings:
    def test_rows(self) -> None:
        """Rows of one table differ on purpose; in two files the same texts would disagree."""
        rows = ["Welcome text - Key: `brand.hello`", "Goodbye text - Key: `brand.bye`"]
        left, right = (row(each) for each in rows)
        judged = Relations().judge(left, right, 0.9)

        assert not judged.contradicts
        assert judged.relation is not Relation.SAME

    def test_stand(self) -> None:
        """What both take a stand on is a contradiction in one list, too."""
        left, right = (row(each) for each in (TABS, NEVER))

        assert Relations().judge(left, right, 0.9).contradicts

    def test_alike(self) -> None:
        """Rows of one list are one only if they are nearly the same words."""
        left, right = (row(each) for each in (TABS, ALWAYS))

        assert [Relation.RELATED, Relation.SAME] == [
            Relations().judge(left, right, score).relation for score in (0.9, 0.95)
        ]

    def test_fuller(self) -> None:
        """What says more than another statement of its file adds to it; in two files it leads."""
        less, fuller = row("Cover all modules with tests"), row("Cover all modules with fast tests")
        fuller.heading = f"Rules > {less.content}"
        judged = [Relations().judge(less, fuller, 0.97).relation]
        fuller.paths = {"/a/AGENTS.md"}

        assert [Relation.RELATED, Relation.SAME] == [
            *judged,
            Relations().judge(less, fuller, 0.97).relation,
        ]

    def test_example(self) -> None:
        """An example contradicts nobody: it shows something."""
        left, right = (row(each) for each in (TABS, NEVER))
        right.kind = StatementKind.EXAMPLE

        assert not Relations().judge(left, right, 0.9).contradicts


class TestClaims:
    @pytest.mark.parametrize("kind", [StatementKind.COMMAND, StatementKind.EXAMPLE])
    def test_commands(self, kind: StatementKind) -> None:
        """Commands and examples are no claims, and are never one with another text."""
        left, right = row("Run the tests twice"), row("Run the tests twice.")
        right.paths, right.kind = {"/a/AGENTS.md"}, kind
        relations = Relations()

        assert Relation.SAME is not relations.judge(left, right, 0.99).relation
        said = Judgement(Relation.SAME, Decider.LLM, "it says so")
        assert Relation.SAME is not relations.read_answer(left, right, said).relation

    @pytest.mark.parametrize(
        ("text", "other", "is_same"),
        [
            ("`package.json` - scripts, dependencies, engines and hooks", "-", False),
            ("Widget browser tests", "-", False),
            ("Line length: 100 characters", "-", True),
        ],
    )
    def test_local(self, text: str, other: str, *, is_same: bool) -> None:
        """A short fact, or an entry of a list of files, is no claim by itself."""
        left, right = row(text), row(f"{text} {other}")
        left.kind, right.kind = StatementKind.FACT, StatementKind.RULE
        right.paths = {"/b/CLAUDE.md"}
        assert is_same is (Relations().judge(left, right, 0.99).relation is Relation.SAME)

        right.projects = {"prj_2"}
        assert is_same is (Relations().judge(left, right, 0.99).relation is Relation.SAME)

    @pytest.mark.parametrize(
        ("headings", "other", "is_same"),
        [
            (("Checks > Import", "Checks > Export"), "The preview always shows each row", False),
            (("Web > Login", "Desktop > Login"), "The preview always shows each row", False),
            (("Checks > Import", "Checks > Export"), "**The preview** shows each row.", True),
            (("Checks", "Release > Checks"), "The preview always shows each row", True),
        ],
    )
    def test_headings(self, headings: tuple[str, str], other: str, *, is_same: bool) -> None:
        """Under different topics of one file only the same words are one."""
        left, right = row("The preview shows each row"), row(other)
        left.heading, right.heading = headings
        assert is_same is (Relations().judge(left, right, 0.95).relation is Relation.SAME)

        right.paths = {"/a/AGENTS.md"}
        assert Relation.SAME is Relations().judge(left, right, 0.95).relation

    def test_model_loses(self) -> None:
        """What a model takes for one is led by what says more; not what differs, by entailment."""
        said = Judgement(Relation.SAME, Decider.LLM, "it says so")
        left, right = row("The cache is warm."), row("We keep the cache warm for the tests.")
        third = row("We keep 9 caches warm.")
        relations = Relations()

        assert right.content == relations.read_answer(left, right, said).fuller
        assert third.content == relations.read_answer(left, third, said).fuller
        guessed = Judgement(Relation.SAME, Decider.NLI, "it says so")
        assert Relation.RELATED is relations.read_answer(left, third, guessed).relation
        right.projects = {"prj_2"}
        assert "" == relations.read_answer(left, right, said).fuller


class TestModel:
    async def test_asked(self, world: World, project: Project) -> None:
        """A model is asked what the rules leave open, and what it says is kept as its word."""
        world.vectors = dict(zip(("The cache is warm.", TESTS), apart(0.6), strict=True))
        said = Judgement(Relation.CONTRADICTION, Decider.NLI, "it says so", Conflict.DIRECT, 0.9)
        world.judge = Model(said)
        await world.write(project, "CLAUDE.md", ["The cache is warm.", TESTS])
        await world.reconcile()

        (one,) = await open_ones(world)
        assert ("nli", "it says so") == (one.decided_by, one.reason)
        assert 1 == len(world.judge.asked)

    async def test_not_asked(self, world: World, project: Project) -> None:
        """What the rules decide is nobody else's to decide."""
        world.judge = Model(Judgement(Relation.SAME, Decider.LLM, "it says so"))
        await world.write(project, "CLAUDE.md", [TABS, NEVER])
        await world.reconcile()

        assert [] == world.judge.asked
        assert 1 == len(await open_ones(world))

    def test_one_claim(self) -> None:
        """An entailment model cannot make one of two statements that name different things."""
        said = Judgement(Relation.SAME, Decider.NLI, "it says so")
        first, second, other = (
            row(each)
            for each in (
                "Run `npm test` first.",
                "Begin with `npm run lint`.",
                "Begin: `npm test`.",
            )
        )
        relations = Relations()

        answered = relations.read_answer(first, other, said)
        assert (said.relation, said.decider) == (answered.relation, answered.decider)
        refused = relations.read_answer(first, second, said)
        assert (Relation.RELATED, Decider.NLI) == (refused.relation, refused.decider)
        assert "it says so; but they name different things" == refused.reason

    def test_language_model(self) -> None:
        """A language model's word counts for statements that name different things, too."""
        said = Judgement(Relation.SAME, Decider.LLM, "it says so")
        first, second = row("Run `npm test` first."), row("Begin with `npm run test`.")

        assert Relation.SAME is Relations().read_answer(first, second, said).relation

    def test_no_merge(self) -> None:
        """A model cannot make one of two statements that the rules know to contradict."""
        said = Judgement(Relation.SAME, Decider.LLM, "it says so")
        left = row("Maintain consistent indentation using 2 spaces (prefer spaces over tabs).")
        right = row("4-space indentation, semicolons always required")
        right.kind = StatementKind.EXAMPLE
        relations = Relations()

        assert relations.is_open(left, right, relations.judge(left, right, 0.8))
        assert Relation.RELATED is relations.read_answer(left, right, said).relation

    def test_private(self) -> None:
        """What only one person says is shown to a model beside the same project's texts alone."""
        left, right = row("The cache is warm."), row(TESTS)
        left.is_private = True
        found = Judgement(Relation.RELATED, Decider.RULES, "near")
        at_home = Relations().is_open(left, right, found)
        right.projects = {"prj_2"}

        assert (True, False) == (at_home, Relations().is_open(left, right, found))

    async def test_no_opinion(self, world: World, project: Project) -> None:
        """A model without an opinion leaves things as the rules left them."""
        world.vectors = dict(zip(("The cache is warm.", TESTS), apart(0.6), strict=True))
        world.judge = Model(None)
        await world.write(project, "CLAUDE.md", ["The cache is warm.", TESTS])
        await world.reconcile()

        assert [] == await open_ones(world)
