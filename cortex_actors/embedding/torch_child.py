"""The process that holds the model: `python -m cortex_actors.embedding.torch_child --model DIR`.

The only module that imports sentence_transformers (and so torch: seconds, and hundreds of
megabytes), on the first `load`. It answers frames on the socket it inherits and ends when the other
end closes. What a library prints goes to standard error.

ops     load    -> {"dimension", "max_tokens", "seconds"}
        embed   body: a JSON list of texts -> {"dimension", "tokens", "split"}, and a unit row of
                little-endian float32 for each; `split` counts texts longer than a window
        compile {"folder"} -> what `torch_build` says of the compiled model that it left there
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SystemClock
from cortex_actors.errors import BadInput
from cortex_actors.runtime import child

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sentence_transformers import SentenceTransformer

    from cortex_actors.embedding.torch_build import Cut

#: What a line of progress on standard error begins with; other lines are the libraries'.
PROGRESS = "compile: "

#: How much more it yields while it compiles, because another model answers meanwhile: a third of
#: that one's share. Ten more made it starve where others were busy for minutes.
COMPILING_NICENESS = 5

#: Texts the model computes at once. Texts are sorted by length first and padded to the longest of
#: their few, and padding is what costs: on two cores a request of 20 sections ran 1.6 times as fast
#: in fours as in one piece.
AT_ONCE = 4

#: The answer to a request that comes before `load`.
NOT_LOADED = "the model is not loaded; send `load` first"


class Embedder:
    """A model folder, loaded when it is asked for."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._model: SentenceTransformer | None = None
        self._cut: Cut | None = None

    def load(self, params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Import the library, load the model and embed a word, so that the first text is quick."""
        clock = SystemClock()
        before = clock.monotonic()
        import torch  # noqa: PLC0415 - takes seconds
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - likewise
        from transformers.utils import logging  # noqa: PLC0415 - likewise

        from cortex_actors.embedding.torch_build import make_cutter  # noqa: PLC0415 - imports numpy

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        torch.set_num_threads(child.count_cores())
        self._model = SentenceTransformer(self._folder, device="cpu", local_files_only=True)
        max_tokens, self._cut = make_cutter(self._model)
        answer = {
            "dimension": self._rows(["warm"]).shape[1],
            "max_tokens": max_tokens,
            "seconds": clock.monotonic() - before,
        }
        return answer, b""

    def embed(self, params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Embed texts, those that are longer than a window as the mean of their windows."""
        if self._cut is None:
            raise BadInput(NOT_LOADED)
        from cortex_actors.embedding.tokens import pool_rows  # noqa: PLC0415 - imports numpy

        texts = json.loads(body)
        pieces = self._cut(texts)
        owners, weights = [piece.owner for piece in pieces], [piece.weight for piece in pieces]
        raw = self._rows([piece.text for piece in pieces])
        rows = pool_rows(raw, owners, weights, texts=len(texts))
        answer = {
            "dimension": rows.shape[1],
            "tokens": sum(len(piece.ids) for piece in pieces),
            "split": sum(count > 1 for count in Counter(owners).values()),
        }
        return answer, rows.astype("<f4").tobytes()

    def compile(self, params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Build the model's compiled form in a folder; each step is a line on standard error."""
        os.nice(COMPILING_NICENESS)
        _say("loading the model")
        from cortex_actors.embedding import torch_build  # noqa: PLC0415 - imports torch

        with torch_build.silence():
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - likewise
            from transformers.utils import logging  # noqa: PLC0415 - likewise

            logging.disable_progress_bar()
            # Attention in plain operators: the fused ones have no counterpart in ONNX.
            model = SentenceTransformer(
                self._folder,
                device="cpu",
                local_files_only=True,
                model_kwargs={"attn_implementation": "eager"},
            ).float()
        return torch_build.build(model, Path(params["folder"]), _say), b""

    def _rows(self, texts: list[str]) -> Any:  # noqa: ANN401 - numpy is not imported here
        if self._model is None:
            raise BadInput(NOT_LOADED)
        return self._model.encode(
            texts,
            batch_size=AT_ONCE,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=True,
        )


def main(arguments: Sequence[str], *, niceness: int = child.NICENESS) -> None:
    """Serve until the daemon's end of the socket closes, and yield so much to others."""
    ops = ("load", "embed", "compile")
    child.serve_model(Embedder, ops, arguments=arguments, niceness=niceness)


def _say(step: str) -> None:
    """Say to the process that started this one what it does now."""
    print(f"{PROGRESS}{step}", file=sys.stderr, flush=True)  # noqa: T201 - its way to the daemon


if __name__ == "__main__":
    main(sys.argv[1:])
