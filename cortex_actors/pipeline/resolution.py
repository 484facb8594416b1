"""Resolving: one file brought up to date, or why it was left as it is.

Whatever a human saves meanwhile counts: the section is made for what he says, so it is made
again when he has changed that before it could be written. What cannot be written is an outcome and
no crash; nothing is touched then.

What a resolution leaves behind: its row in the audit, and the state of the file.

Coming back: what was taken back is in older sections, and an undo would bring one of these.

A write that took poison out is a write like any other; undoing it would put the poison in again,
and it would go unnoticed, because the bullets of an older section are no longer listed.

Assignment: one file to be brought up to date, for whom, and what it is compared with.

Drafting: a file as it is to be, made of the file as it is and the text of our section.

Pure, so that it can be made again for each base that a human saves meanwhile. Nothing outside the
section changes, but for what a human wrote inside it and wants kept.

Section: what one file is to be given, made of what it says and of what is known.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from cortex_actors import errors
from cortex_actors.domain.event import ResolutionComplete
from cortex_actors.domain.principle import Edits, Ending, GivenBullet, Resolved
from cortex_actors.domain.project import Decision
from cortex_actors.files.swap import WriteState
from cortex_actors.pipeline.reading import (
    ComparedTexts,
    FileStatement,
    embed_page,
    join_pages,
    make_page,
)
from cortex_actors.pipeline.selection import (
    APART,
    Assignment,
    Chooser,
    Offer,
    Shared,
    hash_inputs,
    read,
)
from cortex_actors.render import fence
from cortex_actors.render.section import Bullet, Options, make_line, neutralise
from cortex_actors.rules.standalone import MANIFESTS, find_project_stacks, find_topic
from cortex_actors.storage import projects
from cortex_actors.storage.embeddings import FileVectors
from cortex_actors.storage.pipeline import principles, resolutions, reviews
from cortex_actors.text.sections import find_dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cortex_actors.files.writer import FileWriter, WriteTarget
    from cortex_actors.pipeline.relations import Ruling
    from cortex_actors.pipeline.selection import ChosenPrinciple, FileChoice
    from cortex_actors.runtime.threads import Threads
    from cortex_actors.sections import ResolutionSettings
    from cortex_actors.storage.embeddings import Embed
    from cortex_actors.storage.ledger.actor import Connection


@dataclass(frozen=True, slots=True)
class ResolvedFile:
    """What a file is to be given, or what came of it, and what it was made of.

    Attributes:
        resolved: its `section` is the text between the marks; "" when there is nothing to give.
        revision: the human's part of the file that it was made for.
        inputs: the name of all that it was made of; "" when it would better be made again, None
            where it was not made.
        compared: the vectors that would have to be made again with the next life.
        is_edited: the text between the marks is not as we wrote it.
        is_absent: there is no section, and none was asked for: what we wrote last stays known, as
            the section may come back (with another branch, say).

    """

    resolved: Resolved
    revision: str = ""
    inputs: str | None = None
    compared: FileVectors | None = None
    is_edited: bool = False
    is_absent: bool = False

    def ended(self, ending: Ending, *, diff: str = "") -> ResolvedFile:
        """Return what came of it."""
        return replace(self, resolved=replace(self.resolved, ending=ending, diff=diff))


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes sections by the settings; it knows texts and touches no file.

    Attributes:
        model: whose vectors are compared.
        ruling: the rules by which claims are judged.
        count: returns the tokens of a text.

    """

    settings: ResolutionSettings
    model: str
    ruling: Ruling
    count: Callable[[str], int]

    def hash_inputs(self, job: Assignment, data: bytes, offer: Offer) -> str:
        """Return the name of all that a section is made of. Blocks."""
        texts = job.get_texts(data) | job.get_others(data)
        revisions = [f"{path}={fence.hash_human_part(text)}" for path, text in texts.items()]
        rules = self.ruling.digest.hex()
        manifests = " ".join(each.path for each in job.present if each.path in MANIFESTS)
        how = (self.settings.model_dump_json(), self.model, rules, job.formatter.name, manifests)
        return hash_inputs(offer, *how, str(job.wish.metadata), *sorted(revisions))

    def read_page(self, job: Assignment, data: bytes) -> ComparedTexts:
        """Return what is compared with the principles. Blocks; raises `BadInput`."""
        some = (tuple(sorted(each.items())) for each in (job.get_texts(data), job.get_others(data)))
        present = tuple(each.path for each in job.present)
        is_small = sum(len(each.data) for each in job.present) <= SMALL
        compare = _compared if is_small else _compared.__wrapped__
        return compare(job.project.root, job.project.name, *some, present=present)

    def make(
        self, job: Assignment, choice: FileChoice, *, offer: Offer, revision: str, inputs: str
    ) -> ResolvedFile:
        """Return a choice from an offer as the text for the job's agent. Blocks."""
        metadata = job.wish.metadata or self.settings.include_metadata
        options = Options(self.settings.title, metadata, self.settings.max_output_tokens)
        made = job.formatter.render(
            [_bullet(each) for each in choice.chosen], options, count=self.count
        )
        given = tuple(
            GivenBullet(
                each.principle_id,
                line,
                each.conflict or "",
                self.settings.unapproved or offer.may_write(each.principle_id, job.project.id),
            )
            for each, line in zip(made.used, made.lines, strict=True)
        )
        counts = {
            "principles_resolved": len(given),
            "conflicts_detected": sum(bool(each.conflict) for each in given),
            "already_said": len(choice.said),
            "opposed": choice.opposed,
            "not_near": choice.not_near,
            "other_stack": choice.other_stack,
            "not_alone": len(offer.unfit),
            "unapproved": choice.waiting,
            "over_budget": len(made.dropped),
        }
        resolved = Resolved(
            job.path,
            job.formatter.name,
            Ending.SHOWN,
            section=made.text if given else "",
            bullets=given,
            tokens=made.tokens if given else 0,
            counts=counts,
            already_said=choice.said,
        )
        return ResolvedFile(resolved, revision, inputs)


