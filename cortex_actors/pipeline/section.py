"""Section: what one file is to be given, made of what it says and of what is known.

Page: what a human says in a file, as principles are compared with it; and what it is about.

Our own section is left out, so that a file that was written is the same page as before. Secrets are
taken out before anything is embedded: an embedder may be somebody else's machine.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Claim, Granularity
from cortex_actors.domain.principle import Given
from cortex_actors.domain.project import StatementKind
from cortex_actors.errors import BadInput
from cortex_actors.pipeline.likeness import UNEMBEDDED
from cortex_actors.pipeline.reading import Reader, without_secrets
from cortex_actors.pipeline.selection import Line, Page, Placed, named
from cortex_actors.render import fence
from cortex_actors.render.section import Bullet, Options
from cortex_actors.rules.promotion import FILE_CHARACTERS, file_domains
from cortex_actors.rules.standalone import MANIFESTS, stacks_of_project, topic
from cortex_actors.storage.embeddings import embedded_text
from cortex_actors.text.sections import dialect_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cortex_actors.pipeline.relations import Ruling
    from cortex_actors.pipeline.selection import Assignment, Choice, Chosen, Offer
    from cortex_actors.sections import ResolutionSettings
    from cortex_actors.storage.embeddings import Embed
    from cortex_actors.text.sections import Dialect


#: Sections of a file that are compared as wholes; each is embedded, in some 20 ms.
SECTIONS = 300


def page_of(data: bytes, dialect: Dialect, *, path: str, project: str) -> Page:
    """Return what a human says in a file. Blocks: a large file takes a while.

    Raises `BadInput`, naming the path, for what is no text or says too much.
    """
    found = [without_secrets(f)[0] for f in dialect.parse(data, path=path, project=project)]
    said = Reader(dialect, path, project, Granularity.STATEMENT).read(data)
    text = "\n\n".join(embedded_text(each.heading, each.content) for each in found)
    return Page(
        text=text[:FILE_CHARACTERS],
        sections=tuple(embedded_text(e.heading, e.content) for e in found)[:SECTIONS],
        lines=tuple(
            Line(
                Claim(each.content, each.source.heading, each.source.scope),
                each.embedded,
                each.domain,
                is_example=each.source.kind is StatementKind.EXAMPLE,
                is_command=each.source.kind is StatementKind.COMMAND,
            )
            for each in said.findings
        ),
        domains=file_domains(text),
    )


def joined(pages: Iterable[Page]) -> Page:
    """Return several files as one: what an agent reads that is told to read them all."""
    every = list(pages)
    if len(every) == 1:
        return every[0]
    text = "\n\n".join(each.text for each in every if each.text)
    return Page(
        text=text[:FILE_CHARACTERS],
        sections=tuple(section for each in every for section in each.sections)[:SECTIONS],
        lines=tuple(line for each in every for line in each.lines),
        domains=file_domains(text),
    )


async def placed(page: Page, embed: Embed, *, model: str) -> Placed:
    """Return a page with its vectors; without any while nobody can make them."""
    texts = page.embedded
    if not texts:
        return Placed(page)
    try:
        rows = await embed(texts, model=model)
    except UNEMBEDDED:
        return Placed(page)
    return Placed(page, dict(zip(texts, rows, strict=True)))


@dataclass(frozen=True, slots=True)
class Section:
    """What a file is to be given.

    Attributes:
        body: the text between the marks; "" when there is nothing to give.
        revision: the human's part of the file that it was made for.
        inputs: the name of all that it was made of; "" when it would better be made again.

    """

    body: str
    revision: str
    inputs: str
    bullets: tuple[Given, ...]
    tokens: int
    counts: Mapping[str, int]


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

    def inputs(self, job: Assignment, data: bytes, offer: Offer) -> str:
        """Return the name of all that a section is made of. Blocks."""
        texts = job.texts(data) | job.others(data)
        revisions = [f"{path}={fence.revision(text)}" for path, text in texts.items()]
        rules = self.ruling.digest.hex()
        manifests = " ".join(each.path for each in job.present if each.path in MANIFESTS)
        how = (self.settings.model_dump_json(), self.model, rules, job.formatter.name, manifests)
        return named(offer, *how, str(job.wish.metadata), *sorted(revisions))

    def page(self, job: Assignment, data: bytes) -> Page:
        """Return what is compared with the principles. Blocks; raises `BadInput`."""
        pages = [_page(job, path, text) for path, text in sorted(job.texts(data).items())]
        others = sorted(job.others(data).items())
        elsewhere = tuple(line for path, text in others for line in _elsewhere(job, path, text))
        page = joined(pages) if pages else Page()
        said = [f"{e.claim.heading} {e.claim.text}" for e in (*page.lines, *elsewhere)]
        stacks = stacks_of_project(said, [each.path for each in job.present])
        return replace(page, elsewhere=elsewhere, stacks=stacks)

    def make(
        self, job: Assignment, choice: Choice, *, offer: Offer, revision: str, inputs: str
    ) -> Section:
        """Return a choice from an offer as the text for the job's agent. Blocks."""
        metadata = job.wish.metadata or self.settings.include_metadata
        options = Options(self.settings.title, metadata, self.settings.max_output_tokens)
        conflicts = {each.principle.id: _conflict(each) for each in choice.chosen}
        made = job.formatter.render(
            [_bullet(each) for each in choice.chosen], options, count=self.count
        )
        given = tuple(
            Given(
                each.principle_id,
                line,
                conflicts[each.principle_id] or "",
                self.settings.unapproved or offer.may_write(each.principle_id, job.project.id),
            )
            for each, line in zip(made.used, made.lines, strict=True)
        )
        counts = {
            "principles_resolved": len(given),
            "conflicts_detected": sum(bool(each.conflict) for each in given),
            "already_said": choice.already_said,
            "opposed": choice.opposed,
            "not_near": choice.not_near,
            "other_stack": choice.other_stack,
            "not_alone": len(offer.unfit),
            "unapproved": choice.waiting,
            "over_budget": len(made.dropped),
        }
        body = made.text if given else ""
        return Section(body, revision, inputs, given, made.tokens if given else 0, counts)


def _page(job: Assignment, path: str, text: bytes) -> Page:
    """Return what a human says in a file of the project; raises `BadInput`."""
    dialect = dialect_of(path)
    if dialect is None:
        return Page()
    whole = posixpath.join(job.project.root, path)
    return page_of(text, dialect, path=whole, project=job.project.name)


def _elsewhere(job: Assignment, path: str, text: bytes) -> list[Line]:
    """Return the statements of another file; one that cannot be read holds up none but itself."""
    try:
        return [replace(each, file=path) for each in _page(job, path, text).lines]
    except BadInput:
        return []


def _bullet(each: Chosen) -> Bullet:
    """Return a principle as it is written."""
    principle = each.principle
    return Bullet(
        principle_id=principle.id,
        content=principle.content,
        topic=topic(principle.content),
        rank=principle.rank,
        confidence=principle.confidence,
        conflict=_conflict(each),
    )


def _conflict(each: Chosen) -> str | None:
    """Return what the project says against a principle, and where; None when nothing."""
    line = each.found.against
    if line is None:
        return None
    return ": ".join(each for each in (line.file, line.claim.heading, line.claim.text) if each)
