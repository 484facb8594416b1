"""How far a scan is, while somebody watches: two bars, one of files and one of texts.

The daemon does the work whether anybody watches or not.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cortex_actors.cli.output import console
from cortex_actors.clock import SystemClock

if TYPE_CHECKING:
    from rich.progress import TaskID

    from cortex_actors.client.connection import Answer, Client

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
