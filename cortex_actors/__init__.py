"""Cortex Actors: a supervised, event-driven memory daemon for AI agents.

Importing this package costs nothing: the public names are looked up on first use, because
`cortex status` must answer before a large import would have finished.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.client.connection import Client
    from cortex_actors.client.cortex import AsyncCortex, Cortex
    from cortex_actors.errors import CortexError as CortexError
    from cortex_actors.home import Home as Home

__all__ = ["AsyncCortex", "Client", "Cortex", "CortexError", "Home", "__version__"]

__version__ = "0.1.0"

#: Public name -> the module that has it.
_LAZY = {
    "AsyncCortex": "cortex_actors.client.cortex",
    "Cortex": "cortex_actors.client.cortex",
    "Client": "cortex_actors.client.connection",
    "CortexError": "cortex_actors.errors",
    "Home": "cortex_actors.home",
}


def __getattr__(name: str) -> object:
    """Import a public name's module on first use (PEP 562)."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