#: Files of a project, each with what it says.
Texts: TypeAlias = "tuple[tuple[str, bytes], ...]"

#: Pages that are remembered, of files that are as they were: to read one again takes 0.1 s, and
#: a page of a hundred statements has some 100 kB. Files of one project lie beside each other, and
#: eight that are updated at once are of four projects or so.
REMEMBERED, NEIGHBOURS = 128, 16

#: Bytes of a project's instruction files up to which their pages are: most have a tenth of it.
SMALL = 262_144


@lru_cache(REMEMBERED)
def _compared(root: str, name: str, /, *some: Texts, present: tuple[str, ...]) -> ComparedTexts:
    """Return what a project's own files and its others say; raises `BadInput`."""
    own, others = some
    pages = [_page(root, name, path=path, text=text) for path, text in own]
    elsewhere = tuple(
        line for path, text in others for line in _elsewhere(root, name, path=path, text=text)
    )
    page = join_pages(pages) if pages else ComparedTexts()
    said = [f"{e.claim.heading} {e.claim.text}" for e in (*page.lines, *elsewhere)]
    return replace(page, elsewhere=elsewhere, stacks=find_project_stacks(said, present))


#: Held while a text is read, by its hash: the files of one project all ask for the same pages at
#: the same time, and each would be read as often. Two texts rarely wait for each other.
_READING = tuple(Lock() for _ in range(64))


def _page(root: str, name: str, /, *, path: str, text: bytes) -> ComparedTexts:
    """Return what a human says in a file of the project; raises `BadInput`."""
    with _READING[hash(text) % len(_READING)]:
        return _read(root, name, path=path, text=text)


@lru_cache(NEIGHBOURS)
def _read(root: str, name: str, /, *, path: str, text: bytes) -> ComparedTexts:
    dialect = find_dialect(path)
    if dialect is None:
        return ComparedTexts()
    return make_page(text, dialect, path=posixpath.join(root, path), project=name)


