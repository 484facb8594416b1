"""Records that come from another home: each is looked at as a whole before anything is kept of it.

A record is a JSON object. What is checked here is all that the ledger would refuse, and what the
ledger cannot know: limits, secrets, hidden characters. The errors name the field; the reader of
the file puts the place of the record in front of them.

Records of another home that are no memories: crumbs, profiles, what was done with memories.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from cortex_actors.clock import moment as ulid_of
from cortex_actors.domain import memory as domain
from cortex_actors.domain.agent import Agent, agent_id, checked, shown
from cortex_actors.errors import BadInput
from cortex_actors.text import hazards, terms
from cortex_actors.text.hazards import mask_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from enum import StrEnum


#: What our own form is called, and its version.
FORMAT, VERSION = "cortex-actors", 1

#: What its last line is called.
END: Final = "end"

#: Bytes of a memory's text, as for one that is remembered.
TEXT_LIMIT: Final = 65_536

#: Characters of a name: a thread, a role, a session; ids that one record names.
NAME_LIMIT, LINKS = 500, 1_000

#: The latest moment: the end of the year 9999, in microseconds.
_LATEST: Final = 253_402_300_799_000_000

_MEMORY_ID: Final = re.compile(r"mem_[0-9A-HJKMNP-TV-Z]{26}")

#: The alphabet of a ULID, for ids that are made of a hash.
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

#: Characters of a ULID behind its moment.
_RANDOM: Final = 16

#: Who may have decided a merge.
_DECIDERS: Final = frozenset({"rules", "nli", "llm", "person"})

#: Moments of a memory that there may be or not.
_MOMENTS: Final = ("promoted_at", "pinned_at", "said_from", "said_until")

#: Most attention that a memory can have.
_MOST_ATTENTION: Final = 2.0


def memory(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a memory's record in its one form; raises `BadInput` naming the field.

    An id of another program's becomes one of ours that is the same each time it is read.
    """
    created = moment(found, "created_at")
    text, redacted = told(found, "text", limit=TEXT_LIMIT)
    realm = word(found, "realm", domain.Realm, domain.Realm.PRIVATE)
    agent = agent_id(found.get("agent"))
    made = {
        "kind": "memory",
        "realm": realm,
        "agent": agent,
        "text": text,
        "redacted": redacted,
        "created_at": created,
        "layer": word(found, "layer", domain.Layer, domain.Layer.WORKING),
        "type": word(found, "type", domain.MemoryType, domain.MemoryType.OBSERVATION),
        **{each: name(found, each) for each in ("thread", "role", "project_id", "project")},
        **{each: _told(found, each) for each in ("abstract", "summary")},
        "tags": list(_tags(found)),
        "related_agents": sorted({agent_id(each) for each in _list(found, "related_agents")}),
        "responding_to": [_id(each, agent) for each in _list(found, "responding_to")],
        "access_count": _count(found, "access_count"),
        "accessed_at": moment(found, "accessed_at", empty=True),
        "attention": _attention(found),
        "layer_since": moment(found, "layer_since", empty=True) or created,
        **{each: moment(found, each, empty=True) for each in _MOMENTS},
        **_standing(found, agent, created),
    }
    begun, ended = made["said_from"], made["said_until"]
    if (begun is None) != (ended is None) or (begun or 0) > (ended or 0):
        raise BadInput("said_from and said_until are given together, the first not behind")
    made["id"] = foreign_id(found.get("id"), agent, text=text, at=created)
    return made


def foreign_id(given: object, agent: str, *, text: str = "", at: int = 0) -> str:
    """Return an id as it is when it is one of ours, else one that comes of it, of text and moment.

    The same record has the same id each time it is read.
    """
    if isinstance(given, str) and _MEMORY_ID.fullmatch(given):
        return given
    if given is None:
        said = f"{at}\0{agent}\0{text}"
    elif isinstance(given, str) and 0 < len(given) <= NAME_LIMIT:
        said = given
    else:
        raise BadInput(f"id {shown(given)} is no id: it needs 1 to {NAME_LIMIT} characters")
    return f"mem_{_ulid(said, at=0)}"


