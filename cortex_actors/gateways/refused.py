"""Refused: what is answered to a request that is not done, in the shape that clients expect.

Every refusal is `{"detail": ...}`, with the status that says whose turn it is. What failed inside
is told by its kind alone; the rest of it is in the log.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from cortex_actors.errors import (
    ActorAway,
    BadInput,
    BadToken,
    ConfigurationError,
    CortexError,
    DaemonStopping,
    DeadlineExceeded,
    HomeUnwritable,
    LedgerDown,
    MailboxFull,
    NotFound,
    Refused,
    StorageFull,
    StoreDown,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.types import Send

#: Kind of error -> status; the first that fits counts.
_STATUSES: Final[tuple[tuple[type[CortexError], int], ...]] = (
    (BadToken, 401),
    (Refused, 403),
    (NotFound, 404),
    (BadInput, 422),
    (StorageFull, 507),
    (HomeUnwritable, 507),
    (MailboxFull, 503),
    (ActorAway, 503),
    (LedgerDown, 503),
    (DaemonStopping, 503),
    (StoreDown, 502),
    (DeadlineExceeded, 504),
    (ConfigurationError, 500),
)

#: What everybody without a token that counts is told, and no more.
UNAUTHORIZED: Final = "unauthorized"

#: What everybody is told of a fault of ours.
FAULT: Final = "the daemon failed inside; its log has more: cortex logs --actor http"

#: Headers of every answer: it is nobody's to keep, and nothing but what it says it is.
HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)


class NotAdmitted(Exception):
    """A request that is not done.

    Attributes:
        status: what is answered.
        detail: why, for a person.

    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def status_of(error: CortexError, other: Mapping[type[CortexError], int] | None = None) -> int:
    """Return the status of an expected failure; `other` are those that a contract has otherwise."""
    for kind, status in (*(other or {}).items(), *_STATUSES):
        if isinstance(error, kind):
            return status
    return 500


@contextmanager
def contract(statuses: Mapping[type[CortexError], int]) -> Iterator[None]:
    """Answer expected failures with the statuses that a contract has for them."""
    try:
        yield
    except CortexError as error:
        raise NotAdmitted(status_of(error, statuses), str(error)) from error


async def answer(send: Send, status: int, detail: object) -> None:
    """Send a refusal."""
    body = json.dumps({"detail": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:  # noqa: PLR2004 - the one that HTTP has a header for
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
