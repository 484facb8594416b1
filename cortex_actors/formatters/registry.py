"""Which agents we write for, and in which of their files.

Adding a dialect is adding one entry to `FORMATTERS`.
"""

from __future__ import annotations

from cortex_actors.errors import NotFound
from cortex_actors.formatters.formatter import Formatter
from cortex_actors.formatters.section import prompt

#: Cursor attaches a rule file to every request only if it says so.
_MDC = """\
---
description: Reference notes from other projects, collected by Cortex
globs:
alwaysApply: true
---
"""

#: Likewise Windsurf.
_WINDSURF = """\
---
trigger: always_on
description: Reference notes from other projects, collected by Cortex
---
"""

#: Characters of a rule file that Windsurf reads.
_WINDSURF_READS = 12_000

#: Every agent we write for, in the order in which its files are looked at.
FORMATTERS = (
    Formatter("claude", ("CLAUDE.md", ".claude/CLAUDE.md"), imports=True),
    Formatter("agents", ("AGENTS.md",)),
    Formatter("gemini", ("GEMINI.md",), imports=True),
    Formatter("copilot", (".github/copilot-instructions.md",)),
    Formatter(
        "cursor",
        (".cursor/rules/cortex.mdc", ".cursorrules"),
        ours=frozenset({".cursor/rules/cortex.mdc"}),
        top=_MDC,
    ),
    Formatter(
        "windsurf",
        (".windsurf/rules/cortex.md", ".windsurfrules"),
        ours=frozenset({".windsurf/rules/cortex.md"}),
        top=_WINDSURF,
        most_characters=_WINDSURF_READS,
    ),
    Formatter("chatgpt", layout=prompt),
)

_BY_NAME = {each.name: each for each in FORMATTERS}
_BY_PLACE = {place: each for each in FORMATTERS for place in each.places}


def find(agent: str) -> Formatter:
    """Return the formatter of an agent; raises `NotFound`, naming those there are."""
    known = _BY_NAME.get(agent.lower())
    if known is None:
        raise NotFound(f"cannot write for the agent {agent!r}: there are {', '.join(names())}")
    return known


def names() -> tuple[str, ...]:
    """Return the agents we write for."""
    return tuple(_BY_NAME)


def of_place(path: str) -> Formatter | None:
    """Return whose file lies at a path from a project's root; None: nobody's."""
    return _BY_PLACE.get(path)