def _ulid(said: str, *, at: int) -> str:
    """Return a ULID of a moment whose end is made of a text."""
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()
    return ulid_of(at) + "".join(_ALPHABET[each & 31] for each in digest[:_RANDOM])


def word(found: Mapping[str, Any], field: str, kind: type[StrEnum], default: StrEnum | None) -> str:
    """Return one of a closed set of words; raises `BadInput` naming those there are."""
    given = found.get(field)
    if given in {None, ""} and default is not None:
        return str(default)
    known = [str(each) for each in kind]
    if given not in known:
        raise BadInput(f"{field} {shown(given)} is not known; it is {', '.join(known)}")
    return str(given)


def told(
    found: Mapping[str, Any], field: str, *, limit: int, empty: bool = False
) -> tuple[str, int]:
    """Return a text as it may be kept, and how many secrets were taken out of it."""
    given = found.get(field)
    if given is None and empty:
        return "", 0
    if not isinstance(given, str) or not (given.strip() or empty):
        raise BadInput(f"{field} is no text, or an empty one")
    size = len(given.encode("utf-8", "surrogatepass"))
    if size > limit:
        raise BadInput(f"{field} has {size:,} bytes, at most {limit:,} are taken")
    clean = mask_secrets(given)
    return hazards.visible(clean.text), len(clean.secrets)


def name(found: Mapping[str, Any], field: str) -> str:
    """Return a name, empty for none."""
    given = found.get(field)
    if given is None:
        return ""
    if not isinstance(given, str) or len(given) > NAME_LIMIT:
        raise BadInput(f"{field} {shown(given)} is no name of at most {NAME_LIMIT} characters")
    return hazards.visible(mask_secrets(given).text)


def moment(found: Mapping[str, Any], field: str, *, empty: bool = False) -> Any:  # noqa: ANN401 - an int, or None only where asked for
    """Return a moment in UTC microseconds; None where there may be none."""
    given = found.get(field)
    if given is None and empty:
        return None
    if not _is_whole(given) or not 0 <= given <= _LATEST:
        raise BadInput(f"{field} {shown(given)} is no moment in microseconds since 1970")
    return given


def _is_whole(given: object) -> TypeGuard[int]:
    """Tell whether something is a whole number; JSON's true is none."""
    return isinstance(given, int) and not isinstance(given, bool)


def _standing(found: Mapping[str, Any], agent: str, created: int) -> dict[str, Any]:
    """Return the status of a memory, and since when it was believed."""
    status = word(found, "status", domain.MemoryStatus, domain.MemoryStatus.ACTIVE)
    made: dict[str, Any] = {"status": status, "merged_into": None, "replaced_by": None}
    if status == domain.MemoryStatus.MERGED:
        made["merged_into"] = _id(found.get("merged_into"), agent)
        made["merged_as"] = _count(found, "merged_as")
        made["merged_at"] = moment(found, "merged_at")
        made["merged_by"] = found.get("merged_by")
        made["merged_why"] = name(found, "merged_why") or None
        if made["merged_by"] not in _DECIDERS:
            raise BadInput(f"merged_by {shown(made['merged_by'])} is none of {sorted(_DECIDERS)}")
    elif status == domain.MemoryStatus.SUPERSEDED:
        made["replaced_by"] = _id(found.get("replaced_by"), agent)
        made["replaced_at"] = moment(found, "replaced_at")
    elif status == domain.MemoryStatus.ARCHIVED:
        made["archived_at"] = moment(found, "archived_at")
    made["beliefs"] = _beliefs(found, status, created)
    return made


