"""`schedule`: what is done by the clock, and when; one of those jobs now."""

from __future__ import annotations

from typing import Annotated

import typer

from cortex_actors.cli.blocks import Block, counted, joined, show_blocks
from cortex_actors.cli.figures import duration
from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import iso
from cortex_actors.process.logfile import visible

#: Seconds that a job which somebody waits for may take: as long as the daemon lets a verb work.
TIMEOUT = 130.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "schedule",
        epilog=examples(
            "cortex schedule", "cortex schedule --run reconcile", "cortex schedule --json"
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
