"""An alert: something in an instruction file that a person should look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class AlertKind(StrEnum):
    """What was met."""

    #: Characters that nobody sees and a model reads.
    HIDDEN_UNICODE = "hidden_unicode"
    #: A key or a password, which was taken out before anything was kept.
    SECRET = "secret"  # noqa: S105 - a kind of alert
    #: Words meant to take an agent over.
    INJECTION = "injection"


@dataclass(frozen=True, slots=True)
class Alert:
    """What was met in a fragment; the same thing twice in one fragment is one alert.

    Attributes:
        line_start: the first line, counted from 1.
        line_end: the last line, inclusive.
        detail: what it is, on one line for a person, and never a secret.
        value: the secret itself, for its fingerprint alone; "" for any other alert.

    """

    kind: AlertKind
    path: str
    fragment_id: str
    line_start: int
    line_end: int
    detail: str
    value: str = field(default="", repr=False)
