"""`init`, `projects`, `remove`, `scan` and `project ...`: which projects are followed, and how.

How far a scan is, while somebody watches: two bars, one of files and one of texts.

The daemon does the work whether anybody watches or not.

`reconcile`, `organise` and `runs`: have the pipeline do something now, and see what it did.

`schedule`: what is done by the clock, and when; one of those jobs now.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cortex_actors.cli.fast import duration
from cortex_actors.cli.filters import one_of
from cortex_actors.cli.output import (
    Block,
    HomeOption,
    JsonOption,
    console,
    counted,
    examples,
    joined,
    listing,
    shortened,
    show_blocks,
    show_json,
    show_table,
)
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import SystemClock, iso
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from rich.progress import TaskID


#: Seconds between two looks: often enough to be smooth, and nothing for the daemon.
POLL = 0.2

#: Looks in a row that have to find nothing: between two steps there is a moment without work.
STILL = 2

#: Looks in a row that may find the same: a model that is missing embeds nothing for ever.
STUCK = 150

#: What a shell expects after Ctrl-C.
INTERRUPTED = 130

#: What is shown of the daemon's answer, and how it is called.
_BARS = {"files": "reading files", "texts": "embedding texts"}


def is_watched() -> bool:
    """Tell whether a person watches, who would like to know how far it is."""
    return console().is_terminal


def watch(client: Client, *, show: bool) -> float:
    """Return once nothing is left to read or to embed, and how many seconds that took.

    So it does when nothing moves for half a minute. Ctrl-C ends the watching, not the work.
    """
    clock = SystemClock()
    begun = clock.monotonic()
    columns = (
        TextColumn("{task.description:<16}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        TimeElapsedColumn(),
    )
    out = console()
    bar = Progress(*columns, console=out, transient=True, disable=not (show and out.is_terminal))
    try:
        with bar:
            tasks = {key: bar.add_task(name, total=0) for key, name in _BARS.items()}
            still, same = 0, 0
            before: Answer = {}
            while still < STILL and same < STUCK:
                found = client.call("pace")
                still = 0 if any(found.values()) else still + 1
                same, before = same + 1 if found == before else 0, found
                for key, task in tasks.items():
                    _update(bar, task, found, key)
                time.sleep(POLL)
    except KeyboardInterrupt:
        if show:
            print("it goes on in the background; how far it is: cortex status")
        raise typer.Exit(INTERRUPTED) from None
    return clock.monotonic() - begun


def _update(bar: Progress, task: TaskID, found: Answer, key: str) -> None:
    """Show how much is left; more than there ever was makes the bar longer."""
    left = found[key]
    total = max(bar.tasks[task].total or 0, left)
    bar.update(task, total=total, completed=total - left, visible=bool(total))


#: What means a folder and never a project's name or id.
_FOLDERS = (".", "..")

WaitOption = Annotated[
    bool | None,
    typer.Option("--wait/--no-wait", help="Return once all is read (where a terminal watches)."),
]

PathArgument = Annotated[Path, typer.Argument(help="The project's folder.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("init", epilog=examples("cortex init", "cortex init ~/code/atlas-api"))(init)


def group() -> typer.Typer:
    """Return the group."""
    found = listing(
        projects,
        "cortex projects",
        "cortex projects --json",
        "cortex projects scan atlas-api",
        "cortex projects auto atlas-api on",
        "cortex projects remove ~/code/atlas-api",
        about="List the projects that are followed; scan, change or leave one.",
    )
    scanning = examples("cortex projects scan", "cortex projects scan ~/code/atlas-api")
    found.command("scan", epilog=scanning)(scan)
    found.command("auto", epilog=examples("cortex projects auto atlas-api on"))(auto)
    leaving = examples(
        "cortex projects remove atlas-api", "cortex projects remove ~/code/atlas-api"
    )
    found.command("remove", epilog=leaving)(remove)
    return found


def init(
    path: PathArgument = Path(),
    wait: WaitOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Follow a project: read its instruction files now and whenever they change."""
    client = Client(home)
    found = client.call("add_project", path=str(path.absolute()))
    if as_json:
        _wait(client, found, wait=wait, as_json=True)
        return
    verb = "following" if found["new"] else "already following"
    print(f"{verb} {found['name']} ({found['id']}) in {found['root']}")
    if found.get("revoked"):
        print(
            "it is taken back, nothing is learned of it: "
            f"cortex projects revoke --undo {found['id']}"
        )
    _wait(client, found, wait=wait)


