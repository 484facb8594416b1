"""`backup` and `restore`: copies of the ledger.

`export`: what is remembered, as a file that another home or another program can read.

`import`: memories from such a file.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, HomeOption, JsonOption, Option, command
from cortex_actors.cli.show import count_nouns, join_facts
from cortex_actors.client.connection import Answer, Client
from cortex_actors.client.cortex import Cortex
from cortex_actors.clock import SECOND, SystemClock, format_span, iso
from cortex_actors.errors import BadInput, DaemonDown
from cortex_actors.home import Home

if TYPE_CHECKING:
    from cortex_actors.storage.ledger import offline

#: Bytes of a megabyte, as people count them.
MB = 1_000_000


def show_copy(found: Answer) -> None:
    """Print which copy was made, or which there are."""
    if "backups" not in found:
        print(f"{found['path']}, {found['size'] / MB:.1f} MB, in {found['took_s']:.2f} s")
        return
    now, copies = SystemClock().now(), found["backups"]
    rows = []
    for each in copies:
        # What we may not read is not thereby damaged.
        fault = "damaged" if os.access(each["path"], os.R_OK) else "cannot be read"
        checked = f"{fault}: {each['problem']}" if each["problem"] else "good"
        age, size = format_span((now - each["at"]) / SECOND), f"{each['size'] / MB:.1f} MB"
        rows.append((each["name"], iso(each["at"]), age, size, checked))
    columns = ("backup", "made", "age", "size", "checked")
    empty = "there is no backup yet; make one with: cortex daemon backup"
    folder = Path(copies[0]["path"]).parent if copies else ""
    show.table(f"{len(rows)} backups in {folder}", columns, rows, empty=empty)


@command("daemon backup", "", "--to /media/disk/cortex.db", "--list", show=show_copy)
def backup(
    client: Client,
    to: Annotated[
        Path | None, Option(help="A new file, or a folder, in place of backups/.")
    ] = None,
    listing: Annotated[bool, Option("--list", help="Show which there are.")] = False,
) -> Answer:
    """Copy the ledger, whether the daemon runs or not; with --list show the copies, checked."""
    if listing:
        return _copies(client.home)
    target = None if to is None else str(to.expanduser().absolute())
    try:
        return client.call("backup", to=target)
    except DaemonDown:
        from cortex_actors.storage.ledger import offline  # noqa: PLC0415 - SQLAlchemy

        return offline.copy_offline(client.home, target, clock=SystemClock())


@command("daemon restore", "", "cortex-20260101T120000Z", "--yes")
def restore(
    wanted: Annotated[
        str, Argument(metavar="[NAME|PATH|latest]", help="Which; the newest if left out.")
    ] = "latest",
    yes: Annotated[bool, Option(help="Do not ask.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Put a backup in the place of the ledger, which is kept aside; the daemon must be down."""
    from cortex_actors.storage.ledger import offline  # noqa: PLC0415 - SQLAlchemy

    where = Home.find(home)
    with offline.hold_alone(where):
        choice = offline.choose(where, wanted)
        if not as_json:
            _compare(choice, where)
        if not yes:
            question, no = "Put it in the place of the ledger?", "nothing was restored"
            refusal = f"refused to restore {choice.path} without being asked to"
            show.confirm(question, refusal=refusal, no=no)
        aside = offline.restore(where, choice, at=SystemClock().now())
    if as_json:
        found = {
            "restored": str(choice.path),
            "replaced": None if aside is None else str(aside),
            "schema": choice.version,
            **{name: asdict(getattr(choice, name)) for name in ("backup", "ledger")},
            "missing": choice.missing,
        }
        show.json(found)
        return
    print(f"restored {choice.path}")
    if aside is not None:
        print(f"the ledger before it is {aside}; delete it when you no longer need it")
    print("go on with: cortex start")


def _copies(home: Home) -> Answer:
    """Return the copies; each is checked, which takes as long as reading it."""
    from cortex_actors.storage.ledger import backups  # noqa: PLC0415 - SQLAlchemy

    now = SystemClock().now()
    rows = []
    for each in backups.list_backups(home.backups):
        age = round(max(0.0, (now - each.at) / SECOND))
        about = {"at": each.at, "size": each.size, "age_s": age}
        problem = backups.find_problem(each.path)
        rows.append({"name": each.path.name, "path": str(each.path), **about, "problem": problem})
    return {"backups": rows}


