"""Weighing: what speaks for texts that say the same, and what they have earned."""

from __future__ import annotations

from dataclasses import replace

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import Granularity
from cortex_actors.pipeline.evidence import Scales, gather_evidence, weigh
from cortex_actors.rules.promotion import PromotionThresholds
from cortex_actors.storage.pipeline.insight_evidence import SpokenText

NOW = 1_000 * DAY


def text(name: str, *ages: int, scans: int = 0, path: str = "/a/CLAUDE.md") -> SpokenText:
    """Return a text that revisions of a file say, those many days old, and so many scans found.

    The scans are of today and of the days before.
    """
    project = path.split("/")[1]
    times = [NOW - age * DAY for age in ages]
    return SpokenText(
        name,
        f"Always keep list {name} short.",
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
        revisions={(path, project, at // DAY): (at, at) for at in times},
        since={project: min(times)},
        scans={project: [NOW - age * DAY + 1 for age in reversed(range(scans))]},
    )


def scales(*contradicted: str, promoted: str = "") -> Scales:
    """Return scales with what is usually asked."""
    return Scales(NOW, PromotionThresholds(), contradicted, {promoted})


class TestEvidence:
    def test_together(self) -> None:
        """What two wordings were seen on counts once for each day and project."""
        other = text("b", 2, 3, path="/b/CLAUDE.md")
        found = gather_evidence([text("a", 1, 2), text("c", 2), other], contradicted=False)

        assert (4, 2) == (found.observations, found.projects)

    def test_scanned(self) -> None:
        """Each day of a scan counts from the first on, a revision of that day no more than it."""
        found = gather_evidence([text("a", 0, 4, 9, scans=6)], contradicted=False)

        assert (7, NOW + 1) == (found.observations, found.last_seen)

    def test_scanned_before(self) -> None:
        """A scan from before a project said it, or of one that says it no more, is none of it."""
        left = text("c", 5, scans=9, path="/b/CLAUDE.md")
        left.paths.clear()
        left.since.clear()
        found = gather_evidence([text("a", 1, scans=9), left], contradicted=False)

        assert 2 == found.observations

    def test_checkouts(self) -> None:
        """Two checkouts of one repository are one project that says it."""
        some = [text("a", 1), text("b", 1, path="/b/CLAUDE.md")]
        some[1].voices = some[0].voices

        assert 1 == gather_evidence(some, contradicted=False).projects

    def test_left(self) -> None:
        """Revisions of a file that says neither any more do not count."""
        left = text("a", 1, 2)
        left.paths.clear()
        found = gather_evidence([left, text("b", 3, path="/b/CLAUDE.md")], contradicted=False)

        assert 1 == found.observations

    def test_times(self) -> None:
        """It is as old as its first observation and as fresh as its newest."""
        found = gather_evidence([text("a", 50, 0)], contradicted=True)

        assert (NOW - 50 * DAY, NOW) == (found.first_seen, found.last_seen)
        assert found.contradicted


class TestWeigh:
    def test_waiting(self) -> None:
        """What one project kept for two months is no candidate, nor believed enough for one."""
        kept = text("a", 60, scans=60)
        found = weigh({"a": [kept]}, scales())

        assert ((), ()) == (found.candidates, found.waiting)
        assert (("a", 0.69),) == found.changed

    def test_lowered(self) -> None:
        """It waits for a person where less is asked for."""
        kept = text("a", 60, scans=60)
        asked = replace(scales(), thresholds=PromotionThresholds(confidence=0.6))

        assert ("a",) == weigh({"a": [kept]}, asked).waiting

    def test_differing(self) -> None:
        """What another project chooses differently waits for a person, and weighs no less."""
        some = [text("a", 7, scans=8), text("b", 7, scans=8, path="/b/A.md")]
        plain = weigh({"a": some}, scales())
        found = weigh({"a": some}, replace(scales(), differing={"a"}))

        assert ((), ("a",)) == (found.candidates, found.waiting)
        assert plain.changed == found.changed

    def test_candidate(self) -> None:
        """What two projects kept is a candidate."""
        some = [text("a", 7, scans=8), text("b", 7, scans=8, path="/b/A.md")]
        found = weigh({"a": some}, scales())

        assert (("a",), ()) == (found.candidates, found.waiting)

    def test_against(self) -> None:
        """What is contradicted, or a principle already, is neither."""
        kept = text("a", 60, scans=60)

        for some in (scales("a"), scales(promoted="a")):
            found = weigh({"a": [kept]}, some)
            assert ((), ()) == (found.candidates, found.waiting)

    def test_private(self) -> None:
        """What only one person's file says never becomes a principle."""
        kept = text("a", 60, scans=60)
        kept.is_private = True

        assert () == weigh({"a": [kept]}, scales()).waiting

    def test_boilerplate(self) -> None:
        """What a tool writes into every file is believed little and never becomes a principle."""
        said = "This file provides guidance to Claude Code when working in this repository."
        some = [
            replace(text("a", 60, scans=60), content=said),
            replace(text("b", 60, scans=60, path="/b/A.md"), content=said),
        ]
        found = weigh({"a": some}, scales())

        assert ((), ()) == (found.candidates, found.waiting)
        assert 0.2 > found.changed[0][1]

    def test_unchanged(self) -> None:
        """A weight that is what it was is not written again."""
        assert () == weigh({"a": [text("a", 0)]}, scales()).changed
