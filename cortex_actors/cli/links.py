"""`links`: how principles stand to one another, as text or for Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.filters import one_of
from cortex_actors.cli.output import (
    Block,
    HomeOption,
    JsonOption,
    brief,
    console,
    counted,
    cut,
    examples,
    joined,
    shortened,
    show_blocks,
    show_json,
)
from cortex_actors.client.connection import Client
from cortex_actors.domain.insight import ALL, SHOWN, Decider
from cortex_actors.domain.principle import Link, LinkType, PrincipleStatus
from cortex_actors.errors import UsageError
from cortex_actors.process.logfile import visible
from cortex_actors.render.graph import Graph, box, dot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.client.connection import Answer

#: What a link is called in a sentence, from its source and from its target.
_SAID: Mapping[LinkType, tuple[str, str]] = {
    LinkType.REINFORCES: ("reinforces", "reinforces"),
    LinkType.GENERALIZES: ("generalizes", "specializes"),
    LinkType.SPECIALIZES: ("specializes", "generalizes"),
    LinkType.CONTRADICTS: ("contradicts", "contradicts"),
    LinkType.DEPENDS_ON: ("depends on", "is needed by"),
    LinkType.RELATED: ("is related to", "is related to"),
}

#: Who says so, where it was not the rules.
_DECIDERS: Mapping[Decider, str] = {
    Decider.NLI: "the entailment model says so",
    Decider.LLM: "a language model says so",
    Decider.PERSON: "a person says so",
}

#: What is said where there is nothing to see: of what was asked for, and of anything.
_NONE = "no such link is known; leave out a filter, or see: cortex principles links --status all"
_NOTHING = "no principles are linked yet; they are when there are some: cortex principles"
_ALONE = "it is linked with no other principle"

#: Characters of a principle in a list, and of one that it is linked with.
_TEXT, _OTHER = 200, 120

_STATUSES = f"{SHOWN} (active and decaying), {ALL}, {', '.join(PrincipleStatus)}"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "links",
        epilog=examples(
            "cortex principles links",
            "cortex principles links pri_4f0c9b21",
            "cortex principles links --type contradicts",
            "cortex principles links pri_4f0c9b21 --dot | dot -Tpng -o one.png",
        ),
    )(links)


def links(
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A principle's id, or its beginning.")
    ] = None,
    *,
    kind: Annotated[
        LinkType | None, typer.Option("--type", help="Only links of this type.")
    ] = None,
    least: Annotated[
        float | None, typer.Option("--min-strength", min=0, max=1, help="So strong at least.")
    ] = None,
    status: Annotated[
        str,
        typer.Option(
            help=f"How both ends stand: one of {_STATUSES}.",
            callback=one_of(SHOWN, ALL, *PrincipleStatus),
        ),
    ] = SHOWN,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many principles at most.")] = 40,
    as_dot: Annotated[bool, typer.Option("--dot", help="Print the graph for Graphviz.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show how principles stand to one another; with ID, one and those that it is linked with."""
    if as_dot and as_json:
        raise UsageError("choose one of --dot and --json")
    found = Client(home).call(
        "links", principle=name, kind=kind, least=least, status=status, limit=limit
    )
    if as_json:
        show_json(found)
    elif as_dot:
        print(dot(_graph(found)), end="")
    else:
        _show(found, narrow=bool(kind or least or status != SHOWN))


def _graph(found: Answer) -> Graph:
    """Return an answer as a graph."""
    boxes = [
        box(
            each["id"],
            each["content"],
            about=joined([f"{each['rank']:.2f}", each["category"].replace("_", " ")]),
            is_asked=each["id"] == found["principle"],
        )
        for each in found["principles"]
    ]
    return Graph.of(boxes, [_link(each) for each in found["links"]])


def _link(each: Answer) -> Link:
    """Return a link of an answer."""
    return Link(
        each["source_id"],
        each["target_id"],
        LinkType(each["type"]),
        each["strength"],
        Decider(each["decided_by"]),
        each["reason"],
    )


def _show(found: Answer, *, narrow: bool) -> None:
    """Print principles with their links, each link once, under the end that stands higher."""
    texts = {each["id"]: each for each in found["principles"]}
    order = {name: number for number, name in enumerate(texts)}
    told: dict[str, list[tuple[str, Link]]] = {name: [] for name in texts}
    for each in map(_link, found["links"]):
        first, other = sorted(each.pair, key=order.__getitem__)
        told[first].append((_sentence(each, first, texts[other]), each))
    asked = found["principle"]
    if asked is not None:
        _one(texts[asked], told[asked], narrow=narrow)
        return
    hidden = found["total"] - len(texts)
    more = f", {hidden:,} more are linked" if hidden else ""
    show_blocks(
        f"{counted(len(found['links']), 'link')} of {counted(len(texts), 'principle')}{more}",
        [
            Block(
                f"{each['rank']:.2f}",
                shortened(each["content"], _TEXT),
                [_about(each), *(line for line, _ in lines)],
            )
            for name, each in texts.items()
            if (lines := told[name])
        ],
        empty=_NONE if narrow else _NOTHING,
    )


def _one(each: Answer, lines: Sequence[tuple[str, Link]], *, narrow: bool) -> None:
    """Print one principle and what it is linked with, and why."""
    out = console()
    out.print(visible(cut(each["content"])), style="bold")
    out.print(visible(f"rank {each['rank']:.2f} · {_about(each)}"), style="dim")
    if not lines:
        out.print(_NONE if narrow else _ALONE)
    for line, link in lines:
        decided = "" if link.decided_by is Decider.RULES else _DECIDERS[link.decided_by]
        out.print()
        out.print(visible(line))
        out.print(visible(joined([link.reason, decided])), style="dim")


def _about(each: Answer) -> str:
    """Return what else is known of a principle."""
    status = "" if each["status"] == PrincipleStatus.ACTIVE else each["status"]
    facts = [each["category"].replace("_", " "), ", ".join(each["domains"]), status]
    return joined([*facts, brief(each["id"])])


def _sentence(link: Link, first: str, other: Answer) -> str:
    """Return a link as a sentence whose subject is one of its ends."""
    said = _SAID[link.type][link.source_id != first]
    text = shortened(other["content"], _OTHER)
    return f"{said} ({link.strength:.2f}): {brief(other['id'])} {text}"
