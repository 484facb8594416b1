"""`history`: from the lines that say something to the files it was resolved into, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, shows
from cortex_actors.cli.show import LONGEST, count_nouns, cut, format_moment, join_facts, shorten_id
from cortex_actors.client.connection import Answer

#: What has no id: a file and a line of it.
_PLACE = re.compile(r"(.+):([0-9]{1,9})", re.DOTALL)

#: Characters of a text that is only mentioned.
OTHER = 120


def resolve_place(thing: str) -> str:
    """Return what the daemon is asked: a file by its whole path, from whichever folder."""
    place = _PLACE.fullmatch(thing)
    return f"{Path(place[1]).absolute()}:{place[2]}" if place else thing


@shows(
    "insights history",
    "ins_4f0c9b21",
    "pri_4f0c9b21",
    "CLAUDE.md:12",
    thing=Argument(read=resolve_place),
)
def show_history(found: Answer) -> None:
    """Print a chain link by link, and what can be done about it."""
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
    if found["insights"] and not found["principles"]:
        # The insight that could become one: what the first text counts for.
        first = [shorten_id(each["counts_for"] or each["id"]) for each in found["insights"][:1]]
        hint = " ".join(["no principle came of it yet: cortex principles promotion", *first])
        show.make_console().print(f"\n{hint}")
    for each in found["principles"][:1]:
        print(f"\ntake it back with: cortex projects revoke {shorten_id(each['id'])}")


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
            gone = format_moment(line["withdrawn_at"])
            about = join_facts(
                line["project"],
                f"under {line['heading']}" if line["heading"] else None,
                None if line["trust"] == "file" else f"from an {line['trust']}",
                f"in {count_nouns(line['revisions'], 'revision')}",
                f"since {format_moment(line['first_at'])}",
                f"until {gone}" if gone else None,
            )
            yield shorten_id(each["id"]), f"{line['path']}:{line['line_start']}\n{about}"


def _texts(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield the texts that were merged, where more than one says the same."""
    if len(found["insights"]) < _SEVERAL:
        return
    for each in found["insights"]:
        other = each["counts_for"]
        role = f"counts for {shorten_id(other)}" if other else f"sure {each['confidence']:.2f}"
        about = join_facts(role, each["category"], each["status"])
        yield shorten_id(each["id"]), f"{cut(each['content'], OTHER)}\n{about}"


#: Texts from which on it is worth saying which of them counts for which.
_SEVERAL = 2


def _clusters(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield the clusters that texts are in."""
    for each in found["clusters"]:
        size = count_nouns(each["members"], "insight")
        about = join_facts(
            size, f"coherence {each['coherence']:.2f}", f"since {format_moment(each['made_at'])}"
        )
        yield shorten_id(each["id"]), about


def _contradictions(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield what was found to contradict, and what became of that."""
    mine = {each["id"] for each in found["insights"]}
    for each in found["contradictions"]:
        others = [text for side, text in each["said"].items() if side not in mine]
        since = format_moment(each["detected_at"])
        about = join_facts(each["type"], each["status"], each["reason"], each["resolution"], since)
        yield shorten_id(each["id"]), "\n".join([*(cut(text, OTHER) for text in others), about])


def _decisions(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield reviews, and what was taken back."""
    for each in found["reviews"]:
        yield (
            shorten_id(each["insight_id"]),
            join_facts(each["decision"], format_moment(each["at"]), each["note"]),
        )
    for each in found["approvals"]:
        how = f"{each['decision']} to be written, by {each['decided_by']} ({each['way']})"
        ended = f"until {format_moment(each['ended_at'])}" if each["ended_at"] else None
        yield (
            shorten_id(each["principle_id"]),
            join_facts(how, format_moment(each["at"]), ended, each["note"]),
        )
    for each in found["revocations"]:
        lifted = format_moment(each["ended_at"])
        until = f"lifted {lifted}" if lifted else None
        about = join_facts(
            f"{each['kind']} taken back {format_moment(each['at'])}", until, each["note"]
        )
        yield each["key"] if each["kind"] == "path" else shorten_id(each["key"]), about


def _principles(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield the principles that came of it, with the share of each text."""
    for each in found["principles"]:
        about = join_facts(
            each["category"],
            f"rank {each['rank']:.2f}",
            each["status"],
            format_moment(each["created_at"]),
        )
        of = [
            f"{part['weight']:.2f} of {shorten_id(part['id'])}  {cut(part['content'], OTHER)}"
            for part in each["made_of"]
        ]
        yield shorten_id(each["id"]), "\n".join([cut(each["content"], LONGEST), about, *of])


def _files(found: Answer) -> Iterator[tuple[str, str]]:
    """Yield the places in files that have a principle now."""
    for each in found["files"]:
        about = join_facts(
            each["project"], show.describe_bullet(each), format_moment(each["resolved_at"])
        )
        yield shorten_id(each["principle_id"]), f"{each['path']}\n{about}"
