"""How near a compiled model is to its float model: the texts, the three measures, and the gates.

A compiled model is judged by what search does with it: a text's own vector (cosine), the order of
similarities (Spearman), and who is among the ten nearest (overlap). Measured for all-MiniLM-L6-v2,
int8 per channel passes each and int8 per tensor none (docs/models.md has the figures).

The folder of compiled models while one is being made: a bench to work on, and the move from it.

What is being made lies beside the finished models under a name that begins with a dot, so that
moving it into place is one rename. Everything here blocks: it belongs on a thread.

A trial run: a compiled model embeds the calibration texts and is held against the float model.

What is tried is what answers later: the same tokeniser, session and batches. Blocks for seconds:
for a child process or a command, never on a loop.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors.embedding import manifest as manifests
from cortex_actors.embedding.compiled import BATCH_TOKENS, Runner
from cortex_actors.errors import CompileFailed, CompileNoRoom
from cortex_actors.home import sync

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.resources.abc import Traversable

    from numpy.typing import NDArray

    from cortex_actors.embedding.provider import Vectors


#: What folders of models are: only their owner reads them.
MODE = 0o700

#: What the names of folders begin with that hold a model in the making, or one that was replaced.
MAKING, REPLACED = ".making-", ".replaced-"

#: What the system says when nothing more fits: the disk, the quota, the largest file allowed.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def begin_bench(models: Path) -> Path:
    """Return a new folder to make a model in; what killed makers left is swept away first.

    The caller holds the lock of `models`. Raises `CompileNoRoom`, `CompileFailed`.
    """
    with explain_disk(models):
        models.mkdir(mode=MODE, parents=True, exist_ok=True)
        for pattern in (f"{MAKING}*", f"{REPLACED}*"):
            for folder in models.glob(pattern):
                shutil.rmtree(folder, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix=MAKING, dir=models))


def install(
    bench: Path, facts: Mapping[str, Any], *, source: str, source_hash: str, at: int
) -> manifests.Manifest:
    """Finish a model that was built on a bench, and move it to its place.

    It is there once this returns, and lasts through a power cut; before, there is nothing, or the
    damaged one that it replaces. Damaged forms of the same source are deleted, because they would
    never be read again. Raises `CompileNoRoom`, `CompileFailed`.
    """
    with explain_disk(bench.parent):
        hashes = {name: manifests.hash_file(bench / name) for name in manifests.FILES}
        digits = hashes[manifests.ONNX][: manifests.ID_DIGITS]
        model_id = f"{source}+{manifests.WeightKind(facts['kind'])}-{digits}"
        own = {"source": source, "source_hash": source_hash, "hashes": hashes, "made_at": at}
        manifest = manifests.parse_manifest({**facts, **own, "model_id": model_id})
        manifests.write(bench, manifest)
        for path in (*(bench / name for name in (*manifests.FILES, manifests.MANIFEST)), bench):
            sync(path)
        _move(bench, bench.parent / manifest.model_id)
        sync(bench.parent)
        for name in manifests.list_damaged(bench.parent):
            if name.startswith(f"{source}+"):
                shutil.rmtree(bench.parent / name, ignore_errors=True)
    return manifest


@contextmanager
def explain_disk(folder: Path) -> Iterator[None]:
    """Turn what a disk may refuse into what it means here."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise CompileNoRoom(
                f"{folder} has no room for a compiled model ({error.strerror}); it needs about "
                "the size of the float model's weights and a quarter, for a moment. Make room, "
                "then: cortex model prepare"
            ) from error
        raise CompileFailed(
            f"cannot write a compiled model into {folder}: {error.strerror or error}; see to the "
            "folder, then: cortex model prepare"
        ) from error


def _move(bench: Path, place: Path) -> None:
    """Rename a bench; a folder in its place, which is damaged or the same, goes out of the way."""
    bench.chmod(MODE)
    aside = bench.with_name(bench.name.replace(MAKING, REPLACED))
    if place.exists():
        place.rename(aside)
    bench.rename(place)
    shutil.rmtree(aside, ignore_errors=True)


#: What an int8 form must reach; below any of them the float form is kept.
LEAST = manifests.QualityGates(mean_cosine=0.99, spearman=0.99, overlap=0.88)

#: What the float ONNX form must reach for its worst text: it computes the same in another order.
SAME = 0.9999

