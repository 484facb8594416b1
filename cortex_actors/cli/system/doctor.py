"""`doctor`: compares ledger, index and files, mends, and lets the daemon try itself.

`lint`: what is wrong in a project's instruction files; no daemon, no home, nothing is kept.

`parse`: what a file says, as the daemon would read it; no daemon, no home, nothing is kept.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import quote

from cortex_actors import __version__
from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, JsonOption, Option, Preset, command, read_file
from cortex_actors.cli.show import count_nouns, shorten
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import SystemClock
from cortex_actors.domain.hit import WELL, WRONG
from cortex_actors.domain.project import Fragment, hash_file
from cortex_actors.errors import AnswerLost, BadInput, DaemonDown, NotFound, UsageError, visible
from cortex_actors.process import lock
from cortex_actors.text import sections as markdown
from cortex_actors.text.markdown import MAX_BYTES, require_utf8
from cortex_actors.text.sections import Section, find_dialect, split_sections
from cortex_actors.text.statements import find_statements

if TYPE_CHECKING:
    from cortex_actors.doctor.lint import Flaw, Linted, Spot

#: What is said of a round trip.
_TOLD = {
    "ok": "all is well: a probe was remembered, recalled and forgotten",
    "degraded": "it works in part: {reason}",
    "failed": "it does not work: {reason}",
}


def exit_code(found: Answer) -> int:
    """Return the exit code of a checkup, or of a round trip."""
    return int(found.get("exit_code", WELL if found.get("state") == "ok" else WRONG))


def show_checkup(found: Answer) -> None:
    """Print what was looked at, what was done, and the result; or how a round trip went."""
    if "steps" in found:
        steps = [(e["step"], e["state"], f"{e['took_ms']:.1f}", e["said"]) for e in found["steps"]]
        title, columns = f"Tried in {found['took_ms']:,.0f} ms", ("step", "state", "ms", "said")
        show.table(title, columns, steps, empty="nothing was tried")
        print(_TOLD[found["state"]].format(reason=found["reason"]))
        return
    title = f"Checked in {found['took_s']:.1f} s{'' if found['online'] else ', without a daemon'}"
    columns = ("check", "severity", "found", "mend")
    rows = [[each[name] for name in columns] for each in found["checks"]]
    show.table(title, columns, rows, empty="nothing was looked at")
    for each in found["repaired"]:
        print(f"repaired: {each['did']}")
    print(_sentence(found))


@command(
    "doctor",
    "",
    "--repair",
    "--round-trip",
    "--json",
    show=show_checkup,
    code=exit_code,
    asks="doctor",
    round_trip=Preset(help="Remember, recall and forget a probe, and say how each step went."),
)
def doctor(client: Client, *, repair: bool, thorough: bool, round_trip: bool) -> Answer:
    """Compare ledger, index and files, whether the daemon runs or not.

    With --round-trip the daemon tries itself instead, through the verbs that agents use; no
    other agent finds the probe, and nothing of it is left.

    Exit code: 0 all is well, 1 something is wrong, 69 the daemon does not run and --round-trip
    needs it, 70 the ledger is damaged.
    """
    home = client.home
    if round_trip:
        if repair or thorough:
            raise UsageError(
                "cannot mend during a round trip: it tries the daemon and looks at nothing else; "
                "leave out --repair and --thorough, or --round-trip"
            )
        return client.call("round_trip")
    if not home.root.is_dir():
        raise NotFound(f"there is no home at {home.root}; give one with --home or CORTEX_HOME")
    try:
        return client.call("doctor", repair=repair, thorough=thorough)
    except AnswerLost:
        raise
    except DaemonDown:
        # Without --repair a mode that is wrong is reported, and stays.
        held = lock.acquire(home, secure=repair)
    with closing(held):
        # Half a second of imports that the other way does not need.
        import asyncio  # noqa: PLC0415 - nor does lint

        from cortex_actors.doctor import doctor as house_call  # noqa: PLC0415

        return asyncio.run(
            house_call.examine_offline(home, SystemClock(), repair=repair, thorough=thorough)
        )


def _sentence(found: dict[str, Any]) -> str:
    """Return the result, and what to do next."""
    checks = found["checks"]
    if not found["wrong"]:
        notes = sum(each["severity"] == "note" for each in checks)
        return f"all is well; {count_nouns(notes, 'note')}" if notes else "all is well"
    some = [each for each in checks if each["severity"] in {"warning", "error"}]
    repairable = sum(each["repairable"] for each in some)
    what = "1 thing is wrong" if found["wrong"] == 1 else f"{found['wrong']} things are wrong"
    mend = f"; {repairable} can be mended with: cortex doctor --repair" if repairable else ""
    return f"{what}{mend}"


#: What a rule finds, how SARIF weighs it, and its colour in a terminal.
RULES: Final = {
    "contradiction": ("Two statements cannot both be followed.", "error", "red"),
    "duplicate": ("Two statements say the same.", "note", "cyan"),
    "stale-reference": ("A path, script or make target does not exist.", "warning", "yellow"),
}

#: Where the form of `--sarif` is described.
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"

#: What paths in SARIF are relative to.
_ROOT: Final = "PROJECTROOT"


@command("lint", "", "~/code/atlas-api", "--sarif > lint.sarif")
def lint(
    paths: Annotated[
        list[Path] | None,
        Argument(metavar="[PATH...]", help="Folders or instruction files (default: this folder)."),
    ] = None,
    *,
    sarif: Annotated[bool, Option(help="Print SARIF 2.1.0.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Find contradictions, duplicates and stale references in instruction files.

    Works without a daemon. A file is compared with all instruction files of its repository. A
    folder that git ignores is checked where you name it, by itself.

    Exit code: 0 nothing was found, 1 something was, 65 a file cannot be checked, 66 no such path.
    """
    if sarif and as_json:
        raise UsageError("choose one of --sarif and --json; see: cortex lint --help")
    # The rules take a fifth of a second to import, which --help does without.
    from cortex_actors.doctor.lint import lint as look  # noqa: PLC0415

    found = look(paths or [Path()])
    if sarif:
        show.json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [*map(_run, found)]})
    elif as_json:
        show.json({"projects": [asdict(each) for each in found]})
    else:
        _show(found)
    unread = {Path(each.root, path): why for each in found for path, why in each.unread.items()}
    if unread:
        path, why = next(iter(unread.items()))
        more = f", and {count_nouns(len(unread) - 1, 'more file')}" if len(unread) > 1 else ""
        raise BadInput(f"cannot check {path}: {why}{more}")
    return int(any(each.findings for each in found))


