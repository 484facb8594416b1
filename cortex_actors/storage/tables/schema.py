"""The ledger's tables, all of them; what each is for: docs/ledger.md.

Migrations make them, and a test compares the two. Times are UTC microseconds. Constraints live
here, not in code: what must be unique is unique in the schema, and what is one of a few words or
between two numbers is checked there. Numbers that can be counted are counted (an insight's
observations are rows), because a counter that is incremented is wrong after the first replay.
"""

from __future__ import annotations

from cortex_actors.storage.tables import knowledge, memory, system
from cortex_actors.storage.tables.columns import metadata

__all__ = ["knowledge", "memory", "metadata", "system"]
