"""`recall`: one question to every store."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cortex_actors.cli.output import (
    HomeOption,
    JsonOption,
    console,
    examples,
    show_json,
    show_table,
)
from cortex_actors.cli.projects import meant
from cortex_actors.client import Answer, Client
from cortex_actors.errors import BadInput
from cortex_actors.logrecord import visible

#: Seconds an answer may take: the first one may wait for the model to load.
TIMEOUT = 60.0

#: The daemon's own store, as it names it; what it says of a search is a note, and no store's name.
_LOCAL = "local"

#: The lists of a search, as the daemon names them -> as a person reads them.
_LISTS = {
    "dense_alone": "meaning",
    "words_alone": "words",
    "dense_paired": "meaning, with what was before",
    "words_paired": "words, with what was before",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "recall",
        epilog=examples(
            "cortex recall which port does the test database use",
            'cortex recall "how do we write commit messages" --limit 3',
            "cortex recall 'use \"integration tests\" for what' --explain",
            "cortex recall tabs or spaces --json",
        ),
    )(recall)


def recall(
    words: Annotated[list[str], typer.Argument(metavar="QUESTION...", help="In plain words.")],
    *,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many at most.")] = 5,
    project: Annotated[str | None, typer.Option(help="A project's name, id or folder.")] = None,
    explain: Annotated[bool, typer.Option(help="Show how each was found.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Ask everything that is known; each answer says where it was read or who said it."""
    question = _text(" ".join(words))
    asked: dict[str, Any] = {"query": question, "limit": limit, "project": meant(project)}
    if explain:
        asked["explain"] = True
    found = Client(home, timeout=TIMEOUT).call("recall", **asked)
    if as_json:
        show_json(found)
        return
    show_hits(found)
    if explain:
        _show_lists(found["hits"])


def show_hits(found: Answer) -> None:
    """Print what was found, where it was read, and which stores did not answer."""
    out = console()
    for number, hit in enumerate(found["hits"], 1):
        head = [f"{hit['score']:.3f}", hit.get("heading") or "", hit.get("project") or ""]
        head += [_place(hit), *_voice(hit.get("extra") or {})]
        out.print(visible(f"{number}. {'  '.join(part for part in head if part)}"), style="bold")
        for line in hit["text"].splitlines():
            out.print(f"   {visible(line)}")
        out.print()
    for store in found["failed"]:
        out.print(visible(f"the store {store['store']} did not answer: {store['reason']}"))
    for store in found["skipped"]:
        where = "note" if store["store"] == _LOCAL else f"left out of the store {store['store']}"
        out.print(visible(f"{where}: {store['reason']}"))
    if not found["hits"]:
        out.print("nothing was found; see what is known with: cortex insights")
    out.print(f"{len(found['hits'])} found in {found['took_ms']:.0f} ms")


def _text(question: str) -> str:
    """Return a question that is text; raises `BadInput` for bytes that are none."""
    try:
        question.encode()
    except UnicodeEncodeError as error:
        message = (
            f"cannot search: the question is no valid text at character {error.start + 1}; write "
            "it in UTF-8"
        )
        raise BadInput(message) from error
    return question


def _place(hit: dict[str, Any]) -> str:
    """Return where something was read."""
    if hit.get("path"):
        return f"{hit['path']}:{hit['line_start']}-{hit['line_end']}"
    return str((hit.get("extra") or {}).get("source") or "")


def _voice(extra: dict[str, Any]) -> list[str]:
    """Return who said something, in which thread and layer, and when."""
    return [str(extra.get(key) or "") for key in ("agent", "thread", "layer", "at")]


def _show_lists(hits: list[dict[str, Any]]) -> None:
    """Print which list put each hit where, and how vectors were compared."""
    told = [(hit.get("extra") or {}).get("explain") or {} for hit in hits]
    rows = [
        (number, *(_rank(explained.get(name)) for name in _LISTS))
        for number, explained in enumerate(told, 1)
    ]
    show_table("places in the lists", ("", *_LISTS.values()), rows, empty="")
    if not told:
        return
    plan, terms = told[0].get("plan"), told[0].get("terms", [])
    out = console()
    if plan:
        out.print(visible(f"vectors: {plan['kind']} ({plan['why']})"))
    out.print(visible(f"words: {', '.join(terms) or 'none'}"))
    out.print(visible(f"ranking: {told[0].get('profile', '')}"))


def _rank(place: dict[str, Any] | None) -> str:
    """Return one list's place for a hit, and what the list measured."""
    if place is None:
        return ""
    score = f" ({place['score']:.3f})" if "score" in place else ""
    return f"{place['rank']}{score}"
