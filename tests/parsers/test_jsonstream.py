"""Records out of large files: the same whatever the pieces are in which they are read."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import BadInput
from cortex_actors.text.jsonstream import read_collections

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = {
    "format_version": "1.0",
    "agent_id": "AZOTH",
    "collections": {"a": [{"x": 'ä\\"]}'}, {"x": [1, {"y": None}]}], "b": [], "c": [{}]},
    "metadata": {"total": 12},
}


def parts(text: str, *, seed: int) -> Iterator[str]:
    """Yield a text in pieces."""
    draw = random.Random(seed)
    while text:
        size = draw.randint(1, 9)
        yield text[:size]
        text = text[size:]


class TestCollections:
    @pytest.mark.parametrize("indent", [None, 2])
    def test_whatever_pieces(self, indent: int | None) -> None:
        """Records and keys come in their order, each with its place."""
        seed = random.randrange(1_000_000)
        text = json.dumps(FILE, indent=indent, ensure_ascii=False)
        found = list(read_collections(parts(text, seed=seed)))

        assert [
            ("format_version", "", "1.0"),
            ("agent_id", "", "AZOTH"),
            ("collections.a[0]", "a", {"x": 'ä\\"]}'}),
            ("collections.a[1]", "a", {"x": [1, {"y": None}]}),
            ("collections.c[0]", "c", {}),
            ("metadata", "", {"total": 12}),
        ] == [tuple(each) for each in found], f"seed {seed}"

    def test_cut_anywhere(self) -> None:
        """A file that breaks off anywhere is an error, never a shorter file."""
        text = json.dumps(FILE)
        for end in range(len(text)):
            with pytest.raises(BadInput):
                list(read_collections([text[:end]]))

    @pytest.mark.parametrize("text", ["[]", "7", "{} {}", '{"collections": 3}', '{"a" 1}', "x"])
    def test_no_such_thing(self, text: str) -> None:
        """Neither is anything else taken for one."""
        with pytest.raises(BadInput):
            list(read_collections([text]))