def _beliefs(found: Mapping[str, Any], status: str, created: int) -> list[list[int | None]]:
    """Return since when until when a memory was believed; the last is open for an active one."""
    active = status == domain.MemoryStatus.ACTIVE
    spans = [tuple(each) if isinstance(each, list) else () for each in _list(found, "beliefs")]
    made: list[list[int | None]] = []
    for span in spans:
        if len(span) != 2:  # noqa: PLR2004 - when it began, and when it ended
            raise BadInput("beliefs holds something else than pairs of moments")
        began = moment({"beliefs": span[0]}, "beliefs")
        ended = moment({"beliefs": span[1]}, "beliefs", empty=True)
        if ended is not None and ended < began:
            raise BadInput("beliefs holds a span that ends before it begins")
        made.append([began, ended])
    is_open = [each for each in made if each[1] is None]
    if len({each[0] for each in made}) < len(made) or len(is_open) > int(active):
        raise BadInput("beliefs holds a span twice, or an open one too many")
    return made if is_open or not active else [*made, [created, None]]


def _id(given: object, agent: str) -> str:
    """Return the id of another memory."""
    if given is None:
        raise BadInput("it names another memory and does not say which")
    return foreign_id(given, agent)


def _list(found: Mapping[str, Any], field: str) -> Sequence[Any]:
    """Return a list; none is an empty one."""
    given = found.get(field)
    if given is None:
        return ()
    if not isinstance(given, list) or len(given) > LINKS:
        raise BadInput(f"{field} is no list of at most {LINKS:,}")
    return given


def _tags(found: Mapping[str, Any]) -> tuple[str, ...]:
    """Return tags in their one form."""
    given = _list(found, "tags")
    return terms.tags([mask_secrets(it).text if isinstance(it, str) else it for it in given])


def _count(found: Mapping[str, Any], field: str) -> int:
    """Return how many."""
    given = found.get(field, 0)
    if not _is_whole(given) or not 0 <= given < 2**53:
        raise BadInput(f"{field} {shown(given)} is no count")
    return given


def _attention(found: Mapping[str, Any]) -> float:
    """Return an attention."""
    given = found.get("attention", 1.0)
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise BadInput(f"attention {shown(given)} is no number")
    if not 0 <= given <= _MOST_ATTENTION:
        raise BadInput(f"attention {shown(given)} is not between 0 and {_MOST_ATTENTION:g}")
    return float(given)


#: Lists of texts that a crumb has.
_CRUMB_LISTS: Final = ("discoveries", "unfinished", "if_disoriented")

_CRUMB_ID: Final = re.compile(r"crm_[0-9A-HJKMNP-TV-Z]{26}")


#: Bytes of what undoing a change needs, and of the lists of a crumb.
_JSON_LIMIT: Final = 262_144


def record(found: object) -> dict[str, Any]:
    """Return a record of any kind in its one form. Raises `BadInput` naming what is wrong."""
    if not isinstance(found, dict):
        raise BadInput("it is no JSON object")
    check = _CHECKS.get(str(found.get("kind")))
    if check is None:
        raise BadInput(
            f"kind {shown(found.get('kind'))} is not known; it is {', '.join(sorted(_CHECKS))}"
        )
    return check(found)


