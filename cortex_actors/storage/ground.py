"""Ground: what lies below the ledger's writer - a file, its log, and who hears that they failed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.errors import LedgerDown
from cortex_actors.storage import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.errors import StorageFull
    from cortex_actors.storage.checkpoints import Checkpoints
    from cortex_actors.storage.ledgerfile import LedgerFile


def _nobody(_error: LedgerDown) -> None:
    """Hear of a fault, and do nothing with it."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The disk as the writer sees it; without a file (in a simulation) all is well."""

    path: Path = Path("cortex.db")
    file: LedgerFile | None = None
    checkpoints: Checkpoints | None = None
    #: Called, on any thread, when nothing may be written any more.
    on_fault: Callable[[LedgerDown], None] = _nobody

    def shortage(self) -> StorageFull | None:
        """Return why there is no room for new work; None while there is."""
        return None if self.file is None else self.file.shortage()

    def require_same(self) -> None:
        """Raise `DiskFault` when the file is no longer the one that was opened."""
        if self.file is not None:
            self.file.require_same()

    def is_well(self) -> bool:
        """Tell whether the disk takes new work: a commit may have fitted into the last page."""
        return self.file is None or (self.shortage() is None and not faults.refusal(self.path))

    def after_commit(self) -> None:
        """Empty the log if it is time; raises what SQLite raises."""
        if self.checkpoints is not None:
            self.checkpoints.after_commit()

    def finish(self) -> None:
        """Empty the log for the last time; raises what SQLite raises."""
        if self.checkpoints is not None:
            self.checkpoints.finish()

    def verdict(self, error: Exception) -> LedgerDown:
        """Return what those who wait are told of a failure; blocks where the disk is asked."""
        found = faults.of(error, self.path, doing="write")
        if found is not None:
            return found
        return LedgerDown(f"cannot write the ledger {self.path}: {error!r}; nothing was kept")
