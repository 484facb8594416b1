"""Builds a compiled model in an empty folder: export, quantise, try out, keep what passes.

Runs in the child that holds torch, on a model it has loaded; blocks for a quarter of a minute. What
it leaves is a model only once the daemon's side (`compiler`) has hashed, synced and renamed it.

A loaded sentence-transformers model as an ONNX graph: what can be exported, and the export.

Runs in the child that holds torch (`torch_child`), which hands it the model. The graph holds the
transformer, the pooling and what follows it; a scaling to length 1 at the end is left out, so that
the windows of a long text can be pooled first.

How a sentence-transformers model's texts are cut into pieces that it reads whole.

By the same windows as the compiled model's, so that both say the same of a long text.
"""

from __future__ import annotations

import json
import logging
import math
import shutil
import warnings
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from cortex_actors.embedding import calibration
from cortex_actors.embedding.manifest import (
    ONNX,
    OUTPUT,
    REFERENCE,
    TEXTS,
    TOKENIZER,
    ModelForm,
    QualityGates,
    WeightKind,
)
from cortex_actors.embedding.rowwise import quantise_rows
from cortex_actors.embedding.tokens import TokenPiece, WordPieces, split_text
from cortex_actors.errors import NotCompilable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from sentence_transformers import SentenceTransformer

    from cortex_actors.embedding.provider import Vectors

    Cut = Callable[[Sequence[str]], list[TokenPiece]]


#: The modules that can become part of a graph, as sentence-transformers calls them.
MODULES = ("Transformer", "Pooling", "Dense", "Normalize")

#: Inputs a graph may have; others (boxes, pictures) are not made of text alone.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")

#: ONNX's version of operators: the newest that torch's TorchScript exporter writes well.
OPSET = 17

#: What is traced: two texts of different lengths, so that padding is seen.
EXAMPLE = ["One short text.", "A text that is longer than the other one, because both are padded."]


class ModelGraph(torch.nn.Module):  # type: ignore[misc]  # torch is not followed by the type checker
    """The model's modules in a row, as a function of tensors."""

    def __init__(self, modules: list[Any], inputs: tuple[str, ...]) -> None:
        super().__init__()
        self._row = torch.nn.ModuleList(modules)
        self._inputs = inputs

    def forward(self, *tensors: Any) -> Any:  # noqa: ANN401 - tensors
        """Return the pooled vector of each row of ids."""
        features: dict[str, Any] = dict(zip(self._inputs, tensors, strict=True))
        for module in self._row:
            features = module(features)
        return features["sentence_embedding"]


def draft_form(model: SentenceTransformer) -> ModelForm:
    """Return what a model says of itself.

    Raises `NotCompilable` for a model that cannot become a graph.
    """
    modules = list(model)
    if why := _obstacle(model, modules):
        raise NotCompilable(why)
    tokenizer = modules[0].tokenizer
    # How token vectors become one, in sentence-transformers' words.
    modes = next(each for each in modules if _is(each, "Pooling")).pooling_mode
    return ModelForm(
        model_id="a model in the making",
        # Not what it says of itself: the last module may know nothing of those before it.
        dimension=len(model.encode(EXAMPLE[0], show_progress_bar=False)),
        max_tokens=int(model.max_seq_length),
        pooling=modes if isinstance(modes, str) else "+".join(modes),
        normalize=_is(modules[-1], "Normalize"),
        pad=int(tokenizer.pad_token_id),
        inputs=tuple(name for name in INPUTS if name in tokenizer.model_input_names),
    )


def export(model: SentenceTransformer, draft: ModelForm, *, to: Path) -> None:
    """Write the graph; raises `NotCompilable` when torch cannot trace it, `OSError` for the disk.

    Tracing follows one example; that the graph holds for other lengths and counts is the trial's
    to find out.
    """
    modules = list(model)
    graph = ModelGraph(modules[:-1] if draft.normalize else modules, draft.inputs).eval()
    given = modules[0].tokenizer(
        EXAMPLE, padding=True, truncation=True, max_length=draft.max_tokens, return_tensors="pt"
    )
    axes = {name: {0: "batch", 1: "length"} for name in draft.inputs}
    try:
        with torch.no_grad(), silence():
            torch.onnx.export(
                graph,
                tuple(given[name] for name in draft.inputs),
                str(to),
                input_names=list(draft.inputs),
                output_names=[OUTPUT],
                dynamic_axes={**axes, OUTPUT: {0: "batch"}},
                opset_version=OPSET,
                dynamo=False,
            )
    except (OSError, MemoryError):
        raise
    except Exception as error:
        # Whatever an architecture does that the exporter has no words for.
        raise NotCompilable(f"torch cannot export it: {type(error).__name__}: {error}") from error


