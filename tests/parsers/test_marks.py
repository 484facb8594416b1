from __future__ import annotations

import pytest

from cortex_actors.text.sections import Role, count_left_out, split_fragments, split_sections


def said(text: str) -> list[str]:
    """Return what the fragments of a text say."""
    return [each.content for each in split_fragments(text.encode(), path="/p", project="p")]


class TestManaged:
    @pytest.mark.parametrize(
        ("begin", "end"),
        [
            ("<!-- nx configuration start-->", "<!-- nx configuration end-->"),
            ("<!-- BEGIN BEADS INTEGRATION v:1 hash:ca08 -->", "<!-- END BEADS INTEGRATION -->"),
            ("<!-- OPENSPEC:START -->", "<!-- OPENSPEC:END -->"),
            ("<!-- rtk-instructions v2 -->", "<!-- /rtk-instructions -->"),
            ("<!-- acme-rules: generated, do not edit -->", "<!-- /acme-rules -->"),
            ("<claude-mem-context>", "</claude-mem-context>"),
            ('<skills_system priority="1">', "</skills_system>"),
        ],
    )
    def test_skipped(self, begin: str, end: str) -> None:
        """What another tool keeps between its marks is nobody's word; what follows is."""
        text = f"## A\nx\n{begin}\n## Tool\nIt says.\n{end}\ntail\n## B\ny"

        assert ["x", "tail", "y"] == said(text)

    def test_range(self) -> None:
        """Such a block is a section of its own, marks included."""
        tool = b"<!-- nx start -->\r\nz\r\n<!-- nx end -->\r\n"
        data = b"a\r\n" + tool + b"b"
        found = [s for s in split_sections(data, path="p") if s.role is Role.MANAGED]

        assert [tool] == [data[s.byte_start : s.byte_end] for s in found]

    @pytest.mark.parametrize(
        ("begin", "end"),
        [
            ("<!-- nx configuration start -->", ""),
            ("", "<!-- nx configuration end -->"),
            ("<!-- one start -->", "<!-- other end -->"),
            ("<!-- prettier-ignore-start -->", "<!-- prettier-ignore-end -->"),
            ("<!-- markdownlint-disable -->", "<!-- markdownlint-enable -->"),
            ("<!-- This is how it is -->", "<!-- This is the end of it -->"),
            ("<rules>", "</rules>"),
            ("<!-- braindump -->", "<!-- /braindump -->"),
            ("<!-- braindump: rules out of reviews -->", "<!-- /braindump -->"),
            ("`<!-- nx start -->`", "`<!-- nx end -->`"),
        ],
    )
    def test_not_skipped(self, begin: str, end: str) -> None:
        """Half a pair, marks for a formatter, remarks and a human's own tags hide nothing."""
        found = said(f"## A\n{begin}\nIt says.\n{end}\n")

        assert 1 == len(found)
        assert "It says." in found[0]

    @pytest.mark.parametrize(
        ("text", "count"),
        [
            ("a\n<!-- nx start -->\nz\n\n<!-- nx end -->\nb\n", 4),
            ("a\n<!-- x start -->\n<!-- braindump -->\nz\n<!-- /braindump -->\n", 0),
            ("a\n```\n<!-- nx start -->\nz\n<!-- nx end -->\n```\n", 0),
        ],
    )
    def test_counted(self, text: str, count: int) -> None:
        """The lines that another tool keeps are counted, its marks included."""
        assert count == count_left_out(text.encode(), path="p")

    def test_headings_inside_do_not_split(self) -> None:
        """A tool's headings do not change how the rest of the file is split."""
        text = "# A\nx\n# B\ny\n<!-- nx start -->\n## Tool\n<!-- nx end -->\n"

        assert ["x", "y"] == said(text)

    def test_inside_code(self) -> None:
        """Marks that are shown in a fence are a human's."""
        assert 1 == len(said("```\n<!-- nx start -->\n```\nx\n```\n<!-- nx end -->\n```"))
