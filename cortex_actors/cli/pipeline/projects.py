"""`init` and `projects`: which projects are followed, and how.

How far a scan is: two bars, one of files and one of texts. The daemon does the work whether a
person watches or not.

`reconcile`, `organise` and `runs`: have the pipeline do something now, and see what it did.

`schedule`: what is done by the clock, and when; one of those jobs now.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, HomeOption, JsonOption, One, Option, command, shows
from cortex_actors.cli.show import count_nouns, join_facts, shorten
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import SystemClock, format_span, iso
from cortex_actors.errors import BadInput, CortexError, NotFound

#: Seconds between two looks: often enough to be smooth, and nothing for the daemon.
POLL = 0.2

#: Looks in a row that have to find nothing: between two steps there is a moment without work.
STILL = 2

#: Looks in a row that may find the same: a model that is missing embeds nothing for ever.
STUCK = 150

#: What is shown of the daemon's answer, and how it is called.
_BARS = {"files": "reading files", "texts": "embedding texts"}


def watch(client: Client, *, is_shown: bool, follow: str | None = "cortex status") -> float:
    """Return once nothing is left to read or to embed, and how many seconds that took.

    So it does when nothing moves for half a minute. Ctrl-C ends the watching, not the work, which
    can be followed by a command.
    """
    clock = SystemClock()
    begun = clock.monotonic()
    with show.progress(is_shown=is_shown, follow=follow) as bar:
        tasks = {key: bar.add_task(name, total=0, pace="") for key, name in _BARS.items()}
        still, same = 0, 0
        before: Answer = {}
        while still < STILL and same < STUCK:
            found = client.call("pace")
            still = 0 if any(found.values()) else still + 1
            same, before = same + 1 if found == before else 0, found
            for key, task in tasks.items():
                # More than there ever was makes the bar longer.
                total = max(bar.tasks[task].total or 0, found[key])
                bar.update(task, total=total, completed=total - found[key], visible=bool(total))
            time.sleep(POLL)
    return clock.monotonic() - begun


#: What means a folder and never a project's name or id.
_FOLDERS = (".", "..")

WaitOption = Annotated[
    bool | None,
    Option("--wait/--no-wait", help="Return once all is read (where a terminal watches)."),
]


@command("init", "", "~/code/atlas-api", "~/code/atlas-api ~/code/harbor-web", ". --user-files")
def init(
    paths: Annotated[
        list[Path] | None, Argument(metavar="PATH...", help="Folders of projects (this one).")
    ] = None,
    user_files: Annotated[
        bool | None,
        Option(
            "--user-files/--no-user-files",
            help="Follow your own instruction files in ~, too, or never ask (a terminal asks).",
        ),
    ] = None,
    wait: WaitOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Follow projects: read their instruction files now and whenever they change.

    A path that cannot be followed keeps no other from it; the command ends with its error. With
    `--json` several projects are a list under `projects`. Your own files, such as
    `~/.claude/CLAUDE.md`, are followed as the project `~` once you have said so.
    """
    client = Client(home)
    found: list[Answer] = []
    wrong: list[CortexError] = []
    for path in paths or _here(user_files):
        try:
            found.append(one := client.call("add_project", path=str(path.absolute())))
        except (BadInput, NotFound) as error:
            wrong.append(error)
            continue
        if not as_json:
            show.lines(*_followed(one))
    found += _own_files(client, user_files, as_json=as_json)
    took = _watched(client, wait=wait, as_json=as_json) if found else None
    if took is not None:
        took_s = {"took_s": round(took, 3)}
        found = [one | client.call("project_files", project=one["id"]) | took_s for one in found]
        if not as_json:
            show.lines(*(line for one in found for line in _file_lines(one)))
            print(f"read in {took:.1f} s")
    if as_json and found:
        show.json(found[0] if len(found) == 1 >= len(paths or ()) else {"projects": found})
    for each in wrong[:-1]:
        print(f"cortex: {each}", file=sys.stderr)
    if wrong:
        raise wrong[-1]


def _own_files(client: Client, on: bool | None, *, as_json: bool) -> list[Answer]:
    """Follow a person's own files or not, as is said or answered; return them if they are now.

    A person at a terminal is asked once, where there are any.
    """
    if on is None and not as_json and sys.stdin.isatty() and sys.stdout.isatty():
        known = client.call("own_files")
        if known["files"] and known["followed"] is None:
            import click  # noqa: PLC0415 - only to ask

            names = ", ".join(each.removeprefix(f"{known['root']}/") for each in known["files"])
            on = click.confirm(f"also follow your own instruction files in ~ ({names})?", True)
    if on is None:
        return []
    found = client.call("follow_own", on=on)
    if not as_json:
        print(f"{'following' if on else 'not following'} your own instruction files in ~")
    return [found] if on else []


