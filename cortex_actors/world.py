"""What the tree gives whoever puts its parts together: the home, the settings, itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from cortex_actors.clock import Clock
    from cortex_actors.domain.project import Project
    from cortex_actors.home import Home
    from cortex_actors.outside import Outside
    from cortex_actors.process.logs import LogStream
    from cortex_actors.runtime.names import Names
    from cortex_actors.settings import Settings


class Watchers(Protocol):
    """What the tree offers the watchlist."""

    async def start_watcher(self, project: Project) -> None:
        """Start the watcher of a project."""

    async def end_watcher(self, project_id: str) -> None:
        """End the watcher of a project."""

    def watched(self) -> frozenset[str]:
        """Return the ids of the projects that have a watcher."""


@dataclass(frozen=True, slots=True)
class World:
    """What the parts are put together from."""

    home: Home
    settings: Settings
    clock: Clock
    logs: LogStream
    names: Names
    watchers: Watchers
    draw: Callable[[], Mapping[str, Any]]
    crash: Callable[[str], None]
    inspect: Callable[[str], Mapping[str, Any]]
    reload: Callable[[], Awaitable[Mapping[str, Any]]]
    #: Makes a change of what children are made with, and starts those of these names anew.
    start_again: Callable[[Callable[[], None], Collection[str]], Awaitable[None]]
    outside: Outside
