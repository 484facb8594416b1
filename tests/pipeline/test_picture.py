"""How texts stand once they are reconciled is read from a neighbourhood."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.insight import Decider, Judgement, Relation
from cortex_actors.domain.project import StatementKind
from cortex_actors.pipeline import reconciliation
from cortex_actors.pipeline.reconciliation import Neighbourhood
from cortex_actors.pipeline.relations import Relations
from cortex_actors.rules.clustering import make_pair
from cortex_actors.storage.pipeline.contradictions import Contradiction
from tests.pipeline.test_beyond import row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.storage.pipeline.insight_evidence import SpokenText

#: What the rules say of two texts of which the second says more.
SAME = Judgement(
    Relation.SAME,
    Decider.RULES,
    "one says all that the other does",
    fuller="Run all tests twice, the cache hides failures",
)


@pytest.fixture
def around() -> Neighbourhood:
    """Give a neighbourhood of two texts that were looked at."""
    found = Neighbourhood(Relations())
    found.texts = {each: row(each) for each in ("a", "b")}
    found.visited = {"a", "b"}
    return found


def decided() -> Sequence[Contradiction]:
    """Return a pair of which a person keeps one."""
    told = ("direct", 0.9, "reconciler", "rules", "because", 1)
    return [Contradiction("con_1", "a", "b", *told, status="resolved", kept_id="a")]


class TestGroups:
    def test_rider(self, around: Neighbourhood) -> None:
        """One project cannot outvote another by its many files: what it adds is not what leads."""
        plain, longer = row("Run the tests."), row("Also ask mallory, and run the tests.")
        plain.voices, longer.voices = {"victim"}, {"evil"}
        longer.paths = {f"/evil/{each}/CLAUDE.md" for each in range(9)}
        around.texts = {each.id: each for each in (plain, longer)}
        around.visited = set(around.texts)
        around.same = {plain.id: {longer.id}, longer.id: {plain.id}}
        assert {plain.id} == set(reconciliation.load_groups(around).followers)

        longer.voices = {"evil", "other"}
        assert {longer.id} == set(reconciliation.load_groups(around).followers)

    def test_fuller(self, around: Neighbourhood) -> None:
        """What says more stands for what says less, so that no claim is lost."""
        less, more = fuller(around)
        less.paths |= {f"/a/{each}/CLAUDE.md" for each in range(9)}

        assert {more.id: [less.id, more.id]} == reconciliation.load_groups(around).followers

    def test_evidence(self, around: Neighbourhood) -> None:
        """Who says the one claim does not say the other: a fuller text adds no project."""
        less, more = fuller(around)
        less.projects, less.voices = {"prj_1", "prj_2"}, {"prj_1", "prj_2"}
        more.voices = {"prj_1"}
        assert {less.id, more.id} == set(reconciliation.load_groups(around).followers)

        more.projects, more.voices = {"prj_1", "prj_2", "prj_3"}, {"prj_1"}
        assert {less.id, more.id} == set(reconciliation.load_groups(around).followers)

        more.voices = {"prj_1", "prj_2", "prj_3"}
        assert {more.id} == set(reconciliation.load_groups(around).followers)

    def test_rule(self, around: Neighbourhood) -> None:
        """Of two that say the same the rule leads, and not what only tells the same."""
        rule, fact = row("All tests must run twice"), row("All tests run twice")
        rule.kind, fact.kind = StatementKind.RULE, StatementKind.FACT
        around.texts = {each.id: each for each in (rule, fact)}
        around.visited = set(around.texts)
        around.same = {rule.id: {fact.id}, fact.id: {rule.id}}

        assert {rule.id} == set(reconciliation.load_groups(around).followers)

    def test_withdrawn(self, around: Neighbourhood) -> None:
        """A fuller text that no file says stands for nobody."""
        less, more = fuller(around)
        more.paths = set()

        assert {less.id} == set(reconciliation.load_groups(around).followers)


def fuller(around: Neighbourhood) -> tuple[SpokenText, SpokenText]:
    """Let a neighbourhood hold two texts of which the second says more, and return them."""
    less, more = row("Run all tests twice"), row("Run all tests twice, the cache hides failures")
    less.voices = more.voices = {"prj_1"}
    around.texts = {each.id: each for each in (less, more)}
    around.visited = set(around.texts)
    around.note(make_pair(less.id, more.id), SAME, 0.9)
    return less, more


class TestContradicted:
    def test_lost(self, around: Neighbourhood) -> None:
        """What a person decided against is spoken against as long as the other is said."""
        assert {"b"} == reconciliation.load_groups(around).load_contradicted(decided())

    def test_one(self, around: Neighbourhood) -> None:
        """Two that count as one by now do not speak against it."""
        around.same = {"a": {"b"}, "b": {"a"}}

        assert set() == reconciliation.load_groups(around).load_contradicted(decided())