def projects(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List the projects that are followed."""
    found = Client(home).call("projects")
    if as_json:
        show_json(found)
        return
    rows = [
        (
            f"{p['name']} (taken back)" if p.get("revoked") else p["name"],
            p["files"],
            p["insights"],
            p["watch_mode"] or "-",
            "by itself" if p["auto"] else "when asked",
            p["id"],
            p["root"],
        )
        for p in found["projects"]
    ]
    empty = "no project is followed; follow one with: cortex init PATH"
    names = ("name", "files", "insights", "watched by", "resolved", "id", "folder")
    show_table("Projects", names, rows, empty=empty)
    for file in found["broken"]:
        print(visible(f"cannot read {file['path']}: {file['reason']}"))


def remove(
    path: Annotated[Path, typer.Argument(help="The project's folder, name or id.")],
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Follow a project no longer; its files are not touched."""
    is_folder = path.is_dir() or "/" in str(path)
    found = Client(home).call("remove_project", path=str(path.absolute() if is_folder else path))
    if as_json:
        show_json(found)
        return
    print(f"no longer following {found['name']} ({found['id']})")


def auto(
    project: Annotated[str, typer.Argument(help="A project's folder, name or id.")],
    state: Annotated[str, typer.Argument(metavar="on|off", callback=one_of("on", "off"))],
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Have a project's instruction files written whenever something new is known, or not."""
    found = Client(home).call("set_auto", project=meant(project), on=state == "on")
    if as_json:
        show_json(found)
        return
    again = "" if found["new"] else " already"
    if found["auto"]:
        print(
            f"{found['name']} is{again} resolved by itself; see: cortex debug runs --kind resolver"
        )
    else:
        print(f"{found['name']} is{again} resolved only when you ask: cortex resolve")


def scan(
    path: Annotated[Path | None, typer.Argument(help="A project's folder (all).")] = None,
    wait: WaitOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Read instruction files again, of one project or of all."""
    client = Client(home)
    found = client.call("scan", path=str(path.absolute()) if path else None)
    if as_json:
        _wait(client, found, wait=wait, as_json=True)
        return
    print(f"reading {path or 'all projects'} again, seq {found['seq']}")
    _wait(client, found, wait=wait)


def _wait(client: Client, found: Answer, *, wait: bool | None, as_json: bool = False) -> None:
    """Wait until everything is read where somebody watches or asks for it, and say what is known.

    With JSON, the answer is printed then, with how long it took.
    """
    if not (is_watched() and not as_json if wait is None else wait):
        if as_json:
            show_json(found)
        return
    took = watch(client, show=not as_json)
    known = client.call("insights", limit=1)["total"]
    if as_json:
        show_json({**found, "insights": known, "took_s": round(took, 3)})
        return
    print(f"read in {took:.1f} s; {counted(known, 'insight')} known: cortex insights")


def meant(project: str | None) -> str | None:
    """Return what the daemon is asked for: a folder of the caller's by its whole path.

    A word without a slash is a name or an id, even where a folder is called so, too.
    """
    if not project:
        return project
    folder = Path(project)
    if (project in _FOLDERS or "/" in project) and folder.is_dir():
        return str(folder.resolve())
    return project.rstrip("/") or project


def register_reconcile(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "reconcile",
        epilog=examples("cortex insights reconcile", "cortex insights reconcile --full"),
    )(reconcile)


def register_organise(app: typer.Typer) -> None:
    """Add the command."""
    app.command("organise", epilog=examples("cortex principles organise"))(organise)


def register_runs(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "runs",
        epilog=examples(
            "cortex debug runs",
            "cortex debug runs --failed",
            "cortex debug runs --kind accumulator --project atlas-api --limit 5",
            "cortex debug runs --kind digest --json",
        ),
    )(runs)


def reconcile(
    *,
    full: Annotated[
        bool, typer.Option("--full", help="Forget clusters and begin from nothing.")
    ] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Compare insights with one another and weigh all of them anew."""
    found = Client(home).call("reconcile", full=full)
    if as_json:
        show_json(found)
        return
    how = "from nothing" if full else "anew"
    print(
        f"comparing all insights {how}, seq {found['seq']}; "
        "see: cortex debug runs --kind reconciler"
    )


def organise(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Distil principles now."""
    found = Client(home).call("organise")
    if as_json:
        show_json(found)
        return
    print(f"distilling principles, seq {found['seq']}; see: cortex debug runs --kind organiser")


def runs(
    *,
    kind: Annotated[
        str | None, typer.Option(help="An actor's name, such as accumulator, or digest.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="A project's name, id or folder.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")] = 20,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show what the pipeline did, newest first: each run, what came of it, or why it failed."""
    found = Client(home).call("runs", kind=kind, project=meant(project), failed=failed, limit=limit)
    if as_json:
        show_json(found)
        return
    show_table(
        counted(len(found["runs"]), "run"),
        ("at", "kind", "of", "state", "ms", "what came of it"),
        [_row(run) for run in found["runs"]],
        empty="no run failed" if failed else "nothing was done yet",
    )


def _row(run: Answer) -> tuple[object, ...]:
    """Return a run's line in a table."""
    return (
        iso(run["finished_at"]),
        run["kind"],
        run["path"] or run["project"] or "",
        run["state"],
        round((run["finished_at"] - run["started_at"]) / 1_000, 1),
        shortened(run["error"], 200) if run["error"] else _counts(run["counts"]),
    )


def _counts(counts: dict[str, int]) -> str:
    """Return what was counted and is not nothing; a time says since when."""
    shown = [
        f"since {iso(number)}" if name == "since" else f"{number} {name.replace('_', ' ')}"
        for name, number in counts.items()
        if number
    ]
    return ", ".join(shown) or "nothing new"


#: Seconds that a job which somebody waits for may take: as long as the daemon lets a verb work.
TIMEOUT = 130.0


def register_schedule(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "schedule",
        epilog=examples(
            "cortex daemon schedule",
            "cortex daemon schedule --run reconcile",
            "cortex daemon schedule --json",
        ),
    )(schedule)


def schedule(
    *,
    run: Annotated[
        str | None, typer.Option("--run", metavar="JOB", help="Do this job now, and wait for it.")
    ] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show what is done by the clock: how often, when last, what came of it, and when next."""
    client = Client(home, timeout=TIMEOUT)
    if run is not None:
        _run(client, run, as_json=as_json)
        return
    found = client.call("schedule")
    if as_json:
        show_json(found)
        return
    jobs = found["jobs"]
    show_blocks(counted(len(jobs), "job"), map(_entry, jobs), empty="there are no jobs")


def _run(client: Client, job: str, *, as_json: bool) -> None:
    """Do a job now, and say what it came to."""
    found = client.call("run_job", job=job)
    if as_json:
        show_json(found)
        return
    said = found["said"] or "there was nothing to do"
    print(visible(f"{found['job']}: {said}, in {found['took_s']:.2f} s"))


def _entry(job: Answer) -> Block:
    """Return a job's entry in the list: what came of it last, and when."""
    late = f" (+{duration(job['jitter_s'])})" if job["jitter_s"] else ""
    done = f"{job['state'] or 'done'} {iso(job['finished_at'])}" if job["finished_at"] else None
    facts = [
        f"every {duration(job['every_s'])}{late}",
        "running" if job["running_s"] is not None else None,
        done,
        f"next in {duration(job['due_in_s'])}" if job["due_in_s"] is not None else None,
    ]
    silent = "there was nothing to do" if done else "not due yet"
    return Block(job["name"], job["said"] or silent, [joined(facts)])
