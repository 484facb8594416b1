from __future__ import annotations

import pytest

from cortex_actors.text.statements import find_commands, is_command


def typed(text: str, language: str = "bash") -> list[str]:
    """Return the commands of a fence."""
    return [each.text for each in find_commands(text.split("\n"), language)]


class TestIsCommand:
    @pytest.mark.parametrize(
        "text",
        ["npm test", "$ uv sync", "make", "./run.sh", "CI=1 yarn test a", "scripts/check.py"],
    )
    def test_one(self, text: str) -> None:
        """A program that is known, or a script's path, is a command."""
        assert is_command(text)

    @pytest.mark.parametrize(
        "text", ["npm", "src/app.py", "snake_case", "", "=", "FOO=1", "use it"]
    )
    def test_none(self, text: str) -> None:
        """The name of a program, of a file or of anything else is none."""
        assert not is_command(text)


class TestCommands:
    def test_lines(self) -> None:
        """Each line is a command, with the comment behind it."""
        assert ["uv sync # once", "uv run pytest"] == typed("uv sync    # once\nuv run pytest")

    def test_own_program(self) -> None:
        """In the fence of a shell a program need not be known: it may be the project's own."""
        typed_in = "tide\ntide sync --all # every harbour\nLEVEL=2 # high\nlevel = 2\nkill 1"

        assert ["tide sync --all # every harbour"] == typed(typed_in)
        assert [] == typed(typed_in, "console")
        assert [] == typed("from tide import sync\nimport tide")

    def test_comment_above(self) -> None:
        """A comment, of one line or more, belongs to the commands below it up to a blank line."""
        found = find_commands(["# Run", "# all", "npm test", "npm run e2e", "", "npm run x"], "sh")

        assert ["Run all", "Run all", ""] == [each.above for each in found]

    def test_goes_on(self) -> None:
        """A command that goes on behind a backslash is one, over its lines."""
        found = find_commands(["docker run \\", "  -p 80:80 \\", "  web", "make all"], "sh")

        assert [(0, 2, "docker run -p 80:80 web"), (3, 3, "make all")] == [
            (each.first, each.last, each.text) for each in found
        ]

    def test_prompts(self) -> None:
        """Where commands have a prompt, the other lines are their output."""
        assert ["npm test"] == typed("$ npm test\nnpm is fine\n42 passed", "console")

    @pytest.mark.parametrize(
        ("text", "language"),
        [
            ("npm test", "python"),
            ("for f in *; do\n  npm test $f\ndone", "bash"),
            ("cd web\nls", "bash"),
            ("src/\n  app.py\n  npm test", ""),
            ("\n".join(["npm test"] * 41), "bash"),
            ("Hello\nWorld", ""),
        ],
    )
    def test_none(self, text: str, language: str) -> None:
        """Other languages, scripts, trees of files and mere steps between folders are none."""
        assert [] == typed(text, language)
