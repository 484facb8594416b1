"""`remember`: say something that is to be kept; what is known already becomes one with it.

`recall`: one question to every store.

`search`: one question to the memories alone, those of another time as well.

What was found, as people read it: `recall` and `search` print the same.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, Joined, Option, Preset, shows
from cortex_actors.cli.pipeline.projects import resolve_word
from cortex_actors.cli.show import format_moment, join_facts, shorten
from cortex_actors.client.connection import Answer
from cortex_actors.clock import DAY, SECOND, SystemClock
from cortex_actors.errors import BadInput, visible

if TYPE_CHECKING:
    from rich.console import Console


#: The daemon's own store, as it names it; what it says of a search is a note, and no store's name.
_LOCAL = "local"

#: The collection of principles: of no file, and so shown by what it is.
_PRINCIPLES = "cortex_principles"

#: The lists of a search, as the daemon names them -> as a person reads them.
_LISTS = {
    "dense_alone": "meaning",
    "words_alone": "words",
    "dense_paired": "meaning, with what was before",
    "words_paired": "words, with what was before",
}

#: What the daemon calls another program's word.
_REMOTE = "remote"

#: How something belongs to a hit, as a person reads it.
_WAYS = {"satellite-edge": "noted about", "supersedes-edge": "was before"}

#: What an answer's `source` says of what was found beside it; a document's is its name.
_EDGES = frozenset({*_WAYS, "topic-edge"})

#: Characters of a memory that a person is shown, and of what no other command shows whole.
_EXCERPT, _PIECE = 400, 2_000

#: Microseconds of a unit, and what it is called behind a number; the largest that fits is taken.
_AGES = ((365 * DAY, "y"), (DAY, "d"), (3_600 * SECOND, "h"), (60 * SECOND, "min"))

#: What became of a memory of the past, by its status; what is active has no word.
_BECAME = {
    "merged": "part of another one by now",
    "superseded": "no longer believed: another one says what holds",
    "archived": "archived",
}

#: What is said where nothing was found, by what was asked.
NOTHING = "nothing was found; see what is known with: cortex insights"
NO_MEMORIES = "No memories found."


def check_question(question: str) -> str:
    """Return a question that is text; raises `BadInput` for bytes that are none."""
    try:
        question.encode()
    except UnicodeEncodeError as error:
        where = f"the question is no valid text at character {error.start + 1}"
        raise BadInput(f"cannot search: {where}; write it in UTF-8") from error
    return question


def show_hits(found: Answer, empty: str = NOTHING, *, question: str = "") -> None:
    """Print what was found, where it was read or who said it, and which stores did not answer."""
    out, now = show.make_console(), SystemClock().now()
    matches = [each for each in question.split() if len(each) > _SHORT]
    for number, hit in enumerate(found["hits"], 1):
        weak = "  weak" if hit.get("weak") else ""
        _show_hit(out, hit, f"{number}. {hit['score']:.3f}{weak}", now, matches=matches)
    beside = found.get("beside") or ()
    if beside:
        out.print("beside these:", style="bold")
    for number, hit in enumerate(beside, len(found["hits"]) + 1):
        _show_hit(out, hit, f"{number}. {_way(hit)}", now)
    for store in found["failed"]:
        out.print(visible(f"the store {store['store']} did not answer: {store['reason']}"))
    for store in found["skipped"]:
        out.print(visible(f"{_gap(found, store['store'])}: {store['reason']}"))
    if not found["hits"]:
        out.print(empty)
    budget = found.get("budget_tokens")
    price = "" if budget is None else f", {found['tokens']:,} of {budget:,} tokens"
    out.print(f"{len(found['hits'])} found in {found['took_ms']:.0f} ms{price}")


def show_lists(hits: list[dict[str, Any]]) -> None:
    """Print which list put each hit where, and how vectors were compared."""
    told = [(hit.get("extra") or {}).get("explain") or {} for hit in hits]
    places = [[_rank(each.get(name)) for name in _LISTS] for each in told]
    columns = ["", *_LISTS.values()]
    if any(map(_given, hits)):
        columns.append("other stores")
        places = [[*row, _given(hit)] for row, hit in zip(places, hits, strict=True)]
    rows = [(number, *row) for number, row in enumerate(places, 1)]
    show.table("places in the lists", columns, rows, empty="")
    ours = next(filter(None, told), None)
    if ours is None:  # nothing was found here: there is nothing to say of our own search
        return
    plan, terms = ours.get("plan"), ours.get("terms")
    out = show.make_console()
    if plan:
        out.print(visible(f"vectors: {plan['kind']} ({plan['why']})"))
    if terms is not None:  # an agent is not told which of its words are rare
        out.print(visible(f"words: {', '.join(terms) or 'none'}"))
    out.print(visible(f"ranking: {ours.get('profile', '')}"))


#: Characters of words that are no match worth a colour, such as "is".
_SHORT = 2

#: The beginning of a line: of a statement that was found, and of the others in its section.
_FOUND, _AROUND = "   > ", "     "

#: The place of a hit and its score, at the beginning of its line.
_SCORE = r"^\d+\. \d\.\d+"


def format_age(at: int, now: int) -> str:
    """Return how long ago something was, in one unit."""
    for size, unit in _AGES:
        if now - at >= size:
            return f"{(now - at) // size} {unit} ago"
    return "just now"


def _show_hit(
    out: Console, hit: dict[str, Any], head: str, now: int, *, matches: list[str] | None = None
) -> None:
    """Print one thing that was found."""
    from rich.text import Text  # noqa: PLC0415 - `--json` does without

    from cortex_actors.domain.hit import list_other_places, mark_lines  # noqa: PLC0415 - as above

    extra = hit.get("extra") or {}
    is_other = hit.get("trust") == _REMOTE
    if is_other:
        facts = [" > ".join(filter(None, (f"from the store {hit['store']}", hit.get("heading"))))]
    else:
        facts = [*_place(hit, extra), *_voice(extra, now)]
    line = "  ".join(part for part in (head, *facts) if part)
    shown = Text(visible(line), style="bold")
    shown.highlight_regex(_SCORE, "cyan")
    out.print(shown)
    section = None if is_other else extra.get("section")
    if section:
        matches = [section["text"][start:end] for start, end in section["words"]]
    whole = [(False, each) for each in _excerpt(hit, extra).splitlines()]
    for is_found, each in mark_lines(section) if section else whole:
        text = Text("   " if section is None else _FOUND if is_found else _AROUND)
        text.append(visible(each), style="bold" if is_found else "")
        if is_found or section is None:  # the text around was not found by its words
            text.highlight_words(matches or (), "bold yellow", case_sensitive=False)
        out.print(text)
    if is_other:
        for reason in extra.get("suspicious") or ():
            out.print(visible(f"   suspicious: {reason}"), style="bold red")
    else:
        for each in list_other_places(extra):
            out.print(visible(f"   {each}"), style="dim")
        _show_state(out, hit, extra)
    out.print()


def _given(hit: dict[str, Any]) -> str:
    """Return which place another store gave what it found; nothing for what was found here."""
    return f"{hit['store']} {hit.get('store_rank', '')}" if hit.get("trust") == _REMOTE else ""


def _gap(found: Answer, store: str) -> str:
    """Return the words before a reason: whether a store was not asked, or answered in part."""
    if store == _LOCAL:
        return "note"
    if store in (found.get("stores_searched") or ()):
        return f"note on the store {store}"
    return f"left out of the store {store}"


def _way(hit: dict[str, Any]) -> str:
    """Return how something was found beside an answer."""
    extra = hit.get("extra") or {}
    if "matched_topics" in extra:
        return f"by topic {', '.join(map(str, extra['matched_topics']))}".rstrip()
    if around := extra.get("around"):
        return f"{_WAYS.get(str(extra.get('source')), 'beside')} {around}"
    return f"by way of: {extra.get('hop_bridge', '')}"


def _excerpt(hit: dict[str, Any], extra: dict[str, Any]) -> str:
    """Return how a text begins; where the rest of it is, for what is long."""
    text = str(hit["text"])
    is_memory = "created_at" in extra
    most = _EXCERPT if is_memory else _PIECE
    if len(text) <= most:
        return text
    whole = f": cortex memory show {hit['id']}" if is_memory else "; whole with --json"
    return f"{text[:most].rstrip()} ... ({len(text):,} characters{whole})"


def _place(hit: dict[str, Any], extra: dict[str, Any]) -> list[str]:
    """Return where something was read, if it was read anywhere; of a principle its id and rank."""
    from cortex_actors.domain.hit import format_lines  # noqa: PLC0415 - as above

    if hit.get("store") == _PRINCIPLES:
        said = ", ".join(map(str, extra.get("projects") or ()))
        return [f"principle {hit['id']}", f"rank {extra.get('rank', 0.0):.2f}", said]
    is_beside = "hop" in extra or extra.get("source") in _EDGES
    where = str(extra.get("document" if is_beside else "source") or "")
    if hit.get("path"):
        where = f"{hit['path']}:{format_lines(hit['line_start'], hit['line_end'])}"
    return [(extra.get("section") or hit).get("heading") or "", hit.get("project") or "", where]


def _voice(extra: dict[str, Any], now: int) -> list[str]:
    """Return who said something, who may read it, in which thread and layer, and how long ago.

    Of a document's piece whether it is code, and when it was read.
    """
    facts = [str(extra.get(key) or "") for key in ("agent", "realm", "layer", "thread")]
    if "created_at" not in extra:
        code = f"code {extra['language'] or ''}".strip() if extra.get("is_code") else ""
        return [*facts, code, str(extra.get("at") or "")]
    return [*facts, format_age(extra["created_at"], now)]


def _show_state(out: Console, hit: dict[str, Any], extra: dict[str, Any]) -> None:
    """Print what a memory is called, and what is to be known before it is believed.

    Of a document's piece what it points at.
    """
    if "created_at" not in extra:
        if refs := extra.get("cross_refs"):
            out.print(visible(f"   points at {', '.join(refs)}"), style="dim")
        return
    facts = [hit["id"], ", ".join(f"#{tag}" for tag in extra.get("tags") or ())]
    facts += ["pinned"] if extra.get("pinned") else []
    facts += [f"made of {extra['merged_from']}"] if extra.get("merged_from") else []
    facts.append(_BECAME.get(str(extra.get("status")), ""))
    if "believed_from" in extra:
        until = format_moment(extra["believed_until"]) or "today"
        facts.append(f"believed from {format_moment(extra['believed_from'])} until {until}")
    out.print(visible(f"   {join_facts(*facts)}"), style="dim")
    newer, conflicts = extra.get("newer_than") or (), extra.get("conflicts") or ()
    if newer:
        out.print(visible(f"   newer than {', '.join(newer)}, which says otherwise"), style="bold")
    elif conflicts:
        out.print(visible(f"   contradicted by {', '.join(conflicts)}"), style="bold red")


def _rank(place: dict[str, Any] | None) -> str:
    """Return one list's place for a hit, and what the list measured."""
    if place is None:
        return ""
    return f"{place['rank']} ({place['score']:.3f})" if "score" in place else f"{place['rank']}"


