"""A loaded sentence-transformers model as an ONNX graph: what can be exported, and the export.

Runs in the child that holds torch (`torch_child`), which hands it the model. The graph holds the
transformer, the pooling and what follows it; a scaling to length 1 at the end is left out, so that
the windows of a long text can be pooled first.
"""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from cortex_actors.embedding.manifest import OUTPUT, Gates, Kind, Manifest
from cortex_actors.errors import NotCompilable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sentence_transformers import SentenceTransformer

#: The modules that can become part of a graph, as sentence-transformers calls them.
MODULES = ("Transformer", "Pooling", "Dense", "Normalize")

#: Inputs a graph may have; others (boxes, pictures) are not made of text alone.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")

#: ONNX's version of operators: the newest that torch's TorchScript exporter writes well.
OPSET = 17

#: What of a manifest the model itself says.
SHAPE = ("inputs", "pad", "max_tokens", "dimension", "pooling", "normalize")

#: What is traced: two texts of different lengths, so that padding is seen.
EXAMPLE = ["One short text.", "A text that is longer than the other one, because both are padded."]


class Graph(torch.nn.Module):  # type: ignore[misc]  # torch is not followed by the type checker
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


def draft_of(model: SentenceTransformer) -> Manifest:
    """Return a manifest of what a model says of itself (`SHAPE`); the rest of it is empty.

    Raises `NotCompilable` for a model that cannot become a graph.
    """
    modules = list(model)
    if why := _obstacle(model, modules):
        raise NotCompilable(why)
    tokenizer = modules[0].tokenizer
    return Manifest(
        model_id="a model in the making",
        source="",
        kind=Kind.FP32,
        # Not what it says of itself: the last module may know nothing of those before it.
        dimension=len(model.encode(EXAMPLE[0], show_progress_bar=False)),
        max_tokens=int(model.max_seq_length),
        pooling=_pooling(modules),
        normalize=_is(modules[-1], "Normalize"),
        pad=int(tokenizer.pad_token_id),
        inputs=tuple(name for name in INPUTS if name in tokenizer.model_input_names),
        hashes={},
        source_hash="",
        versions={},
        gates=Gates(0.0, 0.0, 0.0),
        note="",
        made_at=0,
    )


def export(model: SentenceTransformer, draft: Manifest, *, to: Path) -> None:
    """Write the graph; raises `NotCompilable` when torch cannot trace it, `OSError` for the disk.

    Tracing follows one example; that the graph holds for other lengths and counts is the trial's
    to find out.
    """
    modules = list(model)
    graph = Graph(modules[:-1] if draft.normalize else modules, draft.inputs).eval()
    given = modules[0].tokenizer(
        EXAMPLE,
        padding=True,
        truncation=True,
        max_length=draft.max_tokens,
        return_tensors="pt",
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
    return _tokens_obstacle(model, modules[0].tokenizer)


def _tokens_obstacle(model: SentenceTransformer, tokenizer: Any) -> str:  # noqa: ANN401 - likewise
    """Return why a model's texts cannot be made into its tokens without transformers."""
    if tokenizer is None or not getattr(tokenizer, "is_fast", False):
        return "its tokeniser has no fast form (tokenizer.json)"
    if tokenizer.pad_token_id is None or tokenizer.padding_side != "right":
        return "its tokeniser does not fill rows up at their right"
    if strange := set(tokenizer.model_input_names) - set(INPUTS):
        return f"it reads {', '.join(sorted(strange))} beside a text's tokens"
    if not model.max_seq_length:
        return "it does not say how many tokens it reads"
    if model.default_prompt_name is not None or getattr(model[0], "query_expansion", None):
        return "it puts words of its own before a text (a default prompt)"
    return ""


def _pooling(modules: list[Any]) -> str:
    """Return how token vectors become one, in sentence-transformers' words."""
    modes = next(each for each in modules if _is(each, "Pooling")).pooling_mode
    return modes if isinstance(modes, str) else "+".join(modes)


def _is(module: Any, *names: str) -> bool:  # noqa: ANN401 - likewise
    """Return whether a module is one of sentence-transformers' own of those names."""
    kind = type(module)
    return kind.__name__ in names and kind.__module__.startswith("sentence_transformers.")
