"""`embeddings migrate | status | cancel | prune`: which model embeds, and the way to another."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn

from cortex_actors.cli import models
from cortex_actors.cli.output import HomeOption, JsonOption, console, examples, show_json
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import SECOND, SystemClock
from cortex_actors.errors import DaemonDown
from cortex_actors.home import Home
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from rich.progress import TaskID

#: Seconds that a wish may take to be taken down: an endpoint may have to be asked something.
TIMEOUT = 120.0

#: Seconds that deleting may take, in small units: 100,000 vectors take about 20.
LONG = 3_600.0

#: Seconds between two looks at how far it is.
POLL = 0.5

#: What a shell gets from a command that Ctrl-C ended.
INTERRUPTED = 130

#: States in which there is work in hand.
WORKING = ("compiling", "migrating")

#: Seconds of a day.
DAY = 86_400


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "migrate",
        epilog=examples(
            "cortex model migrate --to all-MiniLM-L6-v2",
            "cortex model migrate --to ~/models/my-model --no-wait",
            "cortex model migrate --to nomic-embed-text --provider openai",
        ),
    )(migrate)
    app.command("migration", epilog=examples("cortex model migration --json"))(embeddings_status)
    app.command("cancel", epilog=examples("cortex model cancel"))(cancel_migration)
    app.command("prune", epilog=examples("cortex model prune"))(prune_vectors)


def migrate(
    *,
    to: Annotated[str, typer.Option("--to", metavar="NAME", help="A model's name or folder.")],
    provider: Annotated[
        str | None,
        typer.Option(help="Whose model: sentence-transformers, openai or hashing."),
    ] = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not watch it.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Embed everything with another model, which answers once that is done."""
    client = Client(home, timeout=TIMEOUT)
    before = client.call("migration")["active"]
    begun = client.call("migrate", to=_absolute(to), provider=provider)
    if not no_wait:
        _watch(client, show=not as_json)
    found = client.call("migration") if not no_wait else begun
    if as_json:
        show_json(found)
    elif no_wait:
        print(f"it goes on in the background: {visible(begun['coming']['model_id'])}")
        print("how far it is: cortex model migration")
    else:
        _say_end(found, before)


def embeddings_status(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Say which model answers, which one is coming, and which are kept.

    Works without a daemon, too, as `cancel` and `prune` do.
    """
    try:
        found = Client(home).call("migration")
    except DaemonDown:
        found = models.migration(Home.of(home))
    if as_json:
        show_json(found)
        return
    out = console()
    for line in _embedding_lines(found):
        out.print(visible(line))


def cancel_migration(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """End the migration that is under way; the model before it goes on answering."""
    try:
        found = Client(home).call("cancel_migration")
    except DaemonDown:
        found = models.cancel_in_ledger(Home.of(home))
    if as_json:
        show_json(found)
        return
    print(f"called off: {visible(found['cancelled']['model_id'])}; what it made is kept a week,")
    print("and used if you begin again. Delete it now with: cortex model prune")


def prune_vectors(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Delete the vectors of models that neither answer nor come."""
    try:
        found = Client(home, timeout=LONG).call("prune_vectors")
    except DaemonDown:
        found = models.prune_in_ledger(Home.of(home))
    if as_json:
        show_json(found)
        return
    for model, vectors in found["forgotten"].items():
        print(f"{visible(model)}: {vectors} vectors deleted")
    if not found["forgotten"]:
        print("nothing to delete: there are vectors of the model that answers only")


def _absolute(name: str) -> str:
    """Return a folder's whole path: the daemon runs elsewhere. Other names stay as they are."""
    path = Path(name).expanduser()
    # The empty name would be the folder that one is in.
    return str(path.absolute()) if name.strip() and path.is_dir() else name


def _watch(client: Client, *, show: bool) -> None:
    """Return once no migration is under way; Ctrl-C ends only the watching."""
    out = console()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} texts"),
        TextColumn("{task.fields[pace]}"),
    )
    bar = Progress(*columns, console=out, disable=not (show and out.is_terminal))
    try:
        with bar:
            task = bar.add_task("embedding", total=0, pace="")
            while (found := client.call("migration"))["coming"] or found["state"] in WORKING:
                _update(bar, task, found)
                time.sleep(POLL)
    except KeyboardInterrupt:
        if show:
            print("it goes on in the background; how far it is: cortex model migration")
        raise typer.Exit(INTERRUPTED) from None


def _update(bar: Progress, task: TaskID, found: Answer) -> None:
    """Show how far it is, or what it waits for."""
    title = {"compiling": "compiling", "waiting": "waiting"}.get(found["state"], "embedding")
    pace = found["reason"] if found["state"] == "waiting" else _pace(found)
    bar.update(
        task,
        description=title,
        total=found["total"],
        completed=found["done"],
        pace=visible(pace),
    )


def _pace(found: Answer) -> str:
    """Return how fast it goes and how long it will take."""
    if found["left_s"] is None or not found["total"]:
        return ""
    return f"{found['rate']:.0f}/s, {_time(found['left_s'])} left"


def _say_end(found: Answer, before: Answer | None) -> None:
    """Say what came of a migration that was watched."""
    active = found["active"]
    if before is not None and active["model_id"] == before["model_id"]:
        print(f"called off: {visible(active['model_id'])} goes on answering")
        return
    print(f"{visible(active['model_id'])} answers now")
    if before is not None:
        print(f"vectors of {visible(before['model_id'])} are kept a week, to go back quickly;")
        print("delete them now with: cortex model prune")


def _embedding_lines(found: Answer) -> list[str]:
    """Return what `status` says, a line each."""
    active, coming = found["active"], found["coming"]
    lines = [
        f"answers   {active['model_id']} ({active['provider']}, {active['dimension']} numbers)"
        if active
        else "answers   no model yet: cortex status says why"
    ]
    if coming:
        pace = _pace(found)
        done = f"{found['done']:,} of {found['total']:,} texts"
        lines.append(f"coming    {coming['model_id']}: {done}{', ' if pace else ''}{pace}")
    if found["failed"]:
        lines.append(f"          {found['failed']:,} texts cannot be embedded with it")
    if found["state"] == "compiling":
        lines.append("compiling its compiled form is being made; it takes some 20 seconds")
    if found["reason"]:
        waits = found["state"] in ("waiting", "down")
        lines.append(f"{'waiting' if waits else 'failed':9} {found['reason']}")
    lines += [f"{word:9} {found[key]}" for key, word in _REASONS.items() if found[key]]
    now = SystemClock().now()
    lines += [
        f"kept      {each['model_id']}, replaced {_time((now - each['since']) / SECOND)} ago"
        for each in found["retired"]
    ]
    return lines


#: What is said besides.
_REASONS = {"note": "note", "differs": "settings"}


def _time(seconds: float) -> str:
    """Return a stretch of time in its largest unit."""
    for unit, name in ((DAY, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{max(0.0, seconds):.0f} s"
