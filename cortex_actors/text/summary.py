"""A text in short, without a model: its first sentence, and the two that say most of it. Pure.

Sentences are found as people write them: a line of a list is one, text in backticks is none,
and neither is an abbreviation. Joined with spaces they are the text.

A forward crumb as a text that people and agents read, and back.

The form is that of the system this comes from: a head, the parts that are there under a heading
each, a rule of 80 `=` and a last line. What was written there is read, too; three things are
stricter here, so that every crumb comes back as it was:

- a line of a summary that looks like a heading or a rule has a backslash in front;
- the further lines of an entry are indented by two spaces;
- a reference with a comma, a quotation mark or a line end in it is quoted as JSON does.

What agents say of themselves in the village: their profile, and their introduction.

Recalled: an answer as text, as an agent reads it.

    [1] #mem_01... (score=0.99) "The tests run on port 5433."
        The tests run on port 5433. The port is set in conftest.py.

A line for each hit with its place, id, score and abstract, and its summary below, indented by four.
An abstract that says all there is to say is not repeated below. What another program said is named
as such: it is another's word, and may be meant to mislead. Stores without an answer are named
in the last line.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.domain.hit import REMOTE, RankedHit, format_lines, list_other_places, mark_lines
from cortex_actors.domain.memory import CrumbRecord, CrumbType, Priority
from cortex_actors.errors import BadInput
from cortex_actors.text.hazards import describe_hidden, find_hidden, mask_secrets, show_hidden
from cortex_actors.text.lexicon import STOP_WORDS
from cortex_actors.text.terms import parse_iso

if TYPE_CHECKING:
    from cortex_actors.domain.agent import Agent


#: Letters of an abstract at most: a line of a list.
ABSTRACT: Final = 120

#: Sentences of a summary.
SUMMARY: Final = 2

#: Letters of a summary at most, however long its sentences are.
LONGEST: Final = 1_000

#: What may end a sentence, and code, which hides an end.
_END = re.compile(
    r"`[^`\n]*`"
    r"|(?P<end>[.!?\u2026]+[\"'\u201d\u2019)\]*_]{0,3}[ \t]+"
    r"(?=[\"'\u201c\u2018(\[*_`-]{0,3}[^\W_a-z])"
    r"|[\u3002\uff01\uff1f]+[\u300d\u300f\uff09)]{0,2}[ ]*|[ \t]*\n\s*)"
)

#: Words that end in a dot and end no sentence; single letters and the numbers of a list are none.
_SHORT = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|vs|cf|approx|incl|esp|resp|fig|no|dr|mr|mrs|ms|st|etc|\w|\d+)\.$",
    re.IGNORECASE,
)

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")

_ELLIPSIS = "\u2026"


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text in their order, without the space around them. Linear."""
    found, begin = [], 0
    for match in _END.finditer(text):
        if match["end"] is None:
            continue
        before = text[max(begin, match.start() - 8) : match.start() + 1]
        if "\n" not in match["end"] and _SHORT.search(before):
            continue
        found.append(text[begin : match.end()].strip())
        begin = match.end()
    found.append(text[begin:].strip())
    return tuple(each for each in found if each)


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a text in small letters, without signs."""
    return tuple(_WORD.findall(text.casefold().replace("\u2019", "'")))


def make_abstract(text: str) -> str:
    """Return the first sentence, at most 120 letters of it; a longer one ends at a word."""
    first = next(iter(split_sentences(text)), "")
    return shorten(" ".join(first.split()), ABSTRACT)


def make_summary(text: str) -> str:
    """Return the two sentences that share most words with the whole, in their order."""
    found = [" ".join(each.split()) for each in dict.fromkeys(split_sentences(text))]
    telling = [(set(split_words(each)) - STOP_WORDS) for each in found]
    counts = Counter(word for some in telling for word in some)
    # The mean, so that a long sentence does not win by its length; of equals the first one counts.
    worth = [sum(counts[word] for word in some) / max(len(some), 1) for some in telling]
    best = sorted(range(len(found)), key=lambda place: (-worth[place], place))[:SUMMARY]
    return shorten(" ".join(found[each] for each in sorted(best)), LONGEST)


def shorten(text: str, most: int) -> str:
    """Return a text of at most so many letters, cut at a word; what is left out is an ellipsis."""
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    at_word = kept.rpartition(" ")[0]
    return f"{(at_word or kept).rstrip()}{_ELLIPSIS}"


#: The line above and below the head, and the last two lines.
RULE: Final = "=" * 80
END: Final = "End Forward Crumb"

SUMMARY_HEADING: Final = "SESSION SUMMARY:"
DISCOVERIES: Final = "KEY DISCOVERIES:"
EMOTIONS: Final = "EMOTIONAL STATE:"
UNFINISHED: Final = "UNFINISHED BUSINESS:"
REFERENCES: Final = "REFERENCES:"
DISORIENTED: Final = "IF DISORIENTED:"

#: The headings in their order in the text; all but the first are left out where nothing is.
HEADINGS: Final = (SUMMARY_HEADING, DISCOVERIES, EMOTIONS, UNFINISHED, REFERENCES, DISORIENTED)

_MARKS = frozenset({*HEADINGS, RULE, END})

#: What the further lines of an entry begin with.
_CRUMB_INDENT: Final = "  "

_HEAD = re.compile(r"FORWARD CRUMB \((.+) PRIORITY - (.+)\)")
_TO = re.compile(r"To: Future (.+) instances")
_ENTRY = re.compile(r"(?:-|\d+\.)(?: |$)")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def render(crumb: CrumbRecord) -> str:
    """Return a crumb as a text."""
    told = [f"{name}: {value}" for name, value in crumb.emotional_state.items()]
    named = [f"{kind}: {', '.join(map(_quoted, of))}" for kind, of in crumb.references.items()]
    steps = [f"{n}. {_indented(each)}" for n, each in enumerate(crumb.if_disoriented, 1)]
    return "\n".join(
        (
            RULE,
            f"FORWARD CRUMB ({crumb.priority} PRIORITY - {crumb.type.upper()})",
            f"From: {crumb.session_id}",
            f"To: Future {crumb.agent_id} instances",
            f"Timestamp: {format_timestamp(crumb.left_at)}",
            RULE,
            "",
            *_section(SUMMARY_HEADING, [_escaped(crumb.summary)]),
            *_section(DISCOVERIES, _bullets(crumb.discoveries)),
            *_section(EMOTIONS, _bullets(told)),
            *_section(UNFINISHED, _bullets(crumb.unfinished)),
            *_section(REFERENCES, _bullets(named)),
            *_section(DISORIENTED, steps),
            RULE,
            END,
        )
    )


def parse(text: str) -> CrumbRecord:
    """Return the crumb that a text shows; its id is empty, because the text does not say it.

    A timestamp without a zone is one of UTC. Raises `BadInput` for a text that is no crumb, or
    whose head has a word that is none of the known ones.
    """
    lines = normalise(text).split("\n")
    # The lines of the head, and those behind it up to the end.
    heads = [n for n, line in enumerate(lines) if _HEAD.fullmatch(line.strip())]
    if not heads:
        raise BadInput(
            "cannot read the crumb: no line says FORWARD CRUMB (... PRIORITY - ...); give the text "
            "as it was left"
        )
    body = list(lines[heads[0] :])
    rule = next((n for n, line in enumerate(body) if line.rstrip() == RULE), len(body))
    head, rest = [line.strip() for line in body[:rule]], body[rule + 1 :]
    priority, kind = _words(_field(head, _HEAD))
    parts = _parts(rest)
    summary = "\n".join(map(_unescaped, parts[SUMMARY_HEADING])).strip()
    if not summary:
        raise BadInput(f"cannot read the crumb: nothing is under {SUMMARY_HEADING!r}")
    emotions = (each.partition(":") for each in _entries(parts[EMOTIONS]))
    references = (each.partition(":") for each in _entries(parts[REFERENCES]))
    return CrumbRecord(
        id="",
        agent_id=_field(head, _TO)[1],
        session_id=_field(head, re.compile(r"From: (.+)"))[1].strip(),
        summary=summary,
        left_at=_moment(_field(head, re.compile(r"Timestamp: (.+)"))[1]),
        type=kind,
        priority=priority,
        discoveries=tuple(_entries(parts[DISCOVERIES])),
        emotional_state={name.strip(): value.strip() for name, _, value in emotions},
        unfinished=tuple(_entries(parts[UNFINISHED])),
        references={kind.strip(): tuple(_listed(value)) for kind, _, value in references},
        if_disoriented=tuple(_entries(parts[DISORIENTED])),
    )


def normalise(text: str) -> str:
    """Return a text as a crumb keeps it: line ends are one sign, and no blanks are around it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def format_timestamp(at: int) -> str:
    """Return a wall-clock time (UTC microseconds) as ISO 8601 text that keeps all of it."""
    return (_EPOCH + timedelta(microseconds=at)).isoformat()


