"""The process that holds an entailment model: `python -m cortex_actors.judging.nli_child`.

One of the two modules that import sentence_transformers (and so torch: seconds, and hundreds of
megabytes), on the first `load`. It answers frames on the socket it inherits and ends when the other
end closes. What a library prints goes to standard error.

ops     load  -> {"outputs", "seconds"}
        score body: a JSON list of [premise, hypothesis] -> {"outputs", "cut"}, and a row of
              little-endian float32 for each: the probability of every output, in the model's own
              order; `cut` are the numbers of the pairs that the model cannot read to their end,
              whose rows say nothing
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SystemClock
from cortex_actors.errors import BadInput
from cortex_actors.runtime import child

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sentence_transformers import CrossEncoder

#: Pairs the model computes at once: padded to the longest of them, and padding is what costs.
AT_ONCE = 8

#: A pair that warms up, so that the first real one is quick.
WARM = [["warm", "up"]]


class Scorer:
    """A model folder, loaded when it is asked for."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._model: CrossEncoder | None = None

    def load(self, params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Import the library, load the model and score a pair."""
        clock = SystemClock()
        before = clock.monotonic()
        import torch  # noqa: PLC0415 - takes seconds
        from sentence_transformers import CrossEncoder  # noqa: PLC0415 - likewise
        from transformers.utils import logging  # noqa: PLC0415 - likewise

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        torch.set_num_threads(child.count_cores())
        self._model = CrossEncoder(self._folder, device="cpu", local_files_only=True)
        outputs = self._rows(WARM).shape[1]
        return {"outputs": outputs, "seconds": clock.monotonic() - before}, b""

    def score(self, params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the probabilities of each pair."""
        pairs = json.loads(body)
        cut = self._cut(pairs)
        rows = self._rows([WARM[0] if at in cut else pair for at, pair in enumerate(pairs)])
        return {"outputs": rows.shape[1], "cut": cut}, rows.astype("<f4").tobytes()

    def _cut(self, pairs: list[list[str]]) -> list[int]:
        """Return the numbers of the pairs that are longer than the model's window."""
        if self._model is None:
            return []
        tokenizer: Any = self._model.tokenizer
        position = getattr(self._model.config, "max_position_embeddings", None)
        windows = (tokenizer.model_max_length, position)
        read = tokenizer(*map(list, zip(*pairs, strict=True)), truncation=False)["input_ids"]
        most = min(each for each in windows if each)
        return [at for at, ids in enumerate(read) if len(ids) > most]

    def _rows(self, pairs: list[list[str]]) -> Any:  # noqa: ANN401 - numpy is not imported here
        if self._model is None:
            raise BadInput("the model is not loaded; send `load` first")
        return self._model.predict(
            [tuple(pair) for pair in pairs],
            batch_size=AT_ONCE,
            show_progress_bar=False,
            apply_softmax=True,
            convert_to_numpy=True,
        )


def main(arguments: Sequence[str], *, niceness: int = child.NICENESS) -> None:
    """Serve until the daemon's end of the socket closes, and yield so much to others."""
    child.serve_model(Scorer, ("load", "score"), arguments=arguments, niceness=niceness)


if __name__ == "__main__":
    main(sys.argv[1:])
