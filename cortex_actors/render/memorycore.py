"""MemoryCore's JSON (format version 1.0), as Neo-Cortex writes and reads it: a record at a time.

It holds what may be found now and nothing of how it came about: states, lineage, beliefs and
changes have no place in it. What others write is read generously: metadata beside the record or in
it, lists that are lists or JSON in a text, times as ISO 8601 or in seconds. It is checked as if
its agent had said it here: the errors name the field, and the reader of the file puts the place of
the record in front of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from cortex_actors.clock import SECOND, start_ulid
from cortex_actors.domain.agent import format_given, read_agent_id
from cortex_actors.domain.memory import (
    CrumbRecord,
    Layer,
    Memory,
    MemoryType,
    Realm,
)
from cortex_actors.domain.project import Trust
from cortex_actors.errors import BadInput
from cortex_actors.rules import admission
from cortex_actors.text import summary
from cortex_actors.text.hazards import mask_secrets
from cortex_actors.text.terms import parse_iso, parse_word

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import StrEnum

E = TypeVar("E", bound="StrEnum")

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

#: Field of a memory -> what it is called there.
_FIELDS: Final[Mapping[str, str]] = {
    "text": "content",
    "agent_id": "agent_id",
    "realm": "visibility",
    "type": "message_type",
    "thread": "conversation_thread",
    "attention": "attention_weight",
    "related": "related_agents",
    "replies_to": "responding_to",
    **{each: each for each in ("id", "layer", "role", "abstract", "summary", "tags")},
    "access_count": "access_count",
}

#: Moments of a memory that there may be or not; other programs know the first one alone.
_MOMENTS: Final = ("promoted_at", "pinned_at", "said_from", "said_until")

#: The latest moment: the end of the year 9999, in microseconds.
_LATEST: Final = 253_402_300_799_000_000

#: Most attention that a memory can have.
_MOST_ATTENTION: Final = 2.0

#: Characters of an id or a name of another program; what one record may name.
_NAME, _LINKS = 500, 1_000

#: An id of ours, without the kind before it; the alphabet of those that are made of a hash, and
#: their characters behind the moment.
_ULID: Final = re.compile(r"[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}")
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM: Final = 16


class CarriedRecord(NamedTuple):
    """A memory or a crumb of a file, the name of its project there, and secrets left out of it."""

    item: Memory | CrumbRecord
    project: str
    redacted: int


def format_record(item: Memory | CrumbRecord, project: str | None) -> dict[str, Any]:
    """Return a memory or a crumb as MemoryCore has it, with the name of its project."""
    place = {"project_id": item.project_id, "project": project} if item.project_id else {}
    if isinstance(item, CrumbRecord):
        return {
            "id": item.id,
            "content": summary.render(item),
            "agent_id": item.agent_id,
            "session_id": item.session_id,
            "crumb_type": str(item.type),
            "priority": str(item.priority),
            "timestamp": _iso(item.left_at),
            "has_unfinished": item.has_unfinished,
            **place,
        }
    made = {theirs: getattr(item, ours) for ours, theirs in _FIELDS.items()}
    return {
        **{name: list(each) if isinstance(each, tuple) else each for name, each in made.items()},
        **{name: _iso(item.created_at) for name in ("posted_at", "created_at")},
        **{name: _iso(getattr(item, name)) for name in _MOMENTS},
        "last_accessed_ts": None if item.accessed_at is None else item.accessed_at / SECOND,
        **place,
    }


def read_record(collection: str, found: object) -> CarriedRecord:
    """Return a record of MemoryCore's as one of ours. Raises `BadInput` naming the field.

    Secrets are masked and hidden characters written out. An id of another program's becomes one of
    ours that is the same each time it is read.
    """
    if not isinstance(found, dict):
        raise BadInput("it is no JSON object")
    inside = found.get("metadata")
    said = {**(inside if isinstance(inside, dict) else {}), **found}
    project_id = _name(said, "project_id")
    # A project of another program's is not one of ours.
    project_id = project_id if project_id.startswith("prj_") else ""
    content = said.get("content", said.get("text"))
    is_crumb = collection in _CRUMBS or "crumb_type" in said
    make = _crumb if is_crumb else _memory
    item = make({**said, "content": content}, collection, project_id)
    secrets = len(mask_secrets(str(content)).secrets)
    return CarriedRecord(item, _name(said, "project") if project_id else "", secrets)


def _memory(said: Mapping[str, Any], collection: str, project_id: str) -> Memory:
    """Return a memory."""
    realm = said.get("visibility") or _REALMS.get(collection)
    if realm is None:
        raise BadInput(
            f"the collection {format_given(collection)} is not known, and the record has no "
            "visibility; "
            f"there are {', '.join(sorted({*_REALMS, *_CRUMBS}))}"
        )
    created = _moment(said, "created_at", "posted_at", "timestamp")
    if created is None:
        raise BadInput("created_at is missing")
    moments: dict[str, Any] = {name: _moment(said, name) for name in _MOMENTS}
    begun, ended = moments["said_from"], moments["said_until"]
    if (begun is None) != (ended is None) or (begun or 0) > (ended or 0):
        raise BadInput("said_from and said_until are given together, the first not behind")
    agent = read_agent_id(said.get("agent_id"))
    text = admission.check_text(said["content"], what="content", redact=True)
    links = {name: _list(said, name) for name in ("tags", "related_agents", "responding_to")}
    return Memory(
        id=make_id(said.get("id"), f"{created}\0{agent}\0{text}"),
        realm=parse_word(Realm, _SAID.get(str(realm), realm), name="visibility"),
        agent_id=agent,
        text=text,
        created_at=created,
        layer=_word(said, "layer", Layer.WORKING),
        type=_word(said, "message_type", MemoryType.OBSERVATION),
        role=_name(said, "role"),
        thread=_name(said, "conversation_thread"),
        abstract=_text(said, "abstract"),
        summary=_text(said, "summary"),
        tags=admission.check_tags(links["tags"], redact=True),
        related=tuple(sorted({read_agent_id(each) for each in links["related_agents"]})),
        replies_to=tuple(dict.fromkeys(make_id(each) for each in links["responding_to"])),
        attention=_number(said, "attention_weight", default=1.0, most=_MOST_ATTENTION),
        access_count=int(_number(said, "access_count", default=0, most=2**53)),
        accessed_at=_moment(said, "last_accessed_ts"),
        **moments,
        trust=Trust.IMPORT,
        project_id=project_id,
    )


def _crumb(said: Mapping[str, Any], _collection: str, project_id: str) -> CrumbRecord:
    """Return a crumb; its parts are read from its text."""
    content, given = said["content"], said.get("id")
    if not isinstance(content, str):
        raise BadInput("content is no text")
    left = summary.parse(content)
    agent = read_agent_id(said.get("agent_id") or left.agent_id)
    # Elsewhere two crumbs of one second have one id; one of ours begins with its moment.
    if not _is_ours(given, f"crm_{start_ulid(left.left_at)}"):
        said_by = f"{given}\0{agent}\0{left.left_at}\0{left.summary}"
        given = f"crm_{_ulid(said_by, left.left_at)}"
    return admission.make_crumb(
        replace(
            admission.to_request(left, redact=True),
            session_id=said.get("session_id") or left.session_id,
            type=said.get("crumb_type") or left.type,
            priority=said.get("priority") or left.priority,
        ),
        agent=agent,
        name=str(given),
        at=left.left_at,
        saved_by=Trust.IMPORT,
        session=left.session_id,
        project_id=project_id,
    )


def make_id(given: object, unnamed: str = "") -> str:
    """Return the id of a memory: as it is when it is one of ours, else one made of it.

    Of `unnamed` where there is none, so that the same record has the same id each time it is read.
    """
    if isinstance(given, str) and _is_ours(given, "mem_"):
        return given
    if given is not None and not (isinstance(given, str) and 0 < len(given) <= _NAME):
        raise BadInput(f"id {format_given(given)} is no id: it needs 1 to {_NAME} characters")
    return f"mem_{_ulid(unnamed if given is None else str(given), 0)}"


def _is_ours(given: object, start: str) -> bool:
    """Tell whether an id is one of ours that begins so."""
    is_id = isinstance(given, str) and _ULID.fullmatch(given) is not None
    return is_id and str(given).startswith(start)


def _ulid(said: str, at: int) -> str:
    """Return a ULID of a moment whose end is made of a text."""
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()
    return start_ulid(at) + "".join(_ALPHABET[each & 31] for each in digest[:_RANDOM])


def _word(said: Mapping[str, Any], field: str, default: E) -> E:
    """Return one of a closed set of words."""
    given = said.get(field)
    return default if given in {None, ""} else parse_word(type(default), given, name=field)


def _name(said: Mapping[str, Any], field: str) -> str:
    """Return a name of one line, empty for none."""
    return admission.check_name(said.get(field) or "", what=field, most=_NAME, redact=True)


def _text(said: Mapping[str, Any], field: str) -> str:
    """Return a text, empty for none."""
    return admission.check_text(said[field], what=field, redact=True) if said.get(field) else ""


def _number(said: Mapping[str, Any], field: str, *, default: float, most: float) -> float:
    """Return a number from 0 to the most there may be."""
    given = said.get(field, default)
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= most:
        raise BadInput(f"{field} {format_given(given)} is no number between 0 and {most:g}")
    return given


def _list(said: Mapping[str, Any], field: str) -> list[Any]:
    """Return a list, whether it is one, JSON in a text, or words between commas."""
    value = said.get(field) or []
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.lstrip().startswith("[") else value.split(",")
        except ValueError as error:
            raise BadInput(f"{field} {format_given(value)} is no list") from error
        value = [each.strip() if isinstance(each, str) else each for each in value]
        value = [each for each in value if each != ""]
    if not isinstance(value, list) or len(value) > _LINKS:
        raise BadInput(f"{field} {format_given(value)} is no list of at most {_LINKS:,}")
    return value


def _moment(said: Mapping[str, Any], *names: str) -> int | None:
    """Return the first moment that is said, in microseconds: ISO 8601, or seconds since 1970."""
    name = next((each for each in names if said.get(each) not in {None, "", 0}), None)
    if name is None:
        return None
    value = said[name]
    try:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        found = round(value * SECOND) if is_number else parse_iso(str(value))
    except (ValueError, OverflowError):
        found = -1
    if not 0 <= found <= _LATEST:
        raise BadInput(f"{name} {format_given(value)} is no time (ISO 8601) since 1970")
    return found


def _iso(at: int | None) -> str | None:
    """Return a moment as ISO 8601 text that keeps all of it."""
    return None if at is None else summary.format_timestamp(at)
