"""`history`: from the lines that say something to the files it was resolved into, and back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.blocks import (
    LONGEST,
    brief,
    counted,
    cut,
    joined,
    show_facts,
    when,
)
from cortex_actors.cli.output import HomeOption, JsonOption, console, examples, show_json
from cortex_actors.client.connection import Client
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cortex_actors.client.connection import Answer

#: What has no id: a file and a line of it.
_LINE = re.compile(r"(.+):([0-9]+)", re.DOTALL)

#: What each event is called.
_EVENTS = {
    "read": "first read",
    "confirmed": "read again",
    "withdrawn": "said no more",
    "clustered": "grouped",
    "contradicted": "contradicted",
    "decided": "decided",
    "approved": "approved",
    "rejected": "rejected",
    "distilled": "a principle",
    "resolved": "in a file",
    "revoked": "taken back",
    "restored": "back again",
}

#: Characters of a text that is only mentioned.
OTHER = 120


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "history",
        epilog=examples(
            "cortex history ins_4f0c9b21",
            "cortex history pri_4f0c9b21",
            "cortex history CLAUDE.md:12",
        ),
    )(history)


def history(
    thing: Annotated[
        str,
        typer.Argument(
            metavar="ID | FILE:LINE",
            help="An insight, a cluster or a principle, or a line that says it.",
        ),
    ],
    *,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show how something came to be known and what became of it, from line to file."""
    found = Client(home).call("history", thing=_meant(thing))
    show_json(found) if as_json else _show(found)


def _meant(thing: str) -> str:
    """Return what the daemon is asked: a file by its whole path, whoever asks from wherever."""
    place = _LINE.fullmatch(thing)
    return f"{Path(place[1]).absolute()}:{place[2]}" if place else thing


def _show(found: Answer) -> None:
    """Print a chain link by link, and once more in the order of time."""
    out = console()
    out.print(visible(cut(_title(found), LONGEST)), style="bold")
    for title, rows in (
        ("Lines that say it", _lines(found)),
        ("Texts that count as one", _texts(found)),
        ("Alike", _clusters(found)),
        ("Spoken against", _contradictions(found)),
        ("What a person said", _decisions(found)),
        ("Principles", _principles(found)),
        ("Files it stands in", _files(found)),
    ):
        shown = list(rows)
        if shown:
            out.print()
            out.print(title, style="bold")
            show_facts(shown, indent=2)
    out.print()
    out.print("In the order of time", style="bold")
    show_facts(_events(found["events"]), indent=2)
    if not found["principles"]:
        out.print()
        out.print(f"no principle came of it yet: cortex promotion {_candidate(found)}".rstrip())


def _title(found: Answer) -> str:
    """Return what was asked about, in its own words."""
    wanted = found["asked"]["id"]
    said = {each["id"]: each["content"] for each in (*found["principles"], *found["insights"])}
    first = [each["content"] for each in found["insights"][:1]]
    return str(said.get(wanted, first[0] if first else wanted))


def _lines(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield every place that says one of the texts, or said it last."""
    for each in found["insights"]:
        for line in each["lines"]:
            gone = when(line["withdrawn_at"])
            about = joined(
                [
                    line["project"],
                    f"under {line['heading']}" if line["heading"] else None,
                    None if line["trust"] == "file" else f"from an {line['trust']}",
                    f"in {counted(line['revisions'], 'revision')}",
                    f"since {when(line['first_at'])}",
                    f"until {gone}" if gone else None,
                ]
            )
            where = f"{line['path']}:{line['line_start']}"
            yield brief(each["id"]), f"{where}\n{about}"


def _texts(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield the texts that were merged, where more than one says the same."""
    if len(found["insights"]) < _SEVERAL:
        return
    for each in found["insights"]:
        other = each["counts_for"]
        role = f"counts for {brief(other)}" if other else f"sure {each['confidence']:.2f}"
        about = joined([role, each["category"], each["status"]])
        yield brief(each["id"]), f"{cut(each['content'], OTHER)}\n{about}"


#: Texts from which on it is worth saying which of them counts for which.
_SEVERAL = 2


def _clusters(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield the clusters that texts are in."""
    for each in found["clusters"]:
        size = counted(each["members"], "insight")
        about = joined(
            [size, f"coherence {each['coherence']:.2f}", f"since {when(each['made_at'])}"]
        )
        yield brief(each["id"]), about


def _contradictions(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield what was found to contradict, and what became of that."""
    mine = {each["id"] for each in found["insights"]}
    for each in found["contradictions"]:
        others = [text for side, text in each["said"].items() if side not in mine]
        about = joined([each["type"], each["status"], each["reason"], each["resolution"]])
        yield brief(each["id"]), "\n".join([*(cut(text, OTHER) for text in others), about])


def _decisions(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield reviews, and what was taken back."""
    for each in found["reviews"]:
        yield brief(each["insight_id"]), joined([each["decision"], when(each["at"]), each["note"]])
    for each in found["approvals"]:
        how = f"{each['decision']} to be written, by {each['decided_by']} ({each['way']})"
        ended = f"until {when(each['ended_at'])}" if each["ended_at"] else None
        yield brief(each["principle_id"]), joined([how, when(each["at"]), ended, each["note"]])
    for each in found["revocations"]:
        lifted = when(each["ended_at"])
        until = f"lifted {lifted}" if lifted else None
        about = joined([f"{each['kind']} taken back {when(each['at'])}", until, each["note"]])
        yield each["key"] if each["kind"] == "path" else brief(each["key"]), about


def _principles(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield the principles that came of it, with the share of each text."""
    for each in found["principles"]:
        about = joined(
            [each["category"], f"rank {each['rank']:.2f}", each["status"], when(each["created_at"])]
        )
        of = [
            f"{part['weight']:.2f} of {brief(part['id'])}  {cut(part['content'], OTHER)}"
            for part in each["made_of"]
        ]
        yield brief(each["id"]), "\n".join([cut(each["content"], LONGEST), about, *of])


def _files(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield the places in files where a principle stands now."""
    for each in found["files"]:
        conflict = "conflicts with the project" if each["is_conflict"] else None
        about = joined(
            [
                each["project"],
                f"for {each['agent']}, bullet {each['ordinal'] + 1}",
                conflict,
                when(each["resolved_at"]),
            ]
        )
        yield brief(each["principle_id"]), f"{each['path']}\n{about}"


def _events(events: Sequence[Answer]) -> Iterable[tuple[str, str]]:
    """Return what happened, a line each."""
    width = max((len(each) for each in _EVENTS.values()), default=0)
    return [
        (when(each["at"]), joined([f"{_EVENTS[each['what']]:<{width}}", each["text"]]))
        for each in events
    ]


def _candidate(found: Answer) -> str:
    """Return the insight that could become a principle: the one that counts for the first text."""
    first = found["insights"][:1]
    return brief(first[0]["counts_for"] or first[0]["id"]) if first else ""