#: A question, as one text of all words.
QUESTION = Joined(metavar="QUESTION...", read=check_question)

_EXPLAIN = Option("--explain/--no-explain")
_PLAIN = Preset("--plain", help="Print it as an agent reads it.")

#: Asks as from a folder of no project.
GLOBAL = Preset("--global", sets=("project", ""), help="As from a folder that is of no project.")

#: Keeps something as what belongs to no project.
OF_NONE = Preset("--global", sets=("project", ""), help="It belongs to no project.")


@shows(
    "recall",
    "which port does the test database use",
    '"how do we write commit messages" --limit 3',
    "'use \"integration tests\" for what' --explain",
    "deploy --agent VAJRA --since 7d --tag release",
    "who looks after the queue --store team --hops 2",
    "tabs or spaces --json",
    about="""Ask everything that is known, here and in other stores; each answer says whose it is.

A condition that a kind of thing cannot meet leaves it out: only memories have an agent, a realm, a
layer or a thread, documents belong to no project. What belongs to the project of your folder, or to
none, is preferred.""",
    query=QUESTION,
    project=Option(read=resolve_word),
    explain=_EXPLAIN,
    plain=_PLAIN,
    is_global=GLOBAL,
)
def show_found(found: Answer, given: Answer, *, empty: str = NOTHING) -> None:
    """Print what was found, for a person or as an agent reads it."""
    if given["plain"]:
        print("\n".join(visible(line) for line in found["text"].splitlines()))
        return
    show_hits(found, empty, question=given["query"])
    if given["explain"]:
        show_lists(found["hits"])


