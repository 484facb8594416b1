"""The folder of compiled models while one is being made: a bench to work on, and the move from it.

What is being made lies beside the finished models under a name that begins with a dot, so that
moving it into place is one rename. Everything here blocks: it belongs on a thread.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.embedding import manifest as manifests
from cortex_actors.embedding.manifest import FILES, ONNX, Gates, Kind, Manifest, model_id_of
from cortex_actors.errors import CompileFailed, CompileNoRoom

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: What folders of models are: only their owner reads them.
MODE = 0o700

#: What the names of folders begin with that hold a model in the making, or one that was replaced.
MAKING, REPLACED = ".making-", ".replaced-"

#: What the system says when nothing more fits: the disk, the quota, the largest file allowed.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def begin(models: Path) -> Path:
    """Return a new folder to make a model in; what killed makers left is swept away first.

    For whoever holds the lock of `models`. Raises `CompileNoRoom`, `CompileFailed`.
    """
    with disk(models):
        models.mkdir(mode=MODE, parents=True, exist_ok=True)
        sweep(models)
        return Path(tempfile.mkdtemp(prefix=MAKING, dir=models))


def sweep(models: Path) -> None:
    """Delete what killed makers left."""
    for pattern in (f"{MAKING}*", f"{REPLACED}*"):
        for folder in models.glob(pattern):
            shutil.rmtree(folder, ignore_errors=True)


def install(
    bench: Path, facts: Mapping[str, Any], *, source: str, source_hash: str, at: int
) -> Manifest:
    """Finish a model that was built on a bench, and move it to its place.

    It is there once this returns, and lasts through a power cut; before, there is nothing, or the
    damaged one that it replaces. Damaged forms of the same source are deleted, because they would
    never be read again. Raises `CompileNoRoom`, `CompileFailed`.
    """
    with disk(bench.parent):
        manifest = _manifest(bench, facts, source=source, source_hash=source_hash, at=at)
        manifests.write(bench, manifest)
        for path in (*(bench / name for name in (*FILES, manifests.MANIFEST)), bench):
            _sync(path)
        _move(bench, bench.parent / manifest.model_id)
        _sync(bench.parent)
        for name in manifests.damaged(bench.parent):
            if name.startswith(f"{source}+"):
                shutil.rmtree(bench.parent / name, ignore_errors=True)
    return manifest


@contextmanager
def disk(folder: Path) -> Iterator[None]:
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


def _manifest(
    bench: Path, facts: Mapping[str, Any], *, source: str, source_hash: str, at: int
) -> Manifest:
    """Return what is known of a model, and the hashes of its files."""
    hashes = {name: manifests.hash_of(bench / name) for name in FILES}
    kind = Kind(facts["kind"])
    known = Manifest(
        model_id=model_id_of(source, kind, onnx_hash=hashes[ONNX]),
        source=source,
        source_hash=source_hash,
        hashes=hashes,
        made_at=at,
        **facts,
    )
    return replace(known, kind=kind, inputs=tuple(known.inputs), gates=Gates(**facts["gates"]))


def _move(bench: Path, place: Path) -> None:
    """Rename a bench; a folder in its place, which is damaged or the same, goes out of the way."""
    bench.chmod(MODE)
    aside = bench.with_name(bench.name.replace(MAKING, REPLACED))
    if place.exists():
        place.rename(aside)
    bench.rename(place)
    shutil.rmtree(aside, ignore_errors=True)


def _sync(path: Path) -> None:
    """Have the disk keep a file's bytes, or a folder's names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
