from __future__ import annotations

import pytest

from cortex_actors.rules.sameness import says_something


class TestSaysSomething:
    @pytest.mark.parametrize(
        "content",
        [
            "",
            "# Zephyr",
            "# CLAUDE.md\n\n---\n",
            "@AGENTS.md",
            "AGENTS.md",
            "[AGENTS.md](AGENTS.md)",
            "<!-- for maintainers:\nkeep it short -->\n# Agents",
            "<!-- never closed\nUse tabs.",
        ],
    )
    def test_empty(self, content: str) -> None:
        """A title, a comment or a pointer is nothing that projects can agree on."""
        assert not says_something(content)

    @pytest.mark.parametrize(
        "content",
        [
            "Use tabs.",
            "# Title\n\nUse tabs.",
            "- a",
            "```\nmake\n```",
            "| a | b |",
            "Read AGENTS.md",
        ],
    )
    def test_substance(self, content: str) -> None:
        """Anything else is kept, however short: what matters is for others to judge."""
        assert says_something(content)
