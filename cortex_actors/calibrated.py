"""The file that `cortex calibrate --write` writes: thresholds that lie below the settings file.

It is the program's own and is replaced as a whole; `cortex.toml` is a person's, and wins over it.
"""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import iso
from cortex_actors.errors import ConfigurationError, HomeUnwritable
from cortex_actors.home import private

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cortex_actors.rules.calibration import Suggestion

#: The section that holds the thresholds, and the table in it that holds those of domains.
_SECTION, _DOMAINS = "reconciliation", "domains"


def write(path: Path, found: Iterable[Suggestion], *, at: int) -> None:
    """Put suggested thresholds into the file, and leave those of other domains (on a thread).

    The file is whole at every moment, whatever is cut short. Raises `ConfigurationError` for one
    that cannot be read, `HomeUnwritable`.
    """
    section = _read(path)
    domains = section.setdefault(_DOMAINS, {})
    for each in found:
        values = {"cluster": each.suggested.cluster, "judged": each.suggested.judged}
        if each.domain is None:
            section.update(values)
        else:
            domains[each.domain] = values
    _replace(path, _text(section, at))


def _read(path: Path) -> dict[str, Any]:
    """Return the section as the file has it; an empty one where there is no file."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        message = f"cannot read {path}: {error}; remove it, and calibrate again"
        raise ConfigurationError(message) from error
    return dict(found.get(_SECTION, {}))


def _text(section: dict[str, Any], at: int) -> str:
    """Return the file's text."""
    domains = section.get(_DOMAINS, {})
    lines = [
        f"# Written by `cortex calibrate --write` at {iso(at)}.",
        "# What cortex.toml says wins over it; remove the file to go back to the defaults.",
        "",
        f"[{_SECTION}]",
        *_values({name: value for name, value in section.items() if name != _DOMAINS}),
    ]
    for name in sorted(domains):
        lines += ["", f"[{_SECTION}.{_DOMAINS}.{_key(name)}]", *_values(domains[name])]
    return "\n".join([*lines, ""])


def _values(table: dict[str, Any]) -> list[str]:
    """Return a table's lines."""
    return [f"{name} = {value!r}" for name, value in sorted(table.items())]


def _key(name: str) -> str:
    """Return a key as TOML has it: in quotes."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _replace(path: Path, text: str) -> None:
    """Put a text in the place of a file, on the disk before its name is."""
    beside = path.with_name(f".{path.name}.new")
    try:
        descriptor = private(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        message = f"cannot write {path}: {error}; check the disk and the folder's permissions"
        raise HomeUnwritable(message) from error
