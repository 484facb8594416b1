from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.domain.insight import Category
from cortex_actors.rules.classification import (
    MAX_TAGS,
    TITLE_LIMIT,
    ClassifiedBy,
    classify,
    find_grounds,
)
from cortex_actors.text.lexicon import CATEGORIES, DOMAINS, TAGS


class TestVectors:
    @pytest.mark.parametrize(
        ("text", "category"),
        [
            ("Never use eval in production code, it is dangerous.", "warning"),
            ("Always use snake_case for variable naming, keep style consistent.", "convention"),
            ("How to implement a GenServer pattern step by step.", "technique"),
            ("The API endpoint requires version 3 of the schema.", "fact"),
            ("Something vague", "fact"),
            ("prefer", "convention"),
            ("pattern", "pattern"),
            ("Prefer pattern", "convention"),
        ],
    )
    def test_category(self, text: str, category: str) -> None:
        """Cerno's own examples are what they were, ties in the order of the alphabet."""
        assert Category(category) is classify(text).category

    def test_architecture(self) -> None:
        """The most keywords win, over all categories and all domains."""
        found = classify("Always prefer the design pattern module layer")

        assert (Category.PATTERN, "architecture") == (found.category, found.domain)

    def test_elixir(self) -> None:
        """A text is classified, tagged and placed in one go."""
        expected = (Category.WARNING, ("concurrency",), "elixir")

        assert expected == _taken("Use GenServer. Avoid ETS. Never block.")

    def test_heading(self) -> None:
        """The heading counts as text and is the last tag, in plain letters."""
        tags = ("deployment", "testing", "testing  ci")
        expected = (Category.FACT, tags, "testing")

        assert expected == _taken("Run mix test for all specs.", "Testing & CI!")


class TestWholeWords:
    """Cerno's vector that changes: "use docker to restore the archive specific".

    It had the tags api, deployment, documentation and testing, three of them by the substrings
    "rest" in restore, "doc" in docker, "spec" in specific (and "ci" there, beside docker itself).
    Only deployment is true. "important" and "stable" were facts by "port" and "table".
    """

    def test_no_substrings(self) -> None:
        """A keyword inside another word is not that keyword."""
        found = _taken("use docker to restore the archive specific")

        assert (Category.FACT, ("deployment",), "devops") == found

    def test_important(self) -> None:
        """An important warning is a warning: no port is counted in it."""
        assert Category.WARNING is classify("It is important and portable: avoid it.").category

    @pytest.mark.parametrize(
        "text", ["tests", "tested", "testing", "mocked", "fixtures", "asserting", "TEST"]
    )
    def test_inflections(self, text: str) -> None:
        """A plain inflection of a keyword is the keyword."""
        assert ("testing",) == classify(text).tags

    @pytest.mark.parametrize("text", ["queries", "migrations", "querying"])
    def test_words_in_y(self, text: str) -> None:
        """A word that ends in y keeps its meaning in the plural."""
        assert ("database",) == classify(text).tags

    @pytest.mark.parametrize("text", ["mixed", "going", "nodding", "ruststains"])
    def test_names(self, text: str) -> None:
        """The name of a tool has no inflections."""
        assert classify(text).domain is None

    @pytest.mark.parametrize("text", ["Say where to go from here.", "Never mix the two."])
    def test_verbs(self, text: str) -> None:
        """A verb that is spelled like a tool is no domain."""
        assert classify(text).domain is None

    def test_authentication(self) -> None:
        """Long forms that a substring used to find are still found."""
        assert ("security",) == classify("authentication").tags

    def test_spread_over_lines(self) -> None:
        """A keyword of several words may run over a line's end."""
        assert Category.WARNING is classify("do\n  not").category

    def test_curly_apostrophe(self) -> None:
        """A typographic apostrophe is an apostrophe."""
        assert Category.WARNING is classify("don\u2019t").category


class TestTags:
    def test_at_most_five(self) -> None:
        """Five tags are kept: the first of the alphabet, then the heading if there is room."""
        found = classify("api task sql deploy docs error cache", "Notes")

        expected = ("api", "concurrency", "database", "deployment", "documentation")
        assert expected == found.tags

    def test_heading_once(self) -> None:
        """A heading that names a tag is not there twice."""
        assert ("testing",) == classify("", "Testing").tags

    @pytest.mark.parametrize("heading", ["", None, "概要", "!?"])
    def test_no_heading(self, heading: str | None) -> None:
        """A heading without a plain letter is no tag."""
        assert () == classify("x", heading).tags


class TestConfidence:
    @pytest.mark.parametrize(
        ("text", "sure"),
        [
            ("Avoid it.", 2 / 3),
            ("Never do that: avoid it.", 3 / 4),
            ("Never, ever: it is dangerous, avoid it.", 4 / 5),
            ("Avoid the API.", 1 / 2),
            ("Never do that: avoid the API.", 3 / 5),
        ],
    )
    def test_words(self, text: str, sure: float) -> None:
        """More words make it surer, words for the next category less sure, a tie is one half."""
        found = classify(text)

        assert pytest.approx(sure) == found.confidence
        assert ClassifiedBy.KEYWORDS is found.decided_by

    def test_silence(self) -> None:
        """Where no keyword speaks it is a fact for which nobody vouches."""
        found = classify("Something vague")

        expected = (Category.FACT, 0.0, ClassifiedBy.NOBODY)
        assert expected == (found.category, found.confidence, found.decided_by)

    @given(st.text(), st.none() | st.text())
    def test_any_text(self, text: str, heading: str | None) -> None:
        """The words that are named decide the category, and silence is never sure."""
        why, found = find_grounds(text, heading), classify(text, heading)

        assert bool(why.categories) == (found.confidence > 0)
        if why.categories:
            assert why.categories[0].name == found.category
            assert 0.5 <= found.confidence < 1


class TestGrounds:
    def test_named(self) -> None:
        """Every word that spoke is named, under everything for which it speaks."""
        why = find_grounds("Avoid the API.", "Testing")

        assert [("fact", ("api",)), ("warning", ("avoid",))] == [
            (each.name, each.words) for each in why.categories
        ]
        assert ["testing"] == [each.name for each in why.domains]
        assert ["api", "testing"] == [each.name for each in why.tags]


class TestManyHeadings:
    def test_innermost(self) -> None:
        """A title does not make everything below it be about what it names."""
        found = classify("Never push to main.", "Atlas API > Branches")

        assert (Category.WARNING, ("branches",)) == (found.category, found.tags)

    def test_long(self) -> None:
        """A sentence that leads in a list is no tag."""
        lead = "x" * TITLE_LIMIT

        assert () == classify("y", f"Title > {lead} x").tags
        assert (lead,) == classify("y", f"Title > {lead}").tags


class TestTables:
    def test_categories(self) -> None:
        """The table knows every category."""
        assert sorted(Category) == sorted(CATEGORIES)

    def test_words_are_found(self) -> None:
        """Every keyword of every table finds itself."""
        for tag, words in TAGS.items():
            assert all(tag in classify(word).tags for word in words)
        for domain, words in DOMAINS.items():
            assert all(classify(word).domain is not None for word in words), domain

    @given(st.text(), st.none() | st.text())
    def test_any_text(self, text: str, heading: str | None) -> None:
        """Any text is classified."""
        found = classify(text, heading)

        assert found.category in Category
        assert len(found.tags) <= MAX_TAGS


def _taken(
    content: str, heading: str | None = None
) -> tuple[Category, tuple[str, ...], str | None]:
    """Return category, tags and domain of a text."""
    found = classify(content, heading)
    return found.category, found.tags, found.domain
