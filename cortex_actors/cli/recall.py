"""`recall`: one question to every store."""

from __future__ import annotations

from typing import Annotated

import typer

from cortex_actors.cli.output import HomeOption, JsonOption, console, examples, show_json
from cortex_actors.client import Answer, Client
from cortex_actors.logrecord import visible

#: Seconds an answer may take: the first one may wait for the model to load.
TIMEOUT = 60.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "recall",
        epilog=examples(
            "cortex recall which port does the test database use",
            'cortex recall "how do we write commit messages" --limit 3',
            "cortex recall tabs or spaces --json",
        ),
    )(recall)


def recall(
    words: Annotated[list[str], typer.Argument(metavar="QUESTION...", help="In plain words.")],
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many at most.")] = 5,
    project: Annotated[str | None, typer.Option(help="Only of this project.")] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Ask everything that is known; each answer says where it was read."""
    found = Client(home, timeout=TIMEOUT).call(
        "recall", query=" ".join(words), limit=limit, project=project
    )
    if as_json:
        show_json(found)
    else:
        show_hits(found)


def show_hits(found: Answer) -> None:
    """Print what was found, where it was read, and which stores did not answer."""
    out = console()
    for number, hit in enumerate(found["hits"], 1):
        where = f"{hit['path']}:{hit['line_start']}-{hit['line_end']}" if hit.get("path") else ""
        head = [f"{hit['score']:.3f}", hit.get("heading") or "", hit.get("project") or "", where]
        out.print(visible(f"{number}. {'  '.join(part for part in head if part)}"), style="bold")
        for line in hit["text"].splitlines():
            out.print(f"   {visible(line)}")
        out.print()
    for store in found["failed"]:
        out.print(visible(f"the store {store['store']} did not answer: {store['reason']}"))
    for store in found["skipped"]:
        out.print(visible(f"left out of the store {store['store']}: {store['reason']}"))
    if not found["hits"]:
        out.print("nothing was found; see what is known with: cortex insights")
    out.print(f"{len(found['hits'])} found in {found['took_ms']:.0f} ms")
