"""`blame`: where a line of our section, or any text, comes from."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cortex_actors.cli.blocks import brief, cut, joined, show_facts, when
from cortex_actors.cli.output import HomeOption, JsonOption, console, examples, show_json
from cortex_actors.client.connection import Client
from cortex_actors.errors import BadInput
from cortex_actors.process.logfile import visible
from cortex_actors.text.sections import dialect_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.client.connection import Answer

#: A file and a line of it.
_PLACE = re.compile(r"(.+):([0-9]{1,9})", re.DOTALL)

#: What looks like it and has another word for the line, or none.
_NO_LINE = re.compile(r"([^:]*[^:\s]):(\S*)")

#: Places of one text that are shown.
_MOST = 10

#: What a source is called that is no file of a project.
_TRUSTS = {"agent": "an agent said it", "import": "imported", "remote": "of another store"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "blame",
        epilog=examples(
            "cortex blame CLAUDE.md:42",
            "cortex blame ~/code/atlas-api/AGENTS.md:7 --json",
            "cortex blame 'Run the tests before every commit'",
        ),
    )(blame)


def blame(
    what: Annotated[
        list[str], typer.Argument(metavar="FILE:LINE | TEXT", help="A line, or what it says.")
    ],
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show which files and lines a bullet was made of, who approved it, and where it stands."""
    found = Client(home).call("blame", **asked(" ".join(what)))
    if as_json:
        show_json(found)
        return
    for number, match in enumerate(found["matches"]):
        if number:
            console().print()
        _show(match, found["asked"])


def asked(what: str) -> dict[str, Any]:
    """Return what the daemon is asked: a line where there is such a file, else a text.

    Raises `BadInput` for a file with something behind it that is no line.
    """
    place = _PLACE.fullmatch(what)
    if place is not None and ("/" in place[1] or _is_file(place[1])):
        return {"path": str(Path(place[1]).expanduser().absolute()), "line": int(place[2])}
    wrong = _NO_LINE.fullmatch(what)
    if wrong is not None and _is_file(wrong[1]):
        why = f"{wrong[2]} is no line of a file" if wrong[2] else "the line is missing"
        raise BadInput(f"cannot tell whose {what} is: {why}; write FILE:LINE")
    return {"text": what}


def _is_file(name: str) -> bool:
    """Tell whether a word means a file: it is there, or agents read files of that name."""
    # Not by `Path`, which raises for what is too long to be a name.
    return dialect_of(name) is not None or os.path.isfile(name)  # noqa: PTH113


def _show(match: Answer, question: Answer) -> None:
    """Print one match: the bullet, its principle, and everything that is part of it."""
    out, bullet = console(), match["bullet"]
    if bullet is not None:
        out.print(visible(bullet["text"]), style="bold")
        facts = [("stands in", f"{bullet['path']} (for {bullet['agent']})")]
        if not match["principles"]:
            facts.append(("principle", f"{bullet['principle']}: there is none any more"))
        show_facts(facts)
    elif question.get("text") and match["asked"]["kind"] == "line":
        out.print(visible(question["text"]), style="bold")
        show_facts([("written by", "a person: it stands outside our section")])
    for each in match["principles"]:
        _principle(each, match, is_new=bullet is None)
    for each in match["insights"]:
        _insight(each, match)
    others = [
        f"{each['path']} (for {each['agent']})"
        for each in match["files"]
        if bullet is None or (each["path"], each["agent"]) != (bullet["path"], bullet["agent"])
    ]
    if others:
        show_facts([("also in" if bullet else "stands in", "\n".join(others))])
    if match["principles"]:
        name = brief(match["principles"][0]["id"])
        print(f"all of it: cortex history {name}; take it back: cortex revoke {name}")


def _principle(each: Answer, match: Answer, *, is_new: bool) -> None:
    """Print a principle, and whether a person took it back."""
    taken = [
        row for row in match["revocations"] if row["key"] == each["id"] and not row["ended_at"]
    ]
    show_facts(
        [
            ("says", cut(each["content"]) if is_new else ""),
            (
                "principle",
                joined(
                    [
                        each["id"],
                        each["category"],
                        each["status"],
                        f"rank {each['rank']:.2f}",
                        f"since {when(each['created_at'])}",
                        "taken back" if taken else None,
                        *_approved(each, match),
                    ]
                ),
            ),
        ]
    )


def _approved(each: Answer, match: Answer) -> Iterator[str]:
    """Yield who decided that a principle may be written, how and when."""
    for said in match["approvals"]:
        if said["principle_id"] == each["id"] and said["ended_at"] is None:
            about = f"{said['decision']} by {said['decided_by']} ({said['way']})"
            yield f"{about} {when(said['at'])}"


def _insight(each: Answer, match: Answer) -> None:
    """Print a text, how a person decided about it, and the lines that say it."""
    said = [row for row in match["reviews"] if row["insight_id"] == each["id"]]
    weights = [
        part["weight"]
        for made in match["principles"]
        for part in made["made_of"]
        if part["id"] == each["id"]
    ]
    owes = f"weight {weights[0]:.2f}" if weights else None
    print()
    show_facts(
        [
            ("from", cut(each["content"])),
            ("insight", joined([each["id"], each["status"], owes, *_reviewed(said)])),
            ("said in", "\n".join(_line(line) for line in each["lines"][:_MOST])),
            ("", f"and {len(each['lines']) - _MOST} more" if each["lines"][_MOST:] else ""),
        ],
        indent=2,
    )


def _reviewed(said: list[Answer]) -> Iterator[str]:
    """Yield what a person said, and when."""
    for each in said:
        note = f" ({each['note']})" if each["note"] else ""
        yield f"{each['decision']} by a person {when(each['at'])}{note}"


def _line(line: Answer) -> str:
    """Return where a text stands, and since when."""
    return joined(
        [
            f"{line['path']}:{line['line_start']}",
            line["project"],
            f"since {when(line['first_at'])}",
            _TRUSTS.get(line["trust"]),
            f"until {when(line['withdrawn_at'])}" if line["withdrawn_at"] else None,
        ]
    )
