"""The quick command `publish`; standard library only, unless no daemon answers."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from cortex_actors.cli import lifecycle
from cortex_actors.client.connection import Client
from cortex_actors.errors import AnswerLost, BadInput, DaemonDown, UnknownTopic, UsageError

if TYPE_CHECKING:
    import argparse

    from cortex_actors.home import Home

#: `key=text` or `key:=JSON`.
_FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)(:?=)(.*)", re.DOTALL)


def run(home: Home, options: argparse.Namespace) -> int:
    """Say an event on a topic."""
    found = _json(options.json, "--json") if options.json is not None else {}
    if not isinstance(found, dict):
        raise BadInput(f"--json must be an object like '{{\"key\": 1}}', not {options.json!r}")
    by = f"cli:{lifecycle.user()}" if options.source is None else options.source
    said = {
        "topic": options.topic,
        "payload": {**found, **dict(_field(word) for word in options.fields)},
        "source": by,
    }
    if options.idempotency_key is not None:
        said["idempotency_key"] = options.idempotency_key
    try:
        event = _said(home, options, said)
    except UnknownTopic as error:
        raise UnknownTopic(f"{error}{_near(options.topic)}") from None
    number = "not stored" if event.get("seq") is None else f"seq {event['seq']}"
    print(f"published {event['topic']}, {number}, {event['id']}{_more(event)}")
    return 0


def _said(home: Home, options: argparse.Namespace, said: dict[str, Any]) -> dict[str, Any]:
    """Say it to the daemon; where none answers, write it into the ledger, if there is one."""

    def online() -> dict[str, Any]:
        return Client(home).call("publish", **said, transient=options.transient)

    try:
        return online()
    except DaemonDown as error:
        # What may have been stored is said again only under a key.
        unsure = isinstance(error, AnswerLost) and options.idempotency_key is None
        if unsure or options.transient or options.no_offline or not home.ledger.exists():
            raise
    from cortex_actors.cli import offline  # noqa: PLC0415 - only where no daemon answers

    return offline.publish(home, online, **said)


def _more(event: dict[str, Any]) -> str:
    """Return what is special about an event that was published."""
    if event.get("duplicate"):
        return " (said before under this key)"
    return " (no daemon runs: the next start has it)" if event.get("offline") else ""


def _field(word: str) -> tuple[str, Any]:
    """Return one `key=text` or `key:=JSON`."""
    match = _FIELD.fullmatch(word)
    if match is None:
        raise UsageError(f"cannot read {word!r}: write key=text, or key:=JSON for other values")
    key, sign, value = match.groups()
    return key, value if sign == "=" else _json(value, f"the field {key}")


def _json(text: str, name: str) -> object:
    """Return a JSON value. Raises `BadInput` naming where it stood."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{name} is no JSON: {error}; it was {text[:80]!r}") from None


def _near(name: str) -> str:
    """Return the topics that look like the one that does not exist."""
    import difflib  # noqa: PLC0415 - only for a mistyped topic

    from cortex_actors.topics import TOPICS  # noqa: PLC0415 - as above

    may_say = [topic.name for topic in TOPICS if not topic.owner_only]
    near = difflib.get_close_matches(name, may_say, cutoff=0.6)
    return f"; near it: {', '.join(near)}" if near else ""