#: How many nearest texts are compared: as many as a long answer of `recall` shows.
NEAREST = 10


def load_texts() -> list[str]:
    """Return the calibration texts: statements, sections, questions, code, several languages.

    They are our own and part of the package, so that a model is judged the same everywhere.
    """
    return load_kept_texts(files(__package__))


def measure(float_rows: Vectors, compiled_rows: Vectors) -> manifests.QualityGates:
    """Return how near the unit rows of the same texts are; more than `NEAREST` + 1 are needed."""
    ours, theirs = compiled_rows @ compiled_rows.T, float_rows @ float_rows.T
    pairs = np.triu_indices(len(float_rows), k=1)
    return manifests.QualityGates(
        mean_cosine=float(np.mean(compute_cosines(float_rows, compiled_rows))),
        spearman=compute_spearman(theirs[pairs], ours[pairs]),
        overlap=compute_overlap(theirs, ours),
    )


def list_missed(gates: manifests.QualityGates) -> str:
    """Return the gates that were not reached, in words; empty when all were."""
    rows = (
        ("mean cosine", gates.mean_cosine, LEAST.mean_cosine),
        ("Spearman", gates.spearman, LEAST.spearman),
        ("top-10 overlap", gates.overlap, LEAST.overlap),
    )
    # Not `found < wanted`: what is no number reaches nothing.
    return ", ".join(
        f"{name} {found:.4f} < {wanted}" for name, found, wanted in rows if not found >= wanted
    )


def compute_cosines(one: Vectors, other: Vectors) -> NDArray[np.float64]:
    """Return the cosine of each row of one with the same row of the other, both of unit length."""
    products: NDArray[np.float64] = np.einsum("ij,ij->i", one, other, dtype=np.float64)
    return products


def compute_spearman(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """Return Spearman's rank correlation; equal values share the mean of their ranks."""
    return float(np.corrcoef(_ranks(one), _ranks(other))[0, 1])


def compute_overlap(
    one: NDArray[np.floating], other: NDArray[np.floating], nearest: int = NEAREST
) -> float:
    """Return the share of each text's nearest others that two matrices of similarity agree on."""
    pairs = zip(_nearest(one, nearest), _nearest(other, nearest), strict=True)
    shared: Sequence[int] = [len(np.intersect1d(a, b)) for a, b in pairs]
    return float(np.mean(shared)) / nearest


def _nearest(similarity: NDArray[np.floating], count: int) -> NDArray[np.intp]:
    """Return the columns of each row's highest values, itself left out; ties by position."""
    others = similarity.astype(np.float64)
    np.fill_diagonal(others, -np.inf)
    return np.argsort(-others, axis=1, kind="stable")[:, :count]


def _ranks(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the rank of each value from 1 on."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(count) - (count - 1) / 2)[place]
    return ranks


def cut(tokenizer: Path, texts: Sequence[str], *, max_tokens: int) -> list[str]:
    """Return the texts, each cut where the model's window ends.

    How the windows of a longer text are put together is not the model's doing, and not judged.
    """
    from tokenizers import Tokenizer  # noqa: PLC0415 - only where a model runs

    encode = Tokenizer.from_file(str(tokenizer)).encode

    def fitting(text: str) -> str:
        while len((found := encode(text)).ids) > max_tokens:
            # The last token that fits; what ends a text (its offsets are 0, 0) has to fit behind
            # it. One character may be several tokens.
            ends = [end for _, end in found.offsets if end]
            room = max_tokens - (len(found.ids) - len(ends))
            text = text[: min(ends[room - 1], len(text) - 1)]
        return text

    return list(map(fitting, texts))


def embed_texts(folder: Path, manifest: manifests.ModelForm, texts: Sequence[str]) -> Vectors:
    """Return the unit vectors that a model makes of texts, on every core."""
    runner = Runner(folder, manifest)
    threads = os.cpu_count() or 1
    begun = runner.begin(texts, budget=BATCH_TOKENS, threads=threads)
    with ThreadPoolExecutor(threads, thread_name_prefix="trial") as pool:
        made = list(pool.map(partial(runner.run, begun), begun.batches))
    return runner.end(begun, made, texts=len(texts))


def load_kept_texts(folder: Path | Traversable) -> list[str]:
    """Return the texts that a model was compared on."""
    lines = (folder / manifests.TEXTS).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