def _elsewhere(root: str, name: str, *, path: str, text: bytes) -> list[FileStatement]:
    """Return the statements of another file; one that cannot be read holds up none but itself."""
    try:
        return [replace(each, file=path) for each in _page(root, name, path=path, text=text).lines]
    except errors.BadInput:
        return []


def _bullet(each: ChosenPrinciple) -> Bullet:
    """Return a principle as it is written, with what the project says against it, and where."""
    principle, line = each.principle, each.found.against
    against = (line.file, line.claim.heading, line.claim.text) if line is not None else ()
    return Bullet(
        principle_id=principle.id,
        content=principle.content,
        topic=find_topic(principle.content),
        rank=principle.rank,
        confidence=principle.confidence,
        conflict=": ".join(filter(None, against)) or None,
    )


#: Lines of a diff around what differs.
AROUND = 2

#: Bytes that are no UTF-8 are written out where they are only looked at.
_WRITTEN_OUT = "backslashreplace"


def draft_file(
    data: bytes, body: str, *, ours: str, path: str, edits: Edits | None, adopt: bool = False
) -> bytes:
    """Return a file with our section saying `body`, or without one where that is nothing.

    `ours` is what we wrote there the last time; `edits` says what becomes of what a human wrote
    inside it since, and `adopt` lets a section without marks be replaced. Raises what
    `fence.splice` raises.
    """
    text = body.encode()
    standing = fence.find(data, path=path)
    is_edited = standing is not None and not standing.intact
    if is_edited and edits is None:
        raise errors.EditedSection.from_file(path)
    if is_edited and edits is Edits.KEEP:
        data = fence.move_edits_out(data, (ours or body).encode(), path=path)
    if text:
        return fence.splice(data, text, adopt=adopt, discard=is_edited, path=path)
    return data if standing is None else fence.remove(data, path=path)


def diff_edits(data: bytes, ours: str, *, path: str) -> str:
    """Return what a human changed inside our section, as a diff; "" where that is not known."""
    standing = fence.find(data, path=path)
    if standing is None or not ours:
        return ""
    return _differing(ours, decode_file(standing.body), "as cortex wrote it", "as it is now")


def diff_file(before: bytes | None, after: bytes, *, path: str) -> str:
    """Return what would change in a file, as a diff; "" where nothing does."""
    return _differing(
        decode_file(before or b""), decode_file(after), path if before is not None else "-", path
    )


def decode_file(data: bytes) -> str:
    """Return a file's bytes as text that can travel."""
    return data.decode("utf-8", _WRITTEN_OUT).removeprefix("\ufeff")


def _differing(before: str, after: str, one: str, other: str) -> str:
    """Return the unified diff of two texts."""
    found = unified_diff(before.splitlines(), after.splitlines(), one, other, n=AROUND, lineterm="")
    return "\n".join(found)


#: Makes a file as it is to be of the file as it is.
Make: TypeAlias = "Callable[[bytes], bytes]"

#: Times that a section is made again because the file was saved before it could be written.
TRIES = 4


class Moved(Exception):
    """The human's part of a file is another one than the section was made for."""


class Absent(Exception):
    """A file in which a section was to be brought up to date has none."""


