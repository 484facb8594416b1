from __future__ import annotations

import pytest

from cortex_actors.domain.project import StatementKind
from cortex_actors.rules.standalone import MOST, stacks, standalone, topic

RULE = StatementKind.RULE


class TestWords:
    @pytest.mark.parametrize(
        ("text", "heading", "says"),
        [
            (
                "say why in the body",
                "Acme > Commit messages",
                "Commit messages: Say why in the body",
            ),
            ("Keep commit messages short.", "Commit Messages", "Keep commit messages short."),
            ("Never commit secrets.", "Acme > Rules", "Never commit secrets."),
            ("**Mocks**: never mock the clock", "Testing", "Mocks: never mock the clock"),
            ("IMPORTANT: Never push to `main`.", None, "Never push to `main`."),
            ("Check every input (see `docs/in.md`).", "Parsing", "Parsing: Check every input."),
        ],
    )
    def test_form(self, text: str, heading: str | None, says: str) -> None:
        """A rule has the heading that it needs, and neither markup nor what it cites."""
        assert says == standalone(text, heading, RULE).text

    @pytest.mark.parametrize(
        "text",
        [
            "Do not edit `src/billing/ledger.py` by hand.",
            "Always call `load_tenant_rows()` first.",
            "Use Python 3.11 or later.",
            "Never reopen issue #4711.",
            "Ask @alice before you merge.",
            "Keep Zanzibar calls behind the facade.",
            "Run `make lint-all` before every commit.",
            "Never change shelfmark's schema.",
            "Read https://example.org/rules before you merge.",
        ],
    )
    def test_of_one_place(self, text: str) -> None:
        """What names a path, a version, an issue, a person or a project is for one place only."""
        found = standalone(text, None, RULE, names=["shelfmark"])

        assert found.text is None
        assert found.reason.startswith("it names")

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("This must be kept in order.", "it speaks of what stands beside it"),
            ("Always follow the steps below.", "it speaks of what stands beside it"),
            ("Before a release, do this:", "it introduces something that is not there"),
            ("The ledger should hold one row a day.", "it says how something is"),
            (
                "Never " + "really " * 60 + "guess.",
                f"it is longer than a line of {MOST} characters",
            ),
        ],
    )
    def test_no_rule(self, text: str, why: str) -> None:
        """A text that is no order by itself is not one, and says why."""
        assert why == standalone(text, None, RULE).reason

    @pytest.mark.parametrize("kind", set(StatementKind) - {RULE})
    def test_kinds(self, kind: StatementKind) -> None:
        """Facts, commands and examples are no rules, however they are worded."""
        assert standalone("Never commit secrets.", None, kind).text is None

    def test_twice(self) -> None:
        """What stands alone does so in the words that it was given, too."""
        once = standalone("**say why** in the body", "Acme > Commits", RULE)

        assert once.text is not None
        assert once == standalone(once.text, None, RULE)


class TestAbout:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("Run `ruff` before you commit.", {"python"}),
            ("Never use `any` in TypeScript.", {"javascript"}),
            ("Where you go from here is yours to say.", set()),
            ("Never commit secrets.", set()),
            ("Use `unwrap()` in tests only.", {"rust"}),
        ],
    )
    def test_stacks(self, text: str, found: set[str]) -> None:
        """A technology is told by its names, not by verbs that are spelled like one."""
        assert found == stacks(text)

    @pytest.mark.parametrize(
        ("text", "heading", "about"),
        [
            ("Never mock the clock.", None, "Testing"),
            ("Never commit secrets.", None, "Security"),
            ("Say why in the body.", "Acme > Commit messages", "Commits"),
            ("Keep functions short.", "Rules", "Code"),
            ("Pin every dependency.", None, "Dependencies"),
        ],
    )
    def test_topics(self, text: str, heading: str | None, about: str) -> None:
        """A rule's own words tell its topic; where they are silent its headings do."""
        assert about == topic(text, heading)
