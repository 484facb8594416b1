"""What an agent says, before anything keeps it: its size, its letters, and what must not be in it.

Nothing is changed in silence. A secret, or a hidden character, is refused with its kind
and its place; where that is wanted it is masked instead, or written out.

Leaving a crumb: what was given becomes a crumb, or an error that says what cannot stay so. Pure.

Texts are kept as they are but for line ends and the white space around them; entries that say
nothing are left out. Words from closed sets must be of these: no filter would find an unknown
priority.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final, TypeVar

from cortex_actors.domain.agent import format_given
from cortex_actors.domain.memory import CrumbRecord, CrumbType, Priority, choose_type
from cortex_actors.errors import BadInput, Refused
from cortex_actors.text import terms
from cortex_actors.text.hazards import (
    clear_secrets,
    describe_hidden,
    drop_hidden,
    find_hidden,
    show_hidden,
)
from cortex_actors.text.hazards import mask_secrets as without_secrets
from cortex_actors.text.summary import normalise, render
from cortex_actors.text.terms import normalise_tags

if TYPE_CHECKING:
    from enum import StrEnum


#: Bytes of a text that is kept: twenty pages; what is longer is a document, and is read in.
LONGEST: Final = 65_536

#: Characters of a thread's name, of a role, and of an agent's own abstract.
THREAD, ROLE, ABSTRACT = 256, 64, 1_000

#: Characters of a note on a decision or a change.
NOTE: Final = 2_000


def check_text(content: object, *, what: str = "the memory", redact: bool | None = False) -> str:
    """Return a text that may be kept, without the blanks around it.

    Raises `BadInput` for what is no text, empty, too long or half a character, and `Refused` for a
    secret or for what cannot be seen; with `redact` both are kept in another form instead. Where
    that cannot be asked for, it is None.
    """
    if not isinstance(content, str):
        raise BadInput(f"{what} must be a text, not {format_given(content)}")
    text = content.replace("\r\n", "\n").strip()
    if not text:
        raise BadInput(f"{what} is empty; say something to be kept")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        message = f"{what} is no valid text at character {error.start + 1}: half a character"
        raise BadInput(message) from None
    if size > LONGEST:
        raise BadInput(
            f"{what} has {size:,} bytes, and at most {LONGEST:,} are kept in one piece; say it in "
            "parts, or have it read as a document: cortex memory knowledge ingest"
        )
    return clear_secrets(_seen(text, what=what, redact=redact), what=what, redact=redact)


def check_name(given: object, *, what: str, most: int, redact: bool | None = False) -> str:
    """Return a name of one line: of a thread, of a role; an empty one is none."""
    if not isinstance(given, str):
        raise BadInput(f"{what} must be a text, not {format_given(given)}")
    name = " ".join(given.split())
    if len(name) > most:
        raise BadInput(f"{what} has {len(name)} characters, and at most {most} are kept")
    return check_text(name, what=what, redact=redact) if name else ""


def check_tags(given: object, *, redact: bool = False) -> tuple[str, ...]:
    """Return the tags under which something is kept; raises as `check_text` does.

    They are looked at as they were written: in lower case a key has no key's shape.
    """
    some = [
        clear_secrets(each, what="the tags", redact=redact) if isinstance(each, str) else each
        for each in (given if isinstance(given, list | tuple) else ())
    ]
    return normalise_tags(some or given)


def check_note(given: str | None, *, what: str = "a note") -> str | None:
    """Return a note on a decision; None for nothing. Raises as `check_text`."""
    if given is not None and len(given) > NOTE:
        raise BadInput(f"{what} has at most {NOTE} characters, this one has {len(given)}")
    return check_text(given, what=what, redact=None) if given and given.strip() else None


def _seen(text: str, *, what: str, redact: bool | None) -> str:
    """Return a text in which everything can be seen.

    What hides in a secret goes with it: written out, it would keep the secret from being found.
    """
    found = find_hidden(text)
    if not found:
        return text
    if redact:
        shown, plain = show_hidden(text), drop_hidden(text)
        more = len(without_secrets(plain).secrets) - len(without_secrets(shown).secrets)
        return plain if more > 0 else shown
    first = found[0].start
    line, column = text.count("\n", 0, first) + 1, first - text.rfind("\n", 0, first)
    or_shown = "" if redact is None else ", or have it written out with --redact (redact=true)"
    raise Refused(
        f"refused to keep {what}: it holds what cannot be seen, first in line {line} at character "
        f"{column} ({describe_hidden(found)}); take it out{or_shown}"
    )


T = TypeVar("T", bound="StrEnum")

#: Entries of one of its lists.
ENTRIES = 100

#: Characters of a session's name, and of the name of a feeling or of a kind of reference.
SESSION_LIMIT, NAME_LIMIT = 128, 64


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """A crumb as a request has it: nothing of it was checked yet.

    Attributes:
        type: None takes `task` where something is unfinished, else `orientation`.
        session_id: None takes one made of agent and time.
        redact: let secrets be taken out, where they else refuse the crumb.

    """

    summary: object
    discoveries: object = ()
    emotional_state: object = field(default_factory=dict)
    unfinished: object = ()
    references: object = field(default_factory=dict)
    if_disoriented: object = ()
    priority: object = Priority.MEDIUM
    type: object = None
    session_id: object = None
    redact: bool = False


def make_crumb(
    given: AdmissionRequest,
    *,
    agent: str,
    name: str,
    at: int,
    saved_by: str,
    session: str,
    project_id: str = "",
) -> CrumbRecord:
    """Return a crumb called `name`, left at a time (UTC microseconds).

    `session` is the session's name where none is given. Raises `BadInput`, and `Refused`
    for a secret.
    """
    unfinished = tuple(_entries(given.unfinished, "unfinished_business", given))
    made = CrumbRecord(
        id=name,
        agent_id=agent,
        session_id=_session(given, session),
        summary=_text(given.summary, "session_summary", given),
        left_at=at,
        type=read_word(given.type, CrumbType, name="crumb_type") or choose_type(unfinished),
        priority=read_word(given.priority, Priority, name="priority") or Priority.MEDIUM,
        discoveries=tuple(_entries(given.discoveries, "key_discoveries", given)),
        emotional_state=_feelings(given),
        unfinished=unfinished,
        references=_references(given),
        if_disoriented=tuple(_entries(given.if_disoriented, "if_disoriented", given)),
        saved_by=saved_by,
        project_id=project_id,
    )
    size = len(render(made).encode())
    if size > LONGEST:
        raise BadInput(
            f"cannot leave the crumb: it has {size:,} bytes, the limit is {LONGEST:,}; say less"
        )
    return made


def to_request(crumb: CrumbRecord, *, redact: bool) -> AdmissionRequest:
    """Return a crumb as it was given, so that it is looked at like any other."""
    said = {
        each.name: getattr(crumb, each.name)
        for each in fields(AdmissionRequest)
        if each.name != "redact"
    }
    return AdmissionRequest(**said, redact=redact)


def read_word(word: object, known: type[T], *, name: str) -> T | None:
    """Return a word of a closed set, in whatever case it was written; None for None.

    Raises `BadInput` naming those there are.
    """
    return None if word is None else terms.parse_word(known, word, name=name)


def _text(value: object, name: str, given: AdmissionRequest) -> str:
    """Return a text that says something, without secrets and hidden characters."""
    text = normalise(value) if isinstance(value, str) else value
    return check_text(text, what=f"the crumb's {name}", redact=given.redact)


def _entries(values: object, name: str, given: AdmissionRequest) -> Iterator[str]:
    """Yield the entries of a list that say something."""
    some = [] if values is None else values
    if not isinstance(some, list | tuple) or any(not isinstance(each, str) for each in some):
        raise BadInput(f"cannot leave the crumb: {name} must be a list of texts")
    if len(some) > ENTRIES:
        message = f"cannot leave the crumb: {name} has {len(some)} entries, the limit is {ENTRIES}"
        raise BadInput(message)
    for number, each in enumerate(some, 1):
        if each.strip():
            yield _text(each, f"{name} ({number})", given)


def _feelings(given: AdmissionRequest) -> dict[str, str]:
    """Return feelings with what they are like; a number is written out."""
    found = {}
    for name, value in _named(given.emotional_state, "emotional_state"):
        if isinstance(value, int | float) or (isinstance(value, str) and value.strip()):
            found[name] = _text(str(value), f"emotional_state ({name})", given)
        else:
            message = f"cannot leave the crumb: emotional_state ({name}) must be a text or a number"
            raise BadInput(message)
    return found


def _references(given: AdmissionRequest) -> dict[str, tuple[str, ...]]:
    """Return what to look up, by kind; a single value may come without a list."""
    found = {}
    for kind, value in _named(given.references, "references"):
        some = [value] if isinstance(value, str) else value
        found[kind] = tuple(dict.fromkeys(_entries(some, f"references ({kind})", given)))
    return {kind: some for kind, some in found.items() if some}


def _named(values: object, name: str) -> Iterator[tuple[str, object]]:
    """Yield what a mapping says, by names that may precede a colon."""
    some = {} if values is None else values
    if not isinstance(some, Mapping):
        raise BadInput(f"cannot leave the crumb: {name} must be an object")
    if len(some) > ENTRIES:
        message = f"cannot leave the crumb: {name} has {len(some)} entries, the limit is {ENTRIES}"
        raise BadInput(message)
    for key, value in some.items():
        word = normalise(str(key))
        if not 0 < len(word) <= NAME_LIMIT or ":" in word or "\n" in word:
            raise BadInput(
                f"cannot leave the crumb: {name} cannot be called {format_given(key)}: a name is "
                "one line "
                f"of 1 to {NAME_LIMIT} characters without a colon"
            )
        yield check_text(word, what=f"a name in the crumb's {name}", redact=None), value


def _session(given: AdmissionRequest, default: str) -> str:
    """Return what a session is called."""
    name = given.session_id
    if name is None:
        return default
    found = normalise(name) if isinstance(name, str) else ""
    if not 0 < len(found) <= SESSION_LIMIT or "\n" in found:
        raise BadInput(
            f"cannot leave the crumb: {format_given(name)} is no session's id: it is one line of 1 "
            "to "
            f"{SESSION_LIMIT} characters"
        )
    return check_text(found, what="the crumb's session_id", redact=given.redact)