class Resolving:
    """Brings files up to date, one a call; several calls may run at once."""

    def __init__(self, writer: FileWriter, maker: Maker, *, embed: Embed, threads: Threads) -> None:
        """Remember whom to ask; texts are read and compared on those threads."""
        self.writer = writer
        self._maker = maker
        self._embed = embed
        self.run = threads.run

    async def resolve(
        self, job: Assignment, offer: Offer, *, target: WriteTarget, ours: str = ""
    ) -> ResolvedFile:
        """Return what came of a file; `ours` is the section as we wrote it the last time.

        Raises nothing but what the ledger raises: whatever keeps a file from being written is said
        in what is returned.
        """
        path, agent, seen = job.path, job.formatter.name, list[bytes]()
        try:
            if job.target is None or job.wish.text_only:
                # A caller that only wants text gets that of the agent's file.
                text = await self.run(read, job.place) if job.place is not None else None
                return await self._section(job, text or b"", offer)
            for _ in range(TRIES):
                data = await self.writer.read(target)
                if data is None and not target.create:
                    raise Absent if job.wish.refresh else errors.Missing.from_file(job.path)
                seen.append(data or b"")
                section = await self._section(job, job.get_base(data), offer)
                if data is None and not section.resolved.section:
                    # That a file is not made: it would say nothing.
                    return section.ended(Ending.SHOWN if job.wish.dry_run else Ending.UNCHANGED)
                make = _maker(job, section, ours)
                try:
                    return await self._ended(job, section, make=make, data=data, target=target)
                except Moved:
                    continue
            raise errors.KeepsChanging.from_file(job.path, tries=TRIES)
        except Absent:
            return ResolvedFile(Resolved(path, agent, Ending.UNCHANGED), is_absent=True)
        except errors.EditedSection as error:
            # Nothing but a section that was read can be an edited one.
            diff = await self.run(diff_edits, seen[-1], ours, path=path)
            edits = Resolved(path, agent, Ending.EDITED, str(error), error.code, diff)
            return ResolvedFile(edits, revision=await self.run(fence.hash_human_part, seen[-1]))
        except (errors.NotWritten, errors.WriteFailed, errors.BadInput) as error:
            code = error.code if isinstance(error, errors.NotWritten) else "unreadable"
            return ResolvedFile(Resolved(path, agent, Ending.REFUSED, str(error), code))

    async def undo(
        self, job: Assignment, *, target: WriteTarget, standing: Sequence[GivenBullet] = ()
    ) -> ResolvedFile:
        """Take the newest write into a file back; of the bullets `standing` those stay that do.

        Raises refusals.
        """
        found = await self.writer.undo(target)
        after = found.after or b""
        fenced = await self.run(fence.find, after, path=job.path)
        body = "" if fenced is None else fenced.body.decode("utf-8", "replace")
        lines = set(body.split("\n"))
        left = tuple(each for each in standing if each.text in lines)
        revision = await self.run(fence.hash_human_part, after)
        done = Resolved(
            job.path,
            job.formatter.name,
            Ending.WRITTEN,
            diff=await self.run(diff_file, found.before, after, path=job.path),
            section=body,
            bullets=left,
            counts={UNDONE: 1},
        )
        is_edited = fenced is not None and not fenced.intact
        return ResolvedFile(done, revision, "", is_edited=is_edited)

    def get_embed(self) -> Embed:
        """Return who makes the vectors of the files of one wish."""
        return Shared(self._embed)

    async def _ended(
        self,
        job: Assignment,
        section: ResolvedFile,
        *,
        make: Make,
        data: bytes | None,
        target: WriteTarget,
    ) -> ResolvedFile:
        """Write a section, or show what that would change; raises `Moved` and what hinders it."""
        if job.wish.dry_run:
            before, after, ending = data, await self.run(make, data or b""), Ending.SHOWN
        else:
            found = await self.writer.write(target, make)
            before, after = found.before, found.after or b""
            ending = Ending.WRITTEN if found.changed else Ending.UNCHANGED
        diff = await self.run(diff_file, before, after, path=job.path)
        return section.ended(ending, diff=diff)

    async def _section(self, job: Assignment, data: bytes, offer: Offer) -> ResolvedFile:
        """Return what a file is to be given; raises `BadInput` for what is no text."""
        maker = self._maker
        page = await self.run(maker.read_page, job, data)
        found = await embed_page(page, job.embed or self._embed, model=maker.model)
        inputs = await self.run(maker.hash_inputs, job, data, offer)
        chooser = Chooser(
            maker.settings,
            maker.ruling.limits,
            maker.ruling.make_relations().lexicon,
            repeats=job.formatter.name == APART,
        )
        allowed, waiting = offer, Offer()
        # A dry run shows what waits for a person as well; a text that leaves us holds none of it.
        if not maker.settings.unapproved and (job.wish.text_only or not job.wish.dry_run):
            allowed, waiting = offer.split_approved(job.project.id)
        choice = await self.run(chooser.choose, allowed, found)
        if waiting.principles:
            choice = replace(choice, waiting=await self.run(chooser.count_chosen, waiting, found))
        if page.embedded and not found.vectors:
            inputs = ""
        revision = await self.run(fence.hash_human_part, data)
        made = await self.run(
            maker.make, job, choice, offer=offer, revision=revision, inputs=inputs
        )
        rows = {e: found.vectors[e] for e in (page.text, *page.sections) if e in found.vectors}
        return replace(made, compared=FileVectors(job.path, maker.model, rows))


