from __future__ import annotations

from dataclasses import replace

import pytest

from cortex_actors.domain.insight import Claim, Conflict, Decider, Judgement, Relation
from cortex_actors.domain.principle import Link, LinkType
from cortex_actors.rules.clustering import Subject, find_needs
from cortex_actors.rules.linking import LinkThresholds, link, may_link
from cortex_actors.text.lexicon import load_standard


def subject(name: str, text: str, *domains: str, scope: str = "", tags: str = "") -> Subject:
    """Return a principle that says that."""
    return Subject(name, Claim(text, None, scope), frozenset(domains), frozenset(tags.split()))


def between(left: str, right: str, cosine: float | None = 0.6, *, near: bool = True) -> Link | None:
    """Return the link from the first text to the second, told from the first."""
    found = link(subject("a", left), subject("b", right), cosine, near=near)
    return None if found is None else found.view_from("a")


class TestTypes:
    def test_contradicts(self) -> None:
        """What contradicts is found by the rules, near or not, and a cosine alone finds nothing."""
        for cosine in (0.95, 0.55, 0.1, None):
            found = between("Use tabs for indentation.", "Use spaces for indentation.", cosine)
            assert found is not None
            assert LinkType.CONTRADICTS == found.type
        assert between("Use tabs.", "Deploy on Fridays.", 0.95) is not None
        assert between("Use tabs.", "Deploy on Fridays.", 0.1, near=False) is None

    def test_reinforces(self) -> None:
        """One claim in two wordings reinforces, and so does what is nearly the same."""
        same = between("Always run tests before committing.", "Run the tests before you commit.")
        alike = between("Keep functions small.", "Functions are best kept short.", 0.86)

        assert same is not None
        assert alike is not None
        assert (LinkType.REINFORCES, LinkType.REINFORCES) == (same.type, alike.type)

    def test_another_thing(self) -> None:
        """What names another thing does not reinforce, however near it lies."""
        found = between("Use `home()` for all paths.", "Use `root()` for all paths.", 0.95)

        assert found is not None
        assert LinkType.RELATED == found.type
        assert found.reason.startswith("alike: cosine 0.95; but ")

    def test_related(self) -> None:
        """What is about one thing and shows nothing else is related, as strongly as it is near."""
        found = between("Prefer composition.", "Inject collaborators by constructor.", 0.72)

        assert found is not None
        assert (LinkType.RELATED, 0.72) == (found.type, found.strength)

    @pytest.mark.parametrize(
        ("wide", "narrow"),
        [
            ("Mock external services.", "Mock external services in unit tests."),
            ("Run tests with pytest.", "Run tests with pytest and coverage in parallel."),
            ("Follow existing patterns.", "Follow existing patterns and established conventions."),
        ],
    )
    def test_generalizes(self, wide: str, narrow: str) -> None:
        """What says it for more generalizes what says it for less, whichever id is the lesser."""
        there, back = between(wide, narrow, 0.75), between(narrow, wide, 0.75)

        assert there is not None
        assert back is not None
        assert (LinkType.GENERALIZES, LinkType.SPECIALIZES) == (there.type, back.type)

    def test_scope(self) -> None:
        """What holds in all of a project generalizes what holds in one folder of it."""
        all_ = subject("b", "Write short commit messages in English.")
        part = subject("a", "Write short commit messages in plain English.", scope="docs/")
        found = link(part, all_, 0.8, near=True)

        assert found is not None
        assert LinkType.SPECIALIZES == found.view_from("a").type

    def test_fields(self) -> None:
        """Of two that are close, the one of more fields generalizes the other."""
        one = subject("a", "Validate all input at trust boundaries.", "api", "security")
        other = subject("b", "Validate input at the boundary of each endpoint.", "api")
        far = link(one, other, 0.55, near=True)
        close = link(one, other, 0.75, near=True)

        assert far is not None
        assert close is not None
        assert (LinkType.RELATED, LinkType.GENERALIZES) == (far.type, close.type)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Create a pull request against develop.", "Before creating a pull request, rebase."),
            ("Deploy only after the tests pass.", "All tests must pass on every platform."),
            ("All tests require a `nats-server` binary.", "Install the `nats-server` binary."),
            ("Never deploy before running migrations.", "Run migrations with alembic."),
        ],
    )
    def test_depends_on(self, first: str, second: str) -> None:
        """What needs another thing first depends on what is about that, and not the other way."""
        there, back = between(first, second, near=False), between(second, first, near=False)

        assert there is not None
        assert back is not None
        assert (LinkType.DEPENDS_ON, "a", "b") == (there.type, there.source_id, there.target_id)
        assert (LinkType.DEPENDS_ON, "b", "a") == (back.type, back.source_id, back.target_id)


