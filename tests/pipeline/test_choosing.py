"""Which principles a file gets: the best scores, what it does not say, what it contradicts last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.insight import Claim
from cortex_actors.pipeline.reading import ComparedTexts, FileStatement, PlacedTexts
from tests.pipeline.choosing import (
    FILE,
    at,
    blind,
    choose,
    elsewhere,
    offer,
    placed,
    ranked,
    texts,
)
from tests.storage.distilled import principle

if TYPE_CHECKING:
    from collections.abc import Callable

PYTEST = "Always run pytest before you push."
TABS = "Use tabs for indentation."
SPACES = "Use spaces for indentation."
EVAL = "Never use eval in production code."
SQUASH = "Squash commits before merging."


class TestScore:
    def test_order(self) -> None:
        """The best score comes first; what scores less than the least is left out."""
        given = offer(
            ranked("Name queues in lower case.", 0.2, 0.3, 1),  # 0.21
            ranked("Keep the changelog current.", 0.9, 0.1, 2),  # 0.32
            ranked("Pin the base image.", 0.5, 0.9, 3),  # 0.60
        )

        found = choose(given, placed())

        assert ["Pin the base image.", "Keep the changelog current."] == texts(found)
        assert 1 == found.not_near

    def test_least_counts(self) -> None:
        """A score of exactly the least is enough."""
        given = offer((principle(PYTEST, rank=1.0), at(0.0)))

        assert [PYTEST] == texts(choose(given, placed(), least=0.3))
        assert [] == texts(choose(given, placed(), least=0.31))

    def test_domains(self) -> None:
        """A domain that the file has, too, counts a fifth."""
        shared = principle(PYTEST, rank=0.5, domains=("python",))
        other = principle(EVAL, rank=0.5, domains=("rust",))
        given = offer((other, at(0.0, 2)), (shared, at(0.0, 3)))

        assert [PYTEST] == texts(choose(given, placed(domains=("python", "go"))))

    def test_most(self) -> None:
        """A file gets so many at most, of those nearest to it."""
        things = "logs cookies queues caches icons fonts mails".split()
        rules = [
            ranked(f"Name {each} after birds.", 0.5, 0.9, n) for n, each in enumerate(things, 1)
        ]
        given = offer(*rules)

        assert 7 == len(choose(given, placed()).chosen)
        assert 4 == len(choose(given, placed(), most=4).chosen)
        assert 2 == len(choose(given, placed(), nearest=2).chosen)

    def test_ties(self) -> None:
        """Equal scores are ordered by id, whatever the order in which they are offered."""
        pair = [ranked(text, 0.5, 0.9, side) for side, text in enumerate((PYTEST, EVAL), 1)]

        assert texts(choose(offer(*pair), placed())) == texts(choose(offer(*pair[::-1]), placed()))


#: Technologies of two projects.
_STACKS = frozenset({"rust"}), frozenset({"python", "go"})


class TestApproved:
    def test_whatever_it_scores(self) -> None:
        """What a person approved is given however little it scores, and before all else."""
        some = [ranked(f"Name {each} after birds.", 0.9, 0.9, n) for n, each in enumerate("abc", 1)]
        far = ranked(EVAL, 0.0, 0.0, 9)
        given = replace(offer(*some, far), unapproved={each.id: "" for each, _ in some})
        found = choose(given, placed(), nearest=2, most=2)

        assert (EVAL, 2) == (texts(found)[0], len(found.chosen))
        assert [EVAL] == texts(choose(given, placed(), least=1.0))

    def test_other_stack(self) -> None:
        """What a project has no technology for it does not get, approved or not."""
        one, other = ranked(PYTEST, 0.9, 0.9, 1), ranked(EVAL, 0.9, 0.9, 2)
        needs = {one[0].id: frozenset({"python"})}
        given = replace(offer(one, other), needs=needs, unapproved={})
        file = placed()
        has = [replace(file, page=replace(file.page, stacks=s)) for s in _STACKS]

        assert [([EVAL], 1), ([PYTEST, EVAL], 0)] == [
            (sorted(texts(found)), found.other_stack) for found in (choose(given, e) for e in has)
        ]


class TestAlreadySaid:
    def test_same_words(self) -> None:
        """What a statement says in the same words is not given."""
        found = choose(offer(ranked(PYTEST, 0.9, 0.5, 1)), placed(PYTEST))

        assert ([], 1) == (texts(found), len(found.said))

    def test_same_claim(self) -> None:
        """Nor is what a statement says in other words, where the rules find one claim in both."""
        other = "Run pytest before you push, always."
        given = offer(ranked(PYTEST, 0.9, 0.5, 1))
        near = {other: at(0.5, 1)}

        assert [] == texts(choose(given, placed(other, near=near)))

    @pytest.mark.parametrize(("cosine", "left"), [(0.85, 0), (0.84, 1)])
    def test_near_a_section(self, cosine: float, left: int) -> None:
        """Nor is what a section as a whole is as near to as 0.85."""
        given = offer((principle(EVAL, rank=0.9), at(1.0)))
        file = placed(near={"# Safety\n...": at(cosine, 5)})

        assert left == len(choose(given, file).chosen)

    @pytest.mark.parametrize(("cosine", "left"), [(0.46, 0), (0.44, 1)])
    def test_spoken_of(self, cosine: float, left: int) -> None:
        """Nor is what a statement is as near to as 0.45: mostly it is the same, more strictly."""
        other = "Dynamic evaluation of strings is a bug."
        file = placed(other, near={other: at(cosine, 5)})

        assert left == len(choose(offer((principle(EVAL, rank=0.9), at(1.0))), file).chosen)

    def test_covered(self) -> None:
        """Nor is what the statements below one heading speak of in most of its words."""
        given = offer(ranked("Squash all commits before the merge of a branch.", 0.9, 0.9, 1))
        file = placed("A branch has one author.", "Squashed commits are merged by the bot.")

        assert ([], 1) == (texts(choose(given, file)), len(choose(given, file).said))

    def test_other_tool(self) -> None:
        """What names a tool is not given where the project chooses another one."""
        given = offer(ranked("Use pnpm as the package manager.", 0.9, 0.9, 1))
        other = "Use npm as the package manager, never pnpm."

        assert [] == texts(choose(given, placed(other, near={other: at(0.9, 1)})))

    def test_polarity_first(self) -> None:
        """A statement that says the opposite is a conflict, however near it and its section are."""
        given = offer((principle(EVAL, rank=0.9), at(1.0)))
        opposite = "Always use eval in production code."
        file = placed(opposite, near={opposite: at(0.99), "# Safety\n...": at(0.99)})
        found = choose(given, file)

        assert ([EVAL], 1, 0) == (texts(found), found.conflicts, len(found.said))

    def test_repeats(self) -> None:
        """A reader who sees none of the files is told all the same."""
        given = offer(ranked(PYTEST, 0.9, 0.5, 1))

        assert [PYTEST] == texts(choose(given, placed(PYTEST), repeats=True))


class TestConflicts:
    def test_last(self) -> None:
        """What the file contradicts comes behind all others, with what the file says."""
        given = offer(ranked(TABS, 0.9, 0.9, 1), ranked(PYTEST, 0.3, 0.5, 2))
        found = choose(given, placed(SPACES, near={SPACES: at(0.8, 1)}))

        assert [PYTEST, TABS] == texts(found)
        assert [None, SPACES] == [
            each.found.against.claim.text if each.found.against else None for each in found.chosen
        ]

    def test_slot(self) -> None:
        """Statements that take a stand on one thing are compared however unlike they look."""
        given = offer(ranked(TABS, 0.9, 0.9, 1))

        assert 1 == choose(given, placed(SPACES)).conflicts

    def test_elsewhere(self) -> None:
        """What the file says of some of its folders alone is no conflict."""
        line = FileStatement(Claim(SPACES, None, "legacy/**"), SPACES)
        file = PlacedTexts(ComparedTexts(FILE, lines=(line,)), {FILE: at(1.0), SPACES: at(0.9, 1)})
        found = choose(offer(ranked(TABS, 0.9, 0.9, 1)), file)

        assert ([TABS], 0) == (texts(found), found.conflicts)

    @pytest.mark.parametrize("sees", [placed, blind])
    def test_other_file(self, sees: Callable[[], PlacedTexts]) -> None:
        """What the project says in another of its files is one, even where this file is as near."""
        line = FileStatement(Claim("Do not squash commits before merging."), "#", file="CLAUDE.md")
        file = elsewhere(sees(), line)
        found = choose(offer(ranked(SQUASH, 0.9, 0.9, 1)), file)

        assert [line] == [each.found.against for each in found.chosen]

    def test_own_file_first(self) -> None:
        """What the file says itself counts first: it is not given what it says already."""
        line = FileStatement(Claim("Do not squash commits before merging."), "#", file="CLAUDE.md")
        found = choose(offer(ranked(SQUASH, 0.9, 0.9, 1)), elsewhere(placed(SQUASH), line))

        assert ([], 1) == (texts(found), len(found.said))

    def test_said_elsewhere(self) -> None:
        """What another file says as well is given: an agent may read this one alone."""
        found = choose(
            offer(ranked(SQUASH, 0.9, 0.9, 1)),
            elsewhere(placed(), FileStatement(Claim(SQUASH), "#")),
        )

        assert [SQUASH] == texts(found)

    def test_said_where_it_leads(self) -> None:
        """What a file says to which this one leads is not given here once more."""
        line, file = FileStatement(Claim(SQUASH), "#", file="CLAUDE.md"), placed()
        leads = replace(file, page=replace(file.page, text=f"{file.page.text}\nSee CLAUDE.md."))
        found = choose(offer(ranked(SQUASH, 0.9, 0.9, 1)), elsewhere(leads, line))

        assert ([], 1) == (texts(found), len(found.said))

    @pytest.mark.parametrize(
        ("text", "leads"),
        [
            ("[Coding standards](docs/standards.md): style guide", True),
            ("Read docs/naming.md for our conventions.", True),
            ("Write docs/naming.md in English.", False),
            ("Update CHANGELOG.md by the Keep a Changelog conventions.", False),
        ],
    )
    def test_leaves_conventions(self, text: str, *, leads: bool) -> None:
        """A short file that leaves its conventions to a page gets none of others."""
        assert leads is ComparedTexts(text).is_pointer

    def test_spoken_of_elsewhere(self) -> None:
        """What another file says otherwise, and not the same, is how the project wants it."""
        line = FileStatement(Claim("Each branch ends as a single commit."), "#", file="CLAUDE.md")
        file = elsewhere(placed(), line)

        assert [] == texts(choose(offer(ranked(SQUASH, 0.9, 0.8, 1)), file))

    def test_example(self) -> None:
        """An example is neither for a principle nor against it."""
        line = FileStatement(Claim(SPACES), SPACES, is_example=True)
        file = PlacedTexts(ComparedTexts(FILE, lines=(line,)), {FILE: at(1.0), SPACES: at(0.9, 1)})

        assert 0 == choose(offer(ranked(TABS, 0.9, 0.9, 1)), file).conflicts


class TestRivals:
    @pytest.mark.parametrize("ranks", [(0.9, 0.5), (0.5, 0.9)])
    def test_higher_ranked(self, ranks: tuple[float, float]) -> None:
        """Of two that contradict each other the higher ranked one is given, whatever its score."""
        given = offer(ranked(TABS, ranks[0], 0.9, 1), ranked(SPACES, ranks[1], 0.7, 1))
        found = choose(given, placed())

        assert [TABS if ranks[0] > ranks[1] else SPACES] == texts(found)
        assert 1 == found.opposed


class TestWithoutVectors:
    def test_fallback(self) -> None:
        """Without vectors rank and domains decide, and the rules still find what is said."""
        given = offer(
            (principle(PYTEST, rank=0.9), None),
            (principle(EVAL, rank=0.6), None),
            (principle("Smile.", rank=0.2), None),
        )

        assert [EVAL] == texts(choose(given, blind(PYTEST)))

    def test_conflict(self) -> None:
        """A contradiction that the texts themselves show is found without them, too."""
        given = offer((principle(TABS, rank=0.9), None))

        assert 1 == choose(given, blind(SPACES)).conflicts

    def test_late(self) -> None:
        """A principle whose vector is not there yet is scored without it, beside others."""
        given = offer((principle(PYTEST, rank=0.9), None), ranked(EVAL, 0.5, 0.9, 2))

        assert [EVAL, PYTEST] == texts(choose(given, placed()))

    def test_silent(self) -> None:
        """To a file that says nothing nothing is near: only the very highest rank is enough."""
        given = offer(ranked(PYTEST, 1.0, 0.9, 1), (principle(EVAL, rank=0.9), None))
        found = choose(given, PlacedTexts(ComparedTexts()))

        assert ([PYTEST], 1) == (texts(found), found.not_near)

    def test_nothing(self) -> None:
        """Where nothing is known nothing is given."""
        assert [] == texts(choose(offer(), placed(PYTEST)))
