"""Weighing: what speaks for texts that say the same, and what they have earned."""

from __future__ import annotations

from dataclasses import replace

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import Granularity
from cortex_actors.pipeline.evidence import Scales, evidence, weigh
from cortex_actors.rules.promotion import Thresholds
from cortex_actors.storage.insight_evidence import Spoken

NOW = 1_000 * DAY


def text(name: str, *revisions: str, days: int = 0, path: str = "/a/CLAUDE.md") -> Spoken:
    """Return a text that a file says since so many days, in those revisions."""
    first = NOW - days * DAY
    seen = {(path, each): (first, first) for each in revisions[:-1]}
    seen |= {(path, each): (NOW, NOW) for each in revisions[-1:]}
    return Spoken(
        name,
        f"Keep {name}.",
        None,
        Granularity.STATEMENT,
        None,
        None,
        is_free=True,
        category="fact",
        status="active",
        confidence=0.5,
        kind=None,
        projects={path.split("/")[1]},
        voices={path.split("/")[1]},
        paths={path},
        scopes={""},
        revisions=seen,
    )


def scales(*contradicted: str, promoted: str = "") -> Scales:
    """Return scales with what is usually asked."""
    return Scales(NOW, Thresholds(), contradicted, {promoted})


class TestEvidence:
    def test_together(self) -> None:
        """What two wordings were seen in counts once for each revision of a file."""
        other = text("b", "r2", "r3", path="/b/CLAUDE.md")
        found = evidence([text("a", "r1", "r2"), text("c", "r2"), other], contradicted=False)

        assert (4, 2) == (found.observations, found.projects)

    def test_left(self) -> None:
        """Revisions of a file that says neither any more do not count."""
        left = text("a", "r1", "r2")
        left.paths.clear()
        found = evidence([left, text("b", "r3", path="/b/CLAUDE.md")], contradicted=False)

        assert 1 == found.observations

    def test_times(self) -> None:
        """It is as old as its first observation and as fresh as its newest."""
        found = evidence([text("a", "r1", "r2", days=50)], contradicted=True)

        assert (NOW - 50 * DAY, NOW) == (found.first_seen, found.last_seen)
        assert found.contradicted


class TestWeigh:
    def test_waiting(self) -> None:
        """What one project kept for two months waits for a person, and is no candidate."""
        kept = text("a", "r1", "r2", "r3", days=60)
        found = weigh({"a": [kept]}, scales())

        assert ((), ("a",)) == (found.candidates, found.waiting)
        assert (("a", 0.7),) == found.changed

    def test_candidate(self) -> None:
        """What two projects kept is a candidate."""
        some = [text("a", "r1", "r2", days=60), text("b", "r1", "r2", path="/b/A.md", days=60)]
        found = weigh({"a": some}, scales())

        assert (("a",), ()) == (found.candidates, found.waiting)

    def test_against(self) -> None:
        """What is contradicted, or a principle already, is neither."""
        kept = text("a", "r1", "r2", "r3", days=60)

        for some in (scales("a"), scales(promoted="a")):
            found = weigh({"a": [kept]}, some)
            assert ((), ()) == (found.candidates, found.waiting)

    def test_private(self) -> None:
        """What only one person's file says never becomes a principle."""
        kept = text("a", "r1", "r2", "r3", days=60)
        kept.is_private = True

        assert () == weigh({"a": [kept]}, scales()).waiting

    def test_boilerplate(self) -> None:
        """What a tool writes into every file is believed little and never becomes a principle."""
        said = "This file provides guidance to Claude Code when working in this repository."
        some = [
            replace(text("a", "r1", "r2", days=60), content=said),
            replace(text("b", "r1", "r2", path="/b/A.md", days=60), content=said),
        ]
        found = weigh({"a": some}, scales())

        assert ((), ()) == (found.candidates, found.waiting)
        assert 0.2 > found.changed[0][1]

    def test_unchanged(self) -> None:
        """A weight that is what it was is not written again."""
        assert () == weigh({"a": [text("a", "r1")]}, scales()).changed
