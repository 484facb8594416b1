from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.domain.insight import Claim, Conflict, Judgement, Relation
from cortex_actors.domain.project import StatementKind
from cortex_actors.rules.contradiction import DEFAULTS, find_contradiction, find_slots, judge
from cortex_actors.text import claims
from cortex_actors.text.lexicon import load_standard

#: A cosine of statements about one thing.
NEAR = 0.7

WORDS = st.lists(
    st.sampled_from(
        "always never use avoid not must only unless `npm` pnpm tabs spaces 2 4 . ; ( ) before "
        "tests commit line length 80 100 characters over instead of prefer".split()
    ),
    max_size=12,
).map(" ".join)


def _judged(left: str, right: str, cosine: float | None = NEAR) -> Relation:
    return judge(Claim(left), Claim(right), cosine=cosine).relation


class TestContradiction:
    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("Use pnpm for dependencies", "Package manager: npm"),
            ("Indent with tabs", "Use 4 spaces for indentation"),
            ("Indent TypeScript with 2 spaces", "Indent TypeScript with tabs"),
            ("Use pnpm for everything; never run npm", "Use npm for installing, not pnpm"),
            ("Indent code with tabs", "Indent code with spaces"),
            ("Always use spaces", "Always use tabs"),
            ("Use spaces instead of tabs", "Use tabs rather than spaces"),
            ("Prefer spaces over tabs", "Prefer tabs over spaces"),
            ("Semicolons are omitted", "Always use semicolons"),
            ("Prefer named exports", "Use default exports for components"),
            ("Never push to main", "Push to main directly"),
            ("File names are kebab-case", "Use snake_case for file names"),
            ("Write tests before the implementation", "Write tests after the implementation"),
        ],
    )
    def test_choices(self, left: str, right: str) -> None:
        """Two alternatives, or a word and its opposite, exclude each other in brief orders."""
        assert Relation.CONTRADICTION is _judged(left, right)

    @pytest.mark.parametrize("why", ["it hangs if you try", "because they are slow", "see #7"])
    def test_aside(self, why: str) -> None:
        """Why something is forbidden, in parentheses, is no part of what is forbidden."""
        no = f"Never use docker compose ({why})."

        assert Relation.CONTRADICTION is _judged(no, "Use docker compose to start the services.")

    def test_slots(self) -> None:
        """Two statements that choose between the same alternatives have a slot in common."""
        left, right = (Claim(each) for each in ("Use pnpm", "Install it with npm"))

        assert find_slots(left) == find_slots(right) == {"js-package-manager"}

    @given(WORDS)
    def test_slots_alone(self, text: str) -> None:
        """The slots that are found without reading all of a statement are those of the whole."""
        assert find_slots(Claim(text)) == claims.find_slots(text, load_standard())

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("Maximum line length is 88 characters", "Lines should be at most 120 characters"),
            ("Functions should be under 20 lines", "Keep functions under 50 lines"),
            ("Use 4-space indentation", "Use 2-space indentation"),
            ("Use 4 spaces for indentation", "Use 2-space indentation"),
            ("Coverage must be at least 80%", "Coverage must be at least 90%"),
            ("Use Python 3.11", "Requires Python 3.13+"),
            ("The server listens on port 8080", "The server runs on port 3000"),
            ("Requests time out after 30 seconds", "Requests time out after 60 seconds"),
            ("The backend listens on :3000", "Backend: `tool serve --port 7001`"),
        ],
    )
    def test_numbers(self, left: str, right: str) -> None:
        """Two numbers for one thing exclude each other."""
        assert Relation.CONTRADICTION is _judged(left, right)

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("Run the full test suite before each push", "Do not run the full test suite"),
            ("Feature flags are enabled by default", "Feature flags are disabled by default"),
            ("Build: `tool build`", "Build: `other build`"),
            ("Never edit the generated files", "You may edit the generated files"),
            ("Do not write helpers unless needed", "Always write helpers"),
            ("Never change the lock file", "Update the lock file after each merge"),
            ("You must not run builds or `tool pack`", "Run `tool pack` yourself before a review"),
            ("Sorting: ascending order of names", "Sorting: descending order of names"),
            ("Put the summary on the first line", "The last line must include the summary"),
            ("Confirm that dates have NOT been updated", "When you edit a file, update its dates"),
            ("Prefer many short files over a long one", "Prefer a long file over many short ones"),
            ("Never use `core`. Name what you mean", "Use `core` wherever it is shorter"),
            ("No lazy loading unless it is necessary", "Prefer lazy loading to eager loading"),
            ("Do not squash commits before merging", "Squash the commits before merging"),
            ("No submodules - vendor the code", "Submodules - link the code"),
            ("Prefer `row` over `record` (per lint rules)", "Use `record` for rows"),
            ("Use a queue instead of shared memory", "Always use shared memory"),
            ("No barrel files or `all.ts` lists", "Use barrel files and `all.ts` lists"),
        ],
    )
    def test_the_same_otherwise(self, left: str, right: str) -> None:
        """A denial or a single value turns a statement that is else the same."""
        assert Relation.CONTRADICTION is _judged(left, right)

    def test_kind(self) -> None:
        """A prohibition with an exception contradicts in part; another folder makes a context."""
        some = judge(
            Claim("Do not write helpers unless needed"), Claim("Always write helpers"), cosine=NEAR
        )
        left, right = Claim("Use tabs", scope="web"), Claim("Use spaces for indentation")

        assert Conflict.PARTIAL is some.conflict
        assert Conflict.CONTEXTUAL is judge(left, right, cosine=NEAR).conflict


