"""The verbs about trust: taking a source back with all that came of it, and whom to blame."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from cortex_actors import blaming, lookup, takeback, topics, trails
from cortex_actors.clock import ulid
from cortex_actors.domain.event import (
    AccumulationComplete,
    FileChanged,
    Nothing,
    OrganisationComplete,
    ResolutionRequested,
    ScanRequested,
)
from cortex_actors.domain.project import SourceKind, innermost
from cortex_actors.errors import CortexError, NotFound, UsageError
from cortex_actors.pipeline import selection
from cortex_actors.rules.admission import noted
from cortex_actors.storage import projects, resolutions, reviews, revoking
from cortex_actors.verbs import SOURCE, Verbs

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.takeback import Effect, Source

#: Ids that one event names: its payload has a limit.
NAMED = 1_500


class TrustVerbs(Verbs):
    """Part of the front desk."""

    async def revoke(
        self,
        source: str,
        note: str | None = None,
        *,
        same: bool = False,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Take a source back with everything that came of it; return what that was.

        `source` is a project's name, id or folder, a file's or folder's absolute path, or the id of
        an insight or a principle; `same` takes the texts along that say the same as an insight.
        What it said is not taken in again, and every file in which something of it stands now is
        written anew, whatever its project opted for. A dry run changes nothing. Raises `NotFound`,
        `BadInput`.
        """
        note = noted(note)
        place, at = await self._place(source), self._parts.clock.now()
        run_id, least = f"run_{ulid(at)}", self._parts.ruling().promotion.projects
        there = await self._sections()

        def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Event[Payload]]]:
            wanted = takeback.source(connection, source, place)
            effect = takeback.take(
                connection, wanted, at=at, least=least, note=note, same=same, sections=there
            )
            answer = takeback.told(connection, wanted, effect)
            if dry_run:
                raise _OnlyLooked(answer)
            if not effect.begun:
                return answer, ()
            takeback.record(connection, run_id, wanted, at=at, counts=_counts(effect))
            return answer, list(self._said(run_id, effect))

        try:
            return {**await self._change_and_say(work), "dry_run": False}
        except _OnlyLooked as looked:
            return {**looked.answer, "dry_run": True}

    async def lift(self, source: str) -> dict[str, Any]:
        """Let a source count again that was taken back; what it says is read at once.

        What was known of it is found as it was; principles are earned anew. Raises `NotFound` for
        what was not taken back, and as `revoke` does.
        """
        place, at = await self._place(source), self._parts.clock.now()
        run_id = f"run_{ulid(at)}"

        def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Event[Payload]]]:
            wanted = takeback.source(connection, source, place)
            found = reviews.find(connection, wanted.kind, wanted.key)
            if found is None:
                message = f"{wanted.name} was not taken back; what was is listed by: cortex revoke"
                raise NotFound(message)
            reviews.end(connection, wanted.kind, wanted.key, at=at)
            reviews.restore(connection, ended_at=found.at)
            takeback.record(connection, run_id, wanted, at=at, counts={"lifted": 1})
            said = list(self._read_again(connection, run_id, wanted))
            answer = {"kind": str(wanted.kind), "key": wanted.key, "name": wanted.name}
            return {**answer, "read_again": bool(said)}, said

        return await self._change_and_say(work)

    async def revoked(self) -> dict[str, Any]:
        """Return everything that is taken back, newest first.

        `left_over` are bullets that stand in files though they are no principle any more, with the
        reason where a file could not be written.
        """
        there = await self._sections()
        return await self._parts.records.read(lambda c: takeback.listed(c, there))

    async def blame(
        self, path: str | None = None, line: int | None = None, text: str | None = None
    ) -> dict[str, Any]:
        """Return where a line of a file, or a text, comes from, and where it was written to.

        A line of our section is a principle's, any other a person's. Raises `UnknownProject` for a
        file in no project, `NotFound` where nothing is known, `BadInput`.
        """
        if (path is None) == (text is None) or (path is None) != (line is None):
            raise UsageError("say either a path and a line, or a text")
        if path is None or line is None:
            there = await self._sections()
            return await self._as_it_is(lambda c: blaming.of_text(c, text or "", there))
        place = await self._place(path) or path
        project = await self._project(place)
        seen = await blaming.look(place, line, project=project)
        return await self._as_it_is(lambda c: blaming.of_line(c, seen))

    async def _sections(self) -> Container[str]:
        """Return the files that have a section of ours now."""
        written = await self._parts.records.read(resolutions.paths)
        return await asyncio.to_thread(selection.sections, written)

    async def _as_it_is(self, look: Callable[[Connection], dict[str, Any]]) -> dict[str, Any]:
        """Return where something comes from, with those files alone in which it stands now."""
        found = await self._parts.records.read(look)
        return {**found, "matches": [await trails.as_it_is(each) for each in found["matches"]]}

    async def _place(self, word: str) -> str | None:
        """Return the one name of a file or folder; None for a word that is no path."""
        if not word.startswith("/"):
            return None
        return await asyncio.to_thread(lookup.place, word)

    def _said(self, run_id: str, effect: Effect) -> Iterator[Event[Payload]]:
        """Yield what is said of a source that was taken back."""
        for some in _parts(sorted(effect.did.changed)):
            complete = AccumulationComplete(run_id, None, some)
            yield self._event(topics.ACCUMULATION_COMPLETE, complete)
        if effect.did.changed:
            yield self._event(topics.ORGANISATION_REQUESTED, Nothing())
        lost = {name for name, _ in effect.did.principles} | {
            each.key for each in effect.begun if each.kind is SourceKind.PRINCIPLE
        }
        for some in _parts(sorted(lost)):
            yield self._event(topics.ORGANISATION_COMPLETE, OrganisationComplete(run_id, some))
        for path, agent in effect.files:
            again = ResolutionRequested(path, agent, refresh=True)
            yield self._event(topics.RESOLUTION_REQUESTED, again)

    def _read_again(
        self, connection: Connection, run_id: str, wanted: Source
    ) -> Iterator[Event[Payload]]:
        """Yield what has a source read that counts again."""
        followed = projects.followed(connection)
        if wanted.kind is SourceKind.PRINCIPLE:
            done = OrganisationComplete(run_id, (wanted.key,))
            yield self._event(topics.ORGANISATION_COMPLETE, done)
        elif wanted.kind is SourceKind.INSIGHT:
            for path in revoking.read_again(connection, wanted.key):
                project = innermost(followed, path)
                if project is not None:
                    yield self._event(topics.FILE_CHANGED, FileChanged(project.id, path))
        elif wanted.kind is SourceKind.PROJECT:
            if wanted.key in {each.id for each in followed}:
                yield self._event(topics.SCAN_REQUESTED, ScanRequested(wanted.key))
        else:
            inside = {each.id for each in followed if each.root.startswith(f"{wanted.key}/")}
            around = innermost(followed, wanted.key)
            for project_id in sorted(inside | ({around.id} if around is not None else set())):
                yield self._event(topics.SCAN_REQUESTED, ScanRequested(project_id))

    def _event(self, topic: str, payload: Payload) -> Event[Payload]:
        """Return an event of ours."""
        return self._parts.bus.event(topic, payload, source=SOURCE)


class _OnlyLooked(CortexError):
    """Nothing was to be changed: raised so that the transaction leaves nothing behind."""

    def __init__(self, answer: dict[str, Any]) -> None:
        """Remember what would have been the answer."""
        super().__init__("only looked at what would be taken back")
        self.answer = answer


def _counts(effect: Effect) -> dict[str, int]:
    """Return the numbers of the audit."""
    return {
        "places": effect.did.places,
        "insights": len(effect.did.gone),
        "principles": len(effect.did.principles),
        "files": len(effect.files),
    }


def _parts(ids: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the ids in parts that one event can name."""
    for start in range(0, len(ids), NAMED):
        yield tuple(ids[start : start + NAMED])
