"""MemoryCore's JSON (format version 1.0), as Neo-Cortex writes and reads it: a record at a time.

It holds what may be found now and nothing of how it came about: states, lineage, beliefs and
changes have no place in it. What others write is read generously: metadata beside the record or in
it, lists that are lists or JSON in a text, times as ISO 8601 or in seconds.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.clock import SECOND
from cortex_actors.domain.agent import shown
from cortex_actors.domain.memory import Realm
from cortex_actors.errors import BadInput
from cortex_actors.rules import interchange
from cortex_actors.text import summary
from cortex_actors.text.terms import microseconds

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What the head of a file says.
VERSION: Final = "1.0"

#: The collection of crumbs.
CRUMBS: Final = "cortex_crumbs"

#: Realm -> the collection its memories lie in.
COLLECTIONS: Final[Mapping[str, str]] = {
    str(Realm.PRIVATE): "cortex_private",
    str(Realm.VILLAGE): "cortex_village",
    str(Realm.BRIDGE): "cortex_bridges",
}

#: Collection -> the realm of a record in it that does not say; also as later releases call them.
_REALMS: Final = {
    **{collection: realm for realm, collection in COLLECTIONS.items()},
    "cortex_shared": "village",
    "cortex_threads": "bridge",
    "cortex_sensory": "private",
}

#: What a realm was called elsewhere.
_SAID: Final = {"shared": "village", "thread": "bridge"}

#: Collections of crumbs, likewise.
_CRUMBS: Final = frozenset({CRUMBS, "cortex_sessions"})

#: Field of a memory -> what it is called there, and what is written where it is not said.
_FIELDS: Final[Mapping[str, tuple[str, Any]]] = {
    "text": ("content", ""),
    "agent": ("agent_id", ""),
    "realm": ("visibility", ""),
    "type": ("message_type", ""),
    "thread": ("conversation_thread", ""),
    "attention": ("attention_weight", 1.0),
    "access_count": ("access_count", 0),
    **{name: (name, "") for name in ("id", "layer", "role", "abstract", "summary")},
    **{name: (name, []) for name in ("tags", "related_agents", "responding_to")},
}


def given(record: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the collection of one of our records, and the record as MemoryCore has it."""
    if record["kind"] == "crumb":
        return CRUMBS, _given_crumb(record)
    accessed_at = record.get("accessed_at")
    made = {theirs: record.get(ours, unsaid) for ours, (theirs, unsaid) in _FIELDS.items()}
    return COLLECTIONS[record["realm"]], {
        **made,
        "posted_at": _iso(record["created_at"]),
        **{name: _iso(record.get(name)) for name in ("created_at", "promoted_at")},
        "last_accessed_ts": accessed_at and accessed_at / SECOND,
        **_project(record),
    }


def taken(collection: str, found: object) -> dict[str, Any]:
    """Return a record of MemoryCore's as one of ours, still to be checked. Raises `BadInput`."""
    if not isinstance(found, dict):
        raise BadInput("it is no JSON object")
    inside = found.get("metadata")
    said = {**(inside if isinstance(inside, dict) else {}), **found}
    if collection in _CRUMBS or "crumb_type" in said:
        return _taken_crumb(said)
    realm = said.get("visibility") or _REALMS.get(collection)
    if realm is None:
        raise BadInput(
            f"the collection {shown(collection)} is not known, and the record has no visibility; "
            f"there are {', '.join(sorted({*_REALMS, *_CRUMBS}))}"
        )
    return {
        "kind": "memory",
        **{ours: said.get(theirs) for ours, (theirs, _) in _FIELDS.items()},
        "text": said.get("content", said.get("text")),
        "realm": _SAID.get(str(realm), realm),
        **_project(said),
        **{name: _list(said, name) for name in ("tags", "related_agents", "responding_to")},
        "created_at": _moment(said, "created_at", "posted_at", "timestamp"),
        "promoted_at": _moment(said, "promoted_at", empty=True),
        "access_count": said.get("access_count") or 0,
        "accessed_at": _moment(said, "last_accessed_ts", empty=True),
        "attention": said.get("attention_weight", 1.0),
    }


def _given_crumb(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a crumb: as the text it is shown as, and in its parts."""
    crumb = interchange.to_crumb(record)
    return {
        "id": crumb.id,
        "content": summary.render(crumb),
        "agent_id": crumb.agent_id,
        "session_id": crumb.session_id,
        "crumb_type": str(crumb.type),
        "priority": str(crumb.priority),
        "timestamp": _iso(crumb.left_at),
        "has_unfinished": crumb.has_unfinished,
        **_project(record),
    }


def _project(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the project of a record, where it is one of ours: in our own words."""
    if not str(said.get("project_id")).startswith("prj_"):
        return {}
    return {name: said.get(name) for name in ("project_id", "project")}


def _taken_crumb(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return a crumb; its parts are read from its text."""
    text = said.get("content")
    if not isinstance(text, str):
        raise BadInput("content is no text")
    crumb = summary.parse(text)
    # Through JSON, so that tuples are lists.
    return {
        **json.loads(json.dumps(asdict(crumb))),
        "kind": "crumb",
        "id": said.get("id"),
        "agent": said.get("agent_id") or crumb.agent_id,
        "session": said.get("session_id") or crumb.session_id,
        "type": str(said.get("crumb_type") or crumb.type),
        "priority": str(said.get("priority") or crumb.priority),
        **_project(said),
    }


def _list(said: Mapping[str, Any], field: str) -> list[Any]:
    """Return a list, whether it is one, JSON in a text, or words between commas."""
    value = said.get(field)
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.lstrip().startswith("[") else value.split(",")
        except ValueError as error:
            raise BadInput(f"{field} {shown(value)} is no list") from error
        value = [each.strip() if isinstance(each, str) else each for each in value]
        return [each for each in value if each != ""]
    if not isinstance(value, list | None):
        raise BadInput(f"{field} {shown(value)} is no list")
    return value or []


def _moment(said: Mapping[str, Any], *names: str, empty: bool = False) -> int | None:
    """Return the first moment that is said, in microseconds: ISO 8601, or seconds since 1970."""
    name, value = next(
        ((each, said[each]) for each in names if said.get(each) not in {None, ""}), (names[0], None)
    )
    if value is None or (empty and value == 0):
        if empty:
            return None
        raise BadInput(f"{name} is missing")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return round(value * SECOND)
    try:
        return microseconds(str(value))
    except ValueError as error:
        raise BadInput(f"{name} {shown(value)} is no time (ISO 8601)") from error


def _iso(at: int | None) -> str | None:
    """Return a moment as ISO 8601 text that keeps all of it."""
    return None if at is None else summary.timestamp(at)
