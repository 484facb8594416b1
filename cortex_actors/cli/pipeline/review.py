"""`review`: what waits for a person, and what a person says about it.

`revoke`: a source is taken back with all that came of it, or counts again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, Option, Preset, command, shows
from cortex_actors.cli.pipeline.principles import format_checks, name_need
from cortex_actors.cli.pipeline.projects import resolve_word
from cortex_actors.cli.show import (
    count_nouns,
    describe_place,
    format_moment,
    join_facts,
    list_places,
    shorten,
    shorten_id,
)
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import SystemClock
from cortex_actors.errors import UsageError

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

#: How a decision came about that was not made in the review.
_WAYS = {"diff": "with a diff", "earlier": "by a write of an earlier version"}

#: Characters of a text that a list shows: a person decides by what it says.
_SHOWN = 300

#: How a text is named: an insight is meant, or a principle, by what its id begins with.
_ID = Argument(help="Its id, or the beginning of it.")

_STATE = Option(words=("waiting", "approved", "rejected"))


@shows(
    "review",
    "",
    "--status rejected",
    asks="review.list",
    also="review list",
    about="Look at what waits for a person; let it be used, promoted and written, or not.",
    is_group=True,
    status=_STATE,
)
def show_reviews(found: Answer, given: Answer) -> None:
    """Print a list of texts, and what to do with it."""
    entries, status = [_entry(each) for each in found["reviews"]], given["status"]
    decided = f"{found['approved']:,} approved, {found['rejected']:,} rejected so far"
    if status != "waiting":
        empty = f"nothing was {status} yet"
        show.page(entries, found["total"], "text", empty=empty, more=f" {status}")
        return
    title = (
        f"{found['total']:,} {'waits' if found['total'] == 1 else 'wait'} for a person: "
        f"{found['use']:,} to be used at all, {found['promotion']:,} to become principles, "
        f"{found['write']:,} to be written into files ({decided})"
    )
    where = " of this project" if given["project"] else ""
    empty = f"nothing{where} waits for a person ({decided})"
    show.blocks(title, entries, empty=empty, total=found["total"])
    if entries:
        print("\nwhat one would change: cortex review show ID; then approve ID, or reject ID")


@shows("review approve", "ins_4f0c9b21", insight=_ID)
@shows("review reject", "ins_4f0c9b21 --note 'only true of one service'", insight=_ID)
def show_decision(found: Answer) -> None:
    """Print what a person decided, and what follows."""
    said = found["decision"] or "let use"
    show.lines(f"{said} {found['id']}: {shorten(found['content'], 160)}")
    if found["id"].startswith(_PRINCIPLE) and found["decision"] == "approved":
        print(_WRITTEN)
    elif found["id"].startswith(_PRINCIPLE):
        print(
            "it is written into no other project's file, and taken out of those that have it; "
            f"change your mind with: cortex review approve {shorten_id(found['id'])}"
        )
    elif found["decision"] == "rejected":
        print("it becomes no principle; change your mind with: cortex review approve")
    elif found["decision"] is None:
        again = f"to make it a principle as well: cortex review approve {shorten_id(found['id'])}"
        print(f"it is used from now on; {again}")
    elif found["principles"]:
        print(f"it is part of {', '.join(found['principles'])}")
    elif held := [
        f"{name_need(check['need'])} ({check['actual']})"
        for check in found["promotion"]["checks"]
        if not check["met"] and check["need"] != "not_promoted"
    ]:
        print(f"it is used; for a principle it still lacks {', '.join(held)}")
    else:
        print(f"the next run makes it a principle: cortex principles; {_WRITTEN}")


def _entry(found: Answer) -> show.ListEntry:
    """Return a text's entry in a list."""
    asked = found.get("asks")
    mark = _ASKS[asked] if asked else f"{found['confidence']:.2f}"
    facts = join_facts(
        shorten_id(found["id"]),
        found["category"],
        f"sure {found['confidence']:.2f}",
        f"seen {found['observations']}",
        ", ".join(found["projects"]),
        *map(show.TRUSTS.get, found.get("trust", ())),
    )
    said = [found.get("because") or "", found.get("note") or ""]
    lines = [*said, facts, *list_places(found["sources"]), *_others(found)]
    return show.ListEntry(mark, shorten(found["content"], _SHOWN), lines)


def _others(found: Answer) -> list[str]:
    """Return what other projects say, and where."""
    lines = []
    for each in found.get("others", ()):
        lines += [shorten(each["content"], _SHOWN), *list_places(each["sources"])]
    return lines


@shows("review show", "ins_4f0c9b21", insight=_ID)
def show_review(found: Answer) -> None:
    """Print one text whole."""
    show.title(found["content"])
    print()
    asked, decided = found["asks"], ""
    if found["decision"] is not None:
        how = _WAYS.get(found.get("way", ""))
        decided = join_facts(
            f"{found['decision']} {format_moment(found['decided_at'])}", found.get("by"), how
        )
    show.facts(
        ("id", found["id"]),
        ("status", found["status"]),
        ("asked", _QUESTIONS[asked] if asked else ""),
        ("because", found["because"] or ""),
        ("decided", decided),
        ("note", found.get("note") or ""),
        ("part of", ", ".join(found["principles"])),
        ("says it", "\n".join(describe_place(each) for each in found["places"])),
        ("nearly the same", "\n".join(_others(found))),
    )
    print()
    show.facts(*format_checks(found["promotion"]))
    for each in found.get("files", ()):
        print(f"\nif you approve it, {each['path']}:")
        show.diff(each["diff"])
    if asked == "promotion" and not found.get("files"):
        print("\nif you approve it, no file of the projects that are followed changes now")
    if asked:
        print(f"\ndecide with: cortex review approve {shorten_id(found['id'])}, or reject")


