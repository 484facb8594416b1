"""`history`: from the lines that say something to the files it was resolved into, and back.

`blame`: where a line of our section, or any text, comes from.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, command, shows
from cortex_actors.cli.show import LONGEST, brief, counted, cut, joined, said_in, when
from cortex_actors.client.connection import Answer, Client
from cortex_actors.errors import BadInput
from cortex_actors.text.sections import dialect_of

#: What has no id: a file and a line of it.
_PLACE = re.compile(r"(.+):([0-9]{1,9})", re.DOTALL)

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


def whole(thing: str) -> str:
    """Return what the daemon is asked: a file by its whole path, whoever asks from wherever."""
    place = _PLACE.fullmatch(thing)
    return f"{Path(place[1]).absolute()}:{place[2]}" if place else thing


@shows(
    "insights history", "ins_4f0c9b21", "pri_4f0c9b21", "CLAUDE.md:12", thing=Argument(read=whole)
)
def show_history(found: Answer) -> None:
    """Print a chain link by link, and once more in the order of time."""
    show.title(cut(_title(found)))
    show.sections(
        ("Lines that say it", _lines(found)),
        ("Texts that count as one", _texts(found)),
        ("Alike", _clusters(found)),
        ("Spoken against", _contradictions(found)),
        ("What a person said", _decisions(found)),
        ("Principles", _principles(found)),
        ("Files that have it", _files(found)),
    )
    print()
    show.title("In the order of time")
    width = max(map(len, _EVENTS.values()))
    for each in found["events"]:
        text = joined(f"{_EVENTS[each['what']]:<{width}}", each["text"])
        show.facts((when(each["at"]), text), indent=2)
    if not found["principles"]:
        # The insight that could become one: what the first text counts for.
        first = [brief(each["counts_for"] or each["id"]) for each in found["insights"][:1]]
        hint = " ".join(["no principle came of it yet: cortex principles promotion", *first])
        show.console().print(f"\n{hint}")


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
                line["project"],
                f"under {line['heading']}" if line["heading"] else None,
                None if line["trust"] == "file" else f"from an {line['trust']}",
                f"in {counted(line['revisions'], 'revision')}",
                f"since {when(line['first_at'])}",
                f"until {gone}" if gone else None,
            )
            yield brief(each["id"]), f"{line['path']}:{line['line_start']}\n{about}"


def _texts(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield the texts that were merged, where more than one says the same."""
    if len(found["insights"]) < _SEVERAL:
        return
    for each in found["insights"]:
        other = each["counts_for"]
        role = f"counts for {brief(other)}" if other else f"sure {each['confidence']:.2f}"
        about = joined(role, each["category"], each["status"])
        yield brief(each["id"]), f"{cut(each['content'], OTHER)}\n{about}"


#: Texts from which on it is worth saying which of them counts for which.
_SEVERAL = 2


