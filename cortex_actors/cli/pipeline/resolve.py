"""`resolve`: bring what is known into instruction files, and take it back.

What a diff would bring into files that no person has approved yet is marked, and asked about.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, Option, Preset, command
from cortex_actors.cli.show import count_nouns, join_facts
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import SystemClock
from cortex_actors.domain.project import OWN
from cortex_actors.errors import CortexError, Refused, UsageError, visible
from cortex_actors.render import section

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What shows notes that no person has approved, and decides about each.
REVIEW = "cortex review"

#: Characters of a project's name that fit into a line of any terminal.
SHORT = 32

#: What is printed behind such a note.
_MARK = "   <- not approved"


def list_unapproved(found: Answer) -> list[str]:
    """Return the ids of the principles that a resolution would write without approval, in order."""
    return sorted({each["id"] for file in found["files"] for each in _notes(file)})


def _left_out(file: Answer) -> str | None:
    """Return how many notes of a file wait for a person, and where; None for none."""
    count = file["counts"].get("unapproved") or len(_notes(file))
    return f"{count} not approved ({REVIEW})" if count else None


def show_proposed(file: Answer) -> None:
    """Print a file's diff with a mark behind each note that no person has approved.

    What the file has already is no line of the diff, and is named behind it.
    """
    lines = [each["text"] for each in _notes(file)]
    show.diff(file["diff"], marked={f"+{each}": _MARK for each in lines})
    added = set(file["diff"].split("\n"))
    for each in lines:
        if f"+{each}" not in added:
            show.lines(f" {each}{_MARK}, is there already")


def _notes(file: Answer) -> list[Answer]:
    """Return the notes of a file that no person has approved."""
    return [each for each in file["bullets"] if not each["approved"]]


#: What is said of how a file's resolution ended.
_SAID = {"written": "wrote", "unchanged": "nothing to change in", "shown": "would write"}

#: The same of a file that has nothing left to be given, and of the line that begins our section.
_SAID_EMPTIED = {"written": "took the section out of", "shown": "would take the section out of"}
_TAKEN_OUT = "\n-<!-- cortex:begin "

#: Endings in which nothing was done that was asked for.
_NOT_DONE = frozenset({"edited", "refused"})


@command(
    "resolve",
    "--dry-run",
    "~/code/atlas-api",
    "~/code/atlas-api --yes",
    "AGENTS.md --include-metadata",
    "atlas-api --agent cursor --create",
    "CLAUDE.md --edited keep",
    "--agent chatgpt --stdout > prompt.txt",
    "CLAUDE.md --undo",
    asks="resolve",
    leave_out=("text_only", "approve"),
    path=Argument(
        kind="text", metavar="[PATH]", help="A file, a project's folder or its name (this folder)."
    ),
    agent=Option(
        "--agent", "-a", help=f"One of {', '.join(section.list_names())} (who has a file)."
    ),
    dry_run=Option("--dry-run", "-n"),
    stdout=Preset(help="Print the section, and write nothing."),
    yes=Preset("--yes", "-y", help="Approve what the diff would bring, without being asked."),
    undo=Preset(help="Take the newest write into the file back."),
)
def resolve(
    path: str | None,
    *,
    everything: bool,
    dry_run: bool,
    stdout: bool,
    yes: bool,
    undo: bool,
    as_json: bool,
    home: Path | None,
    **wish: object,
) -> int:
    """Write what other projects taught into instruction files, in a section of its own.

    What no person has approved is shown in a diff first, and written when you accept that; where
    no person can be asked it is left out, and waits in cortex review. Only files that are there are
    written, and nothing outside of the section is touched. What cannot be written safely is left
    alone, with the reason (exit code 77).
    """
    wrong = {
        "--yes approves what is written: give it without --dry-run and --stdout": (
            yes and (dry_run or stdout)
        ),
        "give a path or --all, not both": everything and path is not None,
        "--undo goes with no other option": undo and any((*wish.values(), dry_run, stdout, yes)),
    }
    for said in (said for said, is_so in wrong.items() if is_so):
        raise UsageError(f"{said}; see: cortex resolve --help")
    client = _client(home, is_shown=everything and not as_json)
    where = None if everything else _absolute(path)
    if undo:
        return _undone(client, where, as_json=as_json)
    ask = partial(client.call, "resolve", path=where, everything=everything, **wish)
    accepted = []
    if yes or not (dry_run or stdout or as_json or not _is_watched()):
        accepted = _accepted(ask(dry_run=True), yes=yes)
    found = ask(dry_run=dry_run, text_only=stdout, approve=accepted)
    if not as_json and (stdout or not all(each["path"] for each in found["files"])):
        return _text(found)
    show.json(found) if as_json else show_files(found, dry_run=dry_run)
    states = {each["state"] for each in found["files"]}
    return 0 if not states & _NOT_DONE and (states or not found["left"]) else Refused.exit_code


def _client(home: Path | None, *, is_shown: bool) -> Client:
    """Return whom to ask; a terminal that watches is shown which project is resolved."""
    if is_shown and (wait := Client.when_slow) is not None:
        Client.when_slow = staticmethod(partial(wait, steps=_steps(home, SystemClock().now())))
    return Client(home)


class _Aside(Client):
    """Asks how far another call is, and has one second for that."""

    when_slow = None


def _steps(home: Path | None, since: int) -> Iterator[str]:
    """Yield which of all projects is resolved now, by the newest file that is done since a time.

    That is in UTC microseconds. "" where it is not known: nothing is done, or no daemon answers.
    """
    client, order, step = _Aside(home, timeout=1), list[str](), ""
    while True:
        with suppress(CortexError):
            if not order:
                # By name, as they are resolved; a person's own files only where that was asked for.
                every = client.call("projects")["projects"]
                order = [e["id"] for e in every if e["auto"] or e["name"] != OWN]
            for run in client.call("runs", kind="resolver", limit=1)["runs"]:
                if run["started_at"] >= since and run["project_id"] in order:
                    which = f"{order.index(run['project_id']) + 1} of {len(order)}"
                    step = f"resolving project {which} ({visible(run['project'])[:SHORT]})"
        yield step


def _is_watched() -> bool:
    """Tell whether a person can be asked: a terminal is read and written."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _accepted(found: Answer, *, yes: bool) -> list[str]:
    """Return the principles that a person approves with a diff; raises `Refused` for no."""
    asked = list_unapproved(found)
    if asked and not yes:
        show_files(found, dry_run=True)
        import click  # noqa: PLC0415 - only to ask

        if not click.confirm(f"Approve {count_nouns(len(asked), 'note')} and write?"):
            raise Refused(f"nothing was written; decide one by one with: {REVIEW}")
    return asked