def _show(found: Sequence[Linted]) -> None:
    """Print what was found, file by file, and how much that is."""
    for each in found:
        for finding in each.findings:
            _show_finding(each.root, finding)
    counts = Counter(str(finding.rule) for each in found for finding in each.findings)
    kinds = [count_nouns(counts[rule], rule.replace("-", " ")) for rule in RULES if counts[rule]]
    files = count_nouns(sum(len(each.files) for each in found), "instruction file")
    print(f"{', '.join(kinds) or 'nothing found'} in {files}")
    if not any(each.files for each in found):
        text = "looked for CLAUDE.md, AGENTS.md and the like outside of what git ignores"
        print(text, file=sys.stderr)


def _show_finding(root: str, finding: Flaw) -> None:
    """Print where something is wrong, the other place if there is one, and why."""
    from rich.text import Text  # noqa: PLC0415 - only where something is found

    out, (_, _, colour) = show.make_console(), RULES[finding.rule]
    head = Text(_place(root, finding.spot), style="bold")
    head.append(f": {finding.rule}: ", style=colour)
    # Not wrapped by us: a line of output stays one that can be searched for.
    out.print(head + Text(visible(shorten(finding.spot.text)), style="none"), soft_wrap=True)
    other = finding.other
    about = [f"{_place(root, other)}: {shorten(other.text)}"] if other is not None else []
    for line in (*about, finding.why):
        out.print(Text(f"    {visible(line)}", style="dim"), soft_wrap=True)


def _place(root: str, spot: Spot) -> str:
    """Return a path and a line as an editor opens them from here."""
    whole = os.path.join(root, spot.path)  # noqa: PTH118 - Path has no relative path upwards
    near = os.path.relpath(whole)
    return visible(f"{whole if near.startswith('..') else near}:{spot.line}")


def _run(found: Linted) -> dict[str, Any]:
    """Return what was found in one project as a run of SARIF."""
    rules = [
        {"id": rule, "shortDescription": {"text": about}, "defaultConfiguration": {"level": level}}
        for rule, (about, level, _) in RULES.items()
    ]
    notes = [
        {"level": "error", "message": {"text": why}, "locations": [_location(path)]}
        for path, why in found.unread.items()
    ]
    return {
        "tool": {"driver": {"name": "cortex lint", "version": __version__, "rules": rules}},
        "originalUriBaseIds": {_ROOT: {"uri": f"{Path(found.root).as_uri()}/"}},
        "invocations": [{"executionSuccessful": not notes, "toolExecutionNotifications": notes}],
        "results": [_result(each) for each in found.findings],
    }


