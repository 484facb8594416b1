"""Which lines of a ledger's audit were written by one unit of work.

The writer runs units one after another, and what a failed one wrote is undone, so the lines of a
unit stand together. One that settles a delivery begins with the rows it deletes; then come its
effects and what it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kills.ledger_file import LedgerFile


def units(ledger: LedgerFile) -> dict[int, int]:
    """Return line -> unit; units that settle alike and do nothing else may be taken for one."""
    topics: dict[int, str] = dict(ledger.query("SELECT seq, topic FROM events"))
    found: dict[int, int] = {}
    unit, settling, ran = 0, None, False
    for n, what, who, seq in ledger.query("SELECT n, what, who, seq FROM audit ORDER BY n"):
        place = (who, topics.get(seq)) if what == "gone" else None
        if (place is not None and place != settling) or (what == "run" and ran) or what == "owner":
            unit, ran = unit + 1, False
        settling, ran = place, ran or what == "run"
        found[n] = unit
    return found
