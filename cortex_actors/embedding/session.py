"""A compiled model in this process: onnxruntime and a tokeniser, no torch.

One session serves all threads: it has no threads of its own and is called from several at once,
which on two cores was 1.2 to 1.7 times as fast as one call spread over both. Nothing here knows of
the loop; `compiled.py` says which thread does what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors.embedding.manifest import ONNX, OUTPUT, TOKENIZER
from cortex_actors.embedding.packing import micro_batches
from cortex_actors.embedding.provider import checked
from cortex_actors.embedding.tokens import Tokens
from cortex_actors.embedding.windows import pooled
from cortex_actors.errors import BadInput, EmbedderDown, ModelMissing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from cortex_actors.embedding.manifest import Manifest
    from cortex_actors.embedding.provider import Vectors
    from cortex_actors.embedding.tokens import Piece

#: Padded tokens computed at once; the best of docs/embedding.md's table.
BATCH_TOKENS = 256

#: What the session is told. Waiting threads sleep and do not spin: the daemon is not alone.
_ENTRIES = {
    "session.intra_op.allow_spinning": "0",
    "session.inter_op.allow_spinning": "0",
}

#: onnxruntime's severity "error": its warnings are about graphs, and no user could mend one.
_ERRORS_ONLY = 3

#: The inputs that a model may want, by their names.
_IDS, _MASK = "input_ids", "attention_mask"


@dataclass(frozen=True, slots=True)
class Begun:
    """Texts in pieces, and the pieces in micro-batches, by their numbers."""

    pieces: list[Piece]
    batches: list[list[int]]


class Runner:
    """A compiled model's files, loaded: texts in, vectors out; each method on any thread.

    Raises `ModelMissing` when the files are no such model, `EmbedderDown` when they cannot be
    loaded now. Give it up to give its memory back.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        try:
            self._tokens = Tokens.load(folder / TOKENIZER, manifest.max_tokens)
        except ImportError as error:
            raise _not_installed("tokenizers", error) from error
        except (OSError, ValueError) as error:
            raise ModelMissing(f"the compiled model in {folder} cannot be used: {error}") from error
        self._session = _session(folder / ONNX)
        self._manifest = manifest

    def rows(self, texts: Sequence[str], *, budget: int = BATCH_TOKENS) -> Vectors:
        """Return one unit row a text, computed on this thread; raises what the port says."""
        begun = self.begin(texts, budget=budget, threads=1)
        made = [self.run(begun, batch) for batch in begun.batches]
        return self.end(begun, made, texts=len(texts))

    def begin(self, texts: Sequence[str], *, budget: int, threads: int) -> Begun:
        """Cut texts into pieces and lay out the micro-batches; raises `BadInput`."""
        try:
            pieces = self._tokens.pieces(texts)
        except ValueError as error:
            raise BadInput(f"{error}; change or leave out that text") from error
        lengths = [len(piece.ids) for piece in pieces]
        return Begun(pieces, micro_batches(lengths, budget=budget, threads=threads))

    def run(self, begun: Begun, batch: Sequence[int]) -> NDArray[np.float32]:
        """Return the raw rows of one micro-batch.

        Raises `BadInput` when the model does not take the numbers it was given, and `EmbedderDown`
        for whatever else goes wrong in it.
        """
        ids = [begun.pieces[number].ids for number in batch]
        wanted = {name: self._input(name, ids) for name in self._manifest.inputs}
        try:
            rows: NDArray[np.float32] = self._session.run([OUTPUT], wanted)[0]
        except Exception as error:  # its classes come from a module made at run time
            raise _failure(error, self._manifest.model_id) from error
        return rows

    def end(self, begun: Begun, made: Sequence[NDArray[np.float32]], *, texts: int) -> Vectors:
        """Return the texts' unit rows from the raw rows of all micro-batches, in their order."""
        dimension = self._manifest.dimension
        rows = np.empty((len(begun.pieces), dimension), dtype=np.float32)
        for batch, some in zip(begun.batches, made, strict=True):
            if some.shape != (len(batch), dimension):
                raise EmbedderDown(
                    f"the compiled model {self._manifest.model_id} answered {len(batch)} texts "
                    f"with rows of shape {some.shape} where ({len(batch)}, {dimension}) was due; "
                    "`cortex model verify` says whether its files are whole"
                )
            rows[batch] = some
        owners = [piece.owner for piece in begun.pieces]
        weights = [piece.weight for piece in begun.pieces]
        return checked(pooled(rows, owners, weights, texts=texts), texts, dimension=dimension)

    def _input(self, name: str, ids: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """Return one of the model's inputs, padded to the longest row."""
        fill = self._manifest.pad if name == _IDS else 0
        values = np.full((len(ids), max(map(len, ids))), fill, dtype=np.int64)
        for row, each in zip(values, ids, strict=True):
            if name == _IDS:
                row[: len(each)] = each
            elif name == _MASK:
                row[: len(each)] = 1
        return values


def _session(path: Path) -> Any:  # noqa: ANN401 - onnxruntime has no types
    """Return the session over a file; raises `ModelMissing` or `EmbedderDown`."""
    try:
        import onnxruntime  # noqa: PLC0415 - with the model, not with the daemon
    except ImportError as error:
        raise _not_installed("onnxruntime", error) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    for key, value in _ENTRIES.items():
        options.add_session_config_entry(key, value)
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # as in `run`
        raise EmbedderDown(f"the compiled model {path} cannot be loaded: {error}") from error


def _failure(error: Exception, model_id: str) -> BadInput | EmbedderDown:
    """Return whose fault it is: the text's when the model refuses its numbers, else the model's."""
    text = f"the compiled model {model_id} failed: {error}"
    if type(error).__name__ == "InvalidArgument" or isinstance(error, ValueError | IndexError):
        return BadInput(f"{text}; change or leave out that text")
    return EmbedderDown(f"{text}; ask again in a moment")


def _not_installed(package: str, error: ImportError) -> ModelMissing:
    return ModelMissing(
        f"compiled models need {package}, which cannot be imported ({error}); "
        f"`pip install {package}`, then start the daemon again"
    )
