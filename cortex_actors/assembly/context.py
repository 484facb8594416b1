"""What the tree gives to the assembly of its parts: the home, the settings, itself.

What the tree has of the world outside, in one place, so that a simulation can bring its own.

Disks, processes, models and the kernel's hints are made here and nowhere else. (Files of projects
are read where they lie, through the loop's `run_in_executor`; the time comes from a `Clock`.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex_actors.embedding.factory import make_provider
from cortex_actors.federation.credentials import Vault
from cortex_actors.judging.judge import make_layers
from cortex_actors.runtime.child import ChildProcess
from cortex_actors.storage import models
from cortex_actors.storage.ledger.actor import Ledger
from cortex_actors.watching.hints import Hints

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping
    from pathlib import Path

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Provider
    from cortex_actors.home import Home
    from cortex_actors.judging.layer import MakeLayers
    from cortex_actors.process.logs import LogStream
    from cortex_actors.runtime.names import Names
    from cortex_actors.runtime.tasks import TaskSupervisor
    from cortex_actors.sections import StorageSettings, WatchingSettings
    from cortex_actors.settings import Settings
    from cortex_actors.storage.index.life import Spawn
    from cortex_actors.watching.watchlist import WatcherStarter
    from supervision import Report


@dataclass(frozen=True, slots=True)
class World:
    """What the parts are put together from."""

    home: Home
    settings: Settings
    clock: Clock
    logs: LogStream
    names: Names
    watchers: WatcherStarter
    tasks: TaskSupervisor
    draw: Callable[[], Mapping[str, Any]]
    crash: Callable[[str], None]
    inspect: Callable[[str], Mapping[str, Any]]
    reload: Callable[[], Awaitable[Mapping[str, Any]]]
    #: Makes a change of what children are made with, and restarts those of these names.
    start_again: Callable[[Callable[[], None], Collection[str]], Awaitable[None]]
    outside: Outside


def _nobody(_report: Report) -> None:
    """Hear a report of the tree, and do nothing with it."""


@dataclass(frozen=True, slots=True)
class Outside:
    """How the tree reaches what is outside of it; the defaults are the real things."""

    #: Makes the actor that owns the store of record.
    ledger: Callable[[Home, StorageSettings, Clock], Ledger] = Ledger
    #: Starts the child process with the vector index.
    spawn: Spawn = ChildProcess.spawn
    #: Makes what turns texts into vectors, not started; whatever is missing is a state of it.
    provider: Callable[..., Provider] = make_provider
    #: Makes what judges where the rules leave it open.
    layers: MakeLayers = make_layers
    #: Reads which model a ledger says answers, before the ledger is opened.
    chosen: Callable[[Path], models.ChosenModel | None] = models.read_chosen
    #: Makes what hears the kernel's hints about files.
    hints: Callable[[Clock, WatchingSettings], Hints] = Hints
    #: Makes what finds and keeps the tokens of stores.
    vault: Callable[[], Vault] = Vault
    #: Hears every report of every supervisor, before anybody else does.
    witness: Callable[[Report], None] = _nobody