def _here(user_files: bool | None) -> list[Path]:
    """Return this folder; none for who decides about their own files in their home."""
    return [] if user_files is not None and Path.cwd() == Path.home() else [Path()]


def _followed(found: Answer) -> Iterator[str]:
    """Yield what is said of a project that is followed now."""
    verb = "following" if found["new"] else "already following"
    yield f"{verb} {found['name']} ({found['id']}) in {found['root']}"
    if found.get("revoked"):
        undo = f"cortex projects revoke --undo {found['id']}"
        yield f"it is taken back, nothing is learned of it: {undo}"


def _file_lines(found: Answer) -> Iterator[str]:
    """Yield how much was read of a project, and of which files not all was."""
    name, files = found["name"], found["files"]
    if not files:
        yield f"{name}: no instruction file is there, such as CLAUDE.md or AGENTS.md"
        return
    known = f"{count_nouns(found['insights'], 'insight')} in {count_nouns(len(files), 'file')}"
    yield f"{name}: {known}; see: cortex insights --project {name}"
    for each in files:
        if each["error"]:
            yield f"  {each['error']}"
        elif each["left_out"]:
            yield f"  {_left_out(each['path'], each['left_out'])}"
        elif not each["statements"]:
            yield f"  {each['path']}: nothing in it could be learned"


def _left_out(path: str, lines: int) -> str:
    """Return what was not read of a file because another tool keeps it up to date."""
    return f"{path}: {count_nouns(lines, 'line')} not learned, programs write them"


@shows("projects files", "atlas-api")
def show_files(found: Answer) -> None:
    """Print what was read of a project's files."""
    rows = [
        (each["path"], each["statements"], each["left_out"] or "-", each["error"] or "")
        for each in found["files"]
    ]
    names = ("file", "statements", "lines left out", "why it was not read")
    show.table(found["name"], names, rows, empty=next(_file_lines(found)))


