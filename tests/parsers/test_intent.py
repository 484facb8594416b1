from __future__ import annotations

import pytest

from cortex_actors.domain.project import StatementKind
from cortex_actors.text.statements import find_kind


class TestKindOf:
    @pytest.mark.parametrize(
        "text",
        [
            "Never amend commits",
            "Use tabs",
            "**Style**: use tabs",
            "When you change a schema, regenerate the client",
            "Arrow functions preferred",
            "✅ Write tests first",
            "Coverage must stay above 80%",
            "Use `uv sync` for it",
            "Feed the starter before noon",
            "**Kettle**: rinse every one of them",
            "When a batch is done, rinse the kettle",
            "提交前必须运行测试",
        ],
    )
    def test_rule(self, text: str) -> None:
        """What tells somebody to do something, or how it has to be, is a rule."""
        assert StatementKind.RULE is find_kind(text)

    @pytest.mark.parametrize(
        "text",
        [
            "PostgreSQL listens on port 5433",
            "Tests live beside the code",
            "`src/`: the library",
            "**Build**: Vite and Rollup",
            "Test files are named `*.spec.ts`",
            "Line A",
            "Code a single product owns lives beside it",
            "While the kettle is hot, the tap is closed",
            "Guidance the user gives is kept",
            "Feeds the starter",
        ],
    )
    def test_fact(self, text: str) -> None:
        """What says how something is, is a fact."""
        assert StatementKind.FACT is find_kind(text)

    @pytest.mark.parametrize(
        "text",
        [
            "`npm test` - all tests",
            "Lint: `ruff check`",
            "`pnpm lint` and `pnpm lint:fix`",
            "- Example: `npm test -- --watch`".removeprefix("- "),
        ],
    )
    def test_command(self, text: str) -> None:
        """What is a command and at most what it is for, is a command."""
        assert StatementKind.COMMAND is find_kind(text)

    @pytest.mark.parametrize(
        ("text", "under"),
        [
            ("For example: `getUserById`", ()),
            ("❌ Bad: one name for two things", ()),
            ("`feat(api): add a route`", ("Commits", "Examples")),
        ],
    )
    def test_example(self, text: str, under: tuple[str, ...]) -> None:
        """What shows a rule, or stands under examples, is an example."""
        assert StatementKind.EXAMPLE is find_kind(text, under)