def save_tokenizer(model: SentenceTransformer, *, to: Path) -> None:
    """Write the tokeniser as one that cuts nothing and fills nothing: both are the runtime's."""
    own = model[0].tokenizer.backend_tokenizer
    fast = type(own).from_str(own.to_str())
    fast.no_truncation()
    fast.no_padding()
    fast.save(str(to))


@contextmanager
def silence() -> Iterator[None]:
    """Keep what exporters and quantisers say to their own developers from everyone.

    Deprecations, traced booleans and advice to run other tools first; a warning must not become an
    error either where the environment asks for that.
    """
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _obstacle(model: SentenceTransformer, modules: list[Any]) -> str:
    """Return why a model cannot become a graph; empty when it can."""
    strange = [each for each in modules if not _is(each, *MODULES)]
    if strange:
        names = ", ".join(sorted({type(each).__name__ for each in strange}))
        return f"its modules {names} are not among {', '.join(MODULES)}"
    if not _is(modules[0], "Transformer") or not any(_is(each, "Pooling") for each in modules):
        return "it is not a Transformer followed by a Pooling"
    # Its texts must be made into its tokens without transformers.
    tokenizer = modules[0].tokenizer
    if tokenizer is None or not getattr(tokenizer, "is_fast", False):
        return "its tokeniser has no fast form (tokenizer.json)"
    if tokenizer.pad_token_id is None or tokenizer.padding_side != "right":
        return "its tokeniser does not fill rows up at their right"
    if other := set(tokenizer.model_input_names) - set(INPUTS):
        return f"it reads {', '.join(sorted(other))} beside a text's tokens"
    if not model.max_seq_length:
        return "it does not say how many tokens it reads"
    if model.default_prompt_name is not None or getattr(model[0], "query_expansion", None):
        return "it puts words of its own before a text (a default prompt)"
    return ""


def _is(module: Any, *names: str) -> bool:  # noqa: ANN401 - likewise
    """Return whether a module is one of sentence-transformers' own of those names."""
    kind = type(module)
    return kind.__name__ in names and kind.__module__.startswith("sentence_transformers.")


#: Texts the float model computes at once; they are sorted by length first.
BUILT_AT_ONCE = 8


def build(
    model: SentenceTransformer, folder: Path, say: Callable[[str], None]
) -> dict[str, object]:
    """Fill the folder, and return what its manifest says of the model.

    Keeps the int8 form if it passes its gates, else the float one. Raises `NotCompilable` for a
    model that has no compiled form, or whose graph does not compute the same as the model, and
    `CompileNoRoom`.
    """
    with calibration.explain_disk(folder.parent):
        say("exporting the model")
        draft = draft_form(model)
        save_tokenizer(model, to=folder / TOKENIZER)
        fp32, int8 = _form(folder, WeightKind.FP32), _form(folder, WeightKind.INT8)
        export(model, draft, to=fp32 / ONNX)
        say("embedding the calibration texts with the float model")
        reference = _reference(model, folder, draft)
        say("comparing the export with the float model")
        exact = _exported(fp32, draft, reference)
        say("quantising to int8 and checking it")
        found = _quantised(fp32, int8, draft, reference)
        return _kept(folder, draft, int8=found, fp32=exact)


def _form(folder: Path, kind: WeightKind) -> Path:
    """Return a folder for one form of the model, with all but its graph in it."""
    form = folder / kind
    form.mkdir()
    shutil.copy(folder / TOKENIZER, form)
    return form