class TestSame:
    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("Never commit secrets", "Do not commit secrets to the repository"),
            ("Before pushing, run `make test`", "Before you push, always run `make test`"),
            ("Max line length: 100", "Line length limit is 100"),
            ("Use 2 spaces for indentation", "Indent with two spaces"),
            ("Keep functions small and focused", "Functions should be small and focused"),
        ],
    )
    def test_in_other_words(self, left: str, right: str) -> None:
        """One claim in two wordings is found far below the cosine of equal texts."""
        assert Relation.SAME is _judged(left, right, 0.75)

    @pytest.mark.parametrize(
        ("less", "fuller"),
        [
            ("Run the linter and fix it", "Run the linter and fix it: reviewers read the rest"),
            ("Never commit large binaries", "Never commit large binaries, they slow each clone"),
            ("Close every database session", "Close every database session, the pool is small"),
        ],
    )
    def test_fuller(self, less: str, fuller: str) -> None:
        """What says all that another text does and more is one with it in nearly the same words."""
        left, right = Claim(less), Claim(fuller)

        found = judge(left, right, cosine=DEFAULTS.merge)
        assert (Relation.SAME, fuller) == (found.relation, found.fuller)
        assert found == judge(right, left, cosine=DEFAULTS.merge)
        assert Relation.SAME is not _judged(less, fuller, DEFAULTS.merge - 0.01)

    def test_equal(self) -> None:
        """Of two that say the same neither says more."""
        found = judge(Claim("Never commit secrets"), Claim("Do not commit secrets"), cosine=NEAR)

        assert (Relation.SAME, "") == (found.relation, found.fuller)

    def test_the_same_text(self) -> None:
        """A text is one with itself, however it is broken into lines, without any cosine."""
        assert Relation.SAME is _judged("Use tabs\nonly", "Use  tabs only", None)


