"""The verbs behind the hooks of agents' clients: one for each event, and what they did last.

A hook speaks as an agent, whoever asks: the owner's rights are put down at once (`_session`). What
it gives to a session is quoted (`render/brief.py`), never twice in one session, and counts as read
by nobody: what hooks show would else be shown more and more.

Answers have `output`, which the client of the hook prints as it is, empty for nothing: Claude Code
and Codex take `hookSpecificOutput` for the start of a session and for a prompt alone, and refuse it
before a compaction and at the end.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.api import parameters
from cortex_actors.api.memory.brief import Session, list_chapters
from cortex_actors.api.memory.remember import recall
from cortex_actors.api.memory.village import leave_crumb
from cortex_actors.api.registry import Call, operation
from cortex_actors.clock import SECOND, duration
from cortex_actors.domain.agent import Caller
from cortex_actors.domain.memory import MemoryStatus
from cortex_actors.errors import BadInput
from cortex_actors.federation.fan import QUESTION_LIMIT
from cortex_actors.process import sessions
from cortex_actors.process.sessions import HookRun
from cortex_actors.render.brief import NEAR, Brief, Chapter, Note, compose, quote
from cortex_actors.render.section import neutral
from cortex_actors.rules.admission import SESSION_LIMIT
from cortex_actors.rules.transcript import Essence, condense
from cortex_actors.storage import documents, memory_records, realms
from cortex_actors.text.hazards import mask_secrets

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.domain.project import Project
    from cortex_actors.storage.ledger.actor import Connection

#: Hits that are looked at for a prompt, and those of them that are given.
HITS, GIVEN = 10, 5

#: What is looked through for a prompt: what was remembered and what was read in. A session reads
#: its instruction files itself, and crumbs and principles are in its brief.
ROOMS = (*memory_records.COLLECTIONS.values(), documents.COLLECTION)

#: Characters of a prompt below which it says too little to be a question: "go on", "yes please".
SHORTEST = 12

#: How prompts begin that are for the client itself.
_COMMANDS = ("/", "!", "<")

#: Characters of what a client hands over that are kept: a summary, not a book.
_SUMMARY = 8_000

#: What starts a session of which nothing is left of what was given before.
_CONTINUED = "resume"


@dataclass
class Hook:
    """One hook while it is answered."""

    call: Call
    event: str
    session: str
    folder: str
    _: KW_ONLY
    #: What the client calls the event; none for one that takes no context.
    called: str = ""
    agent: str = field(init=False)

    def __post_init__(self) -> None:
        """Speak as whoever it is."""
        self.agent = self.call.caller.agent or ""
        self.session = neutral(self.session[:SESSION_LIMIT])

    @property
    def run(self) -> HookRun:
        """What is written down of it, so far."""
        now = self.call.clock.now()
        return HookRun(now, self.event, self.agent, self.session, self.folder)

    async def off(self) -> str:
        """Return why it does nothing here; "" where it may."""
        chosen = self.call.settings().hooks
        if not chosen.enabled:
            return "hooks.enabled is false"
        real = await asyncio.to_thread(os.path.realpath, self.folder or "/")
        for each in chosen.off:
            if real == each or real.startswith(f"{each.rstrip('/')}/"):
                return f"hooks.off has {each}"
        return ""

    async def seen(self) -> frozenset[str]:
        """Return what the session was given."""
        return await asyncio.to_thread(sessions.given_to, self._path, self.run)

    async def done(
        self, made: Brief, reason: str = "", *, anew: bool = False, crumb: str = "", mark: str = ""
    ) -> dict[str, Any]:
        """Write down what it did, and return the answer."""
        items = [{k: v for k, v in each.plain().items() if k != "text"} for each in made.notes]
        run = replace(self.run, reason="" if items else reason, items=items, crumb=crumb)
        run = replace(run, tokens=made.tokens)
        more = [mark] if mark else []
        await asyncio.to_thread(sessions.note_run, self._path, run, *more, anew=anew)
        said = {"hookEventName": self.called, "additionalContext": made.text}
        return {
            "output": {"hookSpecificOutput": said} if made.text else {},
            "reason": run.reason,
            "tokens": made.tokens,
            "items": [each.plain() for each in made.notes],
            "crumb": crumb or None,
        }

    @property
    def _path(self) -> Path:
        return self.call.home.logs / "hooks.json"


def _session(call: Call, agent: str | None) -> Call:
    """Return a call of a session of an agent, whoever asks; raises `BadInput`, `NotYours`.

    The one place in which hooks say as whom they act.
    """
    chosen = call.settings()
    name = call.caller.acting(agent, chosen.hooks.agent or chosen.memory.agent)
    return replace(call, caller=Caller(name))


@operation("hooks.session-start", http="POST /hooks/session-start", agents=True)
async def hook_start(
    call: Call,
    session_id: str = "",
    *,
    source: str = "",
    agent: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """Answer the hook of a session that starts: with the brief of its folder.

    `source` is why it starts: where it goes on (`resume`) it is given only what is new to it.
    Returns `output` for the client, empty for nothing, and `reason`, why. Raises `BadInput`,
    `NotYours`.
    """
    call = _session(call, agent)
    hook = Hook(call, "session-start", session_id, here or "", called="SessionStart")
    if off := await hook.off():
        return await hook.done(Brief(), off)
    goes_on = source == _CONTINUED
    seen = await hook.seen() if goes_on else frozenset()
    owner = await call.asked_for(None, here)
    told = Session(hook.agent, hook.agent, owner, call.clock.now(), seen)
    chapters = await call.records.read(partial(list_chapters, session=told))
    made = compose(told.head, chapters, budget=call.settings().hooks.start_budget_tokens)
    why = "the budget has room for nothing" if made.left_out else "nothing is known that is new"
    return await hook.done(made, why, anew=not goes_on)


@operation("hooks.prompt", http="POST /hooks/prompt", agents=True)
async def hook_prompt(
    call: Call,
    prompt: str,
    session_id: str = "",
    *,
    agent: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """Answer the hook of a prompt: with memories and documents that are near it, if any are.

    Returns `output` for the client, empty for nothing, and `reason`, why. Raises `BadInput`,
    `NotYours`, and `Busy`.
    """
    hook = Hook(_session(call, agent), "prompt", session_id, here or "", called="UserPromptSubmit")
    # On threads: 64 KB that are made to be slow take seconds to look through.
    text, why = await asyncio.to_thread(_question, prompt)
    if off := (await hook.off() or why):
        return await hook.done(Brief(), off)
    found = await recall(hook.call, text, HITS, stores=ROOMS, sure=True, track=False, here=here)
    owner = await call.asked_for(None, here)
    near = [each for each in found["hits"] if _concerns(each, owner, text)]
    if not near:
        return await hook.done(Brief(), "nothing is near the prompt")
    seen = await hook.seen()
    hits = [each for each in near if each["id"] not in seen]
    if not hits:
        return await hook.done(Brief(), "the session was given all of it already")
    notes = await asyncio.to_thread(_notes, hits, owner, now=call.clock.now())
    budget = call.settings().hooks.prompt_budget_tokens
    made = compose(NEAR, [Chapter("near", "", notes[:GIVEN])], budget=budget)
    why = "the budget has room for nothing" if made.left_out else "what is near is suspicious"
    return await hook.done(made, why)


def _question(prompt: str) -> tuple[str, str]:
    """Return what is recalled for a prompt, without its secrets, and why nothing is."""
    text = mask_secrets(" ".join(prompt.split())).text[:QUESTION_LIMIT]
    if text.startswith(_COMMANDS):
        return text, "the prompt is for the client"
    return text, "the prompt says too little" if len(text) < SHORTEST else ""


def _concerns(hit: dict[str, Any], owner: Project | None, prompt: str) -> bool:
    """Tell whether a hit is of the session's project, of none, or of one that the prompt names.

    How another project does it is a mistake here, however near it is.
    """
    of = hit["project"]
    return not of or (owner is not None and of == owner.name) or of.lower() in prompt.lower()


def _notes(hits: list[dict[str, Any]], owner: Project | None, *, now: int) -> list[Note]:
    """Return what was found as notes, but for what may not be given."""
    found = []
    for each in hits:
        extra = each["extra"]
        line = quote(each["text"], str(extra.get("abstract") or ""), each["heading"] or "")
        if line is None:
            continue
        is_memory = "created_at" in extra
        others = each["project"] if owner is None or each["project"] != owner.name else ""
        source = "" if is_memory else str(extra.get("document") or extra.get("source") or "")
        age = f"{duration((now - extra['created_at']) / SECOND)} ago" if is_memory else ""
        facts = (f"of the project {neutral(others)}" if others else "", neutral(source), age)
        kind = "memory" if is_memory else "document"
        some = tuple(filter(None, facts))
        found.append(Note(kind, each["id"], line, "near the prompt", some, each["score"]))
    return found


@operation("hooks.pre-compact", http="POST /hooks/pre-compact", agents=True)
async def hook_compact(
    call: Call,
    session_id: str = "",
    *,
    summary: str | None = None,
    transcript: str | None = None,
    agent: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """Leave a crumb of a session whose context is about to be compacted; see `hooks.session-end`.

    Raises `BadInput`, `NotYours`.
    """
    hook = Hook(_session(call, agent), "pre-compact", session_id, here or "")
    return await _left(hook, summary, transcript)


@operation("hooks.session-end", http="POST /hooks/session-end", agents=True)
async def hook_end(
    call: Call,
    session_id: str = "",
    *,
    summary: str | None = None,
    transcript: str | None = None,
    agent: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """Leave a crumb of a session that ends: of the summary that its client hands over.

    Without one, and with `hooks.transcript`, of what the end of its `transcript` says: what was
    asked last, what was answered, which files were changed. Secrets are masked. What the session
    left already is not left again. `crumb` is its id, `reason` why there is none. Raises
    `BadInput`, `NotYours`.
    """
    hook = Hook(_session(call, agent), "session-end", session_id, here or "")
    return await _left(hook, summary, transcript)


async def _left(hook: Hook, summary: str | None, transcript: str | None) -> dict[str, Any]:
    """Leave a crumb where there is something to leave, and return the answer."""
    call, reads = hook.call, hook.call.settings().hooks.transcript
    if off := await hook.off():
        return await hook.done(Brief(), off)
    essence = Essence()
    masked = await asyncio.to_thread(mask_secrets, summary or "")
    text = masked.text[:_SUMMARY].strip()
    if not text and reads and transcript:
        try:
            essence = await asyncio.to_thread(_condensed, transcript, hook.folder)
        except BadInput as error:
            return await hook.done(Brief(), str(error))
        text = essence.summary
    if not text:
        why = "its transcript says nothing" if reads else "hooks.transcript is false"
        return await hook.done(Brief(), f"the client handed over no summary, and {why}")
    mark = "crumb " + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    if mark in await hook.seen():
        return await hook.done(Brief(), "the session left the same already")
    left = await leave_crumb(
        call,
        text,
        references={"files": list(essence.files)} if essence.files else None,
        session_id=hook.session or None,
        redact=True,
        here=hook.folder or None,
    )
    return await hook.done(Brief(), "a crumb was left", crumb=left["id"], mark=mark)


def _condensed(transcript: str, folder: str) -> Essence:
    """Return what the end of a transcript comes to (on a thread); raises `BadInput`."""
    return condense(sessions.read_tail(transcript), folder=folder)


@operation("hooks.last", http="GET /hooks/last", agents=True)
async def hook_last(call: Call, limit: int = 5, *, as_agent: str | None = None) -> dict[str, Any]:
    """Show what hooks did last, the newest first: what they gave to which session, and why.

    Of a memory its abstract as it is now; what was forgotten has none. Raises `BadInput`,
    `NotYours`.
    """
    reader = call.caller.reader(as_agent)
    parameters.page(limit, 0, of="hooks")
    runs = await asyncio.to_thread(sessions.list_runs, call.home.logs / "hooks.json")
    mine = [each for each in runs if reader in {None, each["agent"]}][:limit]
    ids = [item["id"] for each in mine for item in each["items"]]
    texts = await call.records.read(partial(_abstracts, ids=ids, reader=reader))
    for each in mine:
        each["items"] = [item | {"text": texts.get(item["id"])} for item in each["items"]]
    return {"hooks": mine}


def _abstracts(connection: Connection, *, ids: list[str], reader: str | None) -> dict[str, str]:
    """Return what those of some memories are called that somebody may read."""
    seen = realms.readers_part(connection, ids, reader)
    found = memory_records.read(connection, seen, MemoryStatus)
    return {name: neutral(each.abstract or each.text) for name, each in found.items()}
