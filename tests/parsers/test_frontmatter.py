from __future__ import annotations

import pytest

from cortex_actors.text.sections import split_fragments


def globs(front: str) -> tuple[str, ...]:
    """Return the globs of a file with that front matter."""
    text = f"---\n{front}\n---\n## A\nx"
    return split_fragments(text.encode(), path="/p", project="p")[0].applies_to


class TestGlobs:
    @pytest.mark.parametrize(
        ("front", "expected"),
        [
            ("globs: *.ts, *.tsx", ("*.ts", "*.tsx")),
            ("globs: ['src/**/*.py', \"tests/**\"]", ("src/**/*.py", "tests/**")),
            ("applyTo: '**/*.{ts,tsx},docs/*.md'", ("**/*.{ts,tsx}", "docs/*.md")),
            ("paths:\n  - 'a/*.go'\n  - b/*.go\nname: x", ("a/*.go", "b/*.go")),
            ("description: x\nglobs:\nalwaysApply: true", ()),
            ("description: a, b\ntags:\n  - c", ()),
            ("applyTo: '**'", ()),
            ("globs: a, a", ("a",)),
        ],
    )
    def test_of(self, front: str, expected: tuple[str, ...]) -> None:
        """Globs are read as Cursor, Copilot and Claude Code write them, valid YAML or not."""
        assert expected == globs(front)

    def test_many(self) -> None:
        """A line of a hundred thousand globs is cut, and costs what a line costs."""
        assert 64 == len(globs("globs: " + ",".join(f"a{n}" for n in range(100_000))))

    def test_of_no_front_matter(self) -> None:
        """A file without front matter is for all files."""
        assert () == split_fragments(b"globs: *.ts\n", path="/p", project="p")[0].applies_to
