"""Records that come from another home: each is looked at as a whole before anything is kept of it.

A record is a JSON object. What is checked here is all that the ledger would refuse, and what the
ledger cannot know: limits, secrets, characters that nobody sees. The errors name the field; where
the record stands is put in front of them by whoever reads the file.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.clock import moment as ulid_of
from cortex_actors.domain.agent import agent_id, shown
from cortex_actors.domain.memory import Layer, MemoryStatus, MemoryType, Realm
from cortex_actors.errors import BadInput
from cortex_actors.text import hazards, terms
from cortex_actors.text.credentials import mask_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from enum import StrEnum

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

#: Most attention that a memory can have.
_MOST_ATTENTION: Final = 2.0


def memory(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a memory's record in its one form; raises `BadInput` naming the field.

    An id of another program's becomes one of ours that is the same each time it is read.
    """
    created = moment(found, "created_at")
    text, redacted = told(found, "text", limit=TEXT_LIMIT)
    realm = word(found, "realm", Realm, Realm.PRIVATE)
    agent = agent_id(found.get("agent"))
    made = {
        "kind": "memory",
        "realm": realm,
        "agent": agent,
        "text": text,
        "redacted": redacted,
        "created_at": created,
        "layer": word(found, "layer", Layer, Layer.WORKING),
        "type": word(found, "type", MemoryType, MemoryType.OBSERVATION),
        "thread": name(found, "thread"),
        "role": name(found, "role"),
        "abstract": told(found, "abstract", limit=TEXT_LIMIT, empty=True)[0],
        "summary": told(found, "summary", limit=TEXT_LIMIT, empty=True)[0],
        "tags": list(_tags(found)),
        "related_agents": sorted({agent_id(each) for each in _list(found, "related_agents")}),
        "responding_to": [_id(each, agent) for each in _list(found, "responding_to")],
        "access_count": _count(found, "access_count"),
        "accessed_at": moment(found, "accessed_at", empty=True),
        "attention": _attention(found),
        "layer_since": moment(found, "layer_since", empty=True) or created,
        "promoted_at": moment(found, "promoted_at", empty=True),
        "pinned_at": moment(found, "pinned_at", empty=True),
        "said_from": moment(found, "said_from", empty=True),
        "said_until": moment(found, "said_until", empty=True),
        **_standing(found, agent, created),
    }
    if (made["said_from"] is None) != (made["said_until"] is None) or (
        (made["said_from"] or 0) > (made["said_until"] or 0)
    ):
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
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()
    tail = "".join(_ALPHABET[each & 31] for each in digest[:_RANDOM])
    return f"mem_{ulid_of(0)}{tail}"


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
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= _LATEST:
        raise BadInput(f"{field} {shown(given)} is no moment in microseconds since 1970")
    return given


def _standing(found: Mapping[str, Any], agent: str, created: int) -> dict[str, Any]:
    """Return where a memory stands, and since when it was believed."""
    status = word(found, "status", MemoryStatus, MemoryStatus.ACTIVE)
    made: dict[str, Any] = {"status": status, "merged_into": None, "replaced_by": None}
    if status == MemoryStatus.MERGED:
        made["merged_into"] = _id(found.get("merged_into"), agent)
        made["merged_as"] = _count(found, "merged_as")
        made["merged_at"] = moment(found, "merged_at")
        made["merged_by"] = found.get("merged_by")
        made["merged_why"] = name(found, "merged_why") or None
        if made["merged_by"] not in _DECIDERS:
            raise BadInput(f"merged_by {shown(made['merged_by'])} is none of {sorted(_DECIDERS)}")
    elif status == MemoryStatus.SUPERSEDED:
        made["replaced_by"] = _id(found.get("replaced_by"), agent)
        made["replaced_at"] = moment(found, "replaced_at")
    elif status == MemoryStatus.ARCHIVED:
        made["archived_at"] = moment(found, "archived_at")
    made["beliefs"] = _beliefs(found, status, created)
    return made


def _beliefs(found: Mapping[str, Any], status: str, created: int) -> list[list[int | None]]:
    """Return since when until when a memory was believed; the last is open for an active one."""
    active = status == MemoryStatus.ACTIVE
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
    return terms.tags(
        [mask_secrets(each).text if isinstance(each, str) else each for each in given]
    )


def _count(found: Mapping[str, Any], field: str) -> int:
    """Return how many."""
    given = found.get(field, 0)
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given < 2**53:
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