def _maker(job: Assignment, section: ResolvedFile, ours: str) -> Make:
    """Return what makes a file as it is to be of the file as it is; it raises `Moved`, `Absent`."""

    def make(data: bytes) -> bytes:
        base, wish = data or job.get_base(None), job.wish
        if wish.refresh and not fence.has_section(base, path=job.path):
            raise Absent
        if fence.hash_human_part(base) != section.revision:
            raise Moved
        body, edits = section.resolved.section, wish.edits
        return draft_file(base, body, ours=ours, path=job.path, edits=edits, adopt=wish.adopt)

    return make


#: Refusals that time mends: what they kept from being written is tried again unasked.
PASSING = frozenset("being-saved being-written editor git-lock keeps-changing moved torn".split())

#: How a run ended that ended like this.
_STATES = {
    Ending.WRITTEN: "completed",
    Ending.SHOWN: "completed",
    Ending.UNCHANGED: "unchanged",
    Ending.EDITED: projects.FAILED,
    Ending.REFUSED: projects.FAILED,
}

#: What the audit calls the actor.
KIND = "resolver"

#: Of the counts: that a write was taken back.
UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class Finished:
    """A resolution that has ended; nothing of it is in the ledger before `write`.

    A crash before that leaves a file that is whole, and the same resolution finds nothing to do.
    """

    run: projects.PipelineRun
    resolved: Resolved | None = None
    row: resolutions.Resolution | None = None
    compared: FileVectors | None = None

    @property
    def said(self) -> ResolutionComplete:
        """The event that announces it."""
        return ResolutionComplete(self.run.id, self.run.path or "", self.run.agent or "")

    def write(self, connection: Connection) -> None:
        """Write the audit, and the state of the file."""
        projects.record(connection, self.run)
        if self.compared is not None:
            self.compared.keep(connection)
        if self.row is not None and self.resolved is not None:
            resolutions.keep(connection, self.row, self.resolved.bullets)


def make_finished(
    job: Assignment, done: ResolvedFile, *, run_id: str, inputs: str, times: tuple[int, int]
) -> Finished:
    """Return what is kept of a resolution; where nothing was to be written, no more than the run.

    `inputs` names all that it was made of.
    """
    found = done.resolved
    dry, compared = job.wish.dry_run, done.compared
    run = projects.PipelineRun(
        id=run_id,
        kind=KIND,
        started_at=times[0],
        finished_at=times[1],
        state=_STATES[found.ending],
        project_id=job.project.id,
        path=found.path,
        counts=found.counts,
        error=found.reason,
        agent=found.agent,
        dry_run=dry,
    )
    if dry or done.is_absent:
        return Finished(run, found, compared=compared)
    row = resolutions.Resolution(
        path=found.path,
        agent=found.agent,
        project_id=job.project.id,
        run_id=run_id,
        revision=done.revision,
        inputs="" if found.refusal in PASSING else inputs,
        section=found.section,
        ending=found.ending,
        reason=found.reason,
        resolved_at=times[1],
    )
    return Finished(run, found, row, compared)


