"""JSON with comments: one value is put in or cut out, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.errors import BadInput
from cortex_actors.text import jsonc

#: What is put in.
VALUE = {"command": "/opt/cortex", "args": ["mcp", "--agent", "CLAUDE"]}
WAY = ("mcpServers", "cortex")

#: Configurations as people have them.
TEXTS = (
    '{"a": 1}',
    '{"mcpServers": {"other": {"command": "x"}}}\n',
    '{\n  // first\n  "a": 1 // behind\n}\n',
    '{\n\t"mcpServers": {\n\t\t"other": {"command": "x"},\n\t},\n}\n',
    '{\r\n    "mcpServers": {\r\n        "other": {}\r\n    }\r\n}\r\n',
    '/* above */ {\n  "a": [1, 2], /* between */\n  "b": {}\n  // below\n}',
    '\ufeff{\n  "url": "http://x//y", "b": "/* no comment */"\n}',
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


class TestPut:
    @pytest.mark.parametrize("text", TEXTS)
    def test_returns(self, text: str) -> None:
        """What was put in stands there, the rest says what it said, and cut leaves no trace."""
        new = jsonc.put(text, WAY, value=VALUE)
        found = jsonc.read(new)

        assert VALUE == found["mcpServers"].pop("cortex")
        assert {**jsonc.read(text), "mcpServers": {}} == {
            **found,
            "mcpServers": {},
        }
        assert text == jsonc.cut(new, WAY)

    @pytest.mark.parametrize("text", TEXTS)
    def test_comments(self, text: str) -> None:
        """Each line that was there is there, but for a comma behind it."""
        new = [line.rstrip(",") for line in jsonc.put(text, WAY, value=VALUE).split("\n")]

        lines = [line.rstrip(",") for line in text.split("\n") if "{" not in line]
        assert [] == [line for line in lines if not any(line.split(" //")[0] in n for n in new)]

    @pytest.mark.parametrize("text", ["", "\n", "// nothing yet", "{}", "{ }\n", "{ /* a */ }"])
    def test_empty(self, text: str) -> None:
        """A text without an object gets one, whatever comment it has."""
        new = jsonc.put(text, ("hooks", "SessionStart", 0), value={"hooks": []})

        assert {"hooks": {"SessionStart": [{"hooks": []}]}} == jsonc.read(new)
        assert ("//" in text, "/*" in text) == ("//" in new, "/*" in new)

    def test_replaces(self) -> None:
        """A value takes the place of the one before, with the same comments around it."""
        text = '{\n  // ours\n  "a": {"old": true}, // kept\n  "b": 2\n}'

        new = jsonc.put(text, ("a",), value={"new": True})
        assert '{\n  // ours\n  "a": {\n    "new": true\n  }, // kept\n  "b": 2\n}' == new

    def test_indentation(self) -> None:
        """New lines are indented as those around them, tabs by tabs."""
        new = jsonc.put('{\n\t"a": {\n\t\t"b": 1\n\t}\n}', ("a", "c"), value={"d": 2})

        assert '{\n\t"a": {\n\t\t"b": 1,\n\t\t"c": {\n\t\t\t"d": 2\n\t\t}\n\t}\n}' == new

    @given(rest=st.dictionaries(st.text(max_size=6), VALUES, max_size=4), value=VALUES)
    def test_any(self, rest: dict[str, Any], value: Any) -> None:
        """Whatever an object holds, and however it is printed, only our value is new in it."""
        rest.pop("ours", None)
        for indent in (None, 2, "\t"):
            text = json.dumps(rest, indent=indent, ensure_ascii=False)
            new = jsonc.put(text, ("ours",), value=value)

            assert {**rest, "ours": value} == jsonc.read(new)
            assert text == jsonc.cut(new, ("ours",))


class TestCut:
    def test_first(self) -> None:
        """The entry before another goes with its comma, and the other's comment stays."""
        text = '{\n  "a": 1,\n  // of b\n  "b": 2\n}'

        assert '{\n  // of b\n  "b": 2\n}' == jsonc.cut(text, ("a",))

    def test_holders(self) -> None:
        """What held nothing else goes, too."""
        assert '{"a": 1}' == jsonc.cut(
            '{"a": 1, "hooks": {"Start": [{"x": 1}]}}', ("hooks", "Start", 0)
        )

    def test_absent(self) -> None:
        """A text without the value stays as it is."""
        text = '{"a": {"b": 1}}'

        assert [text, text] == [jsonc.cut(text, ("a", "c")), jsonc.cut(text, ("d", "b"))]


class TestBroken:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('{"a": 1', "line 1, column 8 has its end in place of a comma or }"),
            ('{\n  "a" 1\n}', "line 2, column 7 has '1' in place of a colon"),
            ("{a: 1}", "column 2 has 'a' in place of a key in quotes or }"),
            ('{"a": 1} x', "column 10 has 'x' in place of its end"),
            ('{"a": .}', "column 7 has '.' in place of a value"),
            ('{"a": 1 "b": 2}', "in place of a comma or }"),
            ("[" * 5_000, "at most 100 levels"),
        ],
    )
    def test_place(self, text: str, said: str) -> None:
        """A text that is no JSON is refused with the place and what should stand there."""
        with pytest.raises(BadInput) as caught:
            jsonc.read(text, path="x.json")

        assert said in str(caught.value)
        assert "100 levels" in said or str(caught.value).endswith("it first; nothing was written")

    def test_other_kind(self) -> None:
        """Where something else stands on the way, nothing is put in."""
        with pytest.raises(BadInput, match="the text: hooks is no object"):
            jsonc.put('{"hooks": []}', ("hooks", "Start", 0), value=1)