@command("projects scan", "", "~/code/atlas-api")
def scan(
    path: Annotated[Path | None, Argument(help="A project's folder (all).")] = None,
    wait: WaitOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Read instruction files again, of one project or of all."""
    client = Client(home)
    found = client.call("scan", path=resolve_folder(path) if path else None)
    if not as_json:
        print(f"reading {path or 'all projects'} again, seq {found['seq']}")
    took = _watched(client, wait=wait, as_json=as_json)
    if took is not None:
        known = client.call("insights", limit=1)["total"]
        found = {**found, "insights": known, "took_s": round(took, 3)}
        if not as_json:
            print(f"read in {took:.1f} s; {count_nouns(known, 'insight')} known: cortex insights")
    if as_json:
        show.json(found)


def _watched(client: Client, *, wait: bool | None, as_json: bool) -> float | None:
    """Return how many seconds it took until all was read; None without waiting for it."""
    if wait or (wait is None and not as_json and show.make_console().is_terminal):
        return watch(client, is_shown=not as_json)
    return None


@shows(
    "projects",
    "",
    "--json",
    asks="projects.list",
    about="List the projects that are followed; scan, change or leave one.",
    is_group=True,
)
def show_projects(found: Answer) -> None:
    """Print the projects that are followed, and files that cannot be read."""
    rows = []
    for each in found["projects"]:
        name = f"{each['name']} (taken back)" if each.get("revoked") else each["name"]
        how = (each["watch_mode"] or "-", "by itself" if each["auto"] else "when asked")
        rows.append((name, each["files"], each["insights"], *how, each["id"], each["root"]))
    empty = "no project is followed; follow one with: cortex init PATH"
    names = ("name", "files", "insights", "watched by", "resolved", "id", "folder")
    show.table("Projects", names, rows, empty=empty)
    for file in found["broken"]:
        # The reason may name the file that a link leads to.
        is_whole = file["path"] in file["reason"] or file["reason"].startswith("cannot ")
        show.lines(file["reason"] if is_whole else f"cannot read {file['path']}: {file['reason']}")
    for file in found.get("left_out", ()):
        show.lines(_left_out(file["path"], file["lines"]))


def resolve_folder(path: Path) -> str:
    """Return what the daemon is asked for where a folder that is there is no name."""
    return str(path.absolute() if path.is_dir() or "/" in str(path) else path)


@shows(
    "projects remove",
    "atlas-api",
    "~/code/atlas-api",
    path=Argument(kind="path", read=resolve_folder),
)
def show_removed(found: Answer) -> None:
    """Print which project is followed no longer."""
    print(f"no longer following {found['name']} ({found['id']})")


def is_on(state: str) -> bool:
    """Tell whether a switch is on."""
    return state == "on"


@shows(
    "projects auto", "atlas-api on", on=Argument(metavar="on|off", words=("on", "off"), read=is_on)
)
def show_auto(found: Answer) -> None:
    """Print whether a project is resolved by itself now."""
    again = "" if found["new"] else " already"
    how = "only when you ask: cortex resolve"
    if found["auto"]:
        how = "by itself; see: cortex debug runs --kind resolver"
    show.lines(f"{found['name']} is{again} resolved {how}")


def resolve_word(word: str | None) -> str | None:
    """Return what the daemon is asked for: a folder of the caller's by its whole path.

    A word without a slash is a name or an id, even where a folder is called so, too.
    """
    if not word:
        return word
    path = Path(word)
    if (word in _FOLDERS or "/" in word) and path.is_dir():
        return str(path.resolve())
    return word.rstrip("/") or word


@shows("insights reconcile", "", "--full")
def show_reconciling(found: Answer, given: Answer) -> None:
    """Print that insights are compared, and where to look."""
    how = f"{'from nothing' if given['full'] else 'again'}, seq {found['seq']}"
    print(f"comparing all insights {how}; see: cortex debug runs --kind reconciler")


@shows("principles organise", "")
def show_organising(found: Answer) -> None:
    """Print that principles are distilled, and where to look."""
    print(f"distilling principles, seq {found['seq']}; see: cortex debug runs --kind organiser")


@shows(
    "debug runs",
    "",
    "--failed",
    "--kind accumulator --project atlas-api --limit 5",
    "--kind digest --json",
)
def show_runs(found: Answer, given: Answer) -> None:
    """Print what the pipeline did."""
    rows = [*map(_row, found["runs"])]
    columns = ("at", "kind", "of", "state", "ms", "what came of it")
    empty = "no run failed" if given["failed"] else "nothing was done yet"
    show.table(count_nouns(len(rows), "run"), columns, rows, empty=empty)


def _row(run: Answer) -> tuple[object, ...]:
    """Return a run's line in a table."""
    # A time says since when.
    counts = [
        f"since {iso(number)}" if name == "since" else f"{number} {name.replace('_', ' ')}"
        for name, number in run["counts"].items()
        if number
    ]
    of, state = run["path"] or run["project"] or "", run["state"]
    state = f"{state}, dry run" if run.get("dry_run") else state
    took = round((run["finished_at"] - run["started_at"]) / 1_000, 1)
    said = shorten(run["error"], 200) if run["error"] else ", ".join(counts) or "nothing new"
    return (iso(run["finished_at"]), run["kind"], of, state, took, said)


@shows(
    "daemon schedule",
    "",
    "--run reconcile",
    "--json",
    one=One(
        operation="daemon.run-job",
        option=Option("--run", help="Do this job now, and wait for it."),
        alone="--run needs the name of a job; see: cortex daemon schedule",
    ),
)
def show_schedule(found: Answer) -> None:
    """Print what is done by the clock, or what one job came to."""
    if "jobs" in found:
        jobs = found["jobs"]
        show.blocks(count_nouns(len(jobs), "job"), map(_entry, jobs), empty="there are no jobs")
        return
    said = found["said"] or "there was nothing to do"
    show.lines(f"{found['job']}: {said}, in {found['took_s']:.2f} s")


def _entry(job: Answer) -> show.ListEntry:
    """Return a job's entry in the list: what came of it last, and when."""
    late = f" (+{format_span(job['jitter_s'])})" if job["jitter_s"] else ""
    done = f"{job['state'] or 'done'} {iso(job['finished_at'])}" if job["finished_at"] else None
    facts = [
        f"every {format_span(job['every_s'])}{late}",
        "running" if job["running_s"] is not None else None,
        done,
        f"next in {format_span(job['due_in_s'])}" if job["due_in_s"] is not None else None,
    ]
    silent = "there was nothing to do" if done else "not due yet"
    return show.ListEntry(job["name"], job["said"] or silent, [join_facts(*facts)])
