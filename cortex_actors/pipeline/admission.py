"""Admission: what of a section may be kept as it is, before anything of it is.

Secrets are taken out, and what is left is what everybody sees from then on. Characters that nobody
sees are written out, and a text that had some waits for a person, as does one that reads as if it
were meant to take an agent over. Nothing is dropped and nothing is cleaned in silence: there is an
alert for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.domain.project import Alert, AlertKind
from cortex_actors.text import hazards
from cortex_actors.text.credentials import Redacted, mask_secrets
from cortex_actors.text.hazards import suspicion

if TYPE_CHECKING:
    from cortex_actors.domain.project import Fragment

#: Bytes that are no UTF-8 must come out as they went in.
_AS_IT_IS = "surrogateescape"


@dataclass(frozen=True, slots=True)
class Where:
    """Where a text stands; `fragment_id` is that of its source."""

    path: str
    fragment_id: str
    line_start: int
    line_end: int

    def alert(self, kind: AlertKind, detail: str) -> Alert:
        """Return an alert for the text."""
        return Alert(kind, self.path, self.fragment_id, self.line_start, self.line_end, detail)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A text as it may be kept.

    Attributes:
        text: with everything in it to be seen.
        review: why a person has to look at it first; None for what may be used.
        alerts: what was met.

    """

    text: str
    review: str | None = None
    alerts: tuple[Alert, ...] = ()


def without_secrets(fragment: Fragment) -> tuple[Fragment, tuple[Alert, ...]]:
    """Return a section without its secrets, on the lines on which it was, and what they were.

    Its id is that of what may be kept: no secret could be guessed from it.
    """
    whole = mask_secrets(fragment.raw.decode("utf-8", _AS_IT_IS))
    if not whole.secrets:
        return fragment, ()
    clean = replace(
        fragment,
        content=mask_secrets(fragment.content).text,
        heading=None if fragment.heading is None else mask_secrets(fragment.heading).text,
        raw=whole.text.encode("utf-8", _AS_IT_IS),
    )
    return clean, _told(clean, whole)


def admit(text: str, where: Where, *, under: str | None) -> Admitted:
    """Return a text of a section as it may be kept; `under` is the heading it stands under.

    Hidden characters of the heading count as the text's: it is shown and searched with it.
    """
    hidden = hazards.hidden(f"{under or ''}\n{text}")
    shown = hazards.visible(text)
    if hidden:
        told = hazards.told(hidden)
        return Admitted(shown, told, (where.alert(AlertKind.HIDDEN_UNICODE, told),))
    if reason := suspicion(text):
        return Admitted(shown, reason, (where.alert(AlertKind.INJECTION, reason),))
    return Admitted(shown)


def unseen(fragment: Fragment) -> tuple[Alert, ...]:
    """Return the alert for a section with hidden characters where it says nothing, if it has any.

    Such as in a comment: nothing of it is used, and still somebody put them there.
    """
    hidden = hazards.hidden(fragment.content)
    if not hidden:
        return ()
    where = Where(fragment.source_path, fragment.id, fragment.line_start, fragment.line_end)
    return (where.alert(AlertKind.HIDDEN_UNICODE, hazards.told(hidden)),)


def _told(fragment: Fragment, found: Redacted) -> tuple[Alert, ...]:
    """Return an alert for each secret of a section, with the lines it stood on."""
    # As many lines as before: what was taken out can be counted in what is left.
    text = fragment.raw.decode("utf-8", _AS_IT_IS)
    at, alerts = 0, []
    for each in found.secrets:
        marker = f"[secret: {each.kind}]"
        at = text.index(marker, at)
        first = fragment.line_start + text.count("\n", 0, at)
        last = first + each.value.count("\n")
        where = Where(fragment.source_path, fragment.id, first, last)
        alerts.append(replace(where.alert(AlertKind.SECRET, each.kind), value=each.value))
        at += len(marker)
    return tuple(alerts)
