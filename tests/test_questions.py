"""The benchmark of questions about instruction files: its parts, and the questions themselves."""

from __future__ import annotations

import math

import pytest

from benchmarks import questions, repositories
from benchmarks.questions import NONE, QUESTIONS, Asked, Baseline, Place, Tally, sections

TEXT = "# Work\n\nIntro.\n\n## Rules\n\n```\n# no heading\n```\nUse nox.\n"


def test_sections() -> None:
    """A file is cut at headings that are no code, and a long section after forty lines."""
    first, second = sections("ann/boat", "CLAUDE.md", TEXT)
    long = list(sections("ann/boat", "CLAUDE.md", "line\n" * 90))

    assert [(1, 4), (5, 11)] == [(each.place.first, each.place.last) for each in (first, second)]
    assert second.text.startswith("boat Work > Rules\n## Rules")
    assert [40, 40, 11] == [each.place.last - each.place.first + 1 for each in long]


def test_baseline() -> None:
    """BM25 finds a section by its words, its headings and the project's name."""
    asked = Baseline(list(sections("ann/boat", "CLAUDE.md", TEXT)))

    assert 5 == asked.ask("which rules has the boat?")[0][0].place.first
    assert [] == asked.ask("zebra")


def test_tally() -> None:
    """What is shown counts, and an answerable question should score above one without an answer."""
    answer = Place("ann/boat", "CLAUDE.md", 10, 10)
    asked = Asked("dev", "named", "", "how are tests run?", (answer,))
    near, far = Place("ann/boat", "CLAUDE.md", 9, 11), Place("ann/boat", "AGENTS.md", 10, 10)
    found = Tally()
    found.note(asked, [[far, near]], score=0.9)
    found.note(asked, [[far]], score=0.4)
    found.note(Asked("dev", NONE, "", "who paid?", ()), [[far]], score=0.4)

    assert ([True, False], [False, False]) == (found.shown, found.exact)
    assert 0.75 == found.curve
    assert math.isnan(Tally().curve)


def test_questions() -> None:
    """Questions are about the loud part; those of a kind without answers have none, others do."""
    some = questions.read(QUESTIONS)
    repos = {each.asker for each in some} | {one.repo for each in some for one in each.answers}

    assert not any(repositories.is_quiet(each) for each in repos - {""})
    assert all((each.kind == NONE) == (not each.answers) for each in some)
    assert all(one.first <= one.last for each in some for one in each.answers)
    assert {"named", "here", "across", NONE} == {each.kind for each in some}
    assert all(bool(each.asker) for each in some if each.kind == "here")


@pytest.mark.parametrize(
    ("written", "lines"), [("ann/boat CLAUDE.md:3-4", (3, 4)), ("ann/boat a b.md:7", (7, 7))]
)
def test_place(written: str, lines: tuple[int, int]) -> None:
    """A place is a repository, a file and lines."""
    found = questions.place(written)

    assert ("ann/boat", lines) == (found.repo, (found.first, found.last))
