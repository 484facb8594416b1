"""The watchers of the live tree: one for each followed project, under a supervisor of their own.

They are made from a template and named by their handles; the watchlist says which there should be.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import supervision
from cortex_actors.errors import ActorAway
from cortex_actors.runtime.ref import start_actor
from cortex_actors.watching.watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.domain.project import Project
    from cortex_actors.runtime.names import Names
    from cortex_actors.runtime.ref import ActorHandle
    from cortex_actors.watching.watcher import WatcherParts


class Watchers:
    """Starts and ends watchers, one for each project however often it is asked to."""

    def __init__(self, names: Names, supervisor: Callable[[], supervision.Supervisor]) -> None:
        """Have none; `supervisor` gives the one whose children they are now."""
        self._names = names
        self._supervisor = supervisor
        self._handles: dict[str, ActorHandle] = {}
        self._starting: set[str] = set()

    async def start_watcher(self, project: Project) -> None:
        """Start the watcher of a project; nothing happens when it has one or is getting it.

        Raises `ActorAway` when it does not start.
        """
        if project.id in self._handles or project.id in self._starting:
            return
        self._starting.add(project.id)
        try:
            await self._supervisor().start_child((project,))
        except supervision.SupervisionError as error:
            message = f"cannot watch {project.root}: {error}; it is tried again in a moment"
            raise ActorAway(message) from error
        finally:
            self._starting.discard(project.id)

    async def end_watcher(self, project_id: str) -> None:
        """End the watcher of a project; nothing happens when it has none.

        Raises `ActorAway` when it was replaced meanwhile, or its supervisor is.
        """
        handle = self._handles.get(project_id)
        if handle is None:
            return
        try:
            await self._supervisor().terminate_child(handle)
        except supervision.SupervisionError as error:
            if self._handles.get(project_id) is not handle or handle.ref.is_alive():
                message = f"cannot stop watching {project_id}: {error}; it is tried again"
                raise ActorAway(message) from error
        if self._handles.get(project_id) is handle:
            del self._handles[project_id]

    def watched(self) -> frozenset[str]:
        """Return the ids of the projects that have a watcher."""
        return frozenset(self._handles)

    def template(self, parts: Callable[[], WatcherParts]) -> supervision.ChildSpec:
        """Return how a watcher is started; a new supervisor asks for it, and has none yet."""
        self._handles.clear()
        return supervision.ChildSpec("watcher", partial(self._start, parts))

    async def _start(
        self, parts: Callable[[], WatcherParts], project: Project
    ) -> supervision.Handle | supervision.Ignore:
        """Start one life of a project's watcher; two projects may have one name.

        A start that was asked for twice (its caller may have gone meanwhile) is ignored.
        """
        before = self._handles.get(project.id)
        if before is not None and before.ref.is_alive():
            return supervision.IGNORE
        name = f"watcher({project.name})"
        if self._names.whereis(name) is not None:
            name = f"watcher({project.name}-{project.id[4:10]})"
        handle = await start_actor(self._names, name, Watcher, project, parts())
        self._handles[project.id] = handle
        return handle
