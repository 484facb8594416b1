"""A case for every type of remote store there is: a new adapter is a line here too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.contract.cortex_cases import cortex
from tests.contract.database_cases import chroma, mcp, pgvector
from tests.contract.seren_cases import seren_loci, seren_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.contract.adapters import Case

#: Type -> what runs such a store, with files in a folder, and tells what is in it.
CASES: dict[str, Callable[[Path], AbstractContextManager[Case]]] = {
    "chroma": chroma,
    "cortex": cortex,
    "mcp": mcp,
    "pgvector": pgvector,
    "seren_loci": seren_loci,
    "seren_memory": seren_memory,
}