def _compare(choice: offline.BackupChoice, home: Home) -> None:
    """Say what a backup holds, and what would be missing."""
    there, here = choice.backup, choice.ledger
    print(f"{choice.path} is good, schema version {choice.version}")
    rows: list[tuple[object, ...]] = [
        (name, here.rows.get(name, "?"), there.rows.get(name, 0), choice.missing.get(name, ""))
        for name in sorted(here.rows.keys() | there.rows.keys())
        if here.rows.get(name) or there.rows.get(name)
    ]
    last = ("?" if each.last_seq is None else each.last_seq for each in (here, there))
    rows.append(("last event", *last, ""))
    columns = ("rows of", "ledger", "backup", "missing")
    show.table(f"in place of {home.ledger}", columns, rows, empty="")


#: Collections of MemoryCore's, by what people may call them.
_REALMS = ("private", "village", "bridge")


@command(
    "memory export",
    "-o memories.json",
    "--agent AZOTH --realm private -o azoth.json",
    "| jq '.metadata'",
)
def export(
    *,
    output: Annotated[
        Path | None, Option("--output", "-o", help="The file (default: standard output).")
    ] = None,
    agent: Annotated[str | None, Option(help="Only what this agent said.")] = None,
    realm: Annotated[str | None, Option(help="Only private, village or bridge.")] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Write what is remembered and found now into a file, as MemoryCore's JSON.

    With an agent's token (CORTEX_TOKEN) it holds what that agent may read. A copy of everything is
    made by `cortex daemon backup`.
    """
    if realm not in {None, *_REALMS}:
        raise BadInput(f"no realm is called {realm!r}; there are {', '.join(_REALMS)}")
    chosen: dict[str, Any] = {"agent": agent, "realm": realm}
    if output is not None:
        done = Cortex(home).export_to(output, **chosen)
        if as_json:
            return show.json({"path": done.path, "records": dict(done.records)})
        show.lines(f"exported {count_nouns(sum(done.records.values()), 'record')} to {done.path}")
        return show.lines(_kinds(done.records))
    # Not written to a person's terminal or pipe before all of it could be had.
    with tempfile.TemporaryDirectory(prefix="cortex-export-") as folder:
        Cortex(home).export_to(whole := Path(folder, "memories"), **chosen)
        with whole.open(encoding="utf-8") as file:
            return shutil.copyfileobj(file, sys.stdout)


def _kinds(counts: Mapping[str, int]) -> str:
    """Return how many there are of each kind."""
    return join_facts(*(f"{kind} {count:,}" for kind, count in sorted(counts.items())))


#: Ids that are named of which something else is known.
_NAMED = 5


def show_imported(done: Answer) -> None:
    """Print what came of it."""
    verb, new = "would add" if done["dry_run"] else "added", sum(done["added"].values())
    show.lines(f"{verb} {new:,} of {count_nouns(done['records'], 'record')} of {done['path']}")
    there = f"there already {done['existing']:,}" if done["existing"] else None
    secrets = f"{count_nouns(done['redacted'], 'secret')} left out" if done["redacted"] else None
    show.lines(join_facts(_kinds(done["added"]), there, secrets) or None)
    for name, number in done.get("unplaced", {}).items():
        show.lines(f"of no project now, because {name} is not known here: {number:,}")
    if done["differing"]:
        some = ", ".join(done["differing"][:_NAMED])
        show.lines(f"left as they are here, though the file says something else: {some}")


@command(
    "memory import",
    "memories.json --dry-run",
    "memories.json",
    show=show_imported,
)
def import_(
    client: Client,
    path: Annotated[Path, Argument(metavar="FILE", help="What `cortex memory export` wrote.")],
    *,
    dry_run: Annotated[bool, Option(help="Look at everything, and write nothing.")] = False,
) -> Answer:
    """Import the memories of a file that are not there yet.

    All of it is looked at first: one wrong record, and nothing is written. What comes is marked as
    imported, replaces nothing and is merged with nothing; the same file adds nothing again.
    """
    done = Cortex(client.home).import_from(path, dry_run=dry_run)
    return {name: value for name, value in asdict(done).items() if name != "raw"}
