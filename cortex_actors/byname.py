"""Actors as those see them who need several of their verbs: by name, looked up at each use.

Nobody holds a ref, so a restart of the actor behind the name breaks no caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.embedding import migrator
from cortex_actors.federation import roster
from cortex_actors.storage.vectors import Vectors

if TYPE_CHECKING:
    from cortex_actors.runtime.names import Names


class Index:
    """The vectors actor as the indexer sees it: by name."""

    def __init__(self, names: Names) -> None:
        """Remember the names."""
        self.put = names.method("vectors", Vectors.put)
        self.drop = names.method("vectors", Vectors.drop)


class Roster:
    """The roster as the federation sees it: by name."""

    def __init__(self, names: Names) -> None:
        """Remember the names."""
        self.stores = names.method("roster", roster.Roster.stores)
        self.note = names.method("roster", roster.Roster.note)


class Migrator:
    """The migrator as the front desk sees it: by name; `describe` answers soon or not at all."""

    def __init__(self, names: Names, soon: float) -> None:
        """Remember the names; `soon` is how many seconds `describe` may take."""
        kind = migrator.Migrator
        self.describe = names.method("migrator", kind.describe, timeout=soon)
        self.migrate = names.method("migrator", kind.migrate, timeout=None)
        self.cancel = names.method("migrator", kind.cancel)
        self.prune = names.method("migrator", kind.prune, timeout=None)
        self.prepare = names.method("migrator", kind.prepare)
