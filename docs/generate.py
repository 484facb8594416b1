"""Writes the pages that are made from the code: `make docs`; a test holds them to it."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors import sections, settings, topics
from cortex_actors.assembly.reload import Branch
from cortex_actors.bus.bus import CUSTOM_NAMES
from cortex_actors.bus.delivery import PATIENCE
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.tree import INTENSITY, PERIOD, TREE

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Where the pages are.
DOCS = Path(__file__).parent

#: Sections of the settings by name, in the file's order.
SECTIONS = settings.Settings.model_fields


def topics_page() -> str:
    """Return docs/topics.md."""
    rows = [
        f"| `{topic.name}` | {_payload(topic)} | {'yes' if topic.durable else 'no'} "
        f"| {_key(topic)} | {', '.join(topic.said_by)} | {', '.join(topic.heard_by) or '-'} "
        f"| {topic.about} |"
        for topic in topics.TOPICS
    ]
    return "\n".join(
        [
            "# Topics",
            "",
            "Made from `cortex_actors/topics.py` by `make docs`.",
            "",
            "A topic is `noun:state`. Events of a *durable* topic are rows of the ledger: they are",
            "handled even if nobody was there when they were said. A field with `?` may be left",
            "out, and so may `project_id` of `file:changed`. Waiting events with one *key*",
            "are handled as one. *Heard by* names the actors that handle the event; tails (`cortex",
            "logs -f`) see every topic.",
            "",
            "| topic | payload | durable | key | said by | heard by | about |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
            "Other processes may say `custom:[a-z0-9-]{1,64}` with any JSON object of at most",
            f"{topics.PAYLOAD_LIMIT // 1024} KiB, and every topic above except `actor:*`,",
            "`daemon:*` and `*:complete`, which only the daemon says:",
            "",
            "```console",
            "$ cortex publish custom:deployed version=1.4 ok:=true",
            "$ cortex publish scan:requested",
            "```",
            "",
            *_hearing(),
        ]
    )


def _hearing() -> list[str]:
    """Return what docs/topics.md says of names, patterns and order."""
    return [
        f"At most {CUSTOM_NAMES:,} custom names are kept in memory; one more takes the place of",
        "the one that was said longest ago, unless somebody subscribes to that by its name.",
        "",
        "## Hearing",
        "",
        "A pattern is `noun:state`, in which `*` stands for any run of letters, digits and",
        "hyphens (`file:*`, `*:complete`), or `*` alone for everything. What is no pattern,",
        "and a pattern that no topic can match, is an error.",
        "",
        "What one publisher says, every receiver gets in that order. A receiver that raises,",
        "is slow or dies costs no other its event. A publisher waits while the mailbox of a",
        "receiver with `back-pressure` is full, so that a flood over the control socket is",
        f"slowed at its source; after {PATIENCE:.0f} s that receiver goes without.",
        "",
    ]


def configuration_page() -> str:
    """Return docs/configuration.md."""
    comments = _comments()
    lines = [
        "# Configuration",
        "",
        "Made from `cortex_actors/sections.py`, `federationsections.py`, `flowsections.py`,",
        "`memorysections.py` and `modelsections.py` by `make docs`.",
        "",
        "Settings are read from `cortex.toml` in the home, then from the environment, which wins:",
        "`CORTEX_EMBEDDING__MODEL` is `model` of `[embedding]`. A key that does not exist is an",
        "error (exit code 78). The daemon follows a change after `cortex reload`; some keys need",
        "`cortex restart`, and `cortex reload` names them. The home is `--home`, else",
        "`CORTEX_HOME`, else `$XDG_DATA_HOME/cortex-actors`.",
        "",
        "```toml",
        "# cortex.toml",
        "[watching]",
        "sweep_s = 10",
        "",
        "[embedding]",
        'model = "/models/my-sentence-model"',
        "```",
        "",
    ]
    for name, section in SECTIONS.items():
        kind = section.default.__class__
        lines += [f"## [{name}]", "", (kind.__doc__ or "").strip(), ""]
        lines += ["| key | default | meaning |", "|---|---|---|"]
        for key, field in kind.model_fields.items():
            default = field.default
            shown = list(default) if isinstance(default, tuple) else default
            lines.append(f"| `{key}` | `{shown}` | {comments[kind.__name__, key]} |")
        lines += ["", *(_one_store(comments) if name == "federation" else ())]
    return "\n".join(lines)


def actors_page() -> str:
    """Return docs/actors.md."""
    kinds = {kind.__name__.lower(): kind for kind in _below(AsyncioActor)}
    drawing = re.search(r"```\n.*?\n```", _doc("cortex_actors.tree"), re.DOTALL)
    lines = [
        "# Actors",
        "",
        "Made from the actors' cards, their classes and `cortex_actors/tree.py` by `make docs`;",
        "tests hold the cards to the code.",
        "",
        drawing[0] if drawing else "",
        "",
        f"A branch that restarts its children more than {INTENSITY} times in {PERIOD:g} s gives up",
        "and is restarted by the branch above it.",
        "",
        "*Hears* are topics of the bus, *says* what it publishes, *asks* the names it is handed a",
        "way to, *keeps* what it has between two messages, with what becomes of that in a crash",
        "(`-`: nothing that a crash could lose). *Mailbox* is how many messages may wait, and what",
        "a full one does: `back-pressure` makes senders wait, `refuse` tells them at once,",
        "`drop-new` and `drop-old` drop a message. *Message limit* is how long one message may",
        "take before the watchdog restarts the actor.",
        "",
    ]
    for branch, names in _branches(TREE):
        lines += [f"## {branch.name}", "", f"Strategy: `{branch.strategy}`.", ""]
        for name in names:
            lines += _actor(kinds[name], name)
    return "\n".join(lines)


def _branches(branch: Branch) -> Iterator[tuple[Branch, list[str]]]:
    """Yield the branches that have actors, in the order of their start."""
    names = [child for child in branch.children if isinstance(child, str)]
    if names or not branch.children:
        # The actors of a branch that begins empty are called what it is, without the s.
        yield branch, names or [branch.name.removesuffix("s")]
    for child in branch.children:
        if isinstance(child, Branch):
            yield from _branches(child)


def _actor(kind: type[AsyncioActor], name: str) -> list[str]:
    """Return what the page says of one actor."""
    text = _doc(kind.__module__)
    about = text.split("\n", maxsplit=1)[0].split(": ", maxsplit=1)[1]
    card = re.findall(r"^(hears|says|asks|keeps) {2,}(\S.*(?:\n +\S.*)*)$", text, re.MULTILINE)
    rows = [(line, re.sub(r"\s+", " ", told)) for line, told in card]
    rows += [
        ("mailbox", f"{kind.mailbox_limit or 'no limit'}, {kind.overflow}"),
        ("message limit", f"{kind.message_limit:g} s" if kind.message_limit else "none"),
    ]
    return [
        f"### {name}",
        "",
        about[0].upper() + about[1:],
        "",
        "| | |",
        "|---|---|",
        *(f"| {line} | {told.replace('*', chr(92) + '*')} |" for line, told in rows),
        "",
    ]


def _below(kind: type[AsyncioActor]) -> Iterator[type[AsyncioActor]]:
    """Yield the product's actors below a class."""
    for child in kind.__subclasses__():
        yield from _below(child)
        if child.__module__.startswith("cortex_actors."):
            yield child


