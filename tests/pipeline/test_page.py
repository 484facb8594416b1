"""What of a file is compared with principles: what a human says, and nothing of ours or secret."""

from __future__ import annotations

import pytest

from cortex_actors.errors import BadInput, EmbedderDown
from cortex_actors.pipeline.reading import ComparedTexts, embed_page, join_pages, make_page
from cortex_actors.render import fence
from cortex_actors.text.sections import find_dialect
from tests.pipeline.support import MODEL, Embedder

TEXT = b"""# Atlas

A python service, tested with pytest.

## Style

- Use tabs.

## Tests

- Run pytest in a venv.
"""

#: What looks like a key of GitHub's and is none.
SECRET = "ghp_" + "a1B2" * 9


def page(data: bytes) -> ComparedTexts:
    """Return what a file says."""
    dialect = find_dialect("CLAUDE.md")
    assert dialect is not None
    return make_page(data, dialect, path="/a/CLAUDE.md", project="atlas")


class TestPage:
    def test_parts(self) -> None:
        """A file is its sections with their headings, its statements, and what it is about."""
        found = page(TEXT)

        assert [None, "Style", "Tests"] == [
            each.partition("\n")[0] if each.startswith(("Style", "Tests")) else None
            for each in found.sections
        ]
        assert ["Use tabs.", "Run pytest in a venv."] == [
            each.claim.text for each in found.lines if each.claim.text.startswith(("Use", "Run"))
        ]
        assert ("python",) == found.domains

    def test_ours(self) -> None:
        """A file that has our section is the same page as without it."""
        body = b"## Resolved Knowledge from Cortex\n\n- Use cargo.\n"

        assert page(TEXT) == page(fence.splice(TEXT, body))

    def test_secrets(self) -> None:
        """A secret is in nothing that is embedded."""
        data = TEXT + f"\n- The token is {SECRET} for tests.\n".encode()

        assert [] == [each for each in page(data).embedded if SECRET in each]

    def test_long(self) -> None:
        """The first 8,000 characters stand for all of a file, and each text is embedded once."""
        found = page(TEXT + b"\n".join(b"- Rule %d is a rule." % n for n in range(900)))

        assert 8_000 == len(found.text)
        assert len(set(found.embedded)) == len(found.embedded)

    def test_no_text(self) -> None:
        """What is no text is refused, naming the file."""
        with pytest.raises(BadInput, match=r"/a/CLAUDE\.md"):
            page(b"\x00")

    def test_joined(self) -> None:
        """Several files are one page for whoever reads them all."""
        found = join_pages([page(TEXT), page(b"## Rust\n\n- Use cargo for every crate.\n")])

        assert ("python", "rust") == found.domains
        assert 4 == len(found.sections)
        assert page(TEXT) == join_pages([page(TEXT)])


class TestPlaced:
    async def test_vectors(self, embed: Embedder) -> None:
        """Every text of a page has its vector, made in one request."""
        found = await embed_page(page(TEXT), embed, model=MODEL)

        assert 1 == len(embed.calls)
        assert found.vectors.get(found.page.text) is not None
        rows = found.load_rows(found.page.sections)
        assert rows is not None
        assert 3 == len(rows)

    async def test_without_model(self, embed: Embedder) -> None:
        """While nobody makes vectors a page has none."""
        embed.fails = EmbedderDown("away")
        found = await embed_page(page(TEXT), embed, model=MODEL)

        assert (None, None) == (
            found.vectors.get(found.page.text),
            found.load_rows(found.page.sections),
        )

    async def test_nothing_said(self, embed: Embedder) -> None:
        """Of a page that says nothing nothing is embedded."""
        await embed_page(ComparedTexts(), embed, model=MODEL)

        assert [] == embed.calls