def _absolute(path: str | None) -> str:
    """Return what the daemon is asked for: a path of the caller's whole, or a project's name."""
    given = path or "."
    is_path = path is None or "/" in given or given in {".", ".."} or Path(given).exists()
    is_file = section.find_by_place(given) is not None
    return str(Path(given).absolute()) if is_path or is_file else given


def _text(found: Answer) -> int:
    """Print the text of an answer alone; raises `Refused` for what is no text."""
    for each in found["files"]:
        if each["state"] in _NOT_DONE:
            raise Refused(each["reason"])
    print("\n".join(each["section"] for each in found["files"]), end="")
    for waiting in filter(None, map(_left_out, found["files"])):
        print(waiting, file=sys.stderr)
    return 0


def _undone(client: Client, where: str | None, *, as_json: bool) -> int:
    """Take a write back, and print what that changed."""
    if where is None:
        raise UsageError("--undo takes back one write: give a file, not --all")
    found = client.call("undo_resolution", path=where)
    if as_json:
        show.json(found)
        return 0
    show.lines(f"took the last write into {found['path']} back; what you wrote since stays")
    show.diff(found["diff"])
    return 0


def show_files(found: Answer, *, dry_run: bool) -> None:
    """Print what came of each file; a diff that is that of a file before it is named alone."""
    shown: dict[str, str] = {}
    for each in found["files"]:
        show.lines(_line(each))
        if dry_run or each["state"] == "edited":
            # Without the names of the file, and the numbers of its lines.
            lines = [line for line in each["diff"].split("\n")[2:] if not line.startswith("@@")]
            first = shown.setdefault(f"{lines}{_notes(each)}", each["path"])
            if each["diff"] and first != each["path"]:
                show.lines(f"  the same diff as for {first}")
            else:
                show_proposed(each)
                said = each["already_said"] if dry_run else ()
                for one in said:
                    show.lines(f"  said already: {one['text']}", f"    {one['why']}")
    for each in found["left"]:
        show.lines(f"left alone: {each['reason']}")
    if not found["files"] and not found["left"]:
        print("there is no instruction file to write; --create makes one")


#: What a file's line tells how many there were of.
_COUNTED = {
    "conflicts_detected": "contradicted by the project",
    "already_said": "said there already",
    "not_near": "not near enough (resolution.least)",
    "other_stack": "for another stack",
    "not_alone": "for their own project only",
    "over_budget": "without room",
}


def _line(each: Answer) -> str:
    """Return a file's line."""
    place, counts = f"{each['path']} ({each['agent']})", each["counts"]
    if each["state"] in _NOT_DONE:
        return str(each["reason"])
    facts = [
        count_nouns(counts.get("principles_resolved", 0), "note"),
        f"{each['tokens']} tokens" if each["tokens"] else None,
        *(f"{counts[name]} {words}" for name, words in _COUNTED.items() if counts.get(name)),
        _left_out(each),
    ]
    return f"{_said(each)} {place}: {join_facts(*facts)}"


def _said(each: Answer) -> str:
    """Return what became of a file's section."""
    state, diff = each["state"], each["diff"]
    if not each["section"] and _TAKEN_OUT in diff and state in _SAID_EMPTIED:
        return _SAID_EMPTIED[state]
    return _SAID["unchanged" if state == "shown" and not diff else state]