def _doc(module: str) -> str:
    """Return a module's docstring."""
    return inspect.getdoc(sys.modules[module]) or ""


def _payload(topic: topics.Topic) -> str:
    """Return the names of what travels on a topic."""
    needed = [
        field.name if field.default is MISSING else f"{field.name}?"
        for field in fields(topic.payload)
    ]
    return ", ".join(needed) or "-"


def _one_store(comments: dict[tuple[str, str], str]) -> Iterator[str]:
    """Yield the table of what one store may have."""
    kind = sections.StoreSettings
    yield from ("### [[federation.stores]]", "", (kind.__doc__ or "").strip(), "")
    yield from ("| key | default | meaning |", "|---|---|---|")
    for key, field in kind.model_fields.items():
        default = "required" if field.is_required() else f"`{field.default}`"
        yield f"| `{key}` | {default} | {comments[kind.__name__, key]} |"
    yield ""


def _key(topic: topics.Topic) -> str:
    """Return what makes two waiting events one."""
    if topic.key is None:
        return "-"
    return ", ".join(topic.key) or "all are one"


def _comments() -> dict[tuple[str, str], str]:
    """Return the `#:` text of each setting, by class and key."""
    found: dict[tuple[str, str], str] = {}
    owner, comment = "", ""
    modules = (sections, sections, sections, sections, sections)
    texts = (Path(each.__file__ or "").read_text("utf-8") for each in modules)
    for line in "\n".join(texts).splitlines():
        if match := re.match(r"class (\w+)\(", line):
            owner, comment = match[1], ""
        elif match := re.match(r"    #: ?(.*)", line):
            comment = f"{comment} {match[1]}".strip()
        elif match := re.match(r"    (\w+): ", line):
            found[owner, match[1]], comment = comment, ""
    return found


#: Page -> what makes it.
PAGES = {
    "actors.md": actors_page,
    "configuration.md": configuration_page,
    "topics.md": topics_page,
}


if __name__ == "__main__":
    for page, make in PAGES.items():
        (DOCS / page).write_text(make(), encoding="utf-8")
