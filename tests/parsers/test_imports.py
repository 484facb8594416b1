from __future__ import annotations

import pytest

from cortex_actors.text.sections import find_imports


class TestImports:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("@AGENTS.md", ("AGENTS.md",)),
            ("See @docs/style.md and @../up.md, too.", ("docs/style.md", "../up.md")),
            ("- git: @~/.claude/git.md", ("~/.claude/git.md",)),
            ("@README", ("README",)),
            ("../../.agents/base.md\n", ("../../.agents/base.md",)),
            ("@a.md\n@a.md", ("a.md",)),
            ("run `@a.md`", ()),
            ("ask @mary, mail me@a.md", ()),
            ("use @acme/ui and @pytest.mark.slow", ()),
            ("text a.md", ()),
        ],
    )
    def test_of(self, text: str, expected: tuple[str, ...]) -> None:
        """Pointers to text files are recorded as written; people, packages and code are none."""
        assert expected == find_imports(text.split("\n"))
