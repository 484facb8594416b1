"""Builds a compiled model in an empty folder: export, quantise, try out, keep what passes.

Runs in the child that holds torch, on a model it has loaded; blocks for a quarter of a minute. What
it leaves is a model only once the daemon's side (`compiler`) has hashed, synced and renamed it.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.embedding import calibration, torch_export, trial
from cortex_actors.embedding.manifest import ONNX, REFERENCE, TEXTS, TOKENIZER, Gates, Kind
from cortex_actors.embedding.rowwise import by_row
from cortex_actors.embedding.workshop import disk
from cortex_actors.errors import NotCompilable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sentence_transformers import SentenceTransformer

    from cortex_actors.embedding.manifest import Manifest
    from cortex_actors.embedding.provider import Vectors

#: Texts the float model computes at once; they are sorted by length first.
AT_ONCE = 8


def build(
    model: SentenceTransformer, folder: Path, say: Callable[[str], None]
) -> dict[str, object]:
    """Fill the folder, and return what its manifest says of the model.

    Keeps the int8 form if it passes its gates, else the float one. Raises `NotCompilable` for a
    model that has no compiled form, or whose graph does not compute the same as the model, and
    `CompileNoRoom`.
    """
    with disk(folder.parent):
        say("exporting the model")
        draft = torch_export.draft_of(model)
        torch_export.save_tokenizer(model, to=folder / TOKENIZER)
        fp32, int8 = _form(folder, Kind.FP32), _form(folder, Kind.INT8)
        torch_export.export(model, draft, to=fp32 / ONNX)
        say("embedding the calibration texts with the float model")
        reference = _reference(model, folder, draft)
        say("comparing the export with the float model")
        exact = _exported(fp32, draft, reference)
        say("quantising to int8 and checking it")
        found = _quantised(fp32, int8, draft, reference)
        return _kept(folder, draft, int8=found, fp32=exact)


def _form(folder: Path, kind: Kind) -> Path:
    """Return a folder for one form of the model, with all but its graph in it."""
    form = folder / kind
    form.mkdir()
    shutil.copy(folder / TOKENIZER, form)
    return form


def _reference(model: SentenceTransformer, folder: Path, draft: Manifest) -> Vectors:
    """Keep the calibration texts and the float model's vectors of them, and return these.

    The texts are cut at the model's window, so that no form of the model sees more of them.
    """
    texts = trial.cut(folder / TOKENIZER, calibration.texts(), max_tokens=draft.max_tokens)
    lines = "".join(json.dumps(text, ensure_ascii=False) + "\n" for text in texts)
    (folder / TEXTS).write_text(lines, encoding="utf-8")
    rows: Vectors = model.encode(
        texts,
        batch_size=AT_ONCE,
        show_progress_bar=False,
        convert_to_numpy=True,
        normalize_embeddings=True,
    ).astype(np.float32)
    np.save(folder / REFERENCE, rows)
    return rows


def _exported(form: Path, draft: Manifest, reference: Vectors) -> Gates:
    """Return how near the exported graph is; raises `NotCompilable` if it is not the same model."""
    try:
        rows = trial.rows(form, draft, trial.kept_texts(form.parent))
    except (OSError, MemoryError):
        raise
    except Exception as error:
        # onnxruntime's own classes: an operator it does not have, a shape that only tracing knew.
        raise NotCompilable(f"onnxruntime cannot run its export: {error}") from error
    worst = float(calibration.cosines(reference, rows).min())
    if not worst > calibration.SAME:
        raise NotCompilable(
            "its export computes something else: a text's two vectors have a cosine of "
            f"{worst:.5f}, not above {calibration.SAME}"
        )
    return calibration.measure(reference, rows)


def _quantised(source: Path, form: Path, draft: Manifest, reference: Vectors) -> Gates | str:
    """Write the int8 form and return how near it is, or why there is none.

    Weights have a scale for each channel, because one for all loses ten times more; activations one
    for each row, because a text's vector must not depend on its batch.
    """
    plain = form / f"plain-{ONNX}"
    with torch_export.silence():
        from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415 - slow

        quantize_dynamic(source / ONNX, plain, per_channel=True, weight_type=QuantType.QInt8)
    try:
        by_row(plain, form / ONNX)
    except ValueError as error:
        return f"the graph cannot be quantised by row: {error}"
    return calibration.measure(reference, trial.rows(form, draft, trial.kept_texts(form.parent)))


def _kept(folder: Path, draft: Manifest, *, int8: Gates | str, fp32: Gates) -> dict[str, object]:
    """Keep the form that is good enough, and return what is known of it."""
    kind, gates, note = Kind.FP32, fp32, ""
    if isinstance(int8, str):
        note = int8
    elif missed := calibration.missed(int8):
        note = f"the int8 form missed its gates: {missed}"
    else:
        kind, gates = Kind.INT8, int8
    (folder / kind / ONNX).replace(folder / ONNX)
    for each in Kind:
        shutil.rmtree(folder / each)
    known = asdict(draft)
    shape = {name: known[name] for name in torch_export.SHAPE}
    return {**shape, "kind": kind, "gates": asdict(gates), "note": note}