#: What ids begin with.
_IDS = ("ins_", "pri_", "prj_")

#: Seconds that a person waits for files to be written again, and between two looks.
PATIENCE, POLL = 15.0, 0.2

#: Texts of each kind that are shown.
_MOST = 10


@command(
    "projects revoke",
    "",
    "~/code/left-pad --dry-run",
    "~/code/atlas-api/CLAUDE.md --note 'that is not ours'",
    "ins_4f0c9b21 --same",
    "pri_77ab03c2",
    "--undo ~/code/left-pad",
    asks="projects.revoke",
    source=Argument(
        metavar="[SOURCE]",
        required=False,
        help="A project's name or folder, a file, or the id of an insight or a principle.",
    ),
    dry_run=Option("--dry-run", "-n"),
    undo=Preset(help="Let it count again."),
)
def revoke(
    source: str | None, *, undo: bool, as_json: bool, home: Path | None, **how: object
) -> None:
    """Take back a source, everything derived from it, and what of it is in files.

    It is not learned from again until that is undone. Its own files are not touched. Without
    SOURCE, list what is taken back.
    """
    client = Client(home)
    if source is None:
        if undo or any(how.values()):
            raise UsageError("say what to take back; see: cortex projects revoke --help")
        found, print_it = client.call("revoked"), _list_revoked
    elif undo:
        if any(how.values()):
            raise UsageError("--undo takes only the source; see: cortex projects revoke --help")
        found, print_it = client.call("lift", source=_source(source)), _lifted
    else:
        found = client.call("revoke", source=_source(source), **how)
        print_it = partial(_show_revoked, client)
    show.json(found) if as_json else print_it(found)


def _source(word: str) -> str | None:
    """Return what the daemon is asked for: a file or a folder of the caller's by its whole path."""
    path = Path(word).expanduser()
    is_path = not word.startswith(_IDS) and ("/" in word or path.is_file())
    return str(path.absolute()) if is_path else resolve_word(word)


def _show_revoked(client: Client, found: Answer) -> None:
    """Print what was taken back, or would be, and how far its files are."""
    would = found["dry_run"]
    verb = "would take back" if would else "took back"
    if not found["revoked"]:
        show.lines(f"{found['name']} is taken back already; lift that with: --undo")
        return
    did = ["withdrawn"]
    if found["kind"] != "principle":
        did = [count_nouns(found["places"], "place"), count_nouns(found["gone"], "text")]
        did.append(count_nouns(len(found["principles"]), "principle"))
    did.append(f"{count_nouns(len(found['files']), 'file')} to update")
    show.lines(f"{verb} {found['kind']} {found['name']}: {join_facts(*did)}")
    _some("no file says any more", [each["content"] for each in found["texts"]], found["gone"])
    _some("no principle any more", [each["content"] for each in found["principles"]])
    freed = [f"{each['id']} {each['content']}" for each in found["freed"]]
    _some("says the same, and stays (--same)", freed)
    _some("another checkout of it, and counts", found["checkouts"])
    _some("to be updated", sorted({each["path"] for each in found["files"]}))
    if would:
        return
    if found["files"]:
        _written_by(client, found["files"])
    show.lines(f"undo it with: cortex projects revoke --undo {found['key']}")


def _some(title: str, texts: Sequence[str], total: int | None = None) -> None:
    """Print some lines below a title; none where there is nothing."""
    if not texts:
        return
    print(f"\n{title}:")
    width = max(show.make_console().width - 2, show.NARROWEST)
    show.lines(*(f"  {shorten(each, width)}" for each in texts[:_MOST]))
    more = (len(texts) if total is None else total) - len(texts[:_MOST])
    if more > 0:
        print(f"  and {more:,} more")


def _written_by(client: Client, files: Sequence[Answer]) -> None:
    """Wait until files say nothing of it any more, and print how each ended."""
    clock = SystemClock()
    end = clock.monotonic() + PATIENCE
    asked = {(each["path"], each["agent"]) for each in files}
    while True:
        known = client.call("revoked")["left_over"]
        left = {(each["path"], each["agent"]): each["reason"] for each in known}
        if all(left[each] for each in asked & left.keys()) or clock.monotonic() > end:
            break
        time.sleep(POLL)
    print()
    for path, agent in sorted(asked):
        state = left.get((path, agent), "updated")
        show.lines(f"{path}: {state or 'is being written; look with: cortex projects revoke'}")


def _lifted(found: Answer) -> None:
    """Print that a source counts again."""
    then = "what it says is read again" if found["read_again"] else "it is followed no longer"
    if found["kind"] == "principle":
        then = "it is given to projects again"
    show.lines(f"{found['kind']} {found['name']} counts again; {then}")


def _list_revoked(found: Answer) -> None:
    """Print what is taken back, and what of it files still have."""
    blocks = []
    for each in found["revoked"]:
        about = [join_facts(_key(each), format_moment(each["at"])), each["note"] or ""]
        text = shorten(each["content"] or each["name"], 160)
        blocks.append(show.ListEntry(each["kind"], text, about))
    title = f"{count_nouns(len(blocks), 'source')} taken back, newest first"
    show.blocks(title, blocks, empty="nothing is taken back")
    if found["left_over"]:
        print("\nstill standing in files:")
        rows = found["left_over"]
        show.facts(*((shorten(e["bullet"], 80), join_facts(e["path"], e["reason"])) for e in rows))


def _key(each: Answer) -> str | None:
    """Return by what a source is named, where it is not called so."""
    return None if each["content"] is None and each["key"] == each["name"] else str(each["key"])
