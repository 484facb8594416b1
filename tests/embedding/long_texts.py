"""Texts of 300 to 5,000 tokens, made of the samples' own sentences; the same in every run."""

from __future__ import annotations

import random
from pathlib import Path

#: What the sentences are taken from.
SAMPLES = Path(__file__).parents[2] / "data" / "projects"

#: Words of each text: MiniLM makes 1.3 to 1.6 tokens of one.
WORDS = (220, 400, 700, 1_200, 2_000, 3_500)


def long_texts() -> list[str]:
    """Return one text of each length."""
    lines = [
        line.strip("-* ")
        for path in sorted(SAMPLES.rglob("*.md"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.count(" ") > 3 and not line.startswith(("#", "```", "|"))
    ]
    return [_text(lines, words, random.Random(words)) for words in WORDS]


def _text(lines: list[str], words: int, chance: random.Random) -> str:
    """Return lines in an order of their own until the words are together."""
    taken: list[str] = []
    while sum(line.count(" ") + 1 for line in taken) < words:
        taken.append(chance.choice(lines))
    return "\n".join(taken)
