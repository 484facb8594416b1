from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.text.sections import split_fragments
from cortex_actors.text.statements import MOST, find_statements

if TYPE_CHECKING:
    from cortex_actors.domain.project import Statement


def read(text: str) -> list[Statement]:
    """Return the statements of a file."""
    found = split_fragments(text.encode(), path="/p/CLAUDE.md", project="p")
    return [each for fragment in found for each in find_statements(fragment)]


def said(text: str) -> list[str]:
    """Return what the statements of a file say."""
    return [each.text for each in read(text)]


class TestBlocks:
    def test_items(self) -> None:
        """Each list item is a statement, on one line and without its marker."""
        text = "- Use tabs here\n* [ ] Write tests\n  first\n10. Never push\n"

        assert ["Use tabs here", "Write tests first", "Never push"] == said(text)

    def test_paragraphs(self) -> None:
        """A paragraph is a statement, and each of its sentences when it is long."""
        long = "Always squash a branch into one commit when it is merged. " * 3

        assert ["Use tabs for all."] == said("Use tabs\nfor all.")
        assert 3 == len(said(long))

    def test_table(self) -> None:
        """Each row of a table is a statement."""
        assert ["`src`: the library"] == said(
            "| Path | Purpose |\n|--|--|\n| `src` | the library |"
        )

    def test_quotation(self) -> None:
        """What is quoted is read without its marks, the kind of a note left out."""
        assert ["Never force-push.", "Use pnpm only"] == said(
            "> [!WARNING]\n> Never force-push.\n> - Use pnpm only\n"
        )

    def test_commands(self) -> None:
        """Each command of a fence is a statement, with the comment that is its own."""
        text = "```bash\nuv sync   # once\n\n# All tests\nuv run pytest\n```"

        assert ["uv sync # once", "uv run pytest # All tests"] == said(text)

    def test_introduced_command(self) -> None:
        """The one command of a fence completes the sentence that introduces it."""
        text = "Ask first. Before you push, run:\n\n```sh\nmake check\n```\n"

        assert ["Ask first. Before you push, run: `make check`"] == said(text)

    def test_introduced_code(self) -> None:
        """A rule stays when other code shows it; a mere introduction does not."""
        code = "```ts\nconst a = 1;\n```\n"

        assert ["Always await the next frame like so:"] == said(
            f"Always await the next frame like so:\n\n{code}"
        )
        assert [] == said(f"The configuration looks like this:\n\n{code}")


class TestLeadIns:
    @pytest.mark.parametrize("block", ["- install the wheel\n", "```sh\nmake a\nmake b\n```\n"])
    def test_sentences_before(self, block: str) -> None:
        """What stands in front of the sentence that leads in is said, on its own lines."""
        text = f"We test with pytest.\nNever mock the database. Run:\n\n{block}"
        first, second, *rest = read(text)

        assert ["We test with pytest.", "Never mock the database."] == [first.text, second.text]
        assert [(1, 1), (2, 2)] == [(each.line_start, each.line_end) for each in (first, second)]
        assert {("Run",)} == {each.headings for each in rest}

    def test_in_an_item(self) -> None:
        """A list item says what stands in front of the sentence that leads in, too."""
        text = "- Keep modules small. Never add:\n  - global state\n"

        assert ["Keep modules small.", "Never add: global state"] == said(text)

    def test_one_command(self) -> None:
        """A command completes the last sentence alone; a few words in front stay with it."""
        text = "We test with pytest. Never mock the database. Run:\n\n```\nmake check\n```\n"

        assert [
            "We test with pytest. Never mock the database.",
            "Run: `make check`",
        ] == said(text)
        assert ["Ask first. Run: `make a`"] == said("Ask first. Run:\n\n```sh\nmake a\n```\n")

    def test_leans(self) -> None:
        """A sentence that leans on the one before it leads in together with it."""
        first, entry = read("The harness drives a browser. It needs:\n\n- a free display\n")

        assert "The harness drives a browser." == first.text
        assert "The harness drives a browser. It needs:" == entry.lead_in


