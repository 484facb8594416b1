"""What an operation makes of its words, and of what comes back."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, assert_type

import pytest

from cortex_actors import AsyncCortex, Cortex
from cortex_actors.api import desk
from cortex_actors.api.registry import OPERATIONS
from cortex_actors.client import cortex as module
from cortex_actors.client import operations, results
from cortex_actors.client.connection import PATIENCE, Client
from cortex_actors.client.doors import run_blocking
from cortex_actors.client.results import Crumb, Found, Saved
from cortex_actors.errors import BadInput, InternalError
from tests.process.commands import ROOT

#: Loads the library and prints what of the daemon's it loaded.
LOADED = """
import sys
from cortex_actors import AsyncCortex, Cortex
print(sorted({"numpy", "pydantic", "sqlalchemy", "cortex_actors.api.registry"} & set(sys.modules)))
"""

#: Operations -> by which parameter they are told who speaks; others are not told.
TOLD = dict.fromkeys(
    (
        *("remember", "post", "leave_crumb"),
        *("crumbs", "latest_crumb", "unfinished", "judge_next", "judge_answer"),
        *("hook_start", "hook_prompt", "hook_compact", "hook_end"),
    ),
    "agent",
)


class Asked:
    """A door that keeps what it is asked, and answers with little."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def ask(self, verb: str, said: Any) -> dict[str, Any]:
        self.asked.append((verb, dict(said)))
        return {}

    async def on_thread(self, call: Any, /, *args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Cortex, Asked]:
    """Give a library that asks nobody, opened for an agent, and what it was asked."""
    door, cortex = Asked(), Cortex(tmp_path, agent="KETHER")
    monkeypatch.setattr(cortex, "_door", door)
    return cortex, door


