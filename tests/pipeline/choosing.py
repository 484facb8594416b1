"""Principles with vectors that a test chooses, and files to give them to."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors.domain.insight import Claim
from cortex_actors.pipeline.reading import ComparedTexts, FileStatement, PlacedTexts
from cortex_actors.pipeline.selection import Chooser, FileChoice, Offer
from cortex_actors.rules.contradiction import ThresholdTable
from cortex_actors.sections import ResolutionSettings
from tests.storage.distilled import principle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.principle import Principle
    from cortex_actors.storage.embeddings import Matrix

#: What stands for a file as a whole.
FILE = "All of the file."


def at(cosine: float, side: int = 1) -> Matrix:
    """Return a unit vector of that cosine to the file's; those of two sides are apart."""
    row = np.zeros(64, np.float32)
    row[0], row[side] = cosine, math.sqrt(1 - cosine * cosine)
    return row


def offer(*given: tuple[Principle, Matrix | None]) -> Offer:
    """Return principles with their vectors, none of which a person has approved."""
    nothing = np.zeros(64, np.float32)
    rows = [nothing if row is None else row for _, row in given]
    waiting = {each.id: "" for each, _ in given}
    some = [each for each, _ in given]
    return Offer(some, np.stack(rows) if rows else None, unapproved=waiting)


def placed(
    *said: str, near: Mapping[str, Matrix] | None = None, domains: tuple[str, ...] = ()
) -> PlacedTexts:
    """Return a file that says those statements; `near` are the vectors of its texts."""
    lines = tuple(FileStatement(Claim(each, "Style"), each) for each in said)
    vectors = {FILE: at(1.0), **{each: at(0.0, 40) for each in said}, **(near or {})}
    sections = tuple(each for each in (near or {}) if each.startswith("#"))
    return PlacedTexts(ComparedTexts(FILE, sections, lines, domains), vectors)


def blind(*said: str, domains: tuple[str, ...] = ()) -> PlacedTexts:
    """Return such a file while nobody makes vectors."""
    return PlacedTexts(placed(*said, domains=domains).page)


def elsewhere(file: PlacedTexts, line: FileStatement) -> PlacedTexts:
    """Return a file beside which another one of its project says something near to principles."""
    vectors = {**file.vectors, line.embedded: at(0.8, 1)} if file.vectors else {}
    return PlacedTexts(replace(file.page, elsewhere=(line,)), vectors)


def choose(
    offered: Offer, file: PlacedTexts, *, repeats: bool = False, **settings: Any
) -> FileChoice:
    """Return what a file gets."""
    chooser = Chooser(ResolutionSettings(**settings), ThresholdTable(), repeats=repeats)
    return chooser.choose(offered, file)


def texts(choice: FileChoice) -> list[str]:
    """Return the texts of what was chosen."""
    return [each.principle.content for each in choice.chosen]


def ranked(text: str, rank: float, cosine: float, side: int) -> tuple[Principle, Matrix]:
    """Return a principle with its vector."""
    return principle(text, rank=rank), at(cosine, side)
