"""The agent under whose name the daemon tries itself: it remembers, recalls and forgets a probe.

A probe lies in this agent's private realm for the moment of one trial. Nobody may act as this
agent but the daemon itself, and what it keeps is in nobody's list, count, export or digest: not
even in the owner's, who reads everything else.
"""

from __future__ import annotations

from typing import Final

#: Whose memories are probes; agents' ids are upper case.
PROBE: Final = "CORTEX-PROBE"
