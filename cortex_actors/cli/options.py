"""How words are read: spellings that moved, and options of quick commands.

Standard library only.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from cortex_actors.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Columns of `--help`.
WIDTH = 100

#: Seconds of the longest wait, a day: the system's own calls take no number that they cannot hold.
MOST_SECONDS = 86_400.0


#: Commands of the version before -> where they are now. The old spelling runs for this version, is
#: shown in no help, and names the new one in a terminal. Whole groups move with what is below them.
MOVED = {
    "restart": "daemon restart",
    "reload": "daemon reload",
    "run": "daemon run",
    "logs": "daemon logs",
    "events": "daemon events",
    "schedule": "daemon schedule",
    "publish": "daemon publish",
    "backup": "daemon backup",
    "restore": "daemon restore",
    "service install": "daemon install",
    "service uninstall": "daemon uninstall",
    "service show": "daemon unit",
    "tree": "debug tree",
    "topics": "debug topics",
    "runs": "debug runs",
    "inspect": "debug inspect",
    "actor crash": "debug crash",
    "parse": "debug parse",
    "project list": "projects",
    "project auto": "projects auto",
    "project remove": "projects remove",
    "remove": "projects remove",
    "scan": "projects scan",
    "revoke": "projects revoke",
    "clusters": "insights clusters",
    "fragments": "insights fragments",
    "reconcile": "insights reconcile",
    "history": "insights history",
    "blame": "insights blame",
    "eligible": "principles eligible",
    "promotion": "principles promotion",
    "links": "principles links",
    "organise": "principles organise",
    "judge": "contradictions judge",
    "calibrate": "contradictions calibrate",
    "search": "memory search",
    "export": "memory export",
    "import": "memory import",
    "post": "agents post",
    "thread": "agents thread",
    "threads": "agents threads",
    "village": "agents village",
    "convergence": "agents convergence",
    "crumb": "agents crumb",
    "embeddings migrate": "model migrate",
    "embeddings status": "model migration",
    "embeddings cancel": "model cancel",
    "embeddings prune": "model prune",
}


def moved(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the old spelling that words begin with, and the new one; None if it has not moved."""
    for length in (2, 1):
        old = " ".join(words[:length])
        if new := MOVED.get(old):
            return old, new
    return None


class Parser(argparse.ArgumentParser):
    """Raises instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        raise UsageError(f"{message}; see: {self.prog} --help")


def seconds(text: str) -> float:
    """Return how many seconds somebody waits; argparse says what is wrong with other words."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0 to a day")
    return found


def command(name: str, about: str, examples: str) -> Parser:
    """Return a command's parser with what all of them take."""
    parser = Parser(
        f"cortex {MOVED.get(name, name)}",
        description=about,
        epilog=f"examples:\n{examples}",
        # With a width given, argparse does not look for the terminal's, which loads shutil (20 ms).
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=WIDTH),
    )
    parser.add_argument(
        "--home", metavar="DIR", help="the daemon's folder (default: CORTEX_HOME, else XDG's)"
    )
    return parser