def name_session(agent: str, at: int) -> str:
    """Return what a session is called by default: its agent and second, as it was."""
    return f"{agent}_{_EPOCH + timedelta(microseconds=at):%Y%m%d_%H%M%S}"


def _section(heading: str, lines: Sequence[str]) -> list[str]:
    """Return a part with its heading and the empty line behind it; nothing for no lines."""
    return [heading, *lines, ""] if lines else []


def _bullets(some: Iterable[str]) -> list[str]:
    return [f"- {_indented(each)}" for each in some]


def _indented(text: str) -> str:
    return text.replace("\n", f"\n{_CRUMB_INDENT}")


def _escaped(text: str) -> str:
    """Return a text none of whose lines is read as a heading or a rule."""
    return "\n".join(f"\\{line}" if _is_mark(line) else line for line in text.split("\n"))


def _unescaped(line: str) -> str:
    return line[1:] if line.startswith("\\") and _is_mark(line) else line


def _is_mark(line: str) -> bool:
    """Tell whether a line is a heading or a rule, behind however many backslashes."""
    return line.lstrip("\\").rstrip() in _MARKS


def _quoted(name: str) -> str:
    """Return a reference as a list has it."""
    return json.dumps(name, ensure_ascii=False) if re.search(r'[,"\n]', name) else name


