"""Reload: the settings are read again, and actors with a section that changed are restarted.

Nothing else is touched. An actor that is started again first gives the answers it owes; what waits
in its mailbox goes to its next life, and callers wait for its name. It is no failure, so it does
not count against its supervisor's limit. A section with a key that only a new process can follow is
left as it is as a whole, because half of a change is a state that no user has asked for.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import supervision
from cortex_actors import settings
from cortex_actors.errors import ConfigurationError
from cortex_actors.runtime.tasks import Background

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence

    from cortex_actors.home import Home
    from cortex_actors.runtime.names import Names
    from cortex_actors.settings import Settings

T = TypeVar("T")

log = logging.getLogger("cortex.reload")

#: Section -> who is handed it, actors and branches of their own (a test holds this to what the
#: parts are put together from).
HANDED: Final[Mapping[str, tuple[str, ...]]] = {
    "accumulation": ("accumulator",),
    "reconciliation": ("reconciler", "organiser", "resolver", "archivist"),
    "organisation": ("organiser", "scheduler"),
    "resolution": ("resolver", "scheduler"),
    "embedding": ("cache", "pool", "migrator"),
    "judging": ("judge", "reconciler", "organiser", "archivist"),
    "memory": (*("archivist", "village", "custodian", "librarian", "roster"), "scheduler"),
    "federation": ("roster", "federation"),
    "tls": ("roster",),
    "watching": ("watchers", "watchlist"),
    "storage": (
        *("ledger", "vectors", "indexer"),
        *("accumulator", "reconciler", "organiser"),
        *("archivist", "village", "roster"),
    ),
    "events": (
        *("accumulator", "reconciler", "organiser", "resolver"),
        *("custodian", "watchlist", "scheduler"),
    ),
    "schedule": ("scheduler",),
    "http": ("http",),
    # Looked up by each session when it begins.
    "mcp": (),
    "hooks": (),  # operations ask for it, no actor has it
}

#: Keys that choose a model: a home that has one goes on with it, and says so after a restart.
FIXED: Final = frozenset({"embedding.provider", "embedding.model", "embedding.base_url"})

#: Who is handed the embedding model, or the name of its vector space.
MODEL: Final = (
    "vectors",
    "indexer",
    "cache",
    "pool",
    "accumulator",
    "reconciler",
    "organiser",
    "resolver",
    "archivist",
    "village",
    "roster",
    "federation",
)

#: Seconds in which an actor that is to be started again gives the answers it owes: remembering
#: takes some 15 ms, and a child that has not ended after 5 s is killed.
PATIENCE: Final = 2.0

#: A branch and one of its children.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Branch:
    """A supervisor and its children, in the order of their start; a string is an actor."""

    name: str
    strategy: supervision.Strategy
    children: tuple[Branch | str, ...]


@dataclass(eq=False, slots=True)
class Reload:
    """Reads the settings of a home and has them followed; one reload at a time."""

    home: Home
    #: What is followed now.
    chosen: Settings
    _: KW_ONLY
    #: Has every life that begins from then on follow other settings.
    adopt: Callable[[Settings], None]
    #: All children of the tree, in the order of their start.
    places: Sequence[Place]
    #: Gives the supervisor of a branch; None for one that has not begun yet.
    branch: Callable[[str], supervision.Supervisor | None]
    names: Names
    _turn: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _tasks: Background = field(init=False, default_factory=Background)

    async def __call__(self) -> dict[str, Any]:
        """Follow the settings as they are in the file now; return what came of it.

        A caller that is cancelled does not leave an actor ended. Raises `ConfigurationError`, and
        then nothing has changed.
        """
        return await self._shielded(self._reload(), "reload")

    async def start_again(self, change: Callable[[], None], names: Collection[str]) -> None:
        """Make a change of what children are made with, and restart those, and no others.

        Takes turns with reloads. A caller that is cancelled does not leave an actor ended.
        """
        await self._shielded(self._started_again(change, names), "start again")

    async def wait_settled(self) -> None:
        """Wait for the reloads that run, once their supervisors have ended."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _shielded(self, work: Coroutine[Any, Any, T], name: str) -> T:
        """Do something to its end, also when its caller is cancelled meanwhile."""
        return await asyncio.shield(self._tasks.begin(work, name))

    async def _reload(self) -> dict[str, Any]:
        """Do it, when it is our turn."""
        async with self._turn:
            before, fresh = self.chosen, await asyncio.to_thread(settings.load, self.home)
            keys = list_changed(before, fresh)
            held = {_section(key) for key in keys if key in FIXED}
            followed = [key for key in keys if _section(key) not in held]
            waiting = [key for key in keys if _section(key) in held]
            sections = {_section(key) for key in followed}
            wanted = {child for section in sections for child in HANDED.get(section, ())}
            affected = [place for place in self.places if place[1] in wanted]
            after = before.model_copy(update={name: getattr(fresh, name) for name in sections})
            if followed:
                await self._follow(before, after, affected)
                log.info("the settings were read again: %s", ", ".join(followed))
            restarted = [child for _, child in affected]
            return {"changed": followed, "restarted": restarted, "needs_restart": waiting}

    async def _started_again(self, change: Callable[[], None], names: Collection[str]) -> None:
        """Do it in turn; a branch whose child does not come back is restarted."""
        async with self._turn:
            change()
            self.adopt(self.chosen)
            await self._back([each for each in self.places if each[1] in names])

    async def _follow(self, before: Settings, after: Settings, places: Sequence[Place]) -> None:
        """Start children again with new settings, or with those before if one does not start."""
        self._use(after)
        try:
            await self._again(places)
        except supervision.StartError as error:
            self._use(before)
            await self._back(places)
            raise ConfigurationError(
                f"{error.child} does not start with the new settings: {error}; the old ones are "
                f"followed again: mend {self.home.settings}"
            ) from error

    async def _again(self, places: Sequence[Place]) -> None:
        """End children, the last first, and start them in order; raises `StartError`.

        A child that runs when it is its turn was started by its supervisor meanwhile, and so was
        every child of a branch that has ended, or has not begun; all follow what is new already.
        """
        for name, child in reversed(places):
            if (ref := self.names.whereis(child)) is not None:
                ref.life.patience = PATIENCE
            with suppress(supervision.ChildError, supervision.NotRunningError):
                if (branch := self.branch(name)) is not None:
                    await branch.terminate_child(child)
        for name, child in places:
            with suppress(supervision.ChildError, supervision.NotRunningError):
                if (branch := self.branch(name)) is not None:
                    await branch.restart_child(child)

    async def _back(self, places: Sequence[Place]) -> None:
        """Start children again, come what may; what fails now is a failure of its branch."""
        try:
            await self._again(places)
        except supervision.StartError:
            log.exception("a child did not come back: its branch is restarted")
            for name in {name for name, _ in places}:
                if (branch := self.branch(name)) is not None:
                    branch.kill()

    def _use(self, chosen: Settings) -> None:
        """Have every life that begins from now on follow these."""
        self.adopt(chosen)
        self.chosen = chosen


def list_places(branch: Branch) -> list[Place]:
    """Return what is handed anything below a branch, each with its own branch's name, in order.

    That is every actor, and a branch whose children come and go.
    """
    found: list[Place] = []
    for child in branch.children:
        if isinstance(child, str):
            found.append((branch.name, child))
        else:
            found += list_places(child) or [(branch.name, child.name)]
    return found


def list_changed(before: Settings, after: Settings) -> list[str]:
    """Return the keys with another value, as `section.key`, in the order they are declared in."""
    return [
        f"{section}.{key}"
        for section in type(before).model_fields
        for key in type(getattr(before, section)).model_fields
        if getattr(getattr(before, section), key) != getattr(getattr(after, section), key)
    ]


def _section(key: str) -> str:
    """Return the section of a key."""
    return key.partition(".")[0]
