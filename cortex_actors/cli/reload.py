"""The quick command `reload`; standard library only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cortex_actors.cli.options import Parser, command
from cortex_actors.client.connection import Client

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from cortex_actors.home import Home

#: Seconds it may take: an actor has five to finish what it has in hand, and reloads take turns.
TIMEOUT = 120.0

_EXAMPLES = """  cortex reload
  cortex reload --json"""


def run(home: Home, options: argparse.Namespace) -> int:
    """Have the daemon follow the settings as they are now, and say what came of it."""
    found = Client(home).call("reload", timeout=TIMEOUT)
    print(json.dumps(found, indent=2) if options.json else "\n".join(_lines(found)))
    return 0


def parser() -> Parser:
    """Return the options of `reload`."""
    about = "Read cortex.toml again, and start anew only what was handed a section that changed."
    parser = command("reload", about, _EXAMPLES)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield what a reload did, for a person."""
    if found["changed"]:
        yield f"changed    {', '.join(found['changed'])}"
        yield f"restarted  {', '.join(found['restarted']) or 'nobody'}"
    if found["needs_restart"]:
        yield f"waiting    {', '.join(found['needs_restart'])}: followed after cortex restart"
    if not (found["changed"] or found["needs_restart"]):
        yield "nothing changed"
