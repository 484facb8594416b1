"""Section: what one file is to be given, made of what it says and of what is known."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.domain.principle import Given
from cortex_actors.errors import BadInput
from cortex_actors.pipeline.page import Page, joined, page_of
from cortex_actors.pipeline.selection import named
from cortex_actors.render import fence
from cortex_actors.render.section import Bullet, Options
from cortex_actors.rules.standalone import MANIFESTS, stacks_of_project, topic
from cortex_actors.text.sections import dialect_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cortex_actors.pipeline.page import Line
    from cortex_actors.pipeline.relations import Ruling
    from cortex_actors.pipeline.selection import Assignment, Choice, Chosen, Offer
    from cortex_actors.sections import ResolutionSettings


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
