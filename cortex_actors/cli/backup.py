"""`backup` and `restore`: copies of the ledger.

`export`: what is remembered, as a file that another home or another program can read.

`import`: memories from a file, as MemoryCore writes it or as `export --full` does.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cortex_actors.cli.output import (
    HomeOption,
    JsonOption,
    counted,
    examples,
    joined,
    show_json,
    show_table,
)
from cortex_actors.client.connection import Client
from cortex_actors.client.cortex import Cortex
from cortex_actors.client.results import Exported, Imported
from cortex_actors.clock import SECOND, SystemClock, iso
from cortex_actors.errors import BadInput, DaemonDown, LedgerDown, NotFound, Refused
from cortex_actors.home import Home
from cortex_actors.process import lock
from cortex_actors.process.logfile import visible
from cortex_actors.storage.ledger import backups, offline
from cortex_actors.storage.ledger.backups import problem

if TYPE_CHECKING:
    from collections.abc import Iterator


#: Seconds a backup may take: as long as the disk does.
PATIENCE = 21_600.0

#: Bytes of a megabyte, as people count them.
MB = 1_000_000


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "backup",
        epilog=examples(
            "cortex daemon backup",
            "cortex daemon backup --to /media/disk/cortex.db",
            "cortex daemon backup --list",
        ),
    )(backup)
    app.command(
        "restore",
        epilog=examples(
            "cortex daemon restore",
            "cortex daemon restore cortex-20260101T120000Z",
            "cortex daemon restore --yes",
        ),
    )(restore)


def backup(
    to: Annotated[
        Path | None, typer.Option("--to", help="A new file, or a folder, in place of backups/.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="Show which there are.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Copy the ledger, whether the daemon runs or not; with --list show the copies, checked."""
    where = Home.of(home)
    if listing:
        _show(where, as_json=as_json)
        return
    target = None if to is None else str(to.expanduser().absolute())
    try:
        found = Client(where, timeout=PATIENCE).call("backup", to=target)
    except DaemonDown:
        found = _copied(where, target)
    if as_json:
        show_json(found)
    else:
        print(f"{found['path']}, {found['size'] / MB:.1f} MB, in {found['took_s']:.2f} s")


