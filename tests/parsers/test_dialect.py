from __future__ import annotations

import pytest

from cortex_actors.parsers.dialect import DIALECTS, dialect_of


class TestDialectOf:
    @pytest.mark.parametrize(
        ("path", "agent"),
        [
            ("CLAUDE.md", "claude"),
            ("./CLAUDE.md", "claude"),
            ("pkg/deep/CLAUDE.md", "claude"),
            (".claude/CLAUDE.md", "claude"),
            ("CLAUDE.local.md", "claude"),
            ("AGENTS.md", "agents"),
            ("GEMINI.md", "gemini"),
            (".github/copilot-instructions.md", "copilot"),
            (".cursorrules", "cursor"),
            (".windsurfrules", "windsurf"),
        ],
    )
    def test_known(self, path: str, agent: str) -> None:
        """Each instruction file is known by its name, or by its place where the name needs one."""
        dialect = dialect_of(path)

        assert dialect is not None
        assert agent == dialect.agent

    @pytest.mark.parametrize(
        "path",
        [
            *("claude.md", "Claude.md", "CLAUDE.md.bak", "XCLAUDE.md", "README.md", "", "."),
            *("copilot-instructions.md", "pkg/.github/copilot-instructions.md", "CLAUDE.md/x"),
        ],
    )
    def test_unknown(self, path: str) -> None:
        """Any other name is not ours to read, and upper and lower case are different."""
        assert dialect_of(path) is None

    def test_private(self) -> None:
        """What a person's own file says stays in its project."""
        assert ["CLAUDE.local.md"] == [dialect.where for dialect in DIALECTS if dialect.private]

    def test_parses(self) -> None:
        """A dialect hands the file to its parser."""
        dialect = dialect_of(".cursorrules")

        assert dialect is not None
        assert ["x"] == [f.content for f in dialect.parse(b"## A\nx", path="/p", project="p")]
