"""The catalogue of topics: what each is called, what travels on it, who says it and who hears it.

A topic is `noun:state`. Payloads carry ids and paths, never documents. The names under `heard_by`
are *consumers*: the transaction that stores a durable event writes one delivery row for each of
them, whether or not that actor is alive, so a restart misses nothing. Receivers that are not
listed (the log stream, the page, `cortex daemon logs -f`) only watch.

Consumers appear here when their actor exists; docs/topics.md is generated from this module.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from cortex_actors.domain import event as shape
from cortex_actors.errors import BadInput, UnknownTopic

SCAN_REQUESTED: Final = "scan:requested"
FILE_CHANGED: Final = "file:changed"
ACCUMULATION_COMPLETE: Final = "accumulation:complete"
RECONCILIATION_REQUESTED: Final = "reconciliation:requested"
RECONCILIATION_COMPLETE: Final = "reconciliation:complete"
ORGANISATION_REQUESTED: Final = "organisation:requested"
ORGANISATION_COMPLETE: Final = "organisation:complete"
RESOLUTION_REQUESTED: Final = "resolution:requested"
RESOLUTION_COMPLETE: Final = "resolution:complete"
MEMORY_REMEMBERED: Final = "memory:remembered"
MEMORY_ACCESSED: Final = "memory:accessed"
MEMORY_PROMOTED: Final = "memory:promoted"
MEMORY_DECAYED: Final = "memory:decayed"
MEMORY_MERGED: Final = "memory:merged"
CRUMB_LEFT: Final = "crumb:left"
VILLAGE_POSTED: Final = "village:posted"
CONVERGENCE_DETECTED: Final = "convergence:detected"
CONTRADICTION_DETECTED: Final = "contradiction:detected"
CONTRADICTION_RESOLVED: Final = "contradiction:resolved"
PROJECT_ADDED: Final = "project:added"
PROJECT_REMOVED: Final = "project:removed"
STORE_ADDED: Final = "store:added"
STORE_REMOVED: Final = "store:removed"
STORE_UP: Final = "store:up"
STORE_DOWN: Final = "store:down"
ACTOR_STARTED: Final = "actor:started"
ACTOR_CRASHED: Final = "actor:crashed"
ACTOR_RESTARTED: Final = "actor:restarted"
ACTOR_GAVE_UP: Final = "actor:gave-up"
DAEMON_READY: Final = "daemon:ready"
DAEMON_STOPPING: Final = "daemon:stopping"

#: What another process may invent: `custom:` and a short name.
CUSTOM_NAME: Final = re.compile(r"custom:[a-z0-9-]{1,64}")

#: Bytes of JSON a payload may have: payloads carry ids and paths, not documents.
PAYLOAD_LIMIT: Final = 64 * 1024

#: `Topic.key` of topics of which one run answers every waiting event.
ONE_KEY: Final[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Topic:
    """One row of the catalogue."""

    name: str
    payload: type[shape.Payload]
    about: str
    said_by: tuple[str, ...]
    heard_by: tuple[str, ...] = ()
    durable: bool = True
    #: Payload fields that make two waiting events one (conflation); None: each is handled alone.
    key: tuple[str, ...] | None = None
    #: Only this program may say it; another process that tries is refused.
    owner_only: bool = False


def _ids(name: str, said_by: str | tuple[str, ...], about: str, *heard_by: str) -> Topic:
    """Return a durable topic that carries ids."""
    speakers = (said_by,) if isinstance(said_by, str) else said_by
    return Topic(name, shape.Ids, about, said_by=speakers, heard_by=heard_by)


def _life(name: str, said_by: str, about: str) -> Topic:
    """Return a topic about the program's own life: not durable, said by the owner alone."""
    return Topic(name, shape.ActorLife, about, said_by=(said_by,), durable=False, owner_only=True)