class TestEvery:
    def test_there(self) -> None:
        """Every operation has its method, in both; where a name was taken it has another."""
        asks = operations.list_methods()
        reached = {*asks.values(), *operations.BY_HAND}

        assert {each.method for each in OPERATIONS.values()} <= vars(desk.FrontDesk).keys()
        assert {each.method for each in OPERATIONS.values()} <= reached
        assert "topics" == asks["event_topics"]
        for name in asks:
            assert callable(getattr(Cortex, name))
            assert inspect.iscoroutinefunction(getattr(AsyncCortex, name))

    def test_in_order(self, asked: tuple[Cortex, Asked]) -> None:
        """Parameters are given as the operation declares them, by position or by name."""
        cortex, door = asked
        cortex.promote("mem_1", "cortex")
        cortex.publish("custom:x", {"a": 1}, transient=True)
        cortex.contradictions("atlas", 3)

        assert [
            ("promote", {"id": "mem_1", "to": "cortex", "as_agent": "KETHER"}),
            ("publish", {"topic": "custom:x", "payload": {"a": 1}, "transient": True}),
            ("contradictions", {"project": "atlas", "limit": 3}),
        ] == door.asked

    def test_speaks(self) -> None:
        """Who speaks is told to all that agents may ask and that has a word for it."""
        for each in OPERATIONS.values():
            words = each.signature.parameters
            other = "as_agent" if each.agents and "as_agent" in words else None

            assert TOLD.get(each.method, other) == operations.find_speaker(each.method), each.name

    def test_names_kept(self, asked: tuple[Cortex, Asked]) -> None:
        """Names and words from before the registry ask what they asked."""
        cortex, door = asked
        assert_type(cortex.get_crumbs("NOURI", lookback_hours=2), tuple[Crumb, ...])
        assert_type(cortex.search("x", n_results=3), Found)
        cortex.thread(id="ci")
        cortex.topics()
        cortex.event_topics()
        cortex.forget("mem_1", "mem_2")

        assert [
            ("crumbs", {"agent": "NOURI", "lookback_hours": 2, "here": str(Path.cwd())}),
            ("search", {"query": "x", "limit": 3, "as_agent": "KETHER", "here": str(Path.cwd())}),
            ("thread", {"thread": "ci", "as_agent": "KETHER"}),
            ("knowledge_topics", {}),
            ("topics", {}),
            ("forget", {"ids": ["mem_1", "mem_2"], "as_agent": "KETHER"}),
        ] == door.asked

    @pytest.mark.parametrize(
        ("timeout", "seconds"), [(None, (30, 60, 120, 21_600)), (5, (5, 5, 5, 21_600))]
    )
    def test_long(self, tmp_path: Path, timeout: float | None, seconds: tuple[float, ...]) -> None:
        """What takes long may take long, whatever the caller says; all else as long as that."""
        client = Client(tmp_path, timeout=timeout)

        assert seconds == tuple(
            map(client.choose_timeout, ("agents", "recall", "remember", "backup"))
        )
        assert {each.method for each in OPERATIONS.values()} >= set(PATIENCE)

    def test_unknown_word(self, asked: tuple[Cortex, Asked]) -> None:
        """A keyword that a method does not have is Python's own error, with the method's name."""
        with pytest.raises(TypeError, match=r"archive\(\) got an unexpected keyword argument 'id'"):
            asked[0].archive(["a"], id="b")  # type: ignore[call-arg]
        assert [] == asked[1].asked

    def test_quick(self) -> None:
        """The library is imported without the daemon's parts."""
        done = subprocess.run(
            [sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert "[]\n" == done.stdout

    @pytest.mark.parametrize("kind", [Cortex, AsyncCortex])
    def test_stub(self, kind: type) -> None:
        """The stub declares the methods there are, with their parameters."""
        tree = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text("utf-8"))
        (stub,) = (
            each
            for each in tree.body
            if isinstance(each, ast.ClassDef) and each.name == kind.__name__
        )
        declared = {
            each.name: [arg.arg for arg in (*each.args.args, *each.args.kwonlyargs)]
            for each in stub.body
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        there = {name: value for name, value in inspect.getmembers(kind) if name[:1] != "_"}

        assert set(there) == {name for name in declared if name[:1] != "_"}
        for name, method in there.items():
            if name != "home":
                takes = inspect.signature(method).parameters.values()
                plain = [each.name for each in takes if each.kind is not each.VAR_POSITIONAL]
                assert plain == declared[name], name


class TestPlain:
    def test_translated(self) -> None:
        """The document's words become ours; what was not given is not sent."""
        said = {"query": "x", "visibility": "private", "n_results": 3, "tags": (), "layer": None}

        assert {"query": "x", "realm": "private", "limit": 3} == results.translate_words(
            "search", said
        )

    def test_all(self) -> None:
        """All realms is no realm."""
        assert {} == results.translate_words("search", {"visibility": "all"})

    def test_spoken(self) -> None:
        """A verb that has kept a word of the document's is given that one, for either."""
        for word in ("summary", "session_summary"):
            assert {"session_summary": "x"} == results.translate_words("leave_crumb", {word: "x"})

    def test_twice(self) -> None:
        """Both words for one thing are refused, even when they say the same."""
        with pytest.raises(BadInput, match="first and id1 mean the same"):
            results.translate_words("consolidate", {"first": "a", "id1": "a"})

    def test_sets(self) -> None:
        """A set is sent in order, so that it is sent alike each time."""
        assert {"tags": ["a", "b", "c"]} == results.translate_words(
            "remember", {"tags": {"c", "a", "b"}}
        )


class TestResults:
    def test_other_versions(self) -> None:
        """What an answer leaves out has its default, and what it says beside is kept."""
        found = Saved.from_answer({"id": "mem_1", "state": "saved", "new": 7, "merged": ["a"]})

        assert ("mem_1", ("a",), False, 7) == (
            found.id,
            found.merged,
            found.pending,
            found.raw["new"],
        )

    def test_hits(self) -> None:
        """What a kind of hit has to say stands beside what all have."""
        found = Found.from_answer(
            {"hits": [{"id": "a", "score": 1.0, "extra": {"layer": "working"}}]}
        )

        assert [("a", "working", "")] == [(hit.id, hit.layer, hit.realm) for hit in found]

    def test_crumb(self) -> None:
        """A crumb has our names, whichever its answer has."""
        assert ("x", ("y",)) == (
            (
                made := Crumb.from_answer({"session_summary": "x", "unfinished_business": ["y"]})
            ).summary,
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
            run_blocking(work())
