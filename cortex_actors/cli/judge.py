"""`judge`: what two statements are to each other, and who says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cortex_actors.cli.blocks import joined, show_facts
from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json
from cortex_actors.client.connection import Client

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Seconds an answer may take: a model's patience, and loading one.
TIMEOUT = 120.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "judge",
        epilog=examples(
            'cortex judge "Indent with tabs." "Indent with 4 spaces."',
            'cortex judge --json "Never push to main." "Do not push to the main branch."',
        ),
    )(judge)


def judge(
    one: Annotated[str, typer.Argument(metavar="ONE", help="A statement.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Another one.")],
    *,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Say what two statements are to each other: by the rules, and by a model if there is one.

    Nothing is remembered but a model's answer.
    """
    found = Client(home, timeout=TIMEOUT).call("judge", one=one, other=other)
    if as_json:
        show_json(found)
        return
    show_facts(_facts(found))


def _facts(found: dict[str, Any]) -> Iterable[tuple[str, object]]:
    """Yield what is shown, by name."""
    final = found["judgement"]
    yield "judgement", _relation(final)
    score = found["cosine"]
    yield "cosine", "no model embeds at the moment" if score is None else f"{score:.2f}"
    yield "rules", joined([_relation(found["rules"]), found["rules"]["reason"]])
    said = found["model"]
    if said is not None:
        yield "model", joined([_relation(said), f"{said['confidence']:.2f}", said["reason"]])
    for layer in found["judge"].get("layers", ()):
        yield layer["layer"], joined([layer["model"], layer["state"], layer["reason"]])
    if not found["judge"]:
        yield "model", "none; the settings judging.cross_encoder and judging.model name one"


def _relation(said: dict[str, Any]) -> str:
    """Return what two statements are to each other, in words."""
    return f"{said['relation']} ({said['conflict']})" if said["conflict"] else said["relation"]
