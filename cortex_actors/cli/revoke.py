"""`revoke`: a source is taken back with all that came of it, or counts again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.blocks import (
    NARROWEST,
    Block,
    counted,
    joined,
    show_blocks,
    show_facts,
    when,
)
from cortex_actors.cli.output import (
    HomeOption,
    JsonOption,
    console,
    examples,
    shortened,
    show_json,
)
from cortex_actors.client.connection import Client
from cortex_actors.clock import SystemClock
from cortex_actors.errors import UsageError
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.client.connection import Answer

#: What ids begin with.
_IDS = ("ins_", "pri_", "prj_")

#: Seconds that a person waits for files to be written anew, and between two looks.
PATIENCE, POLL = 15.0, 0.2

#: Texts of each kind that are shown.
_MOST = 10


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "revoke",
        epilog=examples(
            "cortex revoke",
            "cortex revoke ~/code/left-pad --dry-run",
            "cortex revoke ~/code/atlas-api/CLAUDE.md --note 'somebody else wrote that'",
            "cortex revoke ins_4f0c9b21 --same",
            "cortex revoke pri_77ab03c2",
            "cortex revoke --undo ~/code/left-pad",
        ),
    )(revoke)


def revoke(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[SOURCE]",
            help="A project's name or folder, a file, or the id of an insight or a principle.",
        ),
    ] = None,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Let it count again.")] = False,
    same: Annotated[
        bool, typer.Option("--same", help="With an insight, what says the same, too.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Only show what would go.")
    ] = False,
    note: Annotated[str | None, typer.Option(help="Why, in your own words.")] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Take back a source, everything derived from it, and what of it stands in files.

    It is not learned from again until that is undone. Its own files are not touched. Without
    SOURCE, list what is taken back.
    """
    client = Client(home)
    if source is None:
        if undo or same or dry_run or note:
            raise UsageError("say what to take back; see: cortex revoke --help")
        found = client.call("revoked")
        show_json(found) if as_json else _list(found)
        return
    if undo:
        if same or dry_run or note:
            raise UsageError("--undo takes only the source; see: cortex revoke --help")
        found = client.call("lift", source=word(source))
        show_json(found) if as_json else _lifted(found)
        return
    found = client.call("revoke", source=word(source), note=note, same=same, dry_run=dry_run)
    show_json(found) if as_json else _show(client, found)


def word(source: str) -> str:
    """Return what the daemon is asked for: a path of the caller's by its whole length."""
    if source.startswith(_IDS):
        return source
    path = Path(source).expanduser()
    if "/" in source or source in (".", "..") or path.is_file():
        return str(path.absolute())
    return source


def _show(client: Client, found: Answer) -> None:
    """Print what was taken back, or would be, and how far its files are."""
    would = found["dry_run"]
    verb = "would take back" if would else "took back"
    if not found["revoked"]:
        print(visible(f"{found['name']} is taken back already; lift that with: --undo"))
        return
    is_text = found["kind"] != "principle"
    did = joined(
        [
            counted(found["places"], "place") if is_text else None,
            counted(found["gone"], "text") if is_text else None,
            counted(len(found["principles"]), "principle") if is_text else "given to nobody",
            counted(len(found["files"]), "file") + " to write anew",
        ]
    )
    print(visible(f"{verb} {found['kind']} {found['name']}: {did}"))
    _some("nobody says any more", [each["content"] for each in found["texts"]], found["gone"])
    _some("no principle any more", [each["content"] for each in found["principles"]])
    _some("says the same, and stays (--same)", [_brief(each) for each in found["freed"]])
    _some("another checkout of it, and counts", found["checkouts"])
    _some("to be written anew", sorted({each["path"] for each in found["files"]}))
    if would:
        return
    if found["files"]:
        _written(client, found["files"])
    print(visible(f"undo it with: cortex revoke --undo {found['key']}"))


def _some(title: str, texts: Sequence[str], total: int | None = None) -> None:
    """Print some lines below a title; none where there is nothing."""
    if not texts:
        return
    print(f"\n{title}:")
    width = max(console().width - 2, NARROWEST)
    for each in texts[:_MOST]:
        print(visible(f"  {shortened(each, width)}"))
    more = (len(texts) if total is None else total) - len(texts[:_MOST])
    if more > 0:
        print(f"  and {more:,} more")


def _written(client: Client, files: Sequence[Answer]) -> None:
    """Wait until files say nothing of it any more, and print how each ended."""
    clock = SystemClock()
    end = clock.monotonic() + PATIENCE
    asked = {(each["path"], each["agent"]) for each in files}
    while True:
        left = {
            (each["path"], each["agent"]): each["reason"]
            for each in client.call("revoked")["left_over"]
            if (each["path"], each["agent"]) in asked
        }
        if all(left.values()) or clock.monotonic() > end:
            break
        time.sleep(POLL)
    print()
    for path, agent in sorted(asked):
        state = left.get((path, agent), "written anew")
        print(visible(f"{path}: {state or 'is being written; look with: cortex revoke'}"))


def _lifted(found: Answer) -> None:
    """Print that a source counts again."""
    then = "what it says is read again" if found["read_again"] else "it is followed no longer"
    if found["kind"] == "principle":
        then = "it is given to projects again"
    print(visible(f"{found['kind']} {found['name']} counts again; {then}"))


def _list(found: Answer) -> None:
    """Print what is taken back, and what of it stands in files still."""
    blocks = [
        Block(
            each["kind"],
            shortened(each["content"] or each["name"], 160),
            [joined([_key(each), when(each["at"])]), each["note"] or ""],
        )
        for each in found["revoked"]
    ]
    title = f"{counted(len(blocks), 'source')} taken back, newest first"
    show_blocks(title, blocks, empty="nothing is taken back")
    if found["left_over"]:
        print("\nstill standing in files:")
        show_facts(
            [
                (shortened(each["bullet"], 80), joined([each["path"], each["reason"]]))
                for each in found["left_over"]
            ]
        )


def _key(each: Answer) -> str | None:
    """Return by what a source is named, where it is not called so."""
    return None if each["content"] is None and each["key"] == each["name"] else str(each["key"])


def _brief(each: Answer) -> str:
    """Return a text with its id."""
    return f"{each['id']} {each['content']}"
