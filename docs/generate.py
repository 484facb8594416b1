"""Writes the pages that are made from the code: `make docs`; a test holds them to it."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path

from cortex_actors import settings, topics

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
        ]
    )


def configuration_page() -> str:
    """Return docs/configuration.md."""
    comments = _comments()
    lines = [
        "# Configuration",
        "",
        "Made from `cortex_actors/settings.py` by `make docs`.",
        "",
        "Settings are read from `cortex.toml` in the home, then from the environment, which wins:",
        "`CORTEX_EMBEDDING__MODEL` is `model` of `[embedding]`. A key that does not exist is an",
        "error (exit code 78). A change takes effect when the daemon is restarted. The home is",
        "`--home`, else `CORTEX_HOME`, else `$XDG_DATA_HOME/cortex-actors`.",
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
        lines.append("")
    return "\n".join(lines)


def _payload(topic: topics.Topic) -> str:
    """Return the names of what travels on a topic."""
    needed = [
        field.name if field.default is MISSING else f"{field.name}?"
        for field in fields(topic.payload)
    ]
    return ", ".join(needed) or "-"


def _key(topic: topics.Topic) -> str:
    """Return what makes two waiting events one."""
    if topic.key is None:
        return "-"
    return ", ".join(topic.key) or "all are one"


def _comments() -> dict[tuple[str, str], str]:
    """Return the `#:` text of each setting, by class and key."""
    found: dict[tuple[str, str], str] = {}
    owner, comment = "", ""
    for line in Path(settings.__file__).read_text(encoding="utf-8").splitlines():
        if match := re.match(r"class (\w+)\(", line):
            owner, comment = match[1], ""
        elif match := re.match(r"    #: ?(.*)", line):
            comment = f"{comment} {match[1]}".strip()
        elif match := re.match(r"    (\w+): ", line):
            found[owner, match[1]], comment = comment, ""
    return found


#: Page -> what makes it.
PAGES = {"topics.md": topics_page, "configuration.md": configuration_page}


if __name__ == "__main__":
    for page, make in PAGES.items():
        (DOCS / page).write_text(make(), encoding="utf-8")
