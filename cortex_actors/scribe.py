"""The scribe: every event of the bus as a line of the log stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.event import plain

if TYPE_CHECKING:
    from cortex_actors.bus.bus import Deliver
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.process.logs import LogStream

#: Characters of a payload that a log line shows; the event itself is in the ledger.
TEXT_LIMIT = 300


def scribe(logs: LogStream) -> Deliver:
    """Return a receiver that writes every event into the log stream."""

    def write(event: Event[Payload]) -> None:
        fields = plain(event.payload)
        text = " ".join([f"{key}={given}" for key, given in fields.items() if given or given == 0])
        logs.write("info", text[:TEXT_LIMIT], actor=event.source, topic=event.topic, event=event.id)

    return write