def restore(
    wanted: Annotated[
        str, typer.Argument(metavar="[NAME|PATH|latest]", help="Which; the newest if left out.")
    ] = offline.LATEST,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Put a backup in the place of the ledger, which is kept aside; the daemon must be down."""
    where = Home.of(home)
    with _alone(where):
        choice = offline.choose(where, wanted)
        if not as_json:
            _compare(choice, where)
        if not yes:
            _confirm(choice)
        aside = offline.restore(where, choice, at=SystemClock().now())
    if as_json:
        show_json(
            {
                "restored": str(choice.path),
                "replaced": None if aside is None else str(aside),
                "schema": choice.version,
                "backup": asdict(choice.backup),
                "ledger": asdict(choice.ledger),
                "missing": choice.missing,
            }
        )
        return
    print(f"restored {choice.path}")
    if aside is not None:
        print(f"the ledger before it is {aside}; delete it when you no longer need it")
    print("go on with: cortex start")


@contextmanager
def _alone(home: Home) -> Iterator[None]:
    """Hold the home's lock, so that no daemon starts meanwhile; raises `AlreadyRunning`."""
    if not home.root.is_dir():
        raise NotFound(f"there is no home at {home.root}; give one with --home or CORTEX_HOME")
    held = lock.acquire(home)
    try:
        backups.finish(home.ledger)
        yield
    finally:
        held.close()


def _copied(home: Home, to: str | None) -> dict[str, Any]:
    """Copy the ledger of a daemon that is down."""
    clock = SystemClock()
    begun = clock.monotonic()
    with _alone(home):
        made = _taken(home, to, at=clock.now())
    took = round(clock.monotonic() - begun, 3)
    return {"path": str(made.path), "size": made.size, "at": made.at, "took_s": took}


def _taken(home: Home, to: str | None, *, at: int) -> backups.Backup:
    """Copy the ledger; raises `DiskFault` for one that the next start recovers."""
    try:
        if to is None:
            return backups.take_now(home.ledger, home.backups, at=at)
        return backups.take_to(home.ledger, Path(to), at=at)
    except LedgerDown as error:
        from cortex_actors.storage.ledger import faults, offline  # noqa: PLC0415 - seldom needed

        if faults.is_damage(error):
            offline.refuse_damaged(home.ledger, doing="copy")
        raise


def _show(home: Home, *, as_json: bool) -> None:
    """Show the copies; each is checked, which takes as long as reading it."""
    now, found = SystemClock().now(), backups.listed(home.backups)
    rows = [
        {
            "name": each.path.name,
            "path": str(each.path),
            "at": each.at,
            "size": each.size,
            "age_s": round(max(0.0, (now - each.at) / SECOND)),
            "problem": problem(each.path),
        }
        for each in found
    ]
    if as_json:
        show_json({"backups": rows})
        return
    show_table(
        f"{len(rows)} backups in {home.backups}",
        ("backup", "made", "age", "size", "checked"),
        [
            (
                row["name"],
                iso(each.at),
                _age(max(0.0, (now - each.at) / SECOND)),
                f"{each.size / MB:.1f} MB",
                _verdict(each.path, str(row["problem"])),
            )
            for row, each in zip(rows, found, strict=True)
        ],
        empty="there is no backup yet; make one with: cortex daemon backup",
    )


def _verdict(path: Path, wrong: str) -> str:
    """Return what a check found; what we may not read is not thereby damaged."""
    if not wrong:
        return "good"
    return f"damaged: {wrong}" if os.access(path, os.R_OK) else f"cannot be read: {wrong}"


def _compare(choice: offline.Choice, home: Home) -> None:
    """Say what a backup holds, and what would be missing."""
    there, here = choice.backup, choice.ledger
    print(f"{choice.path} is good, schema version {choice.version}")
    rows: list[tuple[object, ...]] = [
        (name, here.rows.get(name, "?"), there.rows.get(name, 0), choice.missing.get(name, ""))
        for name in sorted(here.rows.keys() | there.rows.keys())
        if here.rows.get(name) or there.rows.get(name)
    ]
    show_table(
        f"in place of {home.ledger}",
        ("rows of", "ledger", "backup", "missing"),
        [*rows, ("last event", _seq(here), _seq(there), "")],
        empty="",
    )


def _confirm(choice: offline.Choice) -> None:
    """Ask; raises `Refused` for no, and where nobody can be asked."""
    if not sys.stdin.isatty():
        message = f"refused to restore {choice.path} without being asked to"
        raise Refused(f"{message}; where nobody can answer, say --yes")
    if not typer.confirm("Put it in the place of the ledger?"):
        raise Refused("nothing was restored")


def _seq(found: offline.Contents) -> object:
    """Return the number of the last event, if it is known."""
    return "?" if found.last_seq is None else found.last_seq


def _age(seconds: float) -> str:
    """Return an age in its largest unit."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.0f} s"


#: Collections of MemoryCore's, by what people may call them.
_REALMS = ("private", "village", "bridge")


def register_export(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "export",
        epilog=examples(
            "cortex memory export -o memories.json",
            "cortex memory export --agent AZOTH --realm private -o azoth.json",
            "cortex memory export --full -o everything.jsonl",
            "cortex memory export | jq '.metadata'",
        ),
    )(export)


def export(
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file (default: standard output).")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Only what this agent said.")] = None,
    realm: Annotated[str | None, typer.Option(help="Only private, village or bridge.")] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Our own form: with what was merged, replaced, archived, and what was done.",
        ),
    ] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Write what is remembered into a file, as MemoryCore's JSON, or in full.

    With an agent's token (CORTEX_TOKEN) it holds what that agent may read. The daemon's own copy of
    everything is `cortex daemon backup`.
    """
    if realm not in {None, *_REALMS}:
        raise BadInput(f"no realm is called {realm!r}; there are {', '.join(_REALMS)}")
    chosen: dict[str, Any] = {"full": full, "agent": agent, "realm": realm}
    if output is not None:
        _show_exported(Cortex(home).export_to(output, **chosen), as_json=as_json)
        return
    # Not written to a person's terminal or pipe before all of it could be had.
    with tempfile.TemporaryDirectory(prefix="cortex-export-") as folder:
        Cortex(home).export_to(whole := Path(folder, "memories"), **chosen)
        with whole.open(encoding="utf-8") as file:
            shutil.copyfileobj(file, sys.stdout)


def _show_exported(done: Exported, *, as_json: bool) -> None:
    """Print what was written."""
    if as_json:
        show_json({"path": done.path, "format": done.format, "records": dict(done.records)})
        return
    total = counted(sum(done.records.values()), "record")
    print(visible(f"exported {total} to {done.path}"))
    print(joined(f"{kind} {count:,}" for kind, count in sorted(done.records.items())))


#: Ids that are named of which something else is known.
_NAMED = 5


def register_import(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "import",
        epilog=examples(
            "cortex memory import memories.json --dry-run",
            "cortex memory import memories.json",
            "cortex memory import everything.jsonl --json",
        ),
    )(import_)


def import_(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="What `cortex memory export` wrote.")
    ],
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Look at everything, and write nothing.")
    ] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Take in the memories of a file that are not there yet.

    All of it is looked at first: one wrong record, and nothing is written. What comes is marked as
    imported, replaces nothing and is merged with nothing; the same file adds nothing again.
    """
    done = Cortex(home).import_from(path, dry_run=dry_run)
    if as_json:
        show_json({name: value for name, value in asdict(done).items() if name != "raw"})
        return
    _show_imported(done)


def _show_imported(done: Imported) -> None:
    """Print what came of it."""
    new = sum(done.added.values())
    verb = "would add" if done.dry_run else "added"
    print(visible(f"{verb} {new:,} of {counted(done.records, 'record')} of {done.path}"))
    facts = [f"{kind} {count:,}" for kind, count in sorted(done.added.items())]
    if done.existing:
        facts.append(f"there already {done.existing:,}")
    if done.redacted:
        facts.append(f"{counted(done.redacted, 'secret')} left out")
    if facts:
        print(joined(facts))
    if done.differing:
        some = ", ".join(done.differing[:_NAMED])
        print(visible(f"left as they are here, though the file says something else: {some}"))
