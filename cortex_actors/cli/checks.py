"""How the checks of a promotion are shown: what there is, what is asked for, and the gap."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.client.connection import Answer

#: What each check is called where people read it, and its unit.
_NEEDS = {
    "active": ("status", ""),
    "confidence": ("confidence", ""),
    "observations": ("observations", ""),
    "age": ("age", " days"),
    "no_contradiction": ("contradictions", ""),
    "not_promoted": ("principles of it", ""),
    "not_private": ("one person's own", ""),
    "not_rejected": ("turned down", ""),
    "a_claim": ("command or example", ""),
    "projects": ("projects", ""),
    "not_wary": ("suspicious", ""),
}

#: What a check asks for that nothing may speak against.
_NOTHING = "no"


def check_line(check: Answer) -> str:
    """Return one check as a line: `0.57 of 0.70, 0.13 to go`."""
    mark = "ok" if check["met"] else "--"
    actual, required = _number(check["actual"]), _number(check["required"])
    if check.get("waived"):
        return f"{mark}  {actual}, and a person has approved it"
    if isinstance(check["actual"], str):
        enough = check["met"] or required == _NOTHING
        return f"{mark}  {actual}" if enough else f"{mark}  {actual}, must be {required}"
    if check["required"] == 0:
        return f"{mark}  {actual}" if check["met"] else f"{mark}  {actual}, must be none"
    unit = _NEEDS.get(check["need"], ("", ""))[1]
    line = f"{mark}  {actual} of {required}{unit}"
    return line if check["met"] else f"{line}, {_number(check['gap'])} to go"


def need(name: str) -> str:
    """Return what a check is called."""
    return _NEEDS.get(name, (name.replace("_", " "), ""))[0]


def is_trouble(check: Answer) -> bool:
    """Return whether a check is not met because of something that must not be, said in words."""
    return bool(check["required"] == _NOTHING)


def gap(check: Answer) -> str:
    """Return what a check lacks, in a few words."""
    if check["need"] == "active":
        return f"is {check['actual']}"
    if is_trouble(check):
        return str(check["actual"])
    if check["gap"] is None or check["required"] == 0:
        return f"{need(check['need'])}: {_number(check['actual'])}"
    unit = _NEEDS.get(check["need"], ("", ""))[1]
    return f"{need(check['need'])} {_number(check['actual'])} of {_number(check['required'])}{unit}"


def _number(value: object) -> str:
    """Return a number with as many places as it needs, or a word."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2f}" if 0 < abs(value) < 1 else f"{value:.1f}".removesuffix(".0")