def _clusters(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield the clusters that texts are in."""
    for each in found["clusters"]:
        size = counted(each["members"], "insight")
        about = joined(size, f"coherence {each['coherence']:.2f}", f"since {when(each['made_at'])}")
        yield brief(each["id"]), about


def _contradictions(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield what was found to contradict, and what became of that."""
    mine = {each["id"] for each in found["insights"]}
    for each in found["contradictions"]:
        others = [text for side, text in each["said"].items() if side not in mine]
        about = joined(each["type"], each["status"], each["reason"], each["resolution"])
        yield brief(each["id"]), "\n".join([*(cut(text, OTHER) for text in others), about])


def _decisions(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield reviews, and what was taken back."""
    for each in found["reviews"]:
        yield brief(each["insight_id"]), joined(each["decision"], when(each["at"]), each["note"])
    for each in found["approvals"]:
        how = f"{each['decision']} to be written, by {each['decided_by']} ({each['way']})"
        ended = f"until {when(each['ended_at'])}" if each["ended_at"] else None
        yield brief(each["principle_id"]), joined(how, when(each["at"]), ended, each["note"])
    for each in found["revocations"]:
        lifted = when(each["ended_at"])
        until = f"lifted {lifted}" if lifted else None
        about = joined(f"{each['kind']} taken back {when(each['at'])}", until, each["note"])
        yield each["key"] if each["kind"] == "path" else brief(each["key"]), about


def _principles(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield the principles that came of it, with the share of each text."""
    for each in found["principles"]:
        about = joined(
            each["category"], f"rank {each['rank']:.2f}", each["status"], when(each["created_at"])
        )
        of = [
            f"{part['weight']:.2f} of {brief(part['id'])}  {cut(part['content'], OTHER)}"
            for part in each["made_of"]
        ]
        yield brief(each["id"]), "\n".join([cut(each["content"], LONGEST), about, *of])


def _files(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield the places in files where a principle stands now."""
    for each in found["files"]:
        about = joined(each["project"], show.bullet(each), when(each["resolved_at"]))
        yield brief(each["principle_id"]), f"{each['path']}\n{about}"


#: What looks like it and has another word for the line, or none.
_NO_LINE = re.compile(r"([^:]*[^:\s]):(\S*)")

#: Places of one text that are shown.
_MOST = 10


def show_blame(found: Answer) -> None:
    """Print every match."""
    for number, match in enumerate(found["matches"]):
        if number:
            print()
        _show_match(match, found["asked"])


@command(
    "insights blame",
    "CLAUDE.md:42",
    "~/code/atlas-api/AGENTS.md:7 --json",
    "'Run the tests before every commit'",
    show=show_blame,
)
def blame(
    client: Client,
    what: Annotated[
        list[str], Argument(metavar="FILE:LINE | TEXT", help="A line, or what it says.")
    ],
) -> Answer:
    """Show which files and lines a bullet was made of, who approved it, and which files have it."""
    return client.call("blame", **asked(" ".join(what)))


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


def _show_match(match: Answer, question: Answer) -> None:
    """Print one match: the bullet, its principle, and everything that is part of it."""
    bullet = match["bullet"]
    if bullet is not None:
        show.title(bullet["text"])
        facts = [("is in", f"{bullet['path']} (for {bullet['agent']})")]
        if not match["principles"]:
            facts.append(("principle", f"{bullet['principle']}: there is none any more"))
        show.facts(*facts)
    elif question.get("text") and match["asked"]["kind"] == "line":
        show.title(question["text"])
        show.facts(("written by", "a person: it is outside our section"))
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
        show.facts(("also in" if bullet else "is in", "\n".join(others)))
    if match["principles"]:
        name = brief(match["principles"][0]["id"])
        print(
            f"all of it: cortex insights history {name}; "
            f"take it back: cortex projects revoke {name}"
        )


def _principle(each: Answer, match: Answer, *, is_new: bool) -> None:
    """Print a principle, and whether a person took it back."""
    about = [each["id"], each["category"], each["status"], f"rank {each['rank']:.2f}"]
    about.append(f"since {when(each['created_at'])}")
    if any(e["key"] == each["id"] and not e["ended_at"] for e in match["revocations"]):
        about.append("taken back")
    for said in match["approvals"]:
        if said["principle_id"] == each["id"] and said["ended_at"] is None:
            by = f"{said['decision']} by {said['decided_by']} ({said['way']})"
            about.append(f"{by} {when(said['at'])}")
    says = cut(each["content"]) if is_new else ""
    show.facts(("says", says), ("principle", joined(*about)))


def _insight(each: Answer, match: Answer) -> None:
    """Print a text, how a person decided about it, and the lines that say it."""
    about = [each["id"], each["status"]]
    parts = (part for made in match["principles"] for part in made["made_of"])
    weight = next((part["weight"] for part in parts if part["id"] == each["id"]), None)
    about += [] if weight is None else [f"weight {weight:.2f}"]
    for said in match["reviews"]:
        if said["insight_id"] == each["id"]:
            note = f" ({said['note']})" if said["note"] else ""
            about.append(f"{said['decision']} by a person {when(said['at'])}{note}")
    print()
    show.facts(
        ("from", cut(each["content"])),
        ("insight", joined(*about)),
        ("said in", "\n".join(map(said_in, each["lines"][:_MOST]))),
        ("", f"and {len(each['lines']) - _MOST} more" if each["lines"][_MOST:] else ""),
        indent=2,
    )