@shows(
    "brief",
    "",
    "atlas-api --budget-tokens 500",
    "--as VAJRA --json",
    about="""Show what a new session of an agent should know about the project of your folder.

What was left to do, memories that matter or are new, principles that a person approved, and
open contradictions. A hook gives it to each session that starts; here you read
it. Where there is nothing to say, standard output stays empty.""",
    project=Argument(read=resolve_word, metavar="[PROJECT]"),
)
def show_brief(found: Answer) -> None:
    """Print a brief as a session is given it."""
    if found["text"]:
        print(found["text"])
    else:
        print("cortex: nothing is known that a new session should know", file=sys.stderr)


@shows(
    "memory search",
    "who owns the release",
    "deploy --agent VAJRA --realm village --since 7d",
    "cortex memory search 'test database' --layer cortex --min-attention 0.3",
    "port --as-of 2026-03-01",
    "port --original --plain",
    query=QUESTION,
    explain=_EXPLAIN,
    plain=_PLAIN,
    is_global=GLOBAL,
)
def show_memories(found: Answer, given: Answer) -> None:
    """Print the memories that were found."""
    show_found(found, given, empty=NO_MEMORIES)


#: Bytes that are kept of one text; of what is piped in two more are read, one of which may be the
#: end of its last line.
_KEPT = 65_536

