"""The operations of the Neo-Cortex document, as its own code block writes them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors import AsyncCortex, Cortex

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.commands import Commands

#: The block as it stands there, but for lists that are only hinted at.
BLOCK = """
# Remember something
cortex.remember(
    content="...",
    layer="working",           # Optional, defaults to sensory
    visibility="private",      # Or village/bridge
    agent_id="AZOTH",
    tags=["discovery"],
    message_type="observation"
)

# Search across all memory
cortex.search(
    query="...",
    layers=["working", "long_term", "cortex"],  # Which layers
    visibility="all",          # Or private/village
    agent_filter="AZOTH",      # Optional
    min_attention=0.3,         # Attention threshold
    n_results=10
)

# Leave forward crumb
cortex.leave_crumb(
    session_summary="...",
    key_discoveries=[...],
    unfinished_business=[...],
    priority="HIGH"
)

# Get crumbs for continuity
cortex.get_crumbs(
    agent_id="AZOTH",
    lookback_hours=168,
    priority_filter="HIGH"
)

# Detect convergence
cortex.detect_convergence(
    query="topic to check",
    min_agents=2,
    similarity_threshold=0.7
)

# Memory health
cortex.get_stale(days_unused=30)
cortex.get_duplicates(similarity_threshold=0.95)
cortex.consolidate(id1, id2, keep="higher_access")
"""


def _block(call: str = "cortex.") -> str:
    """Return the block as a program that keeps what each call gives in `told`."""
    told = BLOCK.replace("[...]", '["..."]').replace("cortex.", f"told = {call}")
    for name in "remember search leave_crumb get_crumbs detect_convergence consolidate".split():
        told = told.replace(f"told = {call}{name}(", f"{name} = {call}{name}(")
    return told


def _right(found: dict[str, Any]) -> None:
    """Assert that each call gave what the document promises of it."""
    assert ("working", "private", "AZOTH") == (
        found["remember"].layer,
        found["remember"].realm,
        found["remember"].agent,
    )
    assert [found["remember"].id] == [hit.id for hit in found["search"]][:1]
    assert ("HIGH", ("...",)) == (found["leave_crumb"].priority, found["leave_crumb"].discoveries)
    assert () == found["get_crumbs"]
    assert not found["detect_convergence"].has_convergence
    assert found["id1"] == found["consolidate"]["kept_id"]


def _blocking(cortex: Cortex) -> None:
    """Run the block."""
    ids = [cortex.remember(text).id for text in ("The port is 1.", "Deploys are on Mondays.")]
    found: dict[str, Any] = {"cortex": cortex, "id1": ids[0], "id2": ids[1]}
    exec(_block(), found)  # noqa: S102 - the document's own words
    _right(found)


async def _awaited(cortex: AsyncCortex) -> None:
    """Run the block with each call awaited."""
    ids = [
        (await cortex.remember(text)).id for text in ("The port is 2.", "Tests run on Tuesdays.")
    ]
    found: dict[str, Any] = {"cortex": cortex, "id1": ids[0], "id2": ids[1]}
    body = textwrap.indent(_block("await cortex."), "    ")
    exec(f"async def block():\n{body}\n    return locals()", found)  # noqa: S102 - as above
    _right({**found, **await found["block"]()})


class TestDaemon:
    def test_blocking(self, commands: Commands) -> None:
        """The block runs as it stands against a daemon."""
        with Cortex(commands.home) as cortex:
            _blocking(cortex)

    async def test_awaited(self, commands: Commands) -> None:
        """So it does with each call awaited."""
        async with AsyncCortex(commands.home) as cortex:
            await _awaited(cortex)


@pytest.mark.slow
class TestEmbedded:
    def test_blocking(self, tmp_home: Path, hashing: None) -> None:
        """The block runs as it stands without a daemon."""
        with Cortex(tmp_home, embedded=True) as cortex:
            _blocking(cortex)

    async def test_awaited(self, tmp_home: Path, hashing: None) -> None:
        """So it does with each call awaited."""
        async with AsyncCortex(tmp_home, embedded="auto") as cortex:
            await _awaited(cortex)
