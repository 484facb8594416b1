"""The links of principles are a function of the principles, however they came about."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.domain.insight import Claim
from cortex_actors.domain.principle import LinkType
from cortex_actors.pipeline.relations import Survey, draw_links, find_affected
from cortex_actors.rules.clustering import Subject
from cortex_actors.rules.linking import LinkThresholds
from cortex_actors.storage.pipeline.principle_lists import PrincipleNode, PrincipleShelf
from cortex_actors.text.lexicon import load_standard

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cortex_actors.domain.principle import Link
    from cortex_actors.rules.clustering import Pair

#: Few enough neighbours that they push each other out.
FEW = LinkThresholds(related=0.3, close=0.6, reinforces=0.9, neighbours=3)

#: What principles say here: some contradict, some need each other, some say more than others.
SAID = (
    "Use tabs for indentation.",
    "Use spaces for indentation.",
    "Use npm for packages.",
    "Use pnpm for packages.",
    "Run tests with pytest.",
    "Run tests with pytest in parallel on every platform.",
    "Run the tests before creating a pull request.",
    "Create a pull request against develop.",
    "Mock external services.",
    "Mock external services in unit tests.",
)

Links = dict["Pair", "Link"]


class World:
    """Principles that come, change and go, with the links that were drawn so far."""

    def __init__(self, seed: int) -> None:
        """Begin with nothing."""
        self.chance = random.Random(seed)
        self.nodes: dict[str, PrincipleNode] = {}
        self.rows: dict[str, np.ndarray] = {}
        self.links: Links = {}
        self.due: set[str] = set()

    def add(self, count: int) -> None:
        """Let principles come that lie near each other, some without a vector."""
        for _ in range(count):
            name = f"pri_{self.chance.randrange(16**8):020x}"
            text = f"{self.chance.choice(SAID)} ({name[-4:]})"
            domain = frozenset([self.chance.choice(["python", "go", "ci"])])
            self.nodes[name] = PrincipleNode(Subject(name, Claim(text), domain), b"")
            vector = np.array([self.chance.gauss(0.6, 1) for _ in range(4)])
            if self.chance.random() < 0.9:
                self.rows[name] = (vector / np.linalg.norm(vector)).astype(np.float32)
            self.due.add(name)

    def drop(self, count: int) -> None:
        """Let principles go; who was linked with one is due, as the ledger has it."""
        for name in self.chance.sample(sorted(self.nodes), count):
            gone = [edge for edge in self.links if name in edge]
            self.due |= {end for edge in gone for end in edge}
            for edge in gone:
                del self.links[edge]
            del self.nodes[name]
            self.rows.pop(name, None)

    def draw(self) -> None:
        """Draw the links of what is due."""
        self.due &= self.nodes.keys()
        found = self._drawn(self.due, self.links)
        self.links = found
        self.due = set()

    def anew(self) -> Links:
        """Return what drawing all of it gives."""
        return self._drawn(self.nodes.keys(), {})

    def _drawn(self, due: Collection[str], before: Mapping[Pair, Link]) -> Links:
        """Return the links after drawing."""
        survey = Survey(PrincipleShelf(self.nodes, self.rows), FEW, load_standard())
        of_due = [each for edge, each in before.items() if set(edge) & set(due)]
        around = find_affected(survey, set(due), of_due)
        some = [each for edge, each in before.items() if set(edge) & around]
        made = draw_links(survey, set(due), around, some)
        after = dict(before)
        for each in made.gone:
            after.pop(each.pair, None)
        return after | {each.pair: each for each in made.found}


class TestIncremental:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(2))
    def test_as_anew(self, seed: int) -> None:
        """Whatever came, changed and went: what is left is what drawing all of it anew gives."""
        world = World(seed)
        for _ in range(8):
            world.add(world.chance.randrange(1, 12))
            if len(world.nodes) > 12 and world.chance.random() < 0.6:
                world.drop(world.chance.randrange(1, 6))
            world.draw()
            anew = world.anew()
            assert anew == world.links, f"seed {seed}, {len(world.nodes)} principles"

        assert {LinkType.CONTRADICTS, LinkType.RELATED} <= {e.type for e in world.links.values()}

    def test_order(self) -> None:
        """Principles that come one by one and all at once are linked alike."""
        one, other = World(99), World(99)
        one.add(30)
        one.draw()
        for _ in range(30):
            other.add(1)
            other.draw()

        assert one.links == other.links

    def test_nothing_due(self) -> None:
        """Drawing again changes nothing."""
        world = World(7)
        world.add(25)
        world.draw()
        before = dict(world.links)
        world.due = set(world.nodes)
        world.draw()

        assert before == world.links


class TestNearest:
    def test_pushed_out(self) -> None:
        """Each keeps its nearest: a nearer one that comes takes the place of the farthest."""
        world = World(3)
        world.add(60)
        world.draw()
        degree = [sum(name in edge for edge in world.links) for name in world.nodes]

        assert max(degree) < len(world.nodes) / 2
        assert any(each.type is LinkType.RELATED for each in world.links.values())
