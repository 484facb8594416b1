"""What the checks of one visit look at: home, settings, clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.storage.health.file import Scope

if TYPE_CHECKING:
    from cortex_actors.clock import Clock
    from cortex_actors.home import Home
    from cortex_actors.settings import Settings


@dataclass(frozen=True, slots=True)
class Patient:
    """One home, as one checkup finds it."""

    home: Home
    settings: Settings
    clock: Clock
    #: Whether a daemon runs: then we are in it.
    online: bool
    #: Whether a check may take as long as it needs.
    thorough: bool = False
    #: The vector space that answers; empty while nobody knows.
    model: str = ""

    def scope(self) -> Scope:
        """Return what the checks of the ledger want to know."""
        return Scope(
            path=self.home.ledger,
            now=self.clock.now(),
            model=self.model,
            online=self.online,
            thorough=self.thorough,
        )
