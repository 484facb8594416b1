"""What a life of `publisher.py` left in the ledger, and whether it is whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.power.publisher import KEY
from tests.power.reopening import unsound

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: What is counted: an event and its delivery, then what follows from it.
_COUNTS = {
    "event": "SELECT count(*) FROM events WHERE topic = 'file:changed'",
    "waiting": "SELECT count(*) FROM deliveries WHERE consumer = 'accumulator'",
    "run": "SELECT count(*) FROM runs WHERE kind = 'accumulator' AND state = 'completed'",
    "any run": "SELECT count(*) FROM runs",
    "file": "SELECT count(*) FROM file_states WHERE error IS NULL",
    "insights": "SELECT count(*) FROM insights",
    "vectors": "SELECT count(*) FROM vectors",
    "said": "SELECT count(*) FROM events WHERE topic = 'accumulation:complete'",
    "heard": "SELECT count(*) FROM deliveries WHERE consumer = 'reconciler'",
    "dead": "SELECT count(*) FROM dead_letters",
}

#: Sections of the file that is read.
SECTIONS = 3

_NOTHING = dict.fromkeys(_COUNTS, 0)
_PUBLISHED = {**_NOTHING, "event": 1, "waiting": 1}
_READ = {
    "event": 1,
    "waiting": 0,
    "run": 1,
    "any run": 1,
    "file": 1,
    "insights": SECTIONS,
    "vectors": SECTIONS,
    "said": 1,
    "heard": 1,
    "dead": 0,
}


@dataclass(frozen=True, slots=True)
class Remains:
    """How far the life came, by what is in the ledger."""

    #: The event's id; "" for none.
    event: str
    counts: dict[str, int]
    unsound: tuple[str, ...]

    @property
    def is_published(self) -> bool:
        """Tell whether the event is there."""
        return self.event != ""

    @property
    def is_read(self) -> bool:
        """Tell whether everything that follows from it is there, once."""
        return self.counts == _READ

    @property
    def is_whole(self) -> bool:
        """Tell whether nothing is there half or twice, and the file is sound."""
        return self.counts in (_NOTHING, _PUBLISHED, _READ) and not self.unsound


def remains(opened: Connection) -> Remains:
    """Look."""
    counts = {
        name: int(opened.exec_driver_sql(query).scalar_one()) for name, query in _COUNTS.items()
    }
    keyed = "SELECT id FROM events WHERE idempotency_key = ?"
    event = opened.exec_driver_sql(keyed, (KEY,)).scalar_one_or_none()
    return Remains(event or "", counts, tuple(unsound(opened)))
