"""How one insight is shown whole: what it says, where, and why it is what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.cli.blocks import brief, counted, cut, joined, show_facts, standing, when
from cortex_actors.cli.checks import check_line
from cortex_actors.cli.output import console, show_json
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cortex_actors.client.connection import Answer

#: Places that are named of an insight that is shown whole.
PLACES = 20

#: Texts that are named of those which say the same.
SAME = 10

#: Characters of another text.
OTHER = 160

#: Categories whose examples are named, where they were asked.
NEAREST = 3


def show_insight(found: Answer, *, as_json: bool) -> None:
    """Print an insight and its grounds."""
    if as_json:
        show_json(found)
        return
    out = console()
    for line in found["content"].splitlines():
        out.print(visible(line), style="bold")
    out.print()
    show_facts(_facts(found))
    for title, rows in (
        (f"Why {found['category']}", _category(found)),
        ("Why so sure", _confidence(found)),
        (f"Why {found['status']}", _status(found)),
        ("On the way to a principle", _promotion(found)),
    ):
        out.print()
        out.print(title, style="bold")
        show_facts(rows, indent=2)


def _facts(found: Answer) -> Iterable[tuple[str, object]]:
    """Return what an insight is, by name."""
    places = standing(found["sources"], most=PLACES)
    cluster = found["cluster"]
    return [
        ("id", found["id"]),
        ("under", found["heading"] or ""),
        ("is a", f"{found['kind'] or found['granularity']}, of category {found['category']}"),
        ("domain", found["domain"] or ""),
        ("tags", ", ".join(found["tags"])),
        ("sure", f"{found['confidence']:.2f}"),
        ("seen", counted(found["observations"], "time")),
        ("first", when(found["first_seen"])),
        ("last", when(found["last_seen"])),
        ("projects", ", ".join(found["projects"])),
        ("read in", "\n".join(places) or "nowhere any more"),
        ("holds in", "\n".join(dict.fromkeys(e["scope"] for e in found["sources"] if e["scope"]))),
        ("same as", _same(found["represents"])),
        ("cluster", _cluster(cluster) if cluster else ""),
        ("principle", _principles(found["principles"])),
    ]


def _category(found: Answer) -> list[tuple[str, object]]:
    """Return what spoke for which category, domain and tag."""
    why = found["why"]
    category = why["category"]
    rows: list[tuple[str, object]] = [(each["name"], _words(each)) for each in category["words"]]
    if category["tied"]:
        rows.append(("a tie", "goes to the first in the alphabet"))
    rows += [
        (each["category"], f"cosine {each['cosine']:.2f}, such as: {each['example']}")
        for each in category.get("nearest", [])[:NEAREST]
    ]
    rows.append(("decided by", _decided(category)))
    rows += [(f"domain {each['name']}", _words(each)) for each in why["domain"]]
    rows += [(f"tag {each['name']}", _words(each)) for each in why["tags"]]
    return rows


def _decided(category: Answer) -> str:
    """Return who decided about a category, and how surely."""
    by, sure = category["decided_by"], category["confidence"] or 0.0
    if by == "nobody":
        return "nobody: no keyword speaks and no example is near enough, so it counts as a fact"
    if by == "prototypes":
        return f"the nearest examples, because no keyword speaks; {sure:.2f}"
    return f"keywords, {sure:.2f}"


def _confidence(found: Answer) -> list[tuple[str, object]]:
    """Return the steps that lead to the confidence."""
    why = found["why"]["confidence"]
    rows: list[tuple[str, object]] = [
        (each["about"], f"{each['value']:.2f}  {each['does']}") for each in why["steps"]
    ]
    last = why["steps"][-1]["value"]
    if f"{last:.2f}" != f"{why['stored']:.2f}":
        rows.append(("stored", f"{why['stored']:.2f}  weighed anew when it is reconciled next"))
    return rows


def _status(found: Answer) -> list[tuple[str, object]]:
    """Return why an insight stands so, and what speaks against it."""
    rows: list[tuple[str, object]] = [("because", found["why"]["status"])]
    if found["represented_by"]:
        rows.append((brief(found["represented_by"]["id"]), found["represented_by"]["content"]))
    for each in found["contradictions"]:
        other = each["other"] or {}
        text = cut(str(other.get("content", "")), OTHER)
        about = joined([each["type"], each["status"], each["reason"]])
        rows.append((brief(each["id"]), f"{text}\n{about}"))
    return rows


def _promotion(found: Answer) -> list[tuple[str, object]]:
    """Return what an insight has and lacks of what makes it a principle."""
    return [
        (each["need"].replace("_", " "), check_line(each)) for each in found["promotion"]["checks"]
    ]


def _principles(some: list[dict[str, Any]]) -> str:
    """Return the principles that come of an insight, a line each."""
    lines = [
        joined([brief(each["id"]), each["category"], f"rank {each['rank']:.2f}", each["status"]])
        for each in some
    ]
    return "\n".join(lines)


def _words(count: dict[str, Any]) -> str:
    """Return the keywords that spoke."""
    return ", ".join(count["words"])


def _same(others: list[Answer]) -> str:
    """Return the texts that an insight stands for."""
    lines = [f"{brief(each['id'])}  {cut(each['content'], OTHER)}" for each in others[:SAME]]
    if len(others) > SAME:
        lines.append(f"and {len(others) - SAME} more")
    return "\n".join(lines)


def _cluster(cluster: Answer) -> str:
    """Return which cluster an insight is in."""
    size = counted(cluster["size"], "insight")
    return f"{brief(cluster['id'])}, {size}, coherence {cluster['coherence']:.2f}"