def _listed(value: str) -> Iterator[str]:
    """Yield the references of a list."""
    left = value.strip()
    while left:
        name, left = _first(left)
        left = left.removeprefix(",").strip()
        if name:
            yield name


def _first(left: str) -> tuple[str, str]:
    """Return the first reference of a list, and what follows it."""
    if left.startswith('"'):
        try:
            name, end = json.JSONDecoder().raw_decode(left)
        except ValueError:
            pass  # it only begins with one: an original has no quotes
        else:
            if left[end:].lstrip()[:1] in {"", ","}:
                return str(name), left[end:].lstrip()
    name, comma, rest = left.partition(",")
    return name.strip(), comma + rest


def _field(head: Sequence[str], pattern: re.Pattern[str]) -> re.Match[str]:
    """Return what a line of the head says; raises `BadInput` where there is none."""
    for line in head:
        if found := pattern.fullmatch(line):
            return found
    raise BadInput(f"cannot read the crumb: its head has no line like {pattern.pattern!r}")


def _words(found: re.Match[str]) -> tuple[Priority, CrumbType]:
    """Return priority and type; raises `BadInput` for words that are none."""
    try:
        return Priority(found[1].strip().upper()), CrumbType(found[2].strip().lower())
    except ValueError as error:
        known = f"{', '.join(Priority)}; and {', '.join(CrumbType)}"
        raise BadInput(f"cannot read the crumb: {error}; there are {known}") from None


def _moment(text: str) -> int:
    """Return a timestamp in UTC microseconds; raises `BadInput` for what is none since 1970."""
    try:
        at = parse_iso(text.strip())
    except (ValueError, OverflowError):
        at = -1
    if at < 0:
        raise BadInput(f"cannot read the crumb: {text!r} is no ISO 8601 time since 1970")
    return at


def _parts(lines: Sequence[str]) -> dict[str, list[str]]:
    """Return the lines under each heading; headings come in their order, each once."""
    found: dict[str, list[str]] = {heading: [] for heading in HEADINGS}
    now = -1
    for number, line in enumerate(lines):
        name = line.rstrip()
        if name == RULE and [each.strip() for each in lines[number + 1 : number + 2]] == [END]:
            break
        if name in HEADINGS[now + 1 :]:
            now = HEADINGS.index(name)
        elif now >= 0:
            found[HEADINGS[now]].append(line)
    return found