def _result(finding: Flaw) -> dict[str, Any]:
    """Return one finding as SARIF has it."""
    other = finding.other
    said = f'"{finding.spot.text}": {finding.why}'
    result: dict[str, Any] = {
        "ruleId": str(finding.rule),
        "level": RULES[finding.rule][1],
        "message": {"text": said + (f' ("{other.text}")' if other is not None else "")},
        "locations": [_location(finding.spot.path, finding.spot)],
    }
    if other is not None:
        result["relatedLocations"] = [
            {"id": 1, "message": {"text": other.text}, **_location(other.path, other)}
        ]
    return result


def _location(path: str, spot: Spot | None = None) -> dict[str, Any]:
    """Return a file, and the lines of a text in it."""
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(path), "uriBaseId": _ROOT}}
    if spot is not None:
        place["region"] = {"startLine": spot.line, "endLine": spot.last}
    return {"physicalLocation": place}


#: Parts of a path that may say which dialect a file is of: `.github/instructions/a/b/c.md`.
_PARTS = 6

#: Where something is: lines from 1, bytes from 0 up to the one behind.
_PLACE = ("line_start", "line_end", "byte_start", "byte_end")

#: Hex digits of a fragment's id that a person is shown.
_DIGITS = 12

#: What a section without a heading is called.
_NAMES = {
    "text": "(no heading)",
    "front_matter": "(front matter)",
    "resolved": "(written by cortex)",
    "managed": "(written by another tool)",
}


def show_parsed(found: dict[str, Any], given: dict[str, Any]) -> None:
    """Print what a file says."""
    show.lines(*_lines(found, str(given["file"])))


@command("debug parse", "CLAUDE.md", ".cursor/rules/style.mdc --json", show=show_parsed)
def parse(file: Annotated[Path, Argument(help="The instruction file.")]) -> dict[str, Any]:
    """Show what a file says: its sections and their statements, with lines and bytes."""
    data, path = read_file(file, f"read {file}", most=MAX_BYTES), str(file.absolute())
    require_utf8(data, path=path)
    # The dialect that the path tells, wherever the project's root may be; else it is Markdown.
    last = file.absolute().parts[-_PARTS:]
    names = ("/".join(last[number:]) for number in reversed(range(len(last))))
    dialect = next(filter(None, map(find_dialect, names)), None)
    reader = dialect.parse if dialect is not None else markdown.split_fragments
    said = {each.byte_start: each for each in reader(data, path=path, project="")}
    return {
        "path": path,
        "dialect": dialect.agent if dialect is not None else None,
        "bytes": len(data),
        "file_hash": hash_file(data),
        "sections": [
            _section(part, said.get(part.byte_start)) for part in split_sections(data, path=path)
        ],
    }


def _section(part: Section, fragment: Fragment | None) -> dict[str, Any]:
    """Return a section, and what is said in it if it is a fragment."""
    return {
        "role": part.role.value,
        "heading": part.heading,
        "above": list(part.above),
        **{name: getattr(part, name) for name in _PLACE},
        "fragment_id": fragment and fragment.id,
        "applies_to": list(fragment.applies_to) if fragment else [],
        "imports": list(fragment.imports) if fragment else [],
        "statements": [asdict(each) for each in find_statements(fragment)] if fragment else [],
    }


def _lines(found: Mapping[str, Any], file: str) -> Iterator[str]:
    """Yield what a person is shown."""
    parts = found["sections"]
    fragments = sum(part["fragment_id"] is not None for part in parts)
    said = sum(len(part["statements"]) for part in parts)
    yield f"{file}: {found['bytes']} bytes, fragments: {fragments}, statements: {said}"
    if found["dialect"] is None:
        yield "its name is not that of an instruction file: read as Markdown, by you alone"
    for part in parts:
        fragment = part["fragment_id"]
        name = part["heading"] or _NAMES[part["role"]]
        known = f", fragment {fragment[:_DIGITS]}" if fragment else ""
        yield ""
        yield f"{_span(part)} {name} [bytes {part['byte_start']}-{part['byte_end']}{known}]"
        for label, values in (("applies to", part["applies_to"]), ("imports", part["imports"])):
            if values:
                yield f"{'':<10}{label}: {', '.join(values)}"
        for each in part["statements"]:
            yield f"  {_span(each)} {each['kind']:<8} {each['text']}"


def _span(place: Mapping[str, Any]) -> str:
    """Return the lines of something, as wide as they mostly are."""
    first, last = place["line_start"], place["line_end"]
    return f"{first if first == last else f'{first}-{last}':<8}"
