"""`uninstall`: take everything of ours out of other programs' files; the home stays.

First all of it is looked up and shown, then the daemon is stopped, so that nothing is written into
a file again, and each part is undone by what made it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cortex_actors.cli import githooks, lifecycle, service, show
from cortex_actors.cli.declare import HomeOption, Option, command
from cortex_actors.cli.setup import FileChange, apply_changes, plan_removal
from cortex_actors.clock import SystemClock
from cortex_actors.errors import CortexError
from cortex_actors.files.clients import CLIENTS, LARGEST, PLUGIN, remove_lines, uses_plugin
from cortex_actors.home import Home, read_regular
from cortex_actors.render import fence
from cortex_actors.storage import projects
from cortex_actors.storage.health.file import LedgerReader
from cortex_actors.storage.ledger.files import Halt
from cortex_actors.storage.pipeline import resolutions


@dataclass
class Traces:
    """What of ours is where; `left` says what stays, and why."""

    changes: list[FileChange] = field(default_factory=list)
    hooks: list[githooks.Repository] = field(default_factory=list)
    unit: Path | None = None
    left: list[str] = field(default_factory=list)

    def list_steps(self) -> list[str]:
        """Return what will be done, a line each."""
        found = [f"take our part out of {each.path}" for each in self.changes]
        found += [
            f"take our lines out of {h}" for each in self.hooks for h in each.list_installed()
        ]
        return found + ([f"stop and remove the service {self.unit}"] if self.unit else [])


@command("uninstall", "--dry-run", "", "--yes")
def uninstall(
    *,
    dry_run: Annotated[bool, Option("--dry-run", "-n", help="Show what would be done.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do it without being asked.")] = False,
    home: HomeOption = None,
) -> None:
    """Take everything of ours out of other programs' files; what was learned stays.

    Sections that `resolve` wrote, entries and hooks of AI clients, hooks of git, the service. It
    stops the daemon, and says at the end what is left and how that is deleted.
    """
    place = Home.find(home)
    found = find_traces(place)
    steps = found.list_steps()
    if steps or dry_run:
        show.lines(*(f"will {each}" for each in [*steps, "stop the daemon, if it runs"]))
    show.lines(*(f"stays: {each}" for each in found.left))
    kept = " and the copies beside changed files (*.cortex-*.bak)" if found.changes else ""
    left = f"the home {place.root}{kept}"
    if dry_run:
        show.lines(f"stays: {left}")
        return
    if steps and not yes:
        show.confirm("Do all of this?", refusal="nothing was undone", no="nothing was undone")
    if found.unit is not None:
        service.uninstall()
    if lifecycle.end(place, timeout=lifecycle.STOP_TIMEOUT) is not None:
        print("stopped the daemon")
    for repository in found.hooks:
        for hook in repository.uninstall():
            print(f"{hook['change']} {hook['path']}")
    apply_changes(found.changes)
    print(f"left: {left}")
    print(f"next: rm -r {place.root}; uv tool uninstall cortex-actors (or: pipx uninstall ...)")


def find_traces(home: Home) -> Traces:
    """Return what of ours is in other programs' files; what cannot be read is `left`."""
    found = Traces(unit=service.find_installed(home))
    roots: list[Path] = []
    if home.ledger.exists():
        try:
            with LedgerReader(home.ledger, SystemClock(), Halt()) as reader:
                roots = [Path(each.root) for each in reader.ask(projects.list_ever)]
                written = reader.ask(resolutions.list_paths)
            _find_sections(found, sorted(written))
        except CortexError as error:
            found.left.append(
                f"sections in instruction files, between marks cortex:begin ({error})"
            )
    for client in CLIENTS.values():
        for root in (None, *roots):
            try:
                if root is None and uses_plugin(client):
                    found.left.append(f"a copy of the plugin: claude plugin uninstall {PLUGIN}")
                changes = plan_removal(client, root)
            except CortexError as error:
                found.left.append(str(error))
                continue
            found.changes += [e for e in changes if e.path not in {o.path for o in found.changes}]
    _find_hooks(found, roots)
    return found


def _find_sections(found: Traces, paths: list[str]) -> None:
    """Add the sections that `resolve` wrote; one that a person edited stays."""
    for path in paths:
        try:
            data = read_regular(path, most=LARGEST) or b""
            section = fence.find(data, path=path)
            if section is None:
                continue
            if not section.intact:
                found.left.append(f"the section in {path}: it was edited, delete it by hand")
                continue
            text = fence.remove(data, path=path).decode("utf-8", "surrogateescape")
            left = remove_lines(text).encode("utf-8", "surrogateescape")
        except FileNotFoundError:
            continue
        except (CortexError, OSError, ValueError) as error:
            found.left.append(f"the section in {path}: {error}")
            continue
        found.changes.append(FileChange(Path(path), data, left or None))


def _find_hooks(found: Traces, roots: list[Path]) -> None:
    """Add the repositories whose hooks have lines of ours, each once."""
    for root in roots:
        with suppress(CortexError):  # no repository, or no git
            repository = githooks.Repository.find(root)
            known = {each.hooks for each in found.hooks}
            if repository.hooks not in known and repository.list_installed():
                found.hooks.append(repository)
