from __future__ import annotations

import pytest

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.principle import Link, LinkType


def link(source: str, target: str, kind: LinkType) -> Link:
    """Return a link between two."""
    return Link(source, target, kind, 0.8, Decider.RULES, "alike")


class TestKept:
    @pytest.mark.parametrize("kind", LinkType)
    def test_lesser_first(self, kind: LinkType) -> None:
        """Whichever end was told first, a pair is kept once; only a need keeps its order."""
        kept = link("b", "a", kind).normalise()

        assert (kind is LinkType.DEPENDS_ON) is (kept.source_id == "b")
        assert ("a", "b") == kept.pair

    def test_says_the_same(self) -> None:
        """Told from the other end a generalization is a specialization, and back again."""
        told = link("b", "a", LinkType.GENERALIZES)

        assert link("a", "b", LinkType.SPECIALIZES) == told.normalise()
        assert told == told.reverse().reverse()


class TestSeen:
    def test_from_the_target(self) -> None:
        """Told from its target a link begins there, but what is needed stays where it is."""
        wide = link("a", "b", LinkType.GENERALIZES)
        need = link("a", "b", LinkType.DEPENDS_ON)

        assert ("b", LinkType.SPECIALIZES) == (
            wide.view_from("b").source_id,
            wide.view_from("b").type,
        )
        assert (wide, need, need) == (wide.view_from("a"), need.view_from("a"), need.view_from("b"))
        assert ("b", "a") == (wide.find_other_end("a"), wide.find_other_end("b"))

    def test_supports(self) -> None:
        """Every link counts in a rank but a contradiction."""
        assert {LinkType.CONTRADICTS} == {
            each for each in LinkType if not link("a", "b", each).supports
        }
