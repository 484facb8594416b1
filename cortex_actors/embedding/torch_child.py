"""The process that holds the model: `python -m cortex_actors.embedding.torch_child --model DIR`.

The only module that imports sentence_transformers (and so torch: seconds, and hundreds of
megabytes), on the first `load`. It answers frames on the socket it inherits and ends when the other
end closes. What a library prints goes to standard error.

ops     load    -> {"dimension", "max_tokens", "seconds"}
        embed   body: a JSON list of texts -> {"dimension", "truncated"}, little-endian float32 rows
"""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SystemClock
from cortex_actors.errors import BadInput
from cortex_actors.runtime import frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sentence_transformers import SentenceTransformer

#: Set before anything heavy is imported: no network, no threads of the tokeniser, no bars.
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
    # Waiting threads sleep and do not spin: beside one other busy process on two cores that ran 1.7
    # times as fast, and spinning at its worst took half a second for a text; alone it costs 3 ms.
    "OMP_WAIT_POLICY": "PASSIVE",
}

#: How much this process yields to others: loading takes every core for seconds, in which somebody
#: works on the machine and `cortex status` is to answer.
NICENESS = 5

#: Texts the model computes at once. Texts are sorted by length first and padded to the longest of
#: their few, and padding is what costs: on two cores a request of 20 sections ran 1.6 times as fast
#: in fours as in one piece.
AT_ONCE = 4


class Embedder:
    """A model folder, loaded when it is asked for."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._model: SentenceTransformer | None = None
        self._max_tokens = 0

    def load(self, params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Import the library, load the model and embed a word, so that the first text is quick."""
        clock = SystemClock()
        before = clock.monotonic()
        import torch  # noqa: PLC0415 - takes seconds
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - likewise
        from transformers.utils import logging  # noqa: PLC0415 - likewise

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        torch.set_num_threads(_cores())
        self._model = SentenceTransformer(self._folder, device="cpu", local_files_only=True)
        self._max_tokens = int(self._model.max_seq_length or 0)
        answer = {
            "dimension": self._rows(["warm"]).shape[1],
            "max_tokens": self._max_tokens,
            "seconds": clock.monotonic() - before,
        }
        return answer, b""

    def embed(self, params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Embed texts; those that the model could not read to their end are counted."""
        texts = json.loads(body)
        rows = self._rows(texts)
        truncated = sum(map(self._is_truncated, texts))
        return {"dimension": rows.shape[1], "truncated": truncated}, rows.astype("<f4").tobytes()

    def _rows(self, texts: list[str]) -> Any:  # noqa: ANN401 - numpy is not imported here
        if self._model is None:
            raise BadInput("the model is not loaded; send `load` first")
        return self._model.encode(
            texts,
            batch_size=AT_ONCE,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=True,
        )

    def _is_truncated(self, text: str) -> bool:
        """Return whether a text has more tokens than count; a token has a letter at least."""
        if self._model is None or not 0 < self._max_tokens < len(text) + 2:
            return False
        tokens = self._model.tokenizer(text, truncation=False)["input_ids"]
        return len(tokens) > self._max_tokens


def main(arguments: Sequence[str]) -> None:
    """Serve until the daemon's end of the socket closes."""
    rest = list(arguments)
    sock = frames.inherited(rest)
    parser = ArgumentParser(prog="torch_child")
    parser.add_argument("--model", required=True)
    embedder = Embedder(parser.parse_args(rest).model)
    os.environ.update(ENVIRONMENT)
    os.nice(NICENESS)
    os.dup2(2, 1)  # whoever prints, prints to standard error
    frames.serve({"load": embedder.load, "embed": embedder.embed}, sock)


def _cores() -> int:
    """Return the cores this process may use: fewer than the machine's in a container."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    main(sys.argv[1:])
