"""Whom an actor asks: its card compared with what the tree hands it."""

from __future__ import annotations

import inspect
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors import tree as module
from cortex_actors.home import Home
from cortex_actors.process.logs import LogStream
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.names import NamedActor, Names
from cortex_actors.settings import Settings
from cortex_actors.testing import ManualClock
from tests.architecture.actors import lines_of
from tests.architecture.wiring import asked, handed, ways, wrong

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def tree(tmp_home: Path) -> Iterator[module.Tree]:
    """Give the real tree, not started."""
    home = Home(tmp_home)
    home.create()
    logs = LogStream(home.logs / "cortex.ndjson", ManualClock())
    settings = Settings.model_validate({"embedding": {"provider": "hashing"}})
    yield module.grow(home, settings, ManualClock(), logs)
    logs.close()


def _line(actor: str) -> str:
    """Return the line `asks` of an actor's card."""
    kinds = {cls.__name__.lower(): cls for cls in _below(AsyncioActor)}
    text = inspect.getdoc(sys.modules[kinds[actor].__module__]) or ""
    return lines_of(text)["asks"]


def _below(cls: type[Any]) -> Iterator[type[Any]]:
    """Yield the product's classes below one."""
    for child in cls.__subclasses__():
        yield from _below(child)
        if child.__module__.startswith("cortex_actors."):
            yield child


def _way(name: str) -> NamedActor[Any]:
    """Return an actor by a name that nobody has."""
    return NamedActor(name, Names())


class TestCards:
    def test_agree(self, tree: module.Tree) -> None:
        """Every actor's card names whom the tree hands it a way to ask, and nobody else."""
        found = handed(tree)
        problems = [each for name, real in found.items() for each in wrong(name, _line(name), real)]

        assert not problems, "\n".join(problems)
        assert {"ledger", "cache"} == found["accumulator"]

    @pytest.mark.parametrize("line", ["-", "ledger", "ledger, cache, pool", "cache (ledger)"])
    def test_spoilt(self, tree: module.Tree, line: str) -> None:
        """A card that leaves somebody out, or names one too many, is reported."""
        assert list(wrong("accumulator", line, handed(tree)["accumulator"]))

    def test_remarks(self) -> None:
        """What stands in brackets is said to people."""
        assert {"ledger", "cache"} == asked("ledger (which rows\n        there are), cache (pool)")


class TestWays:
    def test_through_everything(self) -> None:
        """A way is found in arguments, objects, containers, closures and bound methods."""

        class Held:
            __slots__ = ("way",)

            def __init__(self, name: str) -> None:
                self.way = _way(name)

            async def use(self) -> object:
                return await self.way.ask(len)

        deep = Held("closure")
        things = partial(print, Held("object"), [_way("list")], key={"k": _way("mapping")})
        bound = Held("method").use

        assert {"object", "list", "mapping"} == set(ways(things, set()))
        assert {"method"} == set(ways(bound, set()))
        assert {"closure"} == set(ways(lambda: deep.way, set()))

    def test_only_what_a_method_names(self) -> None:
        """Behind a bound method only what its code names counts, not all its object has."""

        class Desk:
            def __init__(self) -> None:
                self.used, self.other = _way("used"), _way("other")

            async def use(self) -> object:
                return await self.used.ask(len)

        assert {"used"} == set(ways(Desk().use, set()))

    def test_ring(self) -> None:
        """Things that hold one another end the search."""
        ring: list[object] = [_way("a")]
        ring.append(ring)

        assert ["a"] == list(ways(ring, set()))