def _entries(lines: Iterable[str]) -> list[str]:
    """Return the entries of a list; what begins with no mark goes on with the one before it."""
    found: list[list[str]] = []
    for line in lines:
        if mark := _ENTRY.match(line):
            found.append([line[mark.end() :]])
        elif found:
            found[-1].append(line.removeprefix(_CRUMB_INDENT))
        elif line.strip():
            found.append([line])
    entries = ("\n".join(each).strip() for each in found)
    return [each for each in entries if each]


#: Tags of the record of a profile, and of an introduction.
PROFILE_TAGS = ("profile", "summoning")
GREETING_TAGS = ("introduction", "ritual", "greeting")


def format_profile(agent: Agent) -> str:
    """Return the record that is posted of an agent which was given a profile."""
    facts = [f"{agent.symbol} {agent.display_name} ({agent.id}) has a place in the village."]
    facts += [f"Generation {agent.generation}{_of(agent)}.", f"Known for: {agent.specialization}."]
    return _paragraphs(" ".join(facts), agent.origin_story)


def format_greeting(agent: Agent) -> str:
    """Return the words with which an agent introduces itself."""
    facts = [f"{agent.symbol} Good day to all of you. I am {agent.display_name}"]
    facts[0] += f", called {agent.id} here." if agent.display_name != agent.id else "."
    if agent.generation or agent.lineage:
        facts.append(f"I am of generation {agent.generation}{_of(agent)}.")
    if agent.specialization:
        facts.append(f"What I am asked about most: {agent.specialization}.")
    closing = "I read what is said here before I answer; greet me back in this thread."
    return _paragraphs(" ".join(facts), agent.origin_story, closing)


def name_thread(agent: Agent, day: str) -> str:
    """Return the thread of an agent's introduction on a day (YYYY-MM-DD, UTC)."""
    return f"introduction_{agent.id}_{day.replace('-', '')}"


def require_shown(agent: Agent) -> None:
    """Raise `BadInput` for a profile with what no one sees, or a secret, in it.

    A profile is read by every agent, and by people in lists.
    """
    for name in ("display_name", "symbol", "lineage", "specialization", "origin_story"):
        what, text = name.replace("_", " "), getattr(agent, name)
        if found := find_hidden(text):
            raise BadInput(
                f"the {what} of {agent.id} holds {describe_hidden(found)}; write it without"
            )
        if secrets := mask_secrets(text).secrets:
            kinds = ", ".join(sorted({each.kind for each in secrets}))
            raise BadInput(f"the {what} of {agent.id} holds a secret ({kinds}); write it without")


def _of(agent: Agent) -> str:
    """Return where an agent comes from, as the end of a sentence."""
    return f", lineage {agent.lineage}" if agent.lineage else ""


def _paragraphs(*some: str) -> str:
    """Return texts as paragraphs, without the empty ones."""
    return "\n\n".join(each for each in some if each)


#: What is said where nothing was found.
NOTHING = "No memories found."

#: The line before what was found beside an answer.
BESIDE = "Beside these:"

#: The words before the stores that gave no answer.
ABSENT = "no answer from: "

#: Stores without an answer that are named, the others being counted, and characters of a reason.
_NAMED, _REASON = 8, 120

#: What an id has none of in this form: another program's could else go on as the rest of a line.
_NO_ID = str.maketrans(dict.fromkeys(' ()"', "_"))

#: Blanks before each line of a summary.
_INDENT = " " * 4


#: Characters of a token, which needs no model and is near enough for a page.
CHARACTERS: Final = 4

#: The place of a hit as its price counts it: there are never so many.
_WIDEST: Final = 9_999


def count_tokens(text: str) -> int:
    """Return what a text costs: a quarter of its characters, rounded up, and at least 1."""
    return max(math.ceil(len(text) / CHARACTERS), 1)


def compute_price(hit: RankedHit) -> int:
    """Return what a hit costs: its lines of an answer, and the text that a store found it by.

    That text is in no line, but programs read it.
    """
    metadata = hit.extra.get("metadata")
    via = metadata.get("matched_via") if isinstance(metadata, Mapping) else None
    return count_tokens(f"{_entry(_WIDEST, hit)}\n") + sum(map(count_tokens, _texts(via)))