def _reference(model: SentenceTransformer, folder: Path, draft: ModelForm) -> Vectors:
    """Keep the calibration texts and the float model's vectors of them, and return these.

    The texts are cut at the model's window, so that no form of the model sees more of them.
    """
    texts = calibration.cut(
        folder / TOKENIZER, calibration.load_texts(), max_tokens=draft.max_tokens
    )
    lines = "".join(json.dumps(text, ensure_ascii=False) + "\n" for text in texts)
    (folder / TEXTS).write_text(lines, encoding="utf-8")
    rows: Vectors = model.encode(
        texts,
        batch_size=BUILT_AT_ONCE,
        show_progress_bar=False,
        convert_to_numpy=True,
        normalize_embeddings=True,
    ).astype(np.float32)
    np.save(folder / REFERENCE, rows)
    return rows


def _exported(form: Path, draft: ModelForm, reference: Vectors) -> QualityGates:
    """Return how near the exported graph is; raises `NotCompilable` if it is not the same model."""
    try:
        rows = calibration.embed_texts(form, draft, calibration.load_kept_texts(form.parent))
    except (OSError, MemoryError):
        raise
    except Exception as error:
        # onnxruntime's own classes: an operator it does not have, a shape that only tracing knew.
        raise NotCompilable(f"onnxruntime cannot run its export: {error}") from error
    worst = float(calibration.compute_cosines(reference, rows).min())
    if not worst > calibration.SAME:
        raise NotCompilable(
            "its export computes something else: a text's two vectors have a cosine of "
            f"{worst:.5f}, not above {calibration.SAME}"
        )
    return calibration.measure(reference, rows)


def _quantised(
    source: Path, form: Path, draft: ModelForm, reference: Vectors
) -> QualityGates | str:
    """Write the int8 form and return how near it is, or why there is none.

    Weights have a scale for each channel, because one for all loses ten times more; activations one
    for each row, because a text's vector must not depend on its batch.
    """
    plain = form / f"plain-{ONNX}"
    with silence():
        from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415 - slow

        quantize_dynamic(source / ONNX, plain, per_channel=True, weight_type=QuantType.QInt8)
    try:
        quantise_rows(plain, form / ONNX)
    except ValueError as error:
        return f"the graph cannot be quantised by row: {error}"
    return calibration.measure(
        reference, calibration.embed_texts(form, draft, calibration.load_kept_texts(form.parent))
    )


def _kept(
    folder: Path, draft: ModelForm, *, int8: QualityGates | str, fp32: QualityGates
) -> dict[str, object]:
    """Keep the form that is good enough, and return what is known of it."""
    kind, gates, note = WeightKind.FP32, fp32, ""
    if isinstance(int8, str):
        note = int8
    elif missed := calibration.list_missed(int8):
        note = f"the int8 form missed its gates: {missed}"
    else:
        kind, gates = WeightKind.INT8, int8
    (folder / kind / ONNX).replace(folder / ONNX)
    for each in WeightKind:
        shutil.rmtree(folder / each)
    return {**asdict(draft), "kind": kind, "gates": asdict(gates), "note": note}


def make_cutter(model: SentenceTransformer) -> tuple[int, Cut]:
    """Return the tokens of a piece, special ones included, and what cuts a model's texts.

    0 is a model that reads any number of tokens: it reads every text whole. Cutting returns the
    pieces of each text, in order, and raises `ValueError` for what cannot be read.
    """
    limit = model.max_seq_length
    most = int(limit) if limit and math.isfinite(limit) else 0
    if not most:
        return 0, lambda texts: [TokenPiece(at, (), 1, each) for at, each in enumerate(texts)]
    tokenizer: Any = model.tokenizer
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if hasattr(backend, "to_str"):
        # A copy: the model's own changes how it cuts and fills at each call.
        return most, WordPieces(type(backend).from_str(backend.to_str()), most).cut_texts

    def count(text: str) -> int:
        return len(tokenizer(text)["input_ids"])

    # By counting: for a tokeniser that is written in Python and tells no offsets.
    return most, lambda texts: [
        TokenPiece(owner, (), count(part), part)
        for owner, text in enumerate(texts)
        for part in split_text(text, most, count)
    ]
