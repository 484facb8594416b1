from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.domain.project import StatementKind
from cortex_actors.rules.standalone import (
    MOST,
    find_needs,
    find_project_stacks,
    find_stacks,
    find_topic,
    make_standalone,
)

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
            ("Check every value (see `docs/in.md`).", "Input", "Input: Check every value."),
            ("Always: keep commits small.", None, "Keep commits small."),
            ("Link the issue in the PR.", "Pull requests", "Link the issue in the PR."),
        ],
    )
    def test_form(self, text: str, heading: str | None, says: str) -> None:
        """A rule has the heading that it needs, and neither markup nor what it cites."""
        assert says == make_standalone(text, heading, RULE).text

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
            "Follow the [message rules](./docs/messages.md).",
            "Run `pnpm run format` before you commit.",
            "Keep lines under 88 characters.",
            "Mark slow tests with `pytest.mark.nightly`.",
        ],
    )
    def test_of_one_place(self, text: str) -> None:
        """What names a path, a version, a figure, a script or a project is for one place only."""
        found = make_standalone(text, None, RULE, names=("shelfmark",))

        assert found.text is None
        assert found.reason.startswith("it names")

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("This must be kept in order.", "it speaks of what stands beside it"),
            ("Always follow the steps below.", "it speaks of what stands beside it"),
            ("Before a release, do this:", "it introduces something that is not there"),
            ("The ledger should hold one row a day.", "it says how something is"),
            ("Read the relevant section before you edit.", "it speaks of what stands beside it"),
            ("Never assume. Ask first. Stay calm.", "it is a slogan"),
            ("Use types: feat, fix, docs, test", "it lists what its project chooses"),
            (
                "Never " + "really " * 60 + "guess.",
                f"it is longer than a line of {MOST} characters",
            ),
        ],
    )
    def test_no_rule(self, text: str, why: str) -> None:
        """A text that is no order by itself is not one, and says why."""
        assert why == make_standalone(text, None, RULE).reason

    def test_two_labels(self) -> None:
        """What has a label of its own needs no second one."""
        heading = "Guide > Error handling"

        assert make_standalone("Retries: Give up early.", heading, RULE).text is None

    def test_troubles(self) -> None:
        """What helps against one trouble is no rule of others."""
        heading = "Guide > Common issues"

        assert make_standalone("Check the running containers first.", heading, RULE).text is None

    @pytest.mark.parametrize("kind", [StatementKind.COMMAND, StatementKind.EXAMPLE])
    def test_kinds(self, kind: StatementKind) -> None:
        """Commands and examples are no rules, however they are worded."""
        assert make_standalone("Never commit secrets.", None, kind).text is None

    @pytest.mark.parametrize(
        ("text", "is_rule"),
        [("The coverage is 90 %.", False), ("Rinse the kettle.", True), ("Say why.", False)],
    )
    def test_facts(self, text: str, *, is_rule: bool) -> None:
        """A fact is none, but for an order whose verb the parser does not know."""
        assert is_rule == (make_standalone(text, None, StatementKind.FACT).text is not None)

    def test_twice(self) -> None:
        """What stands alone does so in the words that it was given, too."""
        once = make_standalone("**say why** in the body", "Acme > Commits", RULE)

        assert once.text is not None
        assert once == make_standalone(once.text, None, RULE)


class TestAnything:
    @given(
        st.text(st.sampled_from("`*_#:/-.() aAbBuse never\n\u4f60\u0130"), max_size=80),
        st.text(max_size=40),
    )
    def test_any(self, text: str, heading: str) -> None:
        """Any text under any heading is a short bullet, or has a reason why it is none."""
        found = make_standalone(f"Never {text}", heading, RULE, names=(heading,))

        assert (found.text is None) == bool(found.reason)
        assert len(found.text or "") <= MOST


class TestAbout:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("Run `ruff` before you commit.", {"python", "ruff"}),
            ("Never use `any` in TypeScript.", {"javascript"}),
            ("Where you go from here is yours to say.", set()),
            ("Never commit secrets.", set()),
            ("Use `unwrap()` in tests only.", {"rust"}),
        ],
    )
    def test_stacks(self, text: str, found: set[str]) -> None:
        """A technology is told by its names, not by verbs that are spelled like one."""
        assert found == find_stacks(text)

    @pytest.mark.parametrize(
        ("text", "about"),
        [
            ("Never mock the clock.", "Testing"),
            ("Never commit secrets.", "Security"),
            ("Commit messages: Say why in the body.", "Commits"),
            ("Keep functions short.", "Code"),
            ("Pin every dependency.", "Dependencies"),
        ],
    )
    def test_topics(self, text: str, about: str) -> None:
        """A rule is about what most of its words tell, the heading that it has among them."""
        assert about == find_topic(text)

    def test_of_project(self) -> None:
        """A project has what a file at its root tells, or what it names more than in passing."""
        passing = ["Never call this from Ruby.", *(f"Keep rule {n} in mind." for n in range(20))]

        assert {"python", "sources"} == find_project_stacks(passing, ["pyproject.toml"])
        assert {"ruby", "sources"} == find_project_stacks([*passing, "Run RuboCop."])
        assert {"ruby", "sources"} == find_project_stacks(passing[:5])

    def test_sources(self) -> None:
        """A rule about code needs a project that has some: not one of prompts or lists."""
        prose = [f"Keep the description of entry {n} in one sentence." for n in range(20)]

        assert not find_needs("Validate all input.", ()) <= find_project_stacks(prose)
        assert find_needs("Validate all input.", ()) <= find_project_stacks(prose, ["go.mod"])
        assert find_needs("Keep commits small.", ()) <= find_project_stacks(prose)

    def test_tools(self) -> None:
        """A rule about a convention that not every project has needs one that names it."""
        asked = find_needs("Use Conventional Commits in commit messages.", ())

        assert not asked <= find_project_stacks(["Keep commits small."])
        assert asked <= find_project_stacks(["Commits follow Conventional Commits."])

    @pytest.mark.parametrize(
        "text",
        [
            "Describe the behavior as it currently is.",
            "Never use emojis in your answers.",
            "Commit \u2014 conventional format, comprehensive summaries",
            "If a package changes, update the appropriate change file.",
        ],
    )
    def test_doubtful(self, text: str) -> None:
        """What lacks its object, or says how an agent talks, is no bullet."""
        assert make_standalone(text, None, StatementKind.RULE).text is None
