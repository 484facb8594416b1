"""`review`: what waits for a person, and what a person says about it.

`revoke`: a source is taken back with all that came of it, or counts again.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.filters import LimitOption, ProjectOption, SkipOption, one_of
from cortex_actors.cli.output import (
    NARROWEST,
    Block,
    Commands,
    HomeOption,
    JsonOption,
    brief,
    console,
    counted,
    examples,
    joined,
    nothing,
    shortened,
    show_blocks,
    show_facts,
    show_json,
    standing,
    when,
)
from cortex_actors.cli.principles import check_line, need
from cortex_actors.cli.projects import meant
from cortex_actors.client.connection import Client
from cortex_actors.clock import SystemClock
from cortex_actors.errors import UsageError
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.client.connection import Answer


#: States that a list may be of, the one without asking first.
_STATES = ("waiting", "approved", "rejected")

#: What a person is asked, in a word and in a sentence.
_ASKS = {"use": "use it?", "promotion": "promote?", "write": "write it?"}
_QUESTIONS = {
    "use": "whether it may be used at all",
    "promotion": "whether it may become a principle, and be written into files of other projects",
    "write": "whether it may be written into files of other projects",
}

#: What the id of a principle begins with.
_PRINCIPLE = "pri_"

#: What follows of approving what may be written.
_WRITTEN = (
    "it may be written into files: by itself where a project is automatic, else cortex resolve"
)

#: What a source is called that is no file of a project.
_TRUSTS = {"agent": "an agent said it", "import": "imported", "remote": "of another store"}

#: How a decision came about that was not made in the review.
_WAYS = {"diff": "with a diff", "earlier": "by a write of an earlier version"}

#: Characters of a text that a list shows: a person decides by what it says.
_SHOWN = 300

StateOption = Annotated[
    str, typer.Option(help=f"One of {', '.join(_STATES)}.", callback=one_of(*_STATES))
]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Its id, or the beginning of it.")]
NoteOption = Annotated[str | None, typer.Option(help="Why, in your own words.")]


def group() -> typer.Typer:
    """Return the group."""
    found = typer.Typer(
        help="Look at what waits for a person; let it be used, promoted and written, or not.",
        rich_markup_mode=None,
        epilog=examples(
            "cortex review",
            "cortex review list --status rejected",
            "cortex review show ins_4f0c9b21",
            "cortex review approve pri_4f0c9b21",
            "cortex review reject ins_4f0c9b21 --note 'only true of one service'",
        ),
    )
    found.callback(cls=Commands, invoke_without_command=True)(listed)
    lists = examples("cortex review list", "cortex review list --status approved --json")
    found.command("list", epilog=lists)(listed)
    found.command("show", epilog=examples("cortex review show ins_4f0c9b21"))(show)
    found.command("approve", epilog=examples("cortex review approve ins_4f0c9b21"))(approve)
    found.command(
        "reject",
        epilog=examples("cortex review reject ins_4f0c9b21 --note 'only true of one service'"),
    )(reject)
    return found


def listed(
    *,
    project: ProjectOption = None,
    status: StateOption = "waiting",
    limit: LimitOption = 20,
    skip: SkipOption = 0,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List texts that wait for a person, or those that a person has decided about."""
    found = Client(home).call(
        "reviews", project=meant(project), status=status, limit=limit, skip=skip
    )
    if as_json:
        show_json(found)
        return
    _list(found, status, narrowed=project is not None)