def is_outdated(connection: Connection, done: Finished) -> bool:
    """Tell whether a file that was written has a bullet that may be given out no more.

    That of a write which was taken back may be older: it only has to be none that was taken back
    since that was asked for.
    """
    found, row = done.resolved, done.row
    if found is None or row is None or row.ending not in resolutions.STANDS:
        return False
    ids = {each.principle_id for each in found.bullets}
    lost = ids - principles.filter_given(connection, ids)
    if UNDONE not in found.counts:
        return bool(lost)
    newest = max((each.at for each in reviews.list_revocations(connection)), default=0)
    return bool(lost) and newest >= done.run.started_at


def make_failed(
    path: str, agent: str, reason: str, *, at: int, project_id: str | None = None
) -> Finished:
    """Return what is kept of a wish that is about no file of ours."""
    known = {"project_id": project_id, "path": path, "error": reason, "agent": agent}
    return Finished(projects.PipelineRun.from_moment(KIND, at, state=projects.FAILED, **known))


#: What a line of a section begins with that is a principle.
BULLET = "- "

#: Before a bullet that contradicts its file, and behind one, as `render/section.py` has them.
_CONFLICT = "[CONFLICT] "
_WORTH = re.compile(r" \*\(confidence: [\d.]+, rank: [\d.]+\)\*\Z")


def refuse(connection: Connection, path: str) -> None:
    """Raise `Refused` where undoing the newest write would bring back what was taken back.

    That is a bullet which is no principle now, in a section that is older than some revocation.
    """
    done = projects.list_writes(connection, path, 2, state=WriteState.DONE)
    rejected = reviews.list_approvals(connection, Decision.REJECTED)
    gone_at = [each.at for each in reviews.list_revocations(connection)] + [
        each.at for each in rejected
    ]
    # When the section was written that would come back.
    written = done[1].began_at if len(done) > 1 else 0
    if not done or max(gone_at, default=-1) < written:
        return
    lines = _bullets(done[0].before or b"")
    gone = reviews.load_revoked_principles(connection) | {each.principle_id for each in rejected}
    texts = _texts(connection, set(principles.list_ids(connection)) - gone) if lines else {}
    # Whole texts: one that was taken back may begin with, or hold, one that was not.
    lost = [line for line in lines if _said(line) not in texts]
    if lost:
        raise errors.Refused(
            f"refused to undo the last write into {path}: it would bring back what was taken back "
            f"since ({lost[0][:80]}); lift that with cortex projects revoke --undo, or edit the "
            "file"
        )


def match_bullets(connection: Connection, lines: Sequence[str]) -> list[GivenBullet]:
    """Return of which principles the bullets of an older section are, as far as they are known.

    A person may take one of these back later, too, and then asks which files hold it.
    """
    texts = _texts(connection, principles.list_ids(connection) if lines else ())
    said = [(_said(line.removeprefix(BULLET)), line) for line in lines]
    return [GivenBullet(texts[text], line) for text, line in said if text in texts]


def _bullets(data: bytes) -> list[str]:
    """Return the bullets of the section that a file had; none where it cannot be read."""
    try:
        found = fence.find(data)
    except errors.CortexError:
        return []
    body = "" if found is None else found.body.decode("utf-8", "replace")
    return [line.removeprefix(BULLET) for line in body.split("\n") if line.startswith(BULLET)]


def _said(line: str) -> str:
    """Return a bullet's text without our mark before it and what it is worth behind it."""
    return _WORTH.sub("", line.removeprefix(_CONFLICT))


def _texts(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return what principles say as a section has it, now or before: text -> principle."""
    every = principles.load_principles(connection, ids)
    places = principles.load_places(connection, every)
    found: dict[str, str] = {}
    for name, each in every.items():
        text = principles.word_principle(each, places.get(name, ())).text or each.content
        found |= {neutralise(each.content): name, make_line(text, find_topic(text)): name}
    return found
