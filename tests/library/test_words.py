"""What an operation makes of its words, and of what comes back."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from cortex_actors import AsyncCortex, Cortex
from cortex_actors.client import results
from cortex_actors.client.cortex import finished
from cortex_actors.client.results import Crumb, Found, Saved
from cortex_actors.errors import BadInput, InternalError


class TestPlain:
    def test_translated(self) -> None:
        """The document's words become ours; what was not given is not sent."""
        said = {"query": "x", "visibility": "private", "n_results": 3, "tags": (), "layer": None}

        assert {"query": "x", "realm": "private", "limit": 3} == results.plain("search", said)

    def test_all(self) -> None:
        """All realms is no realm."""
        assert {} == results.plain("search", {"visibility": "all"})

    def test_spoken(self) -> None:
        """A verb that has kept a word of the document's is given that one, for either."""
        for word in ("summary", "session_summary"):
            assert {"session_summary": "x"} == results.plain("leave_crumb", {word: "x"})

    def test_twice(self) -> None:
        """Both words for one thing are refused, even when they say the same."""
        with pytest.raises(BadInput, match="first and id1 mean the same"):
            results.plain("consolidate", {"first": "a", "id1": "a"})

    def test_sets(self) -> None:
        """A set is sent in order, so that it is sent alike each time."""
        assert {"tags": ["a", "b", "c"]} == results.plain("remember", {"tags": {"c", "a", "b"}})


class TestResults:
    def test_other_versions(self) -> None:
        """What an answer leaves out has its default, and what it says beside is kept."""
        found = Saved.of({"id": "mem_1", "state": "saved", "new": 7, "merged": ["a"]})

        assert ("mem_1", ("a",), False, 7) == (
            found.id,
            found.merged,
            found.pending,
            found.raw["new"],
        )

    def test_hits(self) -> None:
        """What a kind of hit has to say stands beside what all have."""
        found = Found.of({"hits": [{"id": "a", "score": 1.0, "extra": {"layer": "working"}}]})

        assert [("a", "working", "")] == [(hit.id, hit.layer, hit.realm) for hit in found]

    def test_crumb(self) -> None:
        """A crumb has our names, whichever its answer has."""
        assert ("x", ("y",)) == (
            (made := Crumb.of({"session_summary": "x", "unfinished_business": ["y"]})).summary,
            made.unfinished,
        )

    def test_shown(self) -> None:
        """A result is shown without what it does not say."""
        assert "Saved(id='a', state='saved')" == repr(Saved(id="a", state="saved"))


class TestBothWays:
    def test_alike(self) -> None:
        """Whatever one can do, the other can, with the same parameters and an example."""
        for name, method in inspect.getmembers(Cortex, inspect.isfunction):
            if name.startswith("_") or name == "close":
                continue
            other = getattr(AsyncCortex, name)
            assert inspect.signature(method) == inspect.signature(other)
            assert "Example:" in (inspect.getdoc(method) or ""), name

    def test_nothing_left_out(self) -> None:
        """Every operation that is awaited can be had without."""
        awaited = {
            name
            for name, _ in inspect.getmembers(AsyncCortex, inspect.iscoroutinefunction)
            if not name.startswith("_")
        }

        assert set() == {name for name in awaited if not hasattr(Cortex, name)}

    def test_suspended(self) -> None:
        """An operation that would wait for a loop behind a blocking door is a fault."""

        class Waits:
            def __await__(self) -> Any:
                yield

        async def work() -> None:
            await Waits()

        with pytest.raises(InternalError):
            finished(work())