class TestNeverMerged:
    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("The system has three queues", "The system has two queues"),
            ("`cache`: on (default: false)", "`cache`: on (default: true)"),
            ("Runs 18 jobs (in `a.py`)", "Runs 27 jobs (in `a.py`)"),
            ("See `docs/a.md` for details", "See `docs/b.md` for details"),
            ("Format with Black before pushing", "Format with Ruff before pushing"),
            ("Ask the owner before you change it", "Ask the owner once you have changed it"),
            ("Never skip the tests", "Skip the tests"),
            ("Use the cache", "Use the cache, except in tests"),
            ("Logging is enabled", "Logging is off"),
            ("npm test # Run tests", "npm test -- --slow # Run tests"),
            ("Formatting: ruff", "Linting: ruff"),
            ("All optional parameters are checked", "All required parameters are checked"),
            ("Before merging, ask a colleague", "Before merging, ask mallory"),
            ("Ask a colleague for a review of it", "Ask mallory for a review of it"),
            ("Bump the minor version", "Bump the major version"),
            ("Deploy to staging first", "Deploy to production first"),
            ("Log errors to stderr", "Log errors to stdout"),
            ("更新文档并提交", "删除文档并提交"),
            ("Strict mode is enabled", "Strict mode of Widget 5.8.3 is enabled"),
            ("Skills are shipped", "19 skills are shipped"),
            ("Read the guide first", "Read the guide `docs/style.md` first"),
            ("Fix patches, do not add new ones", "Fix patches mostly, do not add new ones"),
            ("Indent with 4 spaces", "Indent with 4 spaces in Vue templates, CSS and YAML"),
            ("Update the notes", "Update the notes if an option changed"),
            ("Review the change", "Review the change after the build"),
            ("More than 3 retries are an error", "Less than 3 retries are an error"),
            ("Coverage > 80", "Coverage < 80"),
            ("Share state across modules", "Share state within modules"),
            ("Check the user's id twice", "Check the user's id twice or explain the reason"),
            ("Tests in the browser", "Tests in the browser run each night against staging"),
        ],
    )
    def test_at_any_cosine(self, left: str, right: str) -> None:
        """What differs in a value, a name, an order or a denial is not one, however alike."""
        assert Relation.SAME is not _judged(left, right, 0.99)

    @pytest.mark.parametrize("kind", [StatementKind.COMMAND, StatementKind.EXAMPLE])
    def test_no_claims(self, kind: StatementKind) -> None:
        """Commands and examples are no claims: only the same text is the same."""
        left, right = Claim("Start it with `tool run`"), Claim("Start it: `tool run`")

        assert Relation.SAME is judge(left, right, cosine=0.99).relation
        kinds = (kind, StatementKind.RULE)
        assert Relation.SAME is not judge(left, right, cosine=0.99, kinds=kinds).relation


