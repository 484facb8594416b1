"""What a check may want to know beside the ledger it looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from sqlalchemy import Connection

    from cortex_actors.domain.hit import Diagnosis


@dataclass(frozen=True, slots=True)
class Scope:
    """The circumstances of one checkup."""

    #: The ledger's file.
    path: Path
    #: UTC microseconds.
    now: int
    #: The vector space that answers; empty while the ledger names none.
    model: str
    #: Whether a daemon runs, so that what waits is being worked on.
    online: bool
    #: Whether a check may take as long as it needs.
    thorough: bool = False


#: One check of the ledger: yields what there is to say, in one read transaction.
Check: TypeAlias = "Callable[[Connection, Scope], Iterable[Diagnosis]]"
