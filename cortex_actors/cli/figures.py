"""What `status` shows a person of a daemon that answers; standard library only."""

from __future__ import annotations

import re
from typing import Any

from cortex_actors.clock import iso

#: What the id of a compiled model has behind its source's.
_COMPILED = re.compile(r"\+(int8|fp32)-[0-9a-f]{8}$")

#: States of the migrator in which something is under way.
_UNDER_WAY = frozenset({"compiling", "migrating", "waiting"})

#: The state of a model that is not there.
_MISSING = "missing"


def rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of a status: a name and a text each."""
    waiting = f"{found['waiting']} to handle, {found['unembedded']} to embed"
    shown = [("projects", str(found["projects"]))]
    if found.get("broken_files"):
        shown.append(("files", f"{found['broken_files']} cannot be read: cortex projects"))
    shown += [
        ("insights", _insights(found)),
        *_principles(found),
        *_unresolved(found),
        ("waiting", f"{waiting}, {found['unindexed']} to index, {found['dead']} set aside"),
        ("model", _model(found.get("model", {}))),
        *_migration(found.get("migration", {}), found.get("model", {})),
        ("index", _index(found.get("index", {}), found)),
        *(("judge", f"{each['model']}, {each['state']}") for each in _layers(found)),
        *_stores(found.get("stores", {})),
        *_door(found.get("http", {})),
        ("loop lag", f"{found['loop_lag_ms']} ms"),
        *_tried(found.get("round_trip")),
    ]
    if found.get("backup"):
        shown.append(("backup", iso(found["backup"]["at"])))
    if found.get("checked_at"):
        shown.append(("checked", f"every page of the ledger, {iso(found['checked_at'])}"))
    if found.get("recovery"):
        from cortex_actors.storage.ledger.recovery import sentence  # noqa: PLC0415 - seldom needed

        shown.append(("recovery", sentence(found["recovery"])))
    return shown


def _door(door: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what the door for other programs is at, if there is to be one."""
    if door.get("state", "off") in ("off", "away"):
        return []
    where = f", {door['address']}" if door.get("address") else ""
    return [("http", f"{door['state']}{where}")]


def _insights(found: dict[str, Any]) -> str:
    """Return how many insights there are, and how many wait for a person."""
    waiting = found.get("review")
    more = f", {waiting} wait for you: cortex review" if waiting else ""
    return f"{found['insights']}{more}"


def _principles(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return how many principles there are, how many of them fade, and where they stand."""
    known = found.get("principles", 0)
    if not known:
        return []
    waning = found.get("principles_by_status", {})
    some = [f"{waning[name]} {name}" for name in ("decaying", "pruned") if waning.get(name)]
    files = found.get("resolved_files", 0)
    if files:
        some.append(f"in {files} file{'' if files == 1 else 's'}")
    return [("principles", ", ".join([str(known), *some]))]


def _unresolved(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the files whose section a human has edited, and how many could not be written."""
    some = found.get("unresolved", [])
    edited = [each["path"] for each in some if each["state"] == "edited"]
    shown = [
        ("edited", f"{path}: our section was edited by hand; see: cortex resolve {path}")
        for path in dict.fromkeys(edited)
    ]
    others = len(some) - len(edited)
    if others:
        shown.append(("unwritten", f"{others}: cortex runs --kind resolver --failed"))
    return shown


def _stores(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return which stores are asked beside what is kept here, and which give no answer."""
    asked = [each for each in found.get("active", []) if each not in found.get("local", [])]
    skipped = list(found.get("skipped", {}))
    if not asked and not skipped:
        return []
    parts = [", ".join(asked) or "none"]
    down = found.get("down", [])
    parts += [f"no answer from {', '.join(down)}: cortex stores health"] if down else []
    parts += [f"not asked: {', '.join(skipped)}: cortex stores list"] if skipped else []
    return [("stores", "; ".join(parts))]


def duration(seconds: float) -> str:
    """Return a duration in its largest unit."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.0f} s"


def _model(model: dict[str, Any]) -> str:
    """Return which model answers, in which form, and how it is."""
    name = str(model.get("id", "?"))
    state = model.get("state")
    # Why it is missing is long, and stands above as the reason of the whole.
    form = f" (compiled, {match[1]})" if (match := _COMPILED.search(name)) else ""
    return f"{_COMPILED.sub('', name)}{form}, {state if state == _MISSING else _state(model)}"


def _migration(migration: dict[str, Any], model: dict[str, Any]) -> list[tuple[str, str]]:
    """Return how far another model is, while one is on its way."""
    state = migration.get("state")
    if state not in _UNDER_WAY:
        return []
    until = "the one above answers until then"
    if model.get("state") == _MISSING:
        until = "texts are found by their words until then"
    if state == "compiling":
        return [("coming", f"the model is being compiled; {until}")]
    coming, total = migration.get("coming") or {}, migration.get("total", 0)
    text = f"{coming.get('model_id', 'another model')}, {migration.get('done', 0):,} of {total:,}"
    left = migration.get("left_s")
    if state == "migrating" and left is not None:
        text += f" texts, {duration(left)} left"
    else:
        text += f" texts, {state}"
    return [("coming", f"{text}; {until}")]


def _index(index: dict[str, Any], found: dict[str, Any]) -> str:
    """Return how the index is, and who answers while it is not there."""
    state, waits = index.get("state", "?"), found.get("unindexed", 0)
    text = _state(index)
    if index.get("generation"):
        text = f"{state}, generation {index['generation']}"
        text += f": {index['reason']}" if index.get("reason") else ""
    if state != "ready":
        return f"{text}; exact search answers meanwhile"
    held = found.get("passages", 0)
    if waits and held:
        text += f"; {min(waits, held):,} of {held:,} texts to be told, exact search knows them"
    return text


def _layers(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the models that judge; none by default."""
    layers: list[dict[str, Any]] = (found.get("judge") or {}).get("layers", [])
    return layers


def _tried(trip: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return how the last round trip went and when; nothing before the first."""
    if trip is None:
        return []
    # Why it did not go well stands above, as a reason of the whole.
    text = f"{trip['state']} in {trip['took_ms']:,.0f} ms, {duration(trip['age_s'])} ago"
    return [("round trip", text)]


def _state(part: dict[str, Any]) -> str:
    """Return how a part is, and why."""
    reason = part.get("reason")
    return f"{part.get('state', '?')}: {reason}" if reason else str(part.get("state", "?"))