def show(name: IdArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Show one text whole: what there is to decide, why, where it comes from, what it lacks."""
    found = Client(home).call("review", insight=name)
    show_json(found) if as_json else _show(found)


def approve(
    name: IdArgument,
    note: NoteOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Say yes to what is asked: use a text, make it a principle, or write one into files."""
    _decide("approve", name, note, home=home, as_json=as_json)


def reject(
    name: IdArgument,
    note: NoteOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Say no: a text becomes no principle, or a principle is written into no file any more."""
    _decide("reject", name, note, home=home, as_json=as_json)


def _decide(verb: str, name: str, note: str | None, *, home: HomeOption, as_json: bool) -> None:
    """Say what a person decides, and print what follows."""
    found = Client(home).call(verb, insight=name, note=note)
    if as_json:
        show_json(found)
        return
    said = found["decision"] or "let use"
    print(visible(f"{said} {found['id']}: {shortened(found['content'], 160)}"))
    if found["id"].startswith(_PRINCIPLE):
        print(_written(verb, found))
        return
    if verb == "reject":
        print("it becomes no principle; change your mind with: cortex review approve")
        return
    if found["decision"] is None:
        again = f"to make it a principle as well: cortex review approve {brief(found['id'])}"
        print(f"it is used from now on; {again}")
        return
    lacks = [check for check in found["promotion"]["checks"] if not check["met"]]
    held = [each for each in lacks if each["need"] != "not_promoted"]
    if found["principles"]:
        print(f"it is part of {', '.join(found['principles'])}")
    elif held:
        print(f"it is used; for a principle it still lacks {', '.join(map(_lack, held))}")
    else:
        print(f"the next run makes it a principle: cortex principles; {_WRITTEN}")


def _written(verb: str, found: Answer) -> str:
    """Return what follows of a decision about a principle."""
    if verb == "approve":
        return _WRITTEN
    return (
        "it is written into no other project's file, and taken out of those where it stands; "
        f"change your mind with: cortex review approve {brief(found['id'])}"
    )


def _list(found: Answer, status: str, *, narrowed: bool) -> None:
    """Print a list, and what to do with it."""
    entries = [_entry(each) for each in found["reviews"]]
    decided = f"{found['approved']:,} approved, {found['rejected']:,} rejected so far"
    if status != "waiting":
        title = f"{len(entries)} of {counted(found['total'], 'text')} {status}"
        show_blocks(title, entries, empty=nothing(found["total"], f"nothing was {status} yet"))
        return
    one = found["total"] == 1
    title = (
        f"{found['total']:,} {'waits' if one else 'wait'} for a person: {found['use']:,} to be "
        f"used at all, {found['promotion']:,} to become principles, {found['write']:,} to be "
        f"written into files ({decided})"
    )
    where = " of this project" if narrowed else ""
    empty = nothing(found["total"], f"nothing{where} waits for a person ({decided})")
    show_blocks(title, entries, empty=empty)
    if entries:
        print("\nlook at one with: cortex review show ID; then approve ID, or reject ID")


def _entry(found: Answer) -> Block:
    """Return a text's entry in a list."""
    asked = found.get("asks")
    mark = _ASKS[asked] if asked else f"{found['confidence']:.2f}"
    facts = joined(
        [
            brief(found["id"]),
            found["category"],
            f"sure {found['confidence']:.2f}",
            f"seen {found['observations']}",
            ", ".join(found["projects"]),
            *(_TRUSTS[each] for each in found.get("trust", ()) if each in _TRUSTS),
        ]
    )
    lines = [
        found.get("because") or "",
        found.get("note") or "",
        facts,
        *standing(found["sources"]),
    ]
    return Block(mark, shortened(found["content"], _SHOWN), lines)


def _show(found: Answer) -> None:
    """Print one text whole."""
    out = console()
    out.print(visible(found["content"]), style="bold")
    out.print()
    asked = found["asks"]
    show_facts(
        [
            ("id", found["id"]),
            ("status", found["status"]),
            ("asked", _QUESTIONS[asked] if asked else ""),
            ("because", found["because"] or ""),
            ("decided", _decided(found)),
            ("note", found.get("note") or ""),
            ("part of", ", ".join(found["principles"])),
            ("says it", "\n".join(_place(each) for each in found["places"])),
        ]
    )
    out.print()
    show_facts((need(each["need"]), check_line(each)) for each in found["promotion"]["checks"])
    if asked:
        out.print()
        out.print(f"decide with: cortex review approve {brief(found['id'])}, or reject")


def _place(place: Answer) -> str:
    """Return where a text stands or stood, since when, and whose word that is."""
    return joined(
        [
            f"{place['path']}:{place['line_start']}",
            place["project"],
            f"since {when(place['first_at'])}",
            _TRUSTS.get(place["trust"]),
            f"until {when(place['withdrawn_at'])}" if place["withdrawn_at"] else None,
        ]
    )


def _decided(found: Answer) -> str:
    """Return what a person has said, and when."""
    if found["decision"] is None:
        return ""
    how = _WAYS.get(found.get("way", ""))
    return joined([f"{found['decision']} {when(found['decided_at'])}", found.get("by"), how])


def _lack(check: Answer) -> str:
    """Return what is lacking, in a few words."""
    return f"{need(check['need'])} ({check['actual']})"


#: What ids begin with.
_IDS = ("ins_", "pri_", "prj_")

#: Seconds that a person waits for files to be written anew, and between two looks.
PATIENCE, POLL = 15.0, 0.2

#: Texts of each kind that are shown.
_MOST = 10


def register_revoke(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "revoke",
        epilog=examples(
            "cortex projects revoke",
            "cortex projects revoke ~/code/left-pad --dry-run",
            "cortex projects revoke ~/code/atlas-api/CLAUDE.md --note 'somebody else wrote that'",
            "cortex projects revoke ins_4f0c9b21 --same",
            "cortex projects revoke pri_77ab03c2",
            "cortex projects revoke --undo ~/code/left-pad",
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
            raise UsageError("say what to take back; see: cortex projects revoke --help")
        found = client.call("revoked")
        show_json(found) if as_json else _list_revoked(found)
        return
    if undo:
        if same or dry_run or note:
            raise UsageError("--undo takes only the source; see: cortex projects revoke --help")
        found = client.call("lift", source=word(source))
        show_json(found) if as_json else _lifted(found)
        return
    found = client.call("revoke", source=word(source), note=note, same=same, dry_run=dry_run)
    show_json(found) if as_json else _show_revoked(client, found)


def word(source: str) -> str:
    """Return what the daemon is asked for: a path of the caller's by its whole length."""
    if source.startswith(_IDS):
        return source
    path = Path(source).expanduser()
    if "/" in source or source in (".", "..") or path.is_file():
        return str(path.absolute())
    return source


def _show_revoked(client: Client, found: Answer) -> None:
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
        _written_by(client, found["files"])
    print(visible(f"undo it with: cortex projects revoke --undo {found['key']}"))


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


def _written_by(client: Client, files: Sequence[Answer]) -> None:
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
        print(visible(f"{path}: {state or 'is being written; look with: cortex projects revoke'}"))


def _lifted(found: Answer) -> None:
    """Print that a source counts again."""
    then = "what it says is read again" if found["read_again"] else "it is followed no longer"
    if found["kind"] == "principle":
        then = "it is given to projects again"
    print(visible(f"{found['kind']} {found['name']} counts again; {then}"))


def _list_revoked(found: Answer) -> None:
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
