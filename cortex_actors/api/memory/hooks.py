"""The verbs behind the hooks of agents' clients: one for each event, and what they did last.

A hook speaks as an agent, also for the owner, whose rights are put down at once (`_hook`). What it
gives to a session is quoted (`render/brief.py`), never twice in one session, and does not count as
read: what hooks show would else be shown more and more.

Answers have `output`, which the client of the hook prints as it is, empty for nothing: Claude Code
and Codex take `hookSpecificOutput` for the start of a session and for a prompt alone, and refuse it
before a compaction and at the end.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.api import parameters
from cortex_actors.api.memory.brief import CRUMBS, Audience, list_chapters
from cortex_actors.api.memory.remember import recall
from cortex_actors.api.memory.village import leave_crumb
from cortex_actors.api.registry import Call, operation
from cortex_actors.domain.agent import Caller
from cortex_actors.domain.memory import Memory, MemoryStatus
from cortex_actors.errors import BadInput
from cortex_actors.federation.fan import QUESTION_LIMIT
from cortex_actors.process import sessions
from cortex_actors.process.sessions import HookRun
from cortex_actors.render.brief import NEAR, Brief, Chapter, Note, compose, format_age, quote
from cortex_actors.render.section import neutralise
from cortex_actors.rules.admission import SESSION_LIMIT
from cortex_actors.rules.sessions import condense, extract_question
from cortex_actors.storage import agent_records, documents, memory_records, realms
from cortex_actors.text.hazards import mask_secrets

if TYPE_CHECKING:
    from cortex_actors.domain.project import Project
    from cortex_actors.storage.ledger.actor import Connection

#: Hits that are looked at for a prompt, and those of them that are given.
HITS, GIVEN = 10, 5

#: What is looked through for a prompt: what was remembered and what was read in. A session reads
#: its instruction files itself, and crumbs and principles are in its brief.
ROOMS = (*memory_records.COLLECTIONS.values(), documents.COLLECTION)

#: Characters of what a client hands over that are kept: a summary, not a book.
_SUMMARY = 8_000

#: Characters of a folder's path, as for sessions over MCP: it is written down with each hook.
_PATH = 4_096

#: What clients call the events that take a context.
CALLED = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}

#: What starts a session of which nothing is left of what was given before.
_CONTINUED = "resume"


@dataclass(frozen=True)
class ClientHook:
    """One hook while it is answered.

    Attributes:
        call: as the session's agent.
        session: what the client calls it; "" where it does not say.
        is_ours: whether it came over the owner's socket. An agent with a token may not have files
            of the owner's read.

    """

    call: Call
    event: str
    agent: str
    session: str
    folder: str
    is_ours: bool

    @property
    def _run(self) -> HookRun:
        """What is written down of it, so far."""
        at = self.call.clock.now()
        return HookRun(at, self.event, self.agent, self.session, self.folder)

    async def explain_off(self) -> str:
        """Return why it does nothing here; "" where it may."""
        chosen = self.call.settings().hooks
        if not chosen.enabled:
            return "hooks.enabled is false"

        def off() -> str:
            real = Path(self.folder or "/").resolve()
            found = (each for each in chosen.off if real.is_relative_to(Path(each).resolve()))
            return next((f"hooks.off has {each}" for each in found), "")

        return await asyncio.to_thread(off)

    async def list_seen(self) -> frozenset[str]:
        """Return what the session was given, and left."""
        return await asyncio.to_thread(sessions.list_given, self.call.home, self._run)

    async def make_brief(self, seen: frozenset[str] = frozenset()) -> Brief:
        """Return the brief of its folder, without what the session was given."""
        call = self.call
        owner = await call.find_project(None, self.folder)
        told = Audience(
            *(self.agent, self.agent, owner, call.clock.now(), seen), reads_files=self.is_ours
        )
        chapters = await call.records.read(partial(list_chapters, told=told))
        return compose(told.head, chapters, budget=call.settings().hooks.start_budget_tokens)

    async def make_missed(self) -> Brief:
        """Return the brief of a session whose start was not answered: no daemon ran then."""
        known = await asyncio.to_thread(sessions.is_known, self.call.home, self._run)
        return Brief() if known else await self.make_brief()

    async def note_done(
        self, reason: str, made: Brief | None = None, *, afresh: bool = False, crumb: str = ""
    ) -> dict[str, Any]:
        """Write down what it did, and return the answer; `reason` is why nothing was given."""
        made = made or Brief()
        items = [{k: v for k, v in each.as_json().items() if k != "text"} for each in made.notes]
        run = replace(self._run, reason="" if items else reason, items=items, tokens=made.tokens)
        run = replace(run, crumb=crumb)
        await asyncio.to_thread(sessions.note_run, self.call.home, run, afresh=afresh)
        said = {"hookEventName": CALLED.get(self.event), "additionalContext": made.text}
        output = {"hookSpecificOutput": said} if made.text else {}
        return {"output": output, "reason": run.reason, "tokens": made.tokens, "crumb": crumb}


def _hook(call: Call, event: str, *, agent: str | None, session: str, here: str) -> ClientHook:
    """Return a hook that speaks as a session of an agent, also for the owner.

    The one place in which hooks say as whom they act. Raises `BadInput`, `NotYours`.
    """
    if here and (not here.startswith("/") or len(here) > _PATH or "\0" in here):
        raise BadInput(f"here must be the absolute path of a folder, not {here[:200]!r}")
    chosen = call.settings()
    name = call.caller.choose_agent(agent, chosen.hooks.agent or chosen.memory.agent)
    is_ours = call.caller.is_owner or call.caller.is_session
    call = replace(call, caller=Caller(name, is_session=is_ours))
    return ClientHook(call, event, name, neutralise(session[:SESSION_LIMIT]), here, is_ours)


@operation("hooks.session-start", http="POST /hooks/session-start", agents=True)
async def hook_start(
    call: Call, session_id: str = "", *, source: str = "", agent: str | None = None, here: str = ""
) -> dict[str, Any]:
    """Answer the hook of a session that starts: with the brief of its folder.

    `source` is why it starts: where it goes on (`resume`) it is given only what is new to it.
    Returns `output` for the client, empty for nothing, and `reason`, why. Raises `BadInput`,
    `NotYours`.
    """
    hook = _hook(call, "session-start", agent=agent, session=session_id, here=here)
    if off := await hook.explain_off():
        return await hook.note_done(off)
    goes_on = source == _CONTINUED
    made = await hook.make_brief(await hook.list_seen() if goes_on else frozenset())
    why = "the budget has room for nothing" if made.left_out else "nothing is known that is new"
    return await hook.note_done(why, made, afresh=not goes_on)


@operation("hooks.prompt", http="POST /hooks/prompt", agents=True)
async def hook_prompt(
    call: Call, prompt: str, session_id: str = "", *, agent: str | None = None, here: str = ""
) -> dict[str, Any]:
    """Answer the hook of a prompt: with memories and documents that are near it, if any are.

    The first prompt of a session whose start was not answered is given the brief as well. Returns
    `output` for the client, empty for nothing, and `reason`, why. Raises `BadInput`, `NotYours`,
    and `Busy`.
    """
    hook = _hook(call, "prompt", agent=agent, session=session_id, here=here)
    # On threads: 64 KB that are made to be slow take seconds to look through.
    text, why = await asyncio.to_thread(extract_question, prompt)
    if off := await hook.explain_off():
        return await hook.note_done(off)
    first = await hook.make_missed()
    if why:
        return await hook.note_done(why, first)
    found = await recall(
        hook.call, text[:QUESTION_LIMIT], HITS, stores=ROOMS, sure=True, track=False, here=here
    )
    owner = await call.find_project(None, here)
    near = [each for each in found["hits"] if _concerns(each, owner, prompt=text)]
    if not near:
        return await hook.note_done("nothing is near the prompt", first)
    seen = await hook.list_seen() | {each.id for each in first.notes}
    hits = [each for each in near if each["id"] not in seen]
    if not hits:
        return await hook.note_done("the session was given all of it already", first)
    notes = await asyncio.to_thread(_notes, hits, owner, now=call.clock.now())
    budget = call.settings().hooks.prompt_budget_tokens
    made = compose(NEAR, [Chapter("near", "", notes[:GIVEN])], budget=budget)
    why = "the budget has room for nothing" if made.left_out else "what is near is suspicious"
    return await hook.note_done(why, first.join(made))


def _concerns(hit: dict[str, Any], owner: Project | None, *, prompt: str) -> bool:
    """Tell whether a hit is of the session's project, of none, or of one that the prompt names.

    How another project does it is a mistake here, however near it is.
    """
    of = hit["project"]
    if not of or (owner is not None and of == owner.name):
        return True
    # As a word: a project called api is not named by "rapid".
    return bool(re.search(rf"(?<!\w){re.escape(of)}(?!\w)", prompt, re.IGNORECASE))


def _notes(hits: list[dict[str, Any]], owner: Project | None, *, now: int) -> list[Note]:
    """Return what was found as notes, but for what may not be given."""
    found = []
    for each in hits:
        extra = each["extra"]
        is_memory = "created_at" in extra
        source = "" if is_memory else str(extra.get("document") or extra.get("source") or "")
        line = quote(each["text"], str(extra.get("abstract") or ""), each["heading"] or "", source)
        if line is None:
            continue
        others = each["project"] if owner is None or each["project"] != owner.name else ""
        age = format_age(extra["created_at"], now) if is_memory else ""
        facts = (f"of the project {neutralise(others)}" if others else "", neutralise(source), age)
        kind = "memory" if is_memory else "document"
        some = tuple(filter(None, facts))
        found.append(Note(kind, each["id"], line, "near the prompt", some, each["score"]))
    return found


@operation("hooks.pre-compact", http="POST /hooks/pre-compact", agents=True)
async def hook_compact(
    call: Call,
    session_id: str = "",
    *,
    summary: str = "",
    transcript: str = "",
    agent: str | None = None,
    here: str = "",
) -> dict[str, Any]:
    """Leave a crumb of a session whose context is about to be compacted; see `hooks.session-end`.

    Raises `BadInput`, `NotYours`.
    """
    hook = _hook(call, "pre-compact", agent=agent, session=session_id, here=here)
    return await _left(hook, summary, transcript=transcript)


@operation("hooks.session-end", http="POST /hooks/session-end", agents=True)
async def hook_end(
    call: Call,
    session_id: str = "",
    *,
    summary: str = "",
    transcript: str = "",
    agent: str | None = None,
    here: str = "",
) -> dict[str, Any]:
    """Leave a crumb of a session that ends: of the summary that its client hands over.

    Without one, and with `hooks.transcript`, of what the end of its `transcript` says: what was
    asked last, what was answered, which files were changed. Secrets are masked. What the session
    left already is not left again. `crumb` is its id, `reason` why there is none. Raises
    `BadInput`, `NotYours`.
    """
    hook = _hook(call, "session-end", agent=agent, session=session_id, here=here)
    return await _left(hook, summary, transcript=transcript)


async def _left(hook: ClientHook, summary: str, *, transcript: str) -> dict[str, Any]:
    """Leave a crumb where there is something to leave, and return the answer."""
    call, reads = hook.call, hook.is_ours and hook.call.settings().hooks.transcript
    if off := await hook.explain_off():
        return await hook.note_done(off)
    masked = await asyncio.to_thread(mask_secrets, summary)
    text = masked.text[:_SUMMARY].strip()
    if not text and reads and transcript:
        try:
            text = await asyncio.to_thread(
                lambda: condense(sessions.read_tail(transcript), folder=hook.folder).summary
            )
        except BadInput as error:
            return await hook.note_done(str(error))
    if not text:
        why = "may have no transcript read (hooks.transcript)"
        why = "its transcript says nothing" if reads else why
        return await hook.note_done(f"the client handed over no summary, and {why}")
    wanted = agent_records.CrumbFilter(reader=hook.agent, agent=hook.agent)
    found = await call.records.read(lambda c: agent_records.list_crumbs(c, wanted, limit=CRUMBS))
    before = next((each.summary for each in found if each.session_id == hook.session), "")
    if before.split() == text.split():
        return await hook.note_done("the session left the same already")
    name, here = hook.session or None, hook.folder or None
    left = await leave_crumb(call, text, session_id=name, redact=True, here=here)
    return await hook.note_done("a crumb was left", crumb=left["id"])


@operation("hooks.last", http="GET /hooks/last", agents=True)
async def hook_last(call: Call, limit: int = 5, *, as_agent: str | None = None) -> dict[str, Any]:
    """Show what hooks did last, the newest first: what they gave to which session, and why.

    Of a memory its abstract as it is now; what was forgotten has none. Raises `BadInput`,
    `NotYours`.
    """
    reader = call.caller.choose_reader(as_agent)
    parameters.check_page(limit, 0, of="hooks")
    runs = await asyncio.to_thread(sessions.list_runs, call.home)
    mine = [each for each in runs if reader in {None, each["agent"]}][:limit]
    ids = [item["id"] for each in mine for item in each["items"]]

    def look(connection: Connection) -> dict[str, Memory]:
        seen = realms.filter_readable(connection, ids, reader)
        return memory_records.read(connection, seen, MemoryStatus)

    known = await call.records.read(look)
    texts = {name: neutralise(found.abstract or found.text) for name, found in known.items()}
    for each in mine:
        each["items"] = [item | {"text": texts.get(item["id"])} for item in each["items"]]
    return {"hooks": mine}
