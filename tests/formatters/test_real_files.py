"""Our section in files that people wrote: a parser finds theirs as before, and ours behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import OpenBlock
from cortex_actors.render import fence
from cortex_actors.render.section import find
from tests.formatters.bullets import KNOWN
from tests.formatters.reading import blocks, shape
from tests.parsers.corpus import unpacked

if TYPE_CHECKING:
    from pathlib import Path

#: Real files that are read, from one end of the archives to the other: a Markdown parser in Python
#: takes its time.
FILES = 60


class TestRealFiles:
    @pytest.mark.slow
    def test_behind(self, tmp_path: Path) -> None:
        """What a person wrote is read as before, and then our heading, notice and lists."""
        ours = find("claude").render(KNOWN, count=len).text
        files = sorted(unpacked(tmp_path))
        tried = 0
        for path in files[:: max(1, len(files) // FILES)]:
            human = path.read_bytes()
            try:
                written = fence.splice(human, ours.encode())
            except OpenBlock:
                continue
            tried += 1
            # A file that ends in the middle of a block ends it before our mark.
            before = _outer(human)[:-1]
            after = _outer(written)
            assert before == after[: len(before)], path
            behind = ["html_block", *shape(ours), "html_block"]
            assert behind == shape(written.decode("utf-8", "replace"))[-len(behind) :], path
        assert tried >= 2


def _outer(data: bytes) -> list[tuple[str, int]]:
    """Return the blocks of a file, with how deep each lies."""
    return [(each.type, each.level) for each in blocks(data.decode("utf-8", "replace"))]