class TestNoContradiction:
    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("Use 4 spaces in Python code", "Use 2 spaces in TypeScript files"),
            ("Indent Python with 4 spaces", "Indent TypeScript with tabs"),
            ("Mock services in unit tests", "Never mock services in e2e tests"),
            ("Functions under 50 lines", "Files under 500 lines"),
            ("Run `make lint` before pushing", "Run `make test` before pushing"),
            ("`x test` runs the tests", "`x test-unit` runs the tests"),
            ("The worker uses port 9000", "The gateway listens on port 8000"),
            ("Remove unused imports", "No unused imports"),
            ("Requires Python 3.10+", "CI uses Python 3.12"),
            ("Supports npm, pnpm and yarn", "Use pnpm"),
            ("Parentheses in arrow functions: always", "Use function declarations"),
            ("Use named exports for helpers", "For pages, use default exports"),
            ("Never add comments that restate the code", "Comment complex logic"),
            ("Name: key `a.name`; used by `b.py`", "Colour: key `a.colour`; used by `c.py`"),
            ("Style files are kebab-case", "Component files are PascalCase"),
            ("Publish to npm", "Use pnpm"),
            ("That is you, not the queue server", "The queue server starts first"),
            ("Default timeout for reads is 30 s", "Default timeout for writes is 60 s"),
            ("Redis does not listen on 6379", "Redis listens on 6380"),
            ("Use `tool ci`, never `tool install`", "Run `tool install-hooks` once"),
            ("Never run all tests in watch mode", "Run the tests before you commit"),
            ("Do not update the guide when a fix is small", "Update the guide for new features"),
            ("opencv-python >= 4.10 is needed", "Python 3.12 is needed"),
            ("JSDOM does not support layout", "Support layout in each renderer"),
            ("Do not commit build files", "Commit each change, unless asked not to"),
            ("Bug fixes: backport to two branches", "Security fixes: backport to five branches"),
            ("Ask before committing", "Commit when you are done without asking"),
            ("Never push without approval", "Push once you have approval"),
            ("No default value: `-`", "Default values: `default` and a name"),
            ("Inside `a/tests/` never use `core`", "Inside `a/demo/` use `core` and `core/x`"),
            ("Never use `core` for these", "Public packages: use `core`"),
            ("Prefer `row` over `record` unless it is shared", "Use `record` for rows"),
            ("Prefer unit tests over slow tests", "Use slow tests for payment and login flows"),
            ("Keep the list current, don't just log it", "The list - not the log - is read"),
        ],
    )
    def test_both_may_hold(self, left: str, right: str) -> None:
        """Other places, things and commands, and what is not sure, are no contradiction."""
        assert Relation.CONTRADICTION is not _judged(left, right)
        assert find_contradiction(Claim(left), Claim(right)) is None

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("Alpha server (port 9000)", "Beta server (port 9001)"),
            ("Jest e2e checks", "Vitest e2e checks"),
            ("Start with required arguments", "Start with optional arguments"),
        ],
    )
    def test_entries(self, left: str, right: str) -> None:
        """Entries of one list differ, unless one of them orders what the other forbids."""
        facts = StatementKind.FACT, StatementKind.FACT
        rules = StatementKind.RULE, StatementKind.RULE
        never, always = Claim("Never run `tool pack`"), Claim("Always run `tool pack`")
        found = judge(Claim(left), Claim(right), cosine=NEAR, kinds=facts, siblings=True)
        orders = judge(never, always, cosine=NEAR, kinds=rules, siblings=True)

        assert not found.contradicts
        assert orders.contradicts

    @pytest.mark.parametrize("kind", [StatementKind.COMMAND, StatementKind.EXAMPLE])
    def test_shows(self, kind: StatementKind) -> None:
        """A command and an example ask for nothing, and contradict nothing."""
        kinds = kind, StatementKind.RULE
        left, right = Claim("Never run `tool pack`"), Claim("Always run `tool pack`")

        assert not judge(left, right, cosine=NEAR, kinds=kinds).contradicts

    def test_unrelated(self) -> None:
        """Far apart and without a topic in common, two statements have nothing to do."""
        assert Relation.UNRELATED is _judged("Use tabs", "Never force-push", 0.05)
        assert Relation.RELATED is _judged("Use tabs", "Never force-push", DEFAULTS.floor)


class TestOrder:
    @given(WORDS, WORDS, st.none() | st.floats(-1, 1))
    def test_does_not_matter(self, left: str, right: str, cosine: float | None) -> None:
        """Whoever speaks first, the judgement is the same, reason and all."""
        one = judge(Claim(left), Claim(right), cosine=cosine)
        assert one == judge(Claim(right), Claim(left), cosine=cosine)

    @given(WORDS)
    def test_with_itself(self, text: str) -> None:
        """No statement contradicts itself, though it may say both sides."""
        assert Relation.SAME is _judged(text, text)
        assert find_contradiction(Claim(text), Claim(text)) is None

    @given(st.text(max_size=200), st.text(max_size=200))
    def test_any_text(self, left: str, right: str) -> None:
        """Whatever two texts are, they are judged."""
        assert isinstance(judge(Claim(left), Claim(right), cosine=NEAR), Judgement)
