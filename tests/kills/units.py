"""Which lines of a ledger's audit were written by one unit of work.

The writer runs units one after another, and what a failed one wrote is undone, so the lines of a
unit stand together. One that settles a delivery begins with the rows it deletes; then come its
effects and what it says. Following a project settles nothing, and says so first. A unit has one
run, but for the resolver's: of several files, each is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.topics import PROJECT_ADDED
from tests.simulation.audit import RESOLVER

if TYPE_CHECKING:
    from tests.kills.ledger_file import LedgerFile


def units(ledger: LedgerFile) -> dict[int, int]:
    """Return line -> unit; units that settle alike and do nothing else may be taken for one."""
    topics: dict[int, str] = dict(ledger.query("SELECT seq, topic FROM events"))
    found: dict[int, int] = {}
    unit, settling, ran, before = 0, None, False, ("", "")
    for n, what, who, seq in ledger.query("SELECT n, what, who, seq FROM audit ORDER BY n"):
        place = (who, topics.get(seq)) if what == "gone" else None
        another = what == "run" and ran and not ((what, who) == before == ("run", RESOLVER))
        asked = what == "said" and who == PROJECT_ADDED  # by a person, whose unit settles nothing
        if (place is not None and place != settling) or another or asked or what == "owner":
            unit, ran = unit + 1, False
        settling, ran, before = place, ran or what == "run", (what, who)
        found[n] = unit
    return found
