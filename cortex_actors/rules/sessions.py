"""What of a client's session counts: what a prompt asks, what its transcript's end comes to. Pure.

Of transcripts two forms are read, a JSON object a line: Claude Code's (`type` user or assistant,
`message` with a text or blocks) and Codex's (`type` response_item, `payload` with role and blocks).
Neither is a promise of its client: a line that is not understood is passed over, and nothing comes
of a file in another form. What a client writes in the user's place (commands, notices, reminders,
summaries, other agents' talk) is no request.
"""

from __future__ import annotations

import json
import posixpath
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex_actors.text.hazards import mask_secrets
from cortex_actors.text.summary import shorten, split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

#: Characters of a request and of an answer that are kept; sentences of an answer; files.
REQUEST, ANSWER, SENTENCES, FILES = 400, 400, 2, 8

#: Marks of lines that are not of the conversation with the user.
_ASIDE = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")

#: How texts begin that a client writes in the user's place.
_CLIENTS = ("<", "[Request interrupted", "Caveat:", "# AGENTS.md", "This session is")

#: Tools that change files, and where they name the file.
_CHANGES = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_PATHS = ("file_path", "notebook_path")

#: The files of a patch as Codex writes one.
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update) File: (.+)$", re.MULTILINE)


#: Characters of a prompt below which it says too little to be a question: "go on", "yes please".
SHORTEST = 12

#: How prompts begin that are for the client itself.
_COMMANDS = ("/", "!", "<")


def extract_question(prompt: str) -> tuple[str, str]:
    """Return what is recalled for a prompt, without its secrets, and why nothing is, or "".

    Linear, and slow for what is made to be: 64 KB may take seconds.
    """
    text = mask_secrets(" ".join(prompt.split())).text
    if text.startswith(_COMMANDS):
        return text, "the prompt is for the client"
    return text, "the prompt says too little" if len(text) < SHORTEST else ""


@dataclass(frozen=True, slots=True)
class Essence:
    """What is kept of a transcript.

    Attributes:
        files: that were changed, from the session's folder where they lie in it.

    """

    request: str = ""
    answer: str = ""
    files: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What a crumb says; empty where nothing was asked, answered or changed."""
        asked = f"Asked last: {self.request}" if self.request else ""
        answered = f"Answered: {self.answer}" if self.answer else ""
        changed = f"Changed: {', '.join(self.files)}" if self.files else ""
        return "\n".join(filter(None, (asked, answered, changed)))


def condense(lines: Sequence[str], *, folder: str = "") -> Essence:
    """Return what is kept of a transcript's last lines, without secrets. Linear."""
    said: dict[str, str] = {}
    files: dict[str, None] = {}
    for entry in map(_parsed, reversed(lines)):
        role, blocks = _message(entry)
        for each in _changed(entry, blocks):
            files.setdefault(_shown(each, folder))
        if role in {"user", "assistant"} and role not in said:
            text = "\n".join(_texts(blocks)).strip()
            if text and not (role == "user" and text.startswith(_CLIENTS)):
                said[role] = text
    # Masked as a whole: a secret that is cut has no shape any more.
    asked, answered = (mask_secrets(said.get(role, "")).text for role in ("user", "assistant"))
    return Essence(
        shorten(" ".join(asked.split()), REQUEST),
        shorten(" ".join(" ".join(split_sentences(answered)[:SENTENCES]).split()), ANSWER),
        tuple(files)[:FILES],
    )


def _parsed(line: str) -> Mapping[str, Any]:
    """Return the object on a line; an empty one for anything else."""
    with suppress(ValueError, RecursionError):
        found = json.loads(line)
        if isinstance(found, dict) and not any(found.get(each) for each in _ASIDE):
            payload = found.get("payload")
            return payload if isinstance(payload, dict) else found
    return {}


def _message(entry: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return who speaks on a line, and the blocks of it; a text is one block."""
    inner = entry.get("message")
    found = inner if isinstance(inner, dict) else entry
    role, content = found.get("role"), found.get("content")
    blocks = [{"text": content}] if isinstance(content, str) else content
    return str(role or ""), blocks if isinstance(blocks, list) else []


def _texts(blocks: Iterable[Any]) -> Iterator[str]:
    """Yield what is said in blocks; thoughts and results of tools are not."""
    for each in blocks:
        if isinstance(each, dict) and str(each.get("type", "text")).endswith("text"):
            text = each.get("text")
            if isinstance(text, str):
                yield text


def _changed(entry: Mapping[str, Any], blocks: Iterable[Any]) -> Iterator[str]:
    """Yield the files that the tools of a line change."""
    for each in blocks:
        given = each.get("input") if isinstance(each, dict) else None
        if isinstance(given, dict) and str(each.get("name")) in _CHANGES:
            yield from (given[name] for name in _PATHS if isinstance(given.get(name), str))
    patch = entry.get("input") or entry.get("arguments")
    if entry.get("name") == "apply_patch" and isinstance(patch, str):
        yield from _PATCHED.findall(patch.replace("\\n", "\n"))


def _shown(path: str, folder: str) -> str:
    """Return a path from the folder where it lies in it; the last ones of what is long."""
    inside = folder and path.startswith(f"{folder.rstrip('/')}/")
    return (posixpath.relpath(path, folder) if inside else path)[-200:]
