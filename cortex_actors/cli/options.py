"""How words of the quick commands are read.

Standard library only.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import NoReturn

from cortex_actors.cli.declare import MOVED
from cortex_actors.errors import UsageError

#: Columns of `--help`.
WIDTH = 100

#: Seconds of the longest wait, a day: the system's own calls take no number that they cannot hold.
MOST_SECONDS = 86_400.0


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


def quick_parser(name: str, about: str, examples: str) -> Parser:
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