class TestNeeds:
    @pytest.mark.parametrize(
        "text",
        [
            "You need to run the linter.",
            "If you need a database, ask.",
            "After all, tests are cheap.",
            "Summarize what changed after edits.",
            "Run `yarn install` before any of these commands.",
            "Never edit a migration after merging it.",
            "Use `require('x')` for plugins.",
        ],
    )
    def test_none(self, text: str) -> None:
        """What only sounds like an order of things puts nothing in order."""
        assert () == find_needs(Claim(text), load_standard())

    def test_long(self) -> None:
        """A text of any length is read once, in no time."""
        assert isinstance(find_needs(Claim("after " * 50_000), load_standard()), tuple)

    def test_against(self) -> None:
        """Nothing depends on what another one forbids, and nothing on what it needs itself."""
        assert between("Run checks before committing.", "Never commit secrets.", near=False) is None
        assert between("Lint before committing.", "Test before committing.", near=False) is None


class TestLink:
    def test_symmetric(self) -> None:
        """A pair has one link, whichever of the two is named first."""
        one, other = subject("a", "Use tabs."), subject("b", "Use spaces.")

        assert link(one, other, 0.7, near=True) == link(other, one, 0.7, near=True)

    def test_verdict(self) -> None:
        """What a person has said about a pair counts for more than the rules."""
        said = Judgement(Relation.RELATED, Decider.PERSON, "a person found no contradiction")
        one, other = subject("a", "Use tabs for indents."), subject("b", "Use spaces for indents.")
        found = link(replace(one, verdicts=(("b", said),)), other, 0.7, near=True)

        assert found is not None
        assert LinkType.RELATED == found.type

    def test_verdict_of_a_model(self) -> None:
        """What a model found to contradict does, with its reason."""
        said = Judgement(Relation.CONTRADICTION, Decider.LLM, "one is slow", Conflict.DIRECT, 0.8)
        one = replace(subject("a", "Cache everything."), verdicts=(("b", said),))
        found = link(subject("b", "Stay simple."), one, None, near=False)

        assert Link("a", "b", LinkType.CONTRADICTS, 0.8, Decider.LLM, "one is slow") == found

    def test_sections(self) -> None:
        """Whole sections contradict each other by their words of denial alone."""
        one = replace(subject("a", "Always use tabs."), is_section=True)
        other = replace(subject("b", "Never use tabs."), is_section=True)
        found = link(one, other, 0.7, near=True)
        far = link(one, other, 0.2, near=False)
        mixed = link(one, subject("b", "Never use tabs."), 0.7, near=True)

        assert found is not None
        assert mixed is not None
        assert (LinkType.CONTRADICTS, LinkType.RELATED) == (found.type, mixed.type)
        assert far is None


class TestNear:
    def test_may(self) -> None:
        """Near enough is close, or less with a domain or a tag in common."""
        one = subject("a", "x", "python", tags="testing")
        same = subject("b", "y", "python")
        tagged = subject("c", "z", tags="testing")
        other = subject("d", "z", "go")

        assert [True, True, False, True, False] == [
            may_link(one, same, 0.5),
            may_link(one, tagged, 0.6),
            may_link(one, other, 0.69),
            may_link(one, other, 0.7),
            may_link(one, same, 0.49),
        ]
        assert may_link(one, other, 0.4, thresholds=LinkThresholds(0.2, 0.3, 0.9))
