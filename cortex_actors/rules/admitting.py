"""What an agent says, before anything keeps it: its size, its letters, and what must not be in it.

Nothing is changed in silence. A secret, or something that nobody can see, is refused with its kind
and its place; where that is wanted it is masked instead, or written out.
"""

from __future__ import annotations

from typing import Final

from cortex_actors.domain.agent import shown
from cortex_actors.errors import BadInput, Refused
from cortex_actors.text.credentials import cleared
from cortex_actors.text.credentials import mask_secrets as without_secrets
from cortex_actors.text.hazards import hidden, seen, told, visible
from cortex_actors.text.terms import tags

#: Bytes of a text that is kept: twenty pages; what is longer is a document, and is read in.
LONGEST: Final = 65_536

#: Characters of a thread's name, of a role, and of an agent's own abstract.
THREAD, ROLE, ABSTRACT = 256, 64, 1_000

#: Characters of what somebody has to say about a decision or a change.
NOTE: Final = 2_000


def admitted(content: object, *, what: str = "the memory", redact: bool | None = False) -> str:
    """Return a text that may be kept, without the blanks around it.

    Raises `BadInput` for what is no text, empty, too long or half a character, and `Refused` for a
    secret or for what cannot be seen; with `redact` both are kept in another form instead. Where
    that cannot be asked for, it is None.
    """
    if not isinstance(content, str):
        raise BadInput(f"{what} must be a text, not {shown(content)}")
    text = content.replace("\r\n", "\n").strip()
    if not text:
        raise BadInput(f"{what} is empty; say something to be kept")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        message = f"{what} is no valid text at character {error.start + 1}: half a character"
        raise BadInput(message) from None
    if size > LONGEST:
        message = (
            f"{what} has {size:,} bytes, and at most {LONGEST:,} are kept in one piece; say it in "
            "parts, or have it read as a document: cortex knowledge ingest"
        )
        raise BadInput(message)
    return cleared(_seen(text, what=what, redact=redact), what=what, redact=redact)


def named(given: object, *, what: str, most: int, redact: bool | None = False) -> str:
    """Return a name of one line: of a thread, of a role; an empty one is none."""
    if not isinstance(given, str):
        raise BadInput(f"{what} must be a text, not {shown(given)}")
    name = " ".join(given.split())
    if len(name) > most:
        raise BadInput(f"{what} has {len(name)} characters, and at most {most} are kept")
    return admitted(name, what=what, redact=redact) if name else ""


def filed(given: object, *, redact: bool = False) -> tuple[str, ...]:
    """Return the tags under which something is kept; raises as `admitted` does.

    They are looked at as they were written: in lower case a key has no key's shape.
    """
    some = [
        cleared(each, what="the tags", redact=redact) if isinstance(each, str) else each
        for each in (given if isinstance(given, list | tuple) else ())
    ]
    return tags(some or given)


def noted(given: str | None, *, what: str = "a note") -> str | None:
    """Return what somebody has to say about a decision; None for nothing. Raises as `admitted`."""
    if given is not None and len(given) > NOTE:
        message = f"{what} has at most {NOTE} characters, this one has {len(given)}"
        raise BadInput(message)
    return admitted(given, what=what, redact=None) if given and given.strip() else None


def _seen(text: str, *, what: str, redact: bool | None) -> str:
    """Return a text in which everything can be seen.

    What hides in a secret goes with it: written out, it would keep the secret from being found.
    """
    found = hidden(text)
    if not found:
        return text
    if redact:
        shown, plain = visible(text), seen(text)
        more = len(without_secrets(plain).secrets) - len(without_secrets(shown).secrets)
        return plain if more > 0 else shown
    first = found[0].start
    line, column = text.count("\n", 0, first) + 1, first - text.rfind("\n", 0, first)
    or_shown = "" if redact is None else ", or have it written out with --redact (redact=true)"
    message = (
        f"refused to keep {what}: it holds what nobody sees, in line {line} at character {column} "
        f"first ({told(found)}); take it out{or_shown}"
    )
    raise Refused(message)