TOPICS: Final[tuple[Topic, ...]] = (
    Topic(
        SCAN_REQUESTED,
        shape.ScanRequested,
        "Read the files of one project again, or of all.",
        said_by=("anyone",),
        heard_by=("watchlist", "accumulator"),
        key=("project_id",),
    ),
    Topic(
        FILE_CHANGED,
        shape.FileChanged,
        "An instruction file may have changed, appeared or vanished; the file itself is the truth.",
        said_by=("watcher", "watchlist", "accumulator", "anyone"),
        heard_by=("accumulator",),
        key=("path",),
    ),
    Topic(
        ACCUMULATION_COMPLETE,
        shape.AccumulationComplete,
        "A file was read; also said after a failed or unchanged run, with no ids.",
        said_by=("accumulator", "cortex"),
        heard_by=("reconciler",),
        key=ONE_KEY,
        owner_only=True,
    ),
    Topic(
        RECONCILIATION_REQUESTED,
        shape.ReconciliationRequested,
        "Compare the insights with one another now; `full` begins from nothing.",
        said_by=("anyone",),
        heard_by=("reconciler",),
        key=ONE_KEY,
    ),
    Topic(
        RECONCILIATION_COMPLETE,
        shape.ReconciliationComplete,
        "Insights were compared and weighed; these may become principles.",
        said_by=("reconciler",),
        heard_by=("organiser",),
        key=ONE_KEY,
        owner_only=True,
    ),
    Topic(
        ORGANISATION_REQUESTED,
        shape.Nothing,
        "Distil principles now.",
        said_by=("anyone",),
        heard_by=("organiser",),
        key=ONE_KEY,
    ),
    Topic(
        ORGANISATION_COMPLETE,
        shape.OrganisationComplete,
        "Principles were distilled, or taken back.",
        said_by=("organiser", "cortex"),
        heard_by=("resolver",),
        key=ONE_KEY,
        owner_only=True,
    ),
    Topic(
        RESOLUTION_REQUESTED,
        shape.ResolutionRequested,
        "Bring what is known back into an instruction file.",
        said_by=("resolver", "anyone"),
        heard_by=("resolver",),
        key=("path", "agent", "refresh"),
    ),
    Topic(
        RESOLUTION_COMPLETE,
        shape.ResolutionComplete,
        "An instruction file was brought up to date.",
        said_by=("resolver",),
        key=("path", "agent"),
        owner_only=True,
    ),
    _ids(MEMORY_REMEMBERED, ("archivist", "village"), "An agent's memory was saved."),
    _ids(MEMORY_ACCESSED, "custodian", "Memories were recalled: those of some seconds together."),
    _ids(
        MEMORY_PROMOTED,
        ("custodian", "scheduler", "cortex"),
        "Memories moved to a longer-lived layer.",
    ),
    _ids(MEMORY_DECAYED, "scheduler", "Memories faded as far as they can."),
    _ids(MEMORY_MERGED, ("archivist", "cortex"), "Memories became one."),
    _ids(CRUMB_LEFT, "trail", "A session left a crumb for the next."),
    _ids(VILLAGE_POSTED, "village", "An agent spoke to the others."),
    _ids(CONVERGENCE_DETECTED, "village", "Several agents say the same.", "custodian"),
    _ids(CONTRADICTION_DETECTED, "reconciler", "Two insights cannot both hold."),
    _ids(
        CONTRADICTION_RESOLVED,
        ("reconciler", "cortex"),
        "A contradiction was decided by a person, or does not hold any more.",
    ),
    _ids(PROJECT_ADDED, "cortex", "A project is followed from now on.", "watchlist"),
    _ids(PROJECT_REMOVED, "cortex", "A project is followed no longer.", "watchlist"),
    _ids(STORE_ADDED, "roster", "A store joined the federation."),
    _ids(STORE_REMOVED, "roster", "A store left the federation."),
    _ids(STORE_UP, "roster", "A store answers again."),
    _ids(STORE_DOWN, "roster", "A store does not answer."),
    _life(ACTOR_STARTED, "runtime", "An actor started."),
    _life(ACTOR_CRASHED, "runtime", "An actor ended unexpectedly."),
    _life(ACTOR_RESTARTED, "runtime", "An actor was started again by its supervisor."),
    _life(ACTOR_GAVE_UP, "runtime", "A supervisor reached its restart limit and ended."),
    _life(DAEMON_READY, "daemon", "Ledger, bus and control socket are up."),
    _life(DAEMON_STOPPING, "daemon", "The daemon drains and ends."),
)

_BY_NAME: Final = {topic.name: topic for topic in TOPICS}


def find(name: str) -> Topic:
    """Return the topic of that name, or a durable one for `custom:*`.

    Raises `UnknownTopic` for any other name.
    """
    return _BY_NAME.get(name) or _custom(name)


# Custom names whose topic is remembered: as many as may be alive, and some more.
@lru_cache(2_048)
def _custom(name: str) -> Topic:
    """Return the topic of another process's own name; raises `UnknownTopic`."""
    if CUSTOM_NAME.fullmatch(name):
        return Topic(name, shape.Custom, "Said by another process.", said_by=("anyone",))
    raise UnknownTopic(
        f"no topic is called {name!r}; your own are custom:[a-z0-9-]{{1,64}}, "
        "the others are listed by: cortex debug topics"
    )


def parse(name: str, fields: dict[str, object]) -> shape.Payload:
    """Return the typed payload of a topic from JSON fields.

    Raises `UnknownTopic`, or `BadInput` naming the field that is wrong.
    """
    topic = find(name)
    try:
        return shape.parse_payload(topic.payload, fields)
    except BadInput as error:
        raise BadInput(f"cannot publish {name}: {error}") from None


def list_consumers() -> frozenset[str]:
    """Return the names of all actors that hear a durable topic."""
    return frozenset(name for topic in TOPICS for name in topic.heard_by)


def compute_key(name: str, payload: shape.Payload) -> str | None:
    """Return what makes two waiting events of a topic one, or None when nothing does."""
    fields = find(name).key
    if fields is None:
        return None
    if len(fields) < 2:  # noqa: PLR2004 - nothing to tell apart
        return "".join(str(getattr(payload, field)) for field in fields)
    plain = shape.dump_payload(payload)
    return json.dumps([plain[field] for field in fields])
