from __future__ import annotations

import pytest

from cortex_actors.text.sections import DIALECTS, find_dialect, find_folder, split_fragments


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
            (".github/instructions/a.instructions.md", "copilot"),
            (".github/instructions/web/a.instructions.md", "copilot"),
            (".cursor/rules/style.mdc", "cursor"),
            ("docs/.cursor/rules/deep/style.mdc", "cursor"),
            (".windsurfrules", "windsurf"),
            (".windsurf/rules/a.md", "windsurf"),
            (".claude/rules/git/a.md", "claude"),
            (".clinerules", "cline"),
            (".clinerules/01-style.md", "cline"),
            ("pkg/.clinerules/web/style.md", "cline"),
            (".roorules", "roo"),
            (".roo/rules/a.md", "roo"),
            (".roo/rules-code/a.md", "roo"),
            (".junie/guidelines.md", "junie"),
            (".kiro/steering/product.md", "kiro"),
            ("CONVENTIONS.md", "aider"),
            (".claude/skills/pdf/SKILL.md", "claude"),
            ("pkg/.agents/skills/pdf/SKILL.md", "agents"),
        ],
    )
    def test_known(self, path: str, agent: str) -> None:
        """Each instruction file is known by its name, or by its place where the name needs one."""
        dialect = find_dialect(path)

        assert dialect is not None
        assert agent == dialect.agent

    @pytest.mark.parametrize(
        "path",
        [
            *("claude.md", "Claude.md", "CLAUDE.md.bak", "XCLAUDE.md", "README.md", "", "."),
            *(".cursor/rules/a.md", ".cursor/a.mdc", ".claude/skills/a.md", "rules/a.mdc"),
            *("pkg/.github/instructions/a.instructions.md", ".github/instructions/a.md"),
            *("SKILL.md", "skills/pdf/SKILL.md", ".claude/skills/pdf/reference.md"),
            *("docs/CONVENTIONS.md", ".clinerules/workflows/a.md", ".clinerules/hooks/a.md"),
            *("guidelines.md", ".junie/a.md", ".kiro/specs/a/tasks.md", ".roo/mcp.json"),
            *("copilot-instructions.md", "pkg/.github/copilot-instructions.md", "CLAUDE.md/x"),
        ],
    )
    def test_unknown(self, path: str) -> None:
        """Any other name is not ours to read, and upper and lower case are different."""
        assert find_dialect(path) is None

    def test_private(self) -> None:
        """What a person's own file says stays in its project."""
        assert ["CLAUDE.local.md"] == [dialect.where for dialect in DIALECTS if dialect.private]

    def test_parses(self) -> None:
        """A dialect hands the file to its parser."""
        dialect = find_dialect(".cursorrules")

        assert dialect is not None
        assert ["x"] == [f.content for f in dialect.parse(b"## A\nx", path="/p", project="p")]


class TestFolderOf:
    @pytest.mark.parametrize(
        ("path", "folder"),
        [
            ("CLAUDE.md", ""),
            ("pkg/web/CLAUDE.md", "pkg/web"),
            (".claude/CLAUDE.md", ""),
            (".github/instructions/a/b.instructions.md", ""),
            ("docs/.cursor/rules/a.mdc", "docs"),
            (".clinerules/web/a.md", ""),
            ("docs/.kiro/steering/a.md", "docs"),
            (".claude/skills/pdf/SKILL.md", ".claude/skills/pdf"),
            (".roo/rules-code/a.md", ".roo/rules-code"),
        ],
    )
    def test_of(self, path: str, folder: str) -> None:
        """A file speaks for its folder, in a tool's for the one around; a skill for itself."""
        assert folder == find_folder(path)


class TestFrontMatter:
    @pytest.mark.parametrize(
        ("front", "globs"),
        [
            ('inclusion: fileMatch\nfileMatchPattern: "src/**/*.ts"', ("src/**/*.ts",)),
            ('paths:\n  - "src/**"\n  - "lib/**"', ("src/**", "lib/**")),
            ("inclusion: always", ()),
            ("inclusion: manual", ("api.md",)),
            ("inclusion: auto\nname: api\ndescription: For the API.", ("api.md",)),
        ],
    )
    def test_holds_for(self, front: str, globs: tuple[str, ...]) -> None:
        """What a file holds for is in its front matter; what is asked for holds for itself."""
        data = f"---\n{front}\n---\n# API\n\nUse nouns.\n".encode()
        (found,) = split_fragments(data, path="/p/.kiro/steering/api.md", project="p")

        assert globs == found.applies_to