#: Letters of a reason that are shown.
_WHY = 160


def read_text(text: str) -> str:
    """Return a text, for a dash what is piped in.

    Raises `BadInput` for bytes that are no text, and for too many.
    """
    if text != "-":
        return text
    data = sys.stdin.buffer.read(_KEPT + 2)
    if len(data) > _KEPT + 1:
        # There may be more: what was read must not be kept as if it were all of it.
        raise BadInput(
            f"what was piped in has more than {_KEPT:,} bytes, and at most so many are kept in one "
            "piece; say it in parts, or have it read as a document: cortex memory knowledge ingest"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"what was piped in is no UTF-8 text at byte {error.start + 1}; convert it first"
        raise BadInput(message) from None


@shows(
    "remember",
    '"Redis listens on port 6379 by default"',
    "- < notes.txt",
    '"Deploys wait for CI" --tag deploy --layer working',
    '"VAJRA owns the parser" --realm bridge --about VAJRA',
    '"The API listens on 9090" --supersedes mem_01J...',
    '"I prefer short commit messages" --global',
    about="""Remember a text; it is on the disk when this returns.

What the agent knows already in other words becomes one memory with it. What contradicts it is
named, and both are kept until you decide. It belongs to the project of your folder, if that is
followed: in a worktree or a clone, too.""",
    is_global=OF_NONE,
    content=Argument(metavar="TEXT", help="What to keep; - reads it from stdin.", read=read_text),
)
def show_saved(found: Answer) -> None:
    """Print what became of what was said."""
    name = found["id"]
    show.lines(found["message"])
    if found.get("project"):
        show.lines(f"  belongs to the project {found['project']}")
    if found["superseded"]:
        print(f"  replaced {', '.join(f'#{each}' for each in found['superseded'])}")
    if found["merged"]:
        whole = ", ".join(f"#{each}" for each in found["merged"])
        print(f"  became one with {whole}; take it apart with: cortex memory split {name}")
    if found["pending"]:
        print("  not compared with what is known yet: that is done as soon as it has a vector")
    for each in found["conflicts"]:
        print(f"  cannot hold beside #{each['id']}: {shorten(each['reason'], _WHY)}")
    if found["conflicts"]:
        print("  both are kept; decide with: cortex memory conflicts")
