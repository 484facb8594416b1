"""What an AI agent is offered: few tools, in few bytes, and nothing that is the owner's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cortex_actors.api import desk, tools  # noqa: F401 - registers every operation
from cortex_actors.api.registry import OPERATIONS, Operation
from cortex_actors.errors import BadInput
from cortex_actors.gateways import mcp_server

#: Bytes that `tools/list` may have, and characters of what a client tells its model about us.
LIST, INSTRUCTIONS = 6_000, 600


def size(some: dict[str, tools.Tool]) -> int:
    """Return the bytes of the tools in `tools/list`, as the SDK writes them."""
    made = [mcp_server._tool(one) for one in some.values()]
    return len(
        json.dumps([each.model_dump(by_alias=True, exclude_none=True) for each in made]).encode()
    )


def planned(name: str, *given: str) -> Operation:
    """Return an operation that does not exist yet, with those parameters."""

    async def run(call: object, project: str | None = None, limit: int = 5) -> dict[str, Any]:
        """Do something that takes a sentence of some length to say what it is that it does."""
        return {}

    run.__name__ = name
    return Operation(given[0], run, "POST /x", agents=True, sessions=True)


class TestOffered:
    def test_size(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The list of the nine tools takes less than 6 kB of a client's context."""
        for core in tools.CORE.values():
            if core.operation not in OPERATIONS:
                name = core.operation.replace(".", "_")
                monkeypatch.setitem(OPERATIONS, core.operation, planned("projects", name))
        nine = tools.list_offered("core")

        assert {*tools.CORE, "more"} == set(nine)
        assert 9 == len(nine)
        assert size(nine) < LIST

    def test_instructions(self) -> None:
        """What every session reads about us is short, and names when to call which tool."""
        assert len(mcp_server.INSTRUCTIONS) <= INSTRUCTIONS
        assert "recall" in mcp_server.INSTRUCTIONS
        assert "remember" in mcp_server.INSTRUCTIONS

    def test_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A tool whose operation does not exist, or is not a session's, is not offered."""
        monkeypatch.delitem(OPERATIONS, "recall")

        assert "recall" not in tools.list_offered("core")

    @pytest.mark.parametrize("name", sorted(tools.list_offered("all")))
    def test_schema(self, name: str) -> None:
        """A schema has the registry's kinds, and no parameter that the session itself gives."""
        one = tools.list_offered("all")[name]
        given = one.schema["properties"]

        assert not {"as_agent", "here"} & set(given)
        assert set(one.schema.get("required", ())) <= set(given)
        if one.operation is not None:
            known = one.operation.signature.parameters
            assert set(given) <= set(known)
            needed = {each.name for each in known.values() if each.default is each.empty}
            assert needed == set(one.schema.get("required", ()))
            assert one.operation.sessions
        assert one.about
        assert one.about.endswith((".", ")"))

    def test_annotations(self) -> None:
        """What only reads says so, and what replaces something does not say that it only adds."""
        hints = {
            name: mcp_server._tool(one).annotations
            for name, one in tools.list_offered("all").items()
        }

        for name, one in tools.list_offered("all").items():
            found = hints[name]
            assert found is not None
            if one.operation is not None:
                assert found.read_only_hint == one.operation.http.startswith("GET ")
            assert not (found.read_only_hint and found.destructive_hint)
        archive, post = hints["memory_archive"], hints["village_post"]
        assert archive is not None
        assert post is not None
        assert (True, True) == (archive.destructive_hint, archive.idempotent_hint)
        assert (False, False) == (post.destructive_hint, post.idempotent_hint)

    def test_choice(self) -> None:
        """Names choose tools, of the table or not; an unknown one is named with those there are."""
        assert ["recall", "memory_list"] == list(tools.list_offered("recall, memory_list"))
        with pytest.raises(
            BadInput, match="no tool 'nonsense'; there are core, all, and: .*recall"
        ):
            tools.list_offered("recall,nonsense")


class TestMore:
    def test_all(self) -> None:
        """Without words every other operation is named, in few bytes."""
        found = tools.find()

        assert {"memory_list", "crumbs_unfinished"} <= set(found["operations"])
        assert not {"recall", "memory_forget", "resolve"} & set(found["operations"])
        assert len(json.dumps(found)) < LIST / 2

    def test_words(self) -> None:
        """Words find operations with what they take; nonsense finds none."""
        found = tools.find("archive memory")["operations"]

        assert "memory_archive" == found[0]["name"]
        assert found[0]["params"]["ids"].startswith("array, required; ")
        assert len(found) <= tools.FOUND
        assert [] == tools.find("zzzz")["operations"]

    @pytest.mark.parametrize("name", ["memory.archive", "memory_archive", "archive"])
    def test_named(self, name: str) -> None:
        """An operation is called by any of its names."""
        assert "memory.archive" == tools.find_tool(name).operation.name  # type: ignore[union-attr]

    @pytest.mark.parametrize("name", ["shutdown", "nonsense", ""])
    def test_unknown(self, name: str) -> None:
        """What is no operation is said to be none, with the way to those there are."""
        with pytest.raises(BadInput, match=r"no operation is called .*more\(\) lists"):
            tools.find_tool(name)


class TestResults:
    def test_trimmed(self) -> None:
        """What is empty is left out; a count of nothing and an answer "no" are not empty."""
        found = {"a": None, "b": [], "c": 0, "d": False, "e": {"f": ""}, "g": [{"h": 1, "i": None}]}

        assert {"c": 0, "d": False, "g": [{"h": 1}]} == tools.trim(found)
        assert {"g": [{"h": 1}]} == tools.trim(found, frozenset("dgh"))

    def test_told(self) -> None:
        """An operation's own text for readers is shown as it is, and is not there twice."""
        assert ("[1] a", {"hits": [1]}) == tools.split_result({"text": "[1] a", "hits": [1]})
        assert ("FORWARD", {"text": "FORWARD"}) == tools.split_result({"text": "FORWARD"})
        assert ("id: 1", {"id": 1}) == tools.split_result({"id": 1})

    def test_text(self) -> None:
        """A result is shown as lines, one thing a line, with what belongs together indented."""
        found = {"hits": [{"id": "mem_1", "tags": ["a", "b"]}, {"id": "mem_2"}], "count": 2}

        assert tools.render_text(found).split("\n") == [
            "hits:",
            "  - id: mem_1",
            "    tags:",
            "      - a",
            "      - b",
            "  - id: mem_2",
            "count: 2",
        ]

    def test_lines(self) -> None:
        """A line of a file that is quoted does not look like one of a result."""
        found = [{"around": "a\n- id: b", "id": "c"}]

        assert ["- around: a", "    - id: b", "  id: c"] == tools.render_text(found).split("\n")
