"""A trial run: a compiled model embeds the calibration texts and is held against the float model.

What is tried is what answers later: the same tokeniser, session and batches. Blocks for seconds:
for a child process or a command, never on a loop.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.embedding.calibration import measure
from cortex_actors.embedding.manifest import REFERENCE, TEXTS
from cortex_actors.embedding.session import BATCH_TOKENS, Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tokenizers import Encoding

    from cortex_actors.embedding.manifest import Gates, Manifest
    from cortex_actors.embedding.provider import Vectors


def cut(tokenizer: Path, texts: Sequence[str], *, max_tokens: int) -> list[str]:
    """Return the texts, each cut where the model's window ends.

    How the windows of a longer text are put together is not the model's doing, and not judged.
    """
    from tokenizers import Tokenizer  # noqa: PLC0415 - for whoever runs a model

    encode = Tokenizer.from_file(str(tokenizer)).encode
    return [_cut(encode, text, max_tokens) for text in texts]


def rows(folder: Path, manifest: Manifest, texts: Sequence[str]) -> Vectors:
    """Return the unit vectors that a model makes of texts, on every core."""
    runner = Runner(folder, manifest)
    threads = os.cpu_count() or 1
    begun = runner.begin(texts, budget=BATCH_TOKENS, threads=threads)
    with ThreadPoolExecutor(threads, thread_name_prefix="trial") as pool:
        made = list(pool.map(partial(runner.run, begun), begun.batches))
    return runner.end(begun, made, texts=len(texts))


def again(folder: Path, manifest: Manifest) -> Gates:
    """Return how near a finished model is to the float vectors that were kept when it was made.

    Needs no torch: what can have changed since is this machine and the libraries on it.
    """
    reference: Vectors = np.load(folder / REFERENCE, allow_pickle=False)
    return measure(reference, rows(folder, manifest, kept_texts(folder)))


def kept_texts(folder: Path) -> list[str]:
    """Return the texts that a model was compared on."""
    lines = (folder / TEXTS).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _cut(encode: Callable[[str], Encoding], text: str, max_tokens: int) -> str:
    """Return as much of a text as fits; one character may be several tokens."""
    while len((found := encode(text)).ids) > max_tokens:
        # The last token that fits; what ends a text (its offsets are 0, 0) has to fit behind it.
        ends = [end for _, end in found.offsets if end]
        room = max_tokens - (len(found.ids) - len(ends))
        text = text[: min(ends[room - 1], len(text) - 1)]
    return text
