"""Records of another home that are no memories: crumbs, profiles, what was done with memories."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.clock import moment as ulid_of
from cortex_actors.domain.agent import Agent, agent_id, checked, shown
from cortex_actors.domain.memory import ChangeKind, CrumbType, Priority
from cortex_actors.errors import BadInput
from cortex_actors.rules.carried import (
    LINKS,
    TEXT_LIMIT,
    foreign_id,
    memory,
    moment,
    name,
    told,
    word,
)
from cortex_actors.text import hazards
from cortex_actors.text.credentials import mask_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_CRUMB_ID: Final = re.compile(r"crm_[0-9A-HJKMNP-TV-Z]{26}")

#: The alphabet of a ULID.
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

#: Bytes of what undoing a change needs, and of the lists of a crumb.
_JSON_LIMIT: Final = 65_536


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
        said = f"{given}\0{agent}\0{left_at}\0{summary}".encode("utf-8", "surrogatepass")
        tail = "".join(_ALPHABET[each & 31] for each in hashlib.sha256(said).digest()[:16])
        given = f"crm_{ulid_of(left_at)}{tail}"
    return {
        "kind": "crumb",
        "id": given,
        "agent": agent,
        "left_at": left_at,
        "summary": summary,
        "redacted": redacted,
        "session": name(found, "session") or given,
        "type": word(found, "type", CrumbType, CrumbType.ORIENTATION),
        "priority": word(found, "priority", Priority, Priority.MEDIUM),
        "discoveries": _texts(found, "discoveries"),
        "unfinished": _texts(found, "unfinished"),
        "if_disoriented": _texts(found, "if_disoriented"),
        "emotional_state": {
            key: told({key: str(value)}, key, limit=TEXT_LIMIT, empty=True)[0]
            for key, value in _object(found, "emotional_state").items()
        },
        "references": {
            key: _texts({key: value}, key) for key, value in _object(found, "references").items()
        },
    }


def agent(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return an agent's profile in its one form."""
    made = checked(
        Agent(
            id=agent_id(found.get("id")),
            display_name=name(found, "display_name") or agent_id(found.get("id")),
            symbol=name(found, "symbol") or agent_id(found.get("id"))[0],
            color=name(found, "color") or "#888888",
            generation=_number(found, "generation"),
            lineage=name(found, "lineage"),
            specialization=told(found, "specialization", limit=TEXT_LIMIT, empty=True)[0] or "-",
            origin_story=told(found, "origin_story", limit=TEXT_LIMIT, empty=True)[0],
        )
    )
    return {
        "kind": "agent",
        "id": made.id,
        "display_name": made.display_name,
        "symbol": made.symbol,
        "color": made.color,
        "generation": made.generation,
        "lineage": made.lineage,
        "specialization": "" if made.specialization == "-" else made.specialization,
        "origin_story": made.origin_story,
        "registered_at": moment(found, "registered_at", empty=True) or 0,
    }


def change(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of what was done with a memory in its one form."""
    undone = moment(found, "undone_at", empty=True)
    return {
        "kind": "change",
        "change": word(found, "change", ChangeKind, None),
        "memory": foreign_id(found.get("memory"), ""),
        "others": [foreign_id(each, "") for each in _texts(found, "others")],
        "before": _object(found, "before"),
        "by": name(found, "by") or "owner",
        "reason": told(found, "reason", limit=TEXT_LIMIT, empty=True)[0] or None,
        "at": moment(found, "at"),
        "undone_at": undone,
        "undone_by": None if undone is None else name(found, "undone_by") or "owner",
    }


def pair(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of two memories that were parted, or that contradict each other."""
    left, right = sorted((foreign_id(found.get("left"), ""), foreign_id(found.get("right"), "")))
    if left == right:
        raise BadInput("left and right are the same memory")
    reason = told(found, "reason", limit=TEXT_LIMIT, empty=True)[0] or None
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


def _texts(found: Mapping[str, Any], field: str) -> list[str]:
    """Return a list of texts as they may be kept; none is an empty one."""
    given = found.get(field)
    if given is None:
        return []
    if not isinstance(given, list) or len(given) > LINKS:
        raise BadInput(f"{field} is no list of at most {LINKS:,}")
    return [told({field: each}, field, limit=TEXT_LIMIT)[0] for each in given]


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


def _number(found: Mapping[str, Any], field: str) -> int:
    """Return a whole number; none is 0."""
    given = found.get(field) or 0
    if not isinstance(given, int) or isinstance(given, bool):
        raise BadInput(f"{field} {shown(given)} is no whole number")
    return given


#: Who may have found a contradiction.
_DECIDERS: Final = frozenset({"rules", "nli", "llm", "person"})

#: Kind of record -> what looks at it.
_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "memory": memory,
    "crumb": crumb,
    "agent": agent,
    "change": change,
    "apart": pair,
    "conflict": pair,
}
