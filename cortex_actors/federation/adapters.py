"""The kinds of remote stores there are: a new one is a file, and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.federation.chroma import Chroma
from cortex_actors.federation.cortex import Cortex
from cortex_actors.federation.mcp import Mcp
from cortex_actors.federation.pgvector import Pgvector
from cortex_actors.federation.seren_loci import SerenLoci
from cortex_actors.federation.seren_memory import SerenMemory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.federation.adapter import Adapter

#: Type of a store -> who speaks to it.
ADAPTERS: Mapping[str, type[Adapter]] = {
    "chroma": Chroma,
    "cortex": Cortex,
    "mcp": Mcp,
    "pgvector": Pgvector,
    "seren_loci": SerenLoci,
    "seren_memory": SerenMemory,
}


def known() -> tuple[str, ...]:
    """Return the types there are, in order."""
    return tuple(sorted(ADAPTERS))