class TestLists:
    def test_lead_in(self) -> None:
        """Each entry keeps the whole sentence, or the label, that introduces its list."""
        text = "Before a release:\n\n- Run all tests\n\n**Style:**\n\n- Use tabs here\n\nBe kind.\n"

        assert ["Before a release:", "**Style:**", ""] == [each.lead_in for each in read(text)]

    def test_steps(self) -> None:
        """An entry of an ordered list knows its number, however all of them are written."""
        text = "1. Fetch the tags\n   - all of them\n1. Build the wheel\n\n   It takes long.\n"

        assert [1, 0, 2, 2] == [each.step for each in read(text)]

    def test_cut_list(self) -> None:
        """Steps are of one list though a fence at the margin stands between two of them."""
        text = "1. Fetch the tags\n\n```sh\ngit fetch\n```\n\n2. Build the wheel\n"
        first, command, second = read(text)

        assert (1, 1) == (first.listed, second.listed)
        assert (3, 0) == (command.listed, command.step)
        assert (1, 2) == (first.step, second.step)

    def test_listed(self) -> None:
        """What stands in one list or table has its first line in common, and nothing else has."""
        text = (
            "- Use tabs here\n- Never push\n\n1. Fetch the tags\n\nBe kind.\n\n- Ask first\n\n"
            "| Path | Purpose |\n|--|--|\n| `src` | the library |\n| `lib` | the rest |\n"
        )

        assert [1, 1, 4, 0, 8, 10, 10] == [each.listed for each in read(text)]


class TestNoise:
    @pytest.mark.parametrize(
        "text",
        [
            "# T\n\n### Style\n",
            "- [Guide](docs/guide.md)\n- [Rules](docs/rules.md) - how we write\n",
            "```python\nx = 1\n```\n",
            "```\nsrc/\n├── app.py\n└── main.py\n```\n",
            "src/\n├── app.py\n",
            "@AGENTS.md\n",
            "../AGENTS.md",
            "See `docs/style.md` for details.",
            "**Last Updated**: 2025-10-08",
            "- `src/a.py`\n- `src/b.py`, `src/c.py`\n",
            "<!-- a remark\nof two lines -->\n\n<!-- Use tabs -->\n",
            "<details>\n<summary>\n</details>",
            "---\n***\n===\n",
            "https://example.org/a",
            "Why is it slow?",
            "x" * (MOST + 1),
            "description: a\nglobs: b\n---\n",
        ],
    )
    def test_no_statement(self, text: str) -> None:
        """Headings, links, code, trees, pointers, metadata and remarks make no statement."""
        assert [] == said(text)

    @pytest.mark.parametrize(
        "text",
        [
            "No `unwrap()` outside of tests",
            "**Python**: >=3.10",
            "Constants: `UPPER_SNAKE_CASE`",
            "`npm run lint`",
            "Read `docs/style.md` before you write code.",
            "`docs/index.md` uses relative links",
            "Arrow functions preferred",
            "2-space indentation",
            "コミットは小さくする",
        ],
    )
    def test_statement(self, text: str) -> None:
        """What is short, or mostly code, and still says something is a statement."""
        assert [text] == said(f"- {text}")


