"""What travels on a topic.

What the topics carry: small typed values of ids and paths, checked when they come in as JSON.

`merge_payloads` is what conflation does: of several waiting events with one key, one is handled,
with the ids of all. Handlers read the truth from the ledger; ids only say where to look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - annotations are read at run time
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from types import UnionType
from typing import Any, Generic, TypeVar, cast, get_args, get_origin, get_type_hints

from cortex_actors.errors import BadInput

P_co = TypeVar("P_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Event(Generic[P_co]):
    """One thing that happened, said once.

    `at` (UTC microseconds) is for people. `seq` is the ledger's number and the only order; it is
    None until the event is committed, and for ever on topics that are not durable.
    """

    #: `evt_` + ULID; saying the same id twice is saying it once.
    id: str
    topic: str
    payload: P_co
    at: int
    #: Who said it: an actor's name, or what another process calls itself.
    source: str
    seq: int | None = None
    #: True when the same was said before under one idempotency key: this is the first event, and
    #: it was not delivered again.
    duplicate: bool = field(default=False, compare=False)


#: A field's mark: the value that counts when several events, one of which has it, are made one.
WINS = "wins"


@dataclass(frozen=True, slots=True)
class Payload:
    """What an event says beside its topic."""


@dataclass(frozen=True, slots=True)
class Nothing(Payload):
    """The topic says it all."""


@dataclass(frozen=True, slots=True)
class ScanRequested(Payload):
    """`project_id` is None for every project."""

    project_id: str | None = None


@dataclass(frozen=True, slots=True)
class FileChanged(Payload):
    """`path` is absolute and lies under the project's root."""

    project_id: str
    path: str


@dataclass(frozen=True, slots=True)
class AccumulationComplete(Payload):
    """What a file says was taken in.

    `changed_ids` are the insights for which there is other evidence now: said for the first time,
    confirmed by a new revision, or withdrawn. `project_id` is None when several runs were made one.
    """

    run_id: str
    project_id: str | None
    changed_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReconciliationRequested(Payload):
    """`full` rebuilds clusters and neighbours from nothing, in place of what changed since.

    Without `weigh` only what came late (a vector, say) is compared, and not everything is weighed.
    """

    full: bool = field(default=False, metadata={WINS: True})
    weigh: bool = field(default=True, metadata={WINS: True})


@dataclass(frozen=True, slots=True)
class ReconciliationComplete(Payload):
    """`candidate_ids` are insights that have earned becoming principles.

    `derived_ids` are insights of which principles come, and whose state may have changed.
    """

    run_id: str
    candidate_ids: tuple[str, ...] = ()
    derived_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OrganisationComplete(Payload):
    """`changed_ids` are principles."""

    run_id: str
    changed_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolutionRequested(Payload):
    """`agent` names the dialect to write in.

    Of several that are made one any that writes counts: what was taken back has to go. `refresh`
    updates a section that is there, and adds none: a person may have removed it.
    """

    path: str
    agent: str = "claude"
    dry_run: bool = field(default=False, metadata={WINS: False})
    refresh: bool = False


@dataclass(frozen=True, slots=True)
class ResolutionComplete(Payload):
    """`path` is the file that was brought up to date."""

    run_id: str
    path: str
    agent: str = "claude"


@dataclass(frozen=True, slots=True)
class Ids(Payload):
    """What the event is about."""

    ids: tuple[str, ...]


def is_text(value: str) -> bool:
    """Tell whether a text can be written down, as UTF-8: half of a surrogate pair cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def split_ids(ids: Sequence[str], most: int) -> list[tuple[str, ...]]:
    """Return ids, as many at a time as one event may name; nothing for none."""
    return [tuple(ids[start : start + most]) for start in range(0, len(ids), most)]


@dataclass(frozen=True, slots=True)
class ActorLife(Payload):
    """Who lived or died, and why."""

    name: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Custom(Payload):
    """Whatever another process wants to say: a JSON object."""

    body: Mapping[str, object]


P = TypeVar("P", bound=Payload)


def parse_payload(kind: type[P], given: Mapping[str, object]) -> P:
    """Return a payload of that kind from JSON fields.

    Raises `BadInput` naming the field that is missing, unknown or of the wrong type.
    """
    if issubclass(kind, Custom):
        return kind(body=dict(given))
    hints = _hints(cast("Any", kind))
    unknown = sorted(given.keys() - hints.keys())
    if unknown:
        raise BadInput(f"it has no field {unknown[0]!r}; it takes {_listed(hints)}")
    try:
        return kind(**{name: _checked(name, hints[name], given[name]) for name in given})
    except TypeError:
        needed = {f.name for f in fields(kind) if f.default is MISSING} - given.keys()
        raise BadInput(f"the field {min(needed)!r} is missing; it takes {_listed(hints)}") from None


def dump_payload(payload: Payload) -> dict[str, Any]:
    """Return a payload as JSON fields; `parse_payload` is the way back."""
    if isinstance(payload, Custom):
        return dict(payload.body)
    # Not `fields`: each durable event comes by here, and a kind has no fields but its own.
    names: tuple[str, ...] = type(payload).__slots__
    values = [(name, getattr(payload, name)) for name in names]
    return {name: list(v) if type(v) is tuple else v for name, v in values}


def merge_payloads(payloads: Sequence[P]) -> P:
    """Return one payload for several of one kind: the newest, with the ids of all in order.

    A field that differs and may be None becomes None ("several"); one that is marked with the value
    that wins has that value if any of them has.
    """
    newest = payloads[-1]
    hints = _hints(cast("Any", type(newest)))
    changes: dict[str, Any] = {}
    for each in fields(newest):
        values = [getattr(payload, each.name) for payload in payloads]
        if isinstance(values[-1], tuple):
            changes[each.name] = tuple(dict.fromkeys(item for value in values for item in value))
        elif WINS in each.metadata and each.metadata[WINS] in values:
            changes[each.name] = each.metadata[WINS]
        elif type(None) in get_args(hints[each.name]) and len(set(values)) > 1:
            changes[each.name] = None
    return replace(newest, **changes)


@cache
def _hints(kind: type[Payload]) -> dict[str, Any]:
    """Return the types of a kind's fields; working them out takes a tenth of a millisecond."""
    return get_type_hints(kind)


def _checked(name: str, hint: Any, value: object) -> Any:  # noqa: ANN401 - any field's type
    """Return a JSON value as the field's type; `BadInput` when it is of another."""
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    for kind in kinds:
        if get_origin(kind) is tuple:
            if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
                return tuple(value)
        elif kind is bool and value in ("true", "false"):
            return value == "true"
        elif type(value) is kind:
            return value
    raise BadInput(f"the field {name!r} must be {_kind(hint)}, not {type(value).__name__}")


def _kind(hint: Any) -> str:  # noqa: ANN401 - any field's type
    """Return a field's type as a person would say it."""
    if isinstance(hint, UnionType):
        return " or ".join(_kind(part) for part in get_args(hint))
    if get_origin(hint) is tuple:
        return "a list of strings"
    return {str: "a string", bool: "true or false", type(None): "null"}.get(hint, str(hint))


def _listed(hints: Mapping[str, Any]) -> str:
    """Return a kind's fields for an error text."""
    return ", ".join(hints) if hints else "no fields"