def crumb(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a crumb's record in its one form; an id of another program's becomes one of ours."""
    left_at, agent = moment(found, "left_at"), agent_id(found.get("agent"))
    summary, redacted = told(found, "summary", limit=TEXT_LIMIT)
    given = found.get("id")
    if not (isinstance(given, str) and _CRUMB_ID.fullmatch(given)):
        given = "crm_" + _ulid(f"{given}\0{agent}\0{left_at}\0{summary}", at=left_at)
    return {
        "kind": "crumb",
        "id": given,
        "agent": agent,
        "left_at": left_at,
        "summary": summary,
        "redacted": redacted,
        "session": name(found, "session") or given,
        **{each: name(found, each) for each in ("project_id", "project")},
        "type": word(found, "type", domain.CrumbType, domain.CrumbType.ORIENTATION),
        "priority": word(found, "priority", domain.Priority, domain.Priority.MEDIUM),
        **{each: _texts(found, each) for each in _CRUMB_LISTS},
        "emotional_state": {
            key: _told({key: str(value)}, key)
            for key, value in _object(found, "emotional_state").items()
        },
        "references": {
            key: _texts({key: value}, key) for key, value in _object(found, "references").items()
        },
    }


def to_crumb(record: Mapping[str, Any]) -> domain.CrumbRecord:
    """Return the crumb of a record that was checked, or that the ledger gave."""
    said = {**record, "agent_id": record["agent"], "session_id": record["session"]}
    said["type"] = domain.CrumbType(record["type"])
    said["priority"] = domain.Priority(record["priority"])
    said["references"] = {kind: tuple(some) for kind, some in record["references"].items()}
    said |= {each: tuple(record[each]) for each in _CRUMB_LISTS}
    return domain.CrumbRecord(
        **{each.name: said[each.name] for each in fields(domain.CrumbRecord) if each.name in said}
    )


def agent(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return an agent's profile in its one form."""
    called, generation = agent_id(found.get("id")), found.get("generation") or 0
    if not _is_whole(generation):
        raise BadInput(f"generation {shown(generation)} is no whole number")
    made = checked(
        Agent(
            id=called,
            display_name=name(found, "display_name") or called,
            symbol=name(found, "symbol") or called[0],
            color=name(found, "color") or "#888888",
            generation=generation,
            lineage=name(found, "lineage"),
            specialization=_told(found, "specialization") or "-",
            origin_story=_told(found, "origin_story"),
        )
    )
    profile = {key: value for key, value in asdict(made).items() if key != "ascii"}
    return {
        "kind": "agent",
        **profile,
        "specialization": "" if made.specialization == "-" else made.specialization,
        "registered_at": moment(found, "registered_at", empty=True) or 0,
    }


def change(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of what was done with a memory in its one form."""
    undone = moment(found, "undone_at", empty=True)
    return {
        "kind": "change",
        "change": word(found, "change", domain.ChangeKind, None),
        "memory": foreign_id(found.get("memory"), ""),
        "others": [foreign_id(each, "") for each in _texts(found, "others")],
        "before": _object(found, "before"),
        "by": name(found, "by") or "owner",
        "reason": _told(found, "reason") or None,
        "at": moment(found, "at"),
        "undone_at": undone,
        "undone_by": None if undone is None else name(found, "undone_by") or "owner",
    }


def pair(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of two memories that were parted, or that contradict each other."""
    left, right = sorted((foreign_id(found.get("left"), ""), foreign_id(found.get("right"), "")))
    if left == right:
        raise BadInput("left and right are the same memory")
    reason = _told(found, "reason") or None
    made = {"kind": found["kind"], "left": left, "right": right, "reason": reason}
    if found["kind"] == "apart":
        return {**made, "at": moment(found, "at")}
    return {
        **made,
        "reason": reason or "it was said so",
        "decided_by": found.get("decided_by") if found.get("decided_by") in _DECIDERS else "rules",
        "found_at": moment(found, "found_at"),
        "ended_at": moment(found, "ended_at", empty=True),
    }


def _told(found: Mapping[str, Any], field: str) -> str:
    """Return a text as it may be kept; it may be empty, or not be there."""
    return told(found, field, limit=TEXT_LIMIT, empty=True)[0]


def _texts(found: Mapping[str, Any], field: str) -> list[str]:
    """Return a list of texts as they may be kept; none is an empty one."""
    return [told({field: each}, field, limit=TEXT_LIMIT)[0] for each in _list(found, field)]


def _object(found: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Return a JSON object; none is an empty one."""
    given = found.get(field)
    if given is None:
        return {}
    if not isinstance(given, dict) or len(json.dumps(given)) > _JSON_LIMIT:
        raise BadInput(f"{field} is no JSON object of at most {_JSON_LIMIT:,} bytes")
    return {_clean(key): _clean(value) for key, value in given.items()}


def _clean(value: Any) -> Any:  # noqa: ANN401 - whatever JSON has
    """Return a JSON value as it may be kept: what secrets and hidden signs its texts hold go."""
    if isinstance(value, str):
        return hazards.visible(mask_secrets(value).text)
    if isinstance(value, list):
        return [_clean(each) for each in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(each) for key, each in value.items()}
    return value


#: Kind of record -> what looks at it.
_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "memory": memory,
    "crumb": crumb,
    "agent": agent,
    "change": change,
    "apart": pair,
    "conflict": pair,
}