class TestHeadings:
    def test_path(self) -> None:
        """A statement keeps its headings, the label above it, and the item it is nested in."""
        text = (
            "# T\n## A\n### B\n**Git:**\n\n- Commit often\n  - Sign each commit\n\n"
            "In CI, remember:\n- Cache the wheels\n### C\nUse tabs.\n"
        )
        found = {each.text: each.headings for each in read(text)}

        assert ("T", "A", "B", "Git") == found["Commit often"]
        assert ("T", "A", "B", "Git", "Commit often") == found["Sign each commit"]
        assert ("T", "A", "B", "Git", "In CI, remember") == found["Cache the wheels"]
        assert ("T", "A", "C") == found["Use tabs."]
        assert "T > A > C" == read(text)[-1].heading

    def test_behind_our_section(self) -> None:
        """Text that goes on behind our section stands under the heading it had before."""
        ours = "<!-- cortex:begin v1 -->\nz\n<!-- cortex:end -->\n"
        last = read(f"# T\n## A\nUse tabs.\n{ours}Use pnpm.")[-1]

        assert ("Use pnpm.", ("T", "A")) == (last.text, last.headings)

    def test_underlined(self) -> None:
        """A heading may be underlined; what ends a sentence above a rule is text."""
        found = read("Style\n-----\nUse tabs.\n\nUse pnpm.\n---\n")

        assert [("Use tabs.", ("Style",)), ("Use pnpm.", ("Style",))] == [
            (each.text, each.headings) for each in found
        ]

    def test_label_of_a_long_item(self) -> None:
        """The sentences of a long item stand under the label that it begins with."""
        rules = "Always define contracts in one central place. Never let a renderer talk to disk. "
        found = read(f"- **IPC**: {rules * 4}")

        assert ("IPC",) == found[-1].headings


class TestForbidden:
    @pytest.mark.parametrize(
        ("above", "item", "expected"),
        [
            ("## Don'ts", "Use `any`", "Don'ts: Use `any`"),
            ("**Never:**", "force-push to main", "Never: force-push to main"),
            ("You must not commit:", "`.env` files", "You must not commit: `.env` files"),
            ("**Do NOT** make changes that would:", "Break a build", None),
            ("## Don'ts", "Never use `any`", "Never use `any`"),
            ("Avoid large modules:", "Split at 300 lines", "Split at 300 lines"),
            ("If tests do not pass:", "Ask the owner", "Ask the owner"),
            ("## Do", "Use `unknown`", "Use `unknown`"),
            (
                "All changes must:",
                "have a changelog line",
                "All changes must: have a changelog line",
            ),
        ],
    )
    def test_words_above(self, above: str, item: str, expected: str | None) -> None:
        """An entry gets the words above it that forbid or order it, unless it has its own."""
        expected = expected or f"Do NOT** make changes that would: {item}"

        assert [expected] == said(f"{above}\n\n- {item}\n")

    def test_innermost(self) -> None:
        """What stands nearest decides."""
        text = "## Don'ts\n\n**Instead:**\n\n- Use `unknown`\n"

        assert ["Use `unknown`"] == said(text)


class TestPlaces:
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_exact(self, end: str) -> None:
        """A statement has the lines and bytes of the file, whatever its line ends."""
        data = end.join(
            ["\ufeff# Ä", "", "## B", "- Use täbs", "  here", "", "Never push"]
        ).encode()
        found = [
            each
            for fragment in split_fragments(data, path="/p", project="p")
            for each in find_statements(fragment)
        ]

        assert [(4, 5), (7, 7)] == [(each.line_start, each.line_end) for each in found]
        assert ["- Use täbs" + end + "  here" + end, "Never push"] == [
            data[each.byte_start : each.byte_end].decode() for each in found
        ]

    def test_sentences(self) -> None:
        """A sentence of a wrapped paragraph has the lines that it stands on."""
        first = "Always squash a branch into one commit when it is merged,\nso that main is clean."
        found = read(f"{first} Keep a pull request under 400 changed lines, tests included.")

        assert [(1, 2), (2, 2)] == [(each.line_start, each.line_end) for each in found]

    def test_command_in_a_fence(self) -> None:
        """A command has its own line, and with its introduction all lines of both."""
        found = read(
            "Use it.\n\n```sh\nmake a\nmake b\n```\n\nAt the end, run:\n```sh\nmake c\n```"
        )

        assert [(1, 1), (4, 4), (5, 5), (8, 10)] == [(e.line_start, e.line_end) for e in found]

    def test_of_a_fragment_by_hand(self) -> None:
        """A fragment without its bytes makes no statement."""
        fragment = split_fragments(b"Use tabs.", path="/p", project="p")[0]

        assert 1 == len(find_statements(fragment))
        assert () == find_statements(type(fragment)("x", "/p", "p", None, 1, 1, 0, 1, "0" * 64))
