"""Whom each actor is handed a way to ask, read from what the tree puts together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from cortex_actors.api.desk import FrontDesk
from cortex_actors.assembly.context import World
from cortex_actors.assembly.wiring import Assembly
from cortex_actors.bus.bus import Bus
from cortex_actors.process.logs import LogStream
from cortex_actors.runtime.names import NamedActor, Names
from cortex_actors.runtime.tasks import TaskSupervisor
from cortex_actors.tree import Watchers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cortex_actors.tree import Tree

#: Everybody has them; whoever looked behind them would find the whole program.
_ENDS = (
    *(Assembly, World, Bus, Names, LogStream, FrontDesk),
    *(ModuleType, type, str, bytes, int, float),
)

#: A remark on a card's line.
_REMARK = re.compile(r"\([^)]*\)")

#: A name on a card's line.
_NAME = re.compile(r"[a-z]+")


def handed(tree: Tree) -> dict[str, set[str]]:
    """Return whom each actor of a tree can ask, by actor."""
    makers: dict[str, Any] = {**tree.parts.make, "watcher": tree.parts.watching}
    return {actor: set(ways(make, set())) for actor, make in makers.items()}


def ways(thing: object, seen: set[int]) -> Iterator[str]:
    """Yield the names that something leads to, through all it is made of."""
    if id(thing) in seen or thing is None or isinstance(thing, _ENDS):
        return
    seen.add(id(thing))
    if isinstance(thing, NamedActor):
        yield thing.name
    elif isinstance(thing, Watchers):
        yield "watchers"
    elif isinstance(thing, TaskSupervisor):
        yield "tasks"
    else:
        for part in _parts(thing):
            yield from ways(part, seen)


def _parts(thing: object) -> Iterable[object]:
    """Return what something is made of; of an object behind a method only what that names."""
    if isinstance(thing, partial):
        return (thing.func, *thing.args, *thing.keywords.values())
    if isinstance(thing, MethodType) and isinstance(thing.__self__, NamedActor):
        return (thing.__self__,)
    if isinstance(thing, MethodType):
        return _named(thing.__self__, thing.__func__)
    if isinstance(thing, FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        return [*cells, *(part for cell in cells for part in _named(cell, thing))]
    if isinstance(thing, Mapping):
        return thing.values()
    if isinstance(thing, list | tuple | set | frozenset):
        return thing
    slots = [slot for cls in type(thing).__mro__ for slot in getattr(cls, "__slots__", ())]
    return [*getattr(thing, "__dict__", {}).values(), *(getattr(thing, s, None) for s in slots)]


def _named(owner: object, function: Any) -> list[object]:
    """Return the attributes of an object that a function's code names."""
    return [getattr(owner, name, None) for name in function.__code__.co_names]


def asked(line: str) -> set[str]:
    """Return the names on a card's line `asks`, without the remarks."""
    return set(_NAME.findall(_REMARK.sub("", line)))


def wrong(actor: str, line: str, real: set[str]) -> Iterator[str]:
    """Yield where a card's line `asks` and what the actor is handed disagree."""
    named = asked(line)
    for name in sorted(named - real):
        yield f"{actor}: the card names {name} under 'asks', the actor is handed no way to it"
    for name in sorted(real - named):
        yield f"{actor}: it is handed a way to {name}, the card does not name it under 'asks'"