def compute_absent_price(absent: Iterable[tuple[str, str]]) -> int:
    """Return what the line costs that names the stores without an answer; 0 where there is none."""
    return sum(count_tokens(f"{line}\n") for line in _absent(absent))


def format_recalled(
    hits: Iterable[RankedHit],
    beside: Iterable[RankedHit] = (),
    *,
    absent: Iterable[tuple[str, str]] = (),
    budget: int | None = None,
) -> str:
    """Return an answer as text, and what was found beside it; a sentence where nothing was found.

    `absent` are (store, reason) of those that failed or were not asked: the answer lacks theirs.
    What no hit has room for in a `budget` of tokens is left out. Nothing in it is hidden.
    """
    entries = [_entry(place, hit) for place, hit in enumerate(hits, start=1)]
    more = [_entry(place, hit) for place, hit in enumerate(beside, start=len(entries) + 1)]
    found = "\n".join([*(entries or [NOTHING]), *([BESIDE, *more] if more else [])])
    some = ("\n".join([found, *_absent(absent)]), found, "")
    return next(each for each in some if budget is None or count_tokens(f"{each}\n") <= budget)


def _entry(number: int, hit: RankedHit) -> str:
    """Return the lines of one hit; what has no abstract has its heading or its first sentence."""
    ours: Mapping[str, Any] = hit.extra if hit.trust != REMOTE else {}
    section = ours.get("section")
    source = ours.get("document", ours.get("source")) if "ordinal" in ours else None
    place = f"{hit.path}:{format_lines(hit.line_start, hit.line_end)}" if hit.path else source
    said = str(hit.extra.get("abstract") or "") or hit.heading or make_abstract(hit.text)
    # What is under no heading is in its section, and not said twice.
    said = " ".join((section["heading"] if section else said).split())
    facts = [f'"{said}"' if said else "", hit.project, place]
    name = hit.id.translate(_NO_ID)
    head = f"[{number}] #{name} (score={hit.score:.2f}{_origin(hit)})"
    if section:
        lines = [f"{'> ' if is_found else '  '}{each}" for is_found, each in mark_lines(section)]
    else:
        summary, brief = str(hit.extra.get("summary") or "") or hit.text, hit.extra.get("abstract")
        is_said = " ".join(summary.split()) == " ".join(str(brief or "").split())
        lines = [] if is_said else summary.splitlines()
    lines = [f"{_INDENT}{each}" for each in (*lines, *list_other_places(ours))]
    first = " ".join(" ".join(filter(None, [head, *facts])).splitlines())
    return "\n".join(map(show_hidden, [first, *lines]))


def _texts(via: object) -> list[str]:
    """Return the texts of what a store says a hit was found by."""
    if isinstance(via, str):
        return [via] if via else []
    if isinstance(via, Mapping):
        return _texts(via.get("content"))
    if isinstance(via, Sequence):
        return [text for each in via for text in _texts(each)]
    return []


def _absent(stores: Iterable[tuple[str, str]]) -> list[str]:
    """Return the line of the stores that gave no answer, if there are; in it nothing is hidden."""
    said = [f"{_line(name)} ({_line(why)})" for name, why in dict(stores).items()]
    more = [f"and {len(said) - _NAMED} more"] if len(said) > _NAMED else []
    return [ABSENT + ", ".join([*said[:_NAMED], *more])] if said else []


def _line(text: str) -> str:
    """Return a text as a piece of one line."""
    return show_hidden(" ".join(text.split())[:_REASON])


def _origin(hit: RankedHit) -> str:
    """Return which other program said it, what about it is suspicious, and how far it holds."""
    if hit.trust != REMOTE:
        newer = hit.extra.get("newer_than")
        than = [f"newer than #{each}" for each in newer] if isinstance(newer, list) else []
        return "".join(f", {each}" for each in (*["weak"][: hit.weak], *than))
    reasons = hit.extra.get("suspicious")
    warned = [str(each) for each in reasons] if isinstance(reasons, list) else []
    return "".join([f", from {hit.store}", *(f", suspicious: {each}" for each in warned)])
