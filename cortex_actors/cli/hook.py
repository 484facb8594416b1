"""The quick command `hook`: other programs tell the daemon that files may have changed.

Standard library only: a hook of git's runs it after each commit.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.cli.options import Parser, command
from cortex_actors.client.connection import Client
from cortex_actors.errors import DaemonDown, Refused
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    import argparse

    from cortex_actors.cli.githooks import Hook, Repository
    from cortex_actors.home import Home

#: Seconds that a hook waits for the daemon: nobody waits for the hook, and it must not pile up.
TIMEOUT = 10.0

_EXAMPLES = """  cortex hook install git
  cortex hook install git ~/code/atlas-api
  cortex hook uninstall git
  cortex hook run git            (what the hook itself runs, in the repository)"""


def run(home: Home, options: argparse.Namespace) -> int:
    """Install or take out the hooks, or do what they do."""
    path = Path(options.path)
    if options.action == "run":
        _tell(home, path, as_json=options.json)
        return 0
    from cortex_actors.cli.githooks import Change, Repository  # noqa: PLC0415 - `run` needs no git

    repository = Repository.at(path)
    is_put = options.action == "install"
    changed = repository.install(home) if is_put else repository.uninstall()
    if options.json:
        found = {"hooks": str(repository.hooks), "changed": [asdict(each) for each in changed]}
        print(json.dumps(found, indent=2))
    else:
        _say(repository, changed)
    if is_put and all(each.change is Change.LEFT for each in changed):
        raise Refused(f"no hook in {repository.hooks} could take our lines; see above")
    return 0


def parser() -> Parser:
    """Return the options of `hook`."""
    about = (
        "Have git tell the daemon after a commit, merge, checkout or rebase that files may have\n"
        "changed. The watcher finds out without it, too; on a network mount a hook is quicker."
    )
    found = command("hook", about, _EXAMPLES)
    found.add_argument("action", choices=("install", "uninstall", "run"), help="what to do")
    found.add_argument("tool", choices=("git",), help="whose hooks")
    found.add_argument("path", nargs="?", default=".", help="a folder of the repository (here)")
    found.add_argument("--json", action="store_true", help="print JSON")
    return found


def _tell(home: Home, path: Path, *, as_json: bool) -> None:
    """Have the projects in and around a folder read again; without a daemon nothing is lost."""
    try:
        found = Client(home, timeout=TIMEOUT).call("rescan", folder=str(path.absolute()))
    except DaemonDown:
        # A start reads every file, so there is nothing to write down for it.
        found = {"projects": [], "seqs": [], "offline": True}
    if as_json:
        print(json.dumps(found, indent=2))
        return
    print(visible(_told(found, path)))


def _told(found: dict[str, Any], path: Path) -> str:
    """Return what a hook did, for a person."""
    if found.get("offline"):
        return "no daemon runs; the next start reads every file"
    if not found["projects"]:
        return f"no followed project lies in or around {path.absolute()}; see: cortex projects"
    return f"reading again: {', '.join(found['projects'])}"


def _say(repository: Repository, changed: list[Hook]) -> None:
    """Print what became of the hooks."""
    for each in changed:
        reason = f": {each.reason}" if each.reason else ""
        print(visible(f"{each.change:<11}{each.path}{reason}"))
    if repository.is_moved:
        print(visible(f"note: core.hooksPath has them in {repository.hooks}"))
