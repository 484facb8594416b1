"""Edits inside our section: a human's lines move out of it, and older sections come back."""

from __future__ import annotations

import pytest

from cortex_actors.errors import OpenBlock
from cortex_actors.render import fence
from cortex_actors.render.fence import move_edits_out, restore

_BODY = b"## Resolved\n\n- Use pnpm.\n- Use uv.\n"

_MARKED = fence.splice(b"", _BODY)


class TestMovingOut:
    @pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
    @pytest.mark.parametrize("text", [b"", b"# One\n", b"# One\ntext", b"# One\n\n"])
    def test_place(self, text: bytes, eol: bytes) -> None:
        """Changed and new lines stand above the section, which is as it was written again."""
        text = text.replace(b"\n", eol)
        written = fence.splice(text, _BODY) if text else _MARKED.replace(b"\n", eol)
        edited = written.replace(b"Use uv.", b"Use uv 1.2." + eol + b"- Mine.")

        moved = move_edits_out(edited, _BODY)

        kept = eol.join((b"- Use uv 1.2.", b"- Mine."))
        human = fence.remove(moved)
        assert human.strip().endswith(kept)
        assert human.startswith(text)
        assert written[written.index(b"<!--") :] == moved[moved.index(b"<!--") :]
        assert moved == fence.splice(moved, _BODY)

    def test_nothing_changed(self) -> None:
        """A section that only lost lines, or is whole, moves nothing."""
        data = b"# One\n\n" + _MARKED
        assert data == move_edits_out(data, _BODY)
        assert data == move_edits_out(data.replace(b"- Use uv.\n", b""), _BODY)
        assert b"# One\n" == move_edits_out(b"# One\n", _BODY)

    def test_unknown(self) -> None:
        """Where nobody knows what was written, every line is the human's."""
        moved = move_edits_out(b"# One\n\n" + _MARKED, b"")
        assert b"# One\n\n## Resolved\n\n- Use pnpm.\n- Use uv.\n" == fence.remove(moved)

    def test_lines_between(self) -> None:
        """Empty lines between two of the human's are his, as in a block of code."""
        code = b"```python\nimport os\n\n\nos.sync()\n```\n"
        edited = _MARKED.replace(b"- Use uv.\n", b"- Use uv.\n\n" + code)
        assert code == fence.remove(move_edits_out(edited, _BODY))

    @pytest.mark.parametrize("opens", [b"```\n", b"<!--\n"])
    def test_open_block(self, opens: bytes) -> None:
        """An edit that opens a block, which would swallow our section, is not moved above it."""
        edited = b"# One\n\n" + _MARKED.replace(b"- Use uv.\n", b"- Use uv.\n" + opens)
        with pytest.raises(OpenBlock):
            move_edits_out(edited, _BODY)

    def test_behind_a_mark(self) -> None:
        """What stands behind a mark on its line is not lost."""
        edited = _MARKED.replace(b"<!-- cortex:end -->", b"<!-- cortex:end --> ask Ana")
        assert b"ask Ana\n" == fence.remove(move_edits_out(edited, _BODY))

    def test_no_line_between(self) -> None:
        """Text right above the begin mark keeps its distance from what is moved."""
        edited = b"# One\n" + _MARKED.replace(b"pnpm", b"npm")
        assert b"# One\n\n- Use npm.\n\n" + _MARKED == move_edits_out(edited, _BODY)


class TestRestoring:
    def test_section(self) -> None:
        """The section that an older file had comes back, edited or not; other words stay."""
        edited = b"# One\n\n" + _MARKED.replace(b"pnpm", b"npm") + b"\n# Two"
        now = fence.splice(edited, b"- other\n", discard=True).replace(b"# Two", b"# Three")

        assert edited.replace(b"# Two", b"# Three") == restore(now, edited)

    def test_none(self) -> None:
        """Where the older file had none there is none again."""
        assert b"# Two" == restore(fence.splice(b"# Two", _BODY), b"# One\n")

    def test_gone(self) -> None:
        """A section that a human has deleted since comes back at the end."""
        assert b"# Two\n\n" + _MARKED == restore(b"# Two\n", b"# One\n\n" + _MARKED)
