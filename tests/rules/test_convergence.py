"""Convergence: which messages of different agents say alike, compared with one another."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_actors.domain.memory import ConvergenceLevel
from cortex_actors.rules.convergence import Voice, find_group, find_groups, find_opposition, preview

if TYPE_CHECKING:
    from cortex_actors.rules.convergence import AgreeingGroup, ConvergenceResult, Likeness

#: Texts of which no two contradict each other.
COLOURS = ["blue", "green", "amber", "violet", "teal", "olive", "coral", "pearl"]


def voices(*agents: str) -> list[Voice]:
    """Return a message of each agent, called by its place."""
    return [Voice(str(n), agent, f"the sky is {COLOURS[n]}") for n, agent in enumerate(agents)]


def alike(*pairs: tuple[int, int], at: float = 0.8) -> Likeness:
    """Return cosines that are high for those pairs, and low for all others."""
    near = {frozenset(pair) for pair in pairs}
    return lambda one, other: at if frozenset((one, other)) in near else 0.1


def all_alike(_one: int, _other: int) -> float:
    """Find every two messages alike."""
    return 0.9


def ids(found: ConvergenceResult) -> list[list[str]]:
    """Return the messages of each group."""
    return [[voice.id for voice in group.voices] for group in found.groups]


class TestGroups:
    def test_harmony(self) -> None:
        """Two agents that say alike are in harmony [N-18]."""
        (group,) = find_groups(voices("A", "B"), all_alike, threshold=0.7).groups

        assert (ConvergenceLevel.HARMONY, ("A", "B"), 0.9) == (
            group.kind,
            group.agents,
            group.likeness,
        )

    def test_consensus(self) -> None:
        """Three agents, or more, are a consensus [N-18]."""
        for count in (3, 5):
            (group,) = find_groups(voices(*"ABCDE"[:count]), all_alike, threshold=0.7).groups

            assert ConvergenceLevel.CONSENSUS is group.kind

    def test_one_agent(self) -> None:
        """What one agent says twice makes no agreement."""
        assert () == find_groups(voices("A", "A", "A"), all_alike, threshold=0.7).groups

    def test_threshold(self) -> None:
        """A cosine of just the threshold is enough, a hair less is not."""
        near = alike((0, 1), at=0.7)

        assert [["0", "1"]] == ids(find_groups(voices("A", "B"), near, threshold=0.7))
        assert [] == ids(find_groups(voices("A", "B"), near, threshold=0.700001))

    def test_not_by_way_of_another(self) -> None:
        """Two that are each near a third and not near each other are in no group together."""
        found = find_groups(voices("A", "B", "C"), alike((0, 1), (1, 2)), threshold=0.7)

        assert [["0", "1"]] == ids(found)

    def test_most_agents_first(self) -> None:
        """A message counts in the group of most agents, and in no other."""
        near = alike((0, 1), (1, 2), (2, 3), (1, 3), (4, 5))
        found = find_groups(voices("A", "B", "C", "D", "E", "F"), near, threshold=0.7)

        assert [["1", "2", "3"], ["4", "5"]] == ids(found)

    def test_several_of_one(self) -> None:
        """Several messages of an agent count once among the agents, and all among the messages."""
        (group,) = find_groups(voices("A", "A", "B"), all_alike, threshold=0.7).groups

        assert (3, 2, ConvergenceLevel.HARMONY) == (
            len(group.voices),
            len(group.agents),
            group.kind,
        )

    def test_min_agents(self) -> None:
        """Groups of fewer agents than were asked for are none."""
        for least, expected in ((2, 1), (3, 0)):
            found = find_groups(voices("A", "B"), all_alike, threshold=0.7, min_agents=least)

            assert expected == len(found.groups)

    @settings(max_examples=60)
    @given(st.data())
    def test_any(self, data: st.DataObject) -> None:
        """Every group is alike in all its pairs, none could be larger, and none share a message."""
        count = data.draw(st.integers(0, 7))
        agents = data.draw(st.lists(st.sampled_from("ABC"), min_size=count, max_size=count))
        every = list(itertools.combinations(range(count), 2))
        near = set(
            data.draw(st.lists(st.sampled_from(every), unique=True) if every else st.just([]))
        )
        found = find_groups(voices(*agents), alike(*near), threshold=0.7)

        taken: set[int] = set()
        for group in found.groups:
            places = {int(voice.id) for voice in group.voices}
            assert all(pair in near for pair in itertools.combinations(sorted(places), 2))
            assert len(group.agents) > 1
            assert not taken & places
            for other in set(range(count)) - taken - places:
                assert any(tuple(sorted((other, place))) not in near for place in places)
            taken |= places
        left = [pair for pair in near if not taken & set(pair)]
        assert all(agents[one] == agents[other] for one, other in left)


class TestAround:
    def group(self, near: Likeness) -> AgreeingGroup | None:
        """Return the group of the first of four messages."""
        return find_group(voices("A", "B", "C", "D"), near, threshold=0.7)

    def test_of_the_first(self) -> None:
        """A post finds the group it is in, though another one may be larger."""
        group = self.group(alike((0, 1), (1, 2), (2, 3), (1, 3)))

        assert group is not None
        assert ["0", "1"] == [voice.id for voice in group.voices]

    def test_none(self) -> None:
        """A post with which nobody agrees is in none."""
        assert self.group(alike((1, 2))) is None
        assert find_group([], all_alike, threshold=0.7) is None


class TestOpposites:
    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("Always pin your dependencies.", "Never pin your dependencies."),
            ("Use tabs for indentation.", "Do not use tabs for indentation."),
            ("Commit the lock file.", "The lock file must not be committed."),
            ("Redis listens on port 6379.", "Redis listens on port 6380."),
            ("Enable the cache in tests.", "Disable the cache in tests."),
            ("The release script is reliable.", "The release script is not reliable."),
            ("Build the wheel with Rust 1.70:", "Build the wheel with the latest Rust (1.82):"),
            ("Read the plan in `plan.md` first.", "First read the plan in `notes/todo.md`."),
            ("Use default exports in .vue files.", "For layouts, use named exports in .vue files."),
            (
                "Install all of it with Poetry into `env-py3.9`.",
                "Poetry has Python 3.11 (see `env-py3.11`), not 3.9: `pyproject.toml` wants that.",
            ),
        ],
    )
    def test_apart(self, left: str, right: str) -> None:
        """Texts that say the opposite are opposed, in either order, however near their vectors."""
        assert find_opposition(left, right, 0.97)
        assert find_opposition(right, left, 0.97)

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("Always pin your dependencies.", "Always pin your dependencies."),
            ("Pin every dependency.", "All dependencies should be pinned."),
            ("Never use any, define precise types.", "Never use any; types are explicit."),
            ("Redis listens on port 6379 by default", "Redis by default listens on port 6379"),
            ("This repo uses pnpm as the package manager.", "Use pnpm for package management."),
            (
                "Prefer enums over magic strings for states.",
                "Use enums (not magic strings) for states",
            ),
            ("No network in unit tests.", "Fake the network: no network in any unit test."),
        ],
    )
    def test_together(self, left: str, right: str) -> None:
        """Texts that say the same are not."""
        assert find_opposition(left, right, 0.85) is None

    def test_no_group(self) -> None:
        """Opposite messages are in no group, and named with the reason."""
        some = [
            Voice("1", "A", "Always pin your dependencies."),
            Voice("2", "B", "Never pin your dependencies."),
        ]
        found = find_groups(some, all_alike, threshold=0.7)

        assert () == found.groups
        (pair,) = found.apart
        assert ("1", "2", 0.9) == (pair.left.id, pair.right.id, pair.likeness)
        assert pair.reason

    def test_own_change_of_mind(self) -> None:
        """Nobody is told that an agent has said the opposite of what it said before."""
        some = [Voice("1", "A", "Always use tabs."), Voice("2", "A", "Never use tabs.")]

        assert () == find_groups(some, all_alike, threshold=0.7).apart


class TestPreview:
    def test_cut(self) -> None:
        """A preview has a hundred characters, and three dots where the message goes on [N-18]."""
        assert "a" * 100 == preview("a" * 100)
        assert "a" * 100 + "..." == preview("a" * 101)
        assert "a b" == preview("a\n b ")
