"""What every operation has: a door to ask, and the agent it speaks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.library import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.client import Answer
    from cortex_actors.library.doors import Door

#: Verb -> the parameter by which it knows the agent that is spoken for.
SPEAKS_AS = {
    **dict.fromkeys(
        ("remember", "post", "leave_crumb", "crumbs", "latest_crumb", "unfinished"), "agent"
    ),
    **dict.fromkeys(
        (
            "search",
            "recall",
            "memory",
            "thread",
            "threads",
            "convergence",
            "village_stats",
            "export",
            "stale",
            "duplicates",
            "forget",
            "split",
            "consolidate",
        ),
        "as_agent",
    ),
}


class Operations:
    """Part of the library: it is made of several, and each has the same door."""

    def __init__(self, door: Door, agent: str | None = None) -> None:
        """Ask through a door, as an agent; None is the owner, or the agent whose token it is."""
        self._door = door
        self._agent = agent

    async def _ask(self, verb: str, timeout: float | None = None, /, **said: object) -> Answer:
        """Ask a verb, with what was said under whichever words; see `words.plain`."""
        given = words.plain(verb, said)
        if self._agent is not None and (word := SPEAKS_AS.get(verb)):
            given.setdefault(word, self._agent)
        return await self._door.ask(verb, given, timeout)

    async def status(self) -> dict[str, Any]:
        """Return how the daemon, or the embedded tree, is; `reasons` says why it is degraded.

        Example:
            >>> cortex.status()["state"]
            'running'

        """
        return await self._ask("status")


def said(given: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters of an operation; `given` are its first locals."""
    return {name: value for name, value in given.items() if name != "self"}
