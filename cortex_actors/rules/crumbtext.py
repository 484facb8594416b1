"""A forward crumb as a text that people and agents read, and back.

The form is that of the system this comes from: a head, the parts that are there under a heading
each, a rule of 80 `=` and a last line. What was written there is read, too; three things are
stricter here, so that every crumb comes back as it was:

- a line of a summary that looks like a heading or a rule has a backslash in front;
- the further lines of an entry are indented by two spaces;
- a reference with a comma, a quotation mark or a line end in it is quoted as JSON does.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from cortex_actors.domain.memory import Crumb, CrumbType, Priority
from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: The line above and below the head, and the last two lines.
RULE: Final = "=" * 80
END: Final = "End Forward Crumb"

SUMMARY: Final = "SESSION SUMMARY:"
DISCOVERIES: Final = "KEY DISCOVERIES:"
EMOTIONS: Final = "EMOTIONAL STATE:"
UNFINISHED: Final = "UNFINISHED BUSINESS:"
REFERENCES: Final = "REFERENCES:"
DISORIENTED: Final = "IF DISORIENTED:"

#: The headings in the order in which they stand; all but the first are left out where nothing is.
HEADINGS: Final = (SUMMARY, DISCOVERIES, EMOTIONS, UNFINISHED, REFERENCES, DISORIENTED)

_MARKS = frozenset({*HEADINGS, RULE, END})

#: What the further lines of an entry begin with.
_INDENT: Final = "  "

_HEAD = re.compile(r"FORWARD CRUMB \((.+) PRIORITY - (.+)\)")
_TO = re.compile(r"To: Future (.+) instances")
_ENTRY = re.compile(r"(?:-|\d+\.)(?: |$)")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def render(crumb: Crumb) -> str:
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
            f"Timestamp: {timestamp(crumb.left_at)}",
            RULE,
            "",
            *_section(SUMMARY, [_escaped(crumb.summary)]),
            *_section(DISCOVERIES, _bullets(crumb.discoveries)),
            *_section(EMOTIONS, _bullets(told)),
            *_section(UNFINISHED, _bullets(crumb.unfinished)),
            *_section(REFERENCES, _bullets(named)),
            *_section(DISORIENTED, steps),
            RULE,
            END,
        )
    )


def parse(text: str) -> Crumb:
    """Return the crumb that a text shows; its id is empty, because the text does not say it.

    A timestamp without a zone is one of UTC. Raises `BadInput` for a text that is no crumb, or
    whose head has a word that is none of the known ones.
    """
    lines = plain(text).split("\n")
    head, rest = _split(lines)
    priority, kind = _words(_field(head, _HEAD))
    parts = _parts(rest)
    summary = "\n".join(map(_unescaped, parts[SUMMARY])).strip()
    if not summary:
        raise BadInput(f"cannot read the crumb: nothing stands under {SUMMARY!r}")
    emotions = (each.partition(":") for each in _entries(parts[EMOTIONS]))
    references = (each.partition(":") for each in _entries(parts[REFERENCES]))
    return Crumb(
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


def plain(text: str) -> str:
    """Return a text as a crumb keeps it: line ends are one sign, and nothing stands around it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def timestamp(at: int) -> str:
    """Return a wall-clock time (UTC microseconds) as ISO 8601 text that keeps all of it."""
    return (_EPOCH + timedelta(microseconds=at)).isoformat()


def session_of(agent: str, at: int) -> str:
    """Return what a session is called where nobody says so: its agent and second, as it was."""
    return f"{agent}_{_EPOCH + timedelta(microseconds=at):%Y%m%d_%H%M%S}"


def _section(heading: str, lines: Sequence[str]) -> list[str]:
    """Return a part with its heading and the empty line behind it; nothing for no lines."""
    return [heading, *lines, ""] if lines else []


def _bullets(some: Iterable[str]) -> list[str]:
    return [f"- {_indented(each)}" for each in some]


def _indented(text: str) -> str:
    return text.replace("\n", f"\n{_INDENT}")


def _escaped(text: str) -> str:
    """Return a text none of whose lines is read as a heading or a rule."""
    return "\n".join(f"\\{line}" if _is_mark(line) else line for line in text.split("\n"))


def _unescaped(line: str) -> str:
    return line[1:] if line.startswith("\\") and _is_mark(line) else line


def _is_mark(line: str) -> bool:
    """Tell whether a line is a heading or a rule, behind however many backslashes."""
    return line.lstrip("\\").rstrip() in _MARKS


def _quoted(name: str) -> str:
    """Return a reference as it stands in a list."""
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


def _split(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the lines of the head, and those behind it up to the end."""
    heads = [n for n, line in enumerate(lines) if _HEAD.fullmatch(line.strip())]
    if not heads:
        message = (
            "cannot read the crumb: no line says FORWARD CRUMB (... PRIORITY - ...); give the text "
            "as it was left"
        )
        raise BadInput(message)
    body = list(lines[heads[0] :])
    rule = next((n for n, line in enumerate(body) if line.rstrip() == RULE), len(body))
    return [line.strip() for line in body[:rule]], body[rule + 1 :]


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
        found = datetime.fromisoformat(text.strip())
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        at = (found - _EPOCH) // timedelta(microseconds=1)
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
            found[-1].append(line.removeprefix(_INDENT))
        elif line.strip():
            found.append([line])
    entries = ("\n".join(each).strip() for each in found)
    return [each for each in entries if each]
