"""The sentence-transformers provider: owns the process that holds the model, and mends it."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors import errors
from cortex_actors.embedding.models import Model, locate
from cortex_actors.embedding.provider import (
    KeptProvider,
    ProviderState,
    check_rows,
    explain_refusal,
    require_texts,
)
from cortex_actors.runtime.child import LOAD_TIMEOUT, ChildHandlerError, ChildProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Vectors

#: What is run to hold the model.
CHILD = "cortex_actors.embedding.torch_child"

#: Texts of one patient request: the process serves one request after another, so a question waits
#: for at most one of these, which is under a second for sections of instruction files.
BULK = 20

#: Bytes of a request for which it gets its time once more: texts are read to their end, and one of
#: a megabyte takes a minute.
LONG = 50_000

#: Exceptions of the process that are a text's fault; any other says that the model is in trouble.
BLAMES_TEXT = {"BadInput", "IndexError", "TypeError", "UnicodeEncodeError", "ValueError"}


class SentenceProvider(KeptProvider):
    """Any sentence-transformers model on this machine, in a process of its own.

    A death of the process, a hang past `timeout` seconds (for each `LONG` bytes) or a failure to
    load makes it `down`, and the process is started again. A model or library that is not installed
    makes it `missing`, which only a person can change. `split` counts texts longer than the model
    reads at once: they are the mean of their windows.
    """

    def __init__(
        self,
        model: str,
        clock: Clock,
        *,
        timeout: float = 60.0,
        on_line: Callable[[str], None] | None = None,
        child: str | Sequence[str] = CHILD,
    ) -> None:
        super().__init__(clock)
        self._timeout = timeout
        self._on_line = on_line
        self._module = child
        self._child: ChildProcess | None = None
        self._tokens = self._split = 0
        self.model_id, self.dimension, self.max_tokens = model, 0, 0
        self.bulk = BULK
        self._model: Model | None = None
        try:
            found = self._model = locate(model)
        except errors.ModelMissing as error:
            self._become(ProviderState.MISSING, str(error))
        else:
            self.model_id, self.dimension = found.model_id, found.dimension
            self.max_tokens = found.max_tokens

    @property
    def counters(self) -> Mapping[str, int]:
        """Return how often the process was started again, tokens so far, and texts split."""
        return {"restarts": self._restarts, "tokens": self._tokens, "split": self._split}

    @property
    def pid(self) -> int | None:
        """The process that holds the model, once it is ready."""
        return self._child.pid if self._child else None

    async def start(self) -> None:
        """Begin to load and return at once; nothing happens if it has begun or cannot."""
        if self._model is not None:
            self._begin(partial(self._one_life, self._model))

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return one unit row a text; raises what the port says, and never waits for loading.

        The process serves one request after another, so `urgent` changes nothing here:
        callers keep requests short.
        """
        require_texts(texts)
        error = explain_refusal(self)
        if error is not None or self._child is None:
            raise error or errors.EmbedderDown(f"the embedding model {self.model_id} is closed")
        body = json.dumps(list(texts), ensure_ascii=False).encode()
        answer, rows = await self._request(self._child, body)
        self._tokens += int(answer["tokens"])
        self._split += int(answer["split"])
        matrix = np.frombuffer(rows, dtype="<f4").reshape(-1, int(answer["dimension"]))
        return check_rows(matrix, len(texts), dimension=self.dimension)

    async def _request(self, child: ChildProcess, body: bytes) -> tuple[dict[str, Any], bytes]:
        deadline = self._timeout * (1 + len(body) // LONG)
        try:
            return await child.request("embed", None, body, deadline=deadline)
        except errors.DeadlineExceeded as error:
            child.kill()  # it would go on with this request and keep the next ones waiting
            raise errors.EmbedderDown(
                f"the embedding model {self.model_id} did not answer within {deadline:g} s "
                "and is started again; ask again, or raise embedding.request_timeout_s"
            ) from error
        except errors.ChildProcessDown as error:
            raise errors.EmbedderDown(
                f"the embedding model {self.model_id} is away: {error}"
            ) from error
        except ChildHandlerError as error:
            kind = errors.BadInput if error.kind in BLAMES_TEXT else errors.EmbedderDown
            raise kind(f"the embedding model {self.model_id} failed: {error}") from error

    async def _one_life(self, model: Model) -> str:
        """Run one process from its start to its end, and return why it ended."""
        child = await ChildProcess.spawn(
            self._module, ["--model", str(model.folder)], name="embedder", on_line=self._on_line
        )
        try:
            await self._load(child, model)
            self._child = child
            self._become(ProviderState.READY)
            await child.exited()
            return "its process ended"
        finally:
            self._child = None
            await child.stop()

    async def _load(self, child: ChildProcess, model: Model) -> None:
        """Have the model loaded; raises `ModelMissing` when no further attempt can help."""
        try:
            answer, _ = await child.request("load", deadline=LOAD_TIMEOUT)
        except ChildHandlerError as error:
            if error.is_not_installed:
                raise errors.ModelMissing(
                    f"the embedding model {self.model_id} needs sentence-transformers, which "
                    f"cannot be imported ({error}); `pip install sentence-transformers`, then "
                    "start the daemon again"
                ) from error
            raise
        if answer["dimension"] != model.dimension:
            raise errors.ModelMissing(
                f"the files in {model.folder} promise vectors of {model.dimension} numbers and the "
                f"model makes {answer['dimension']}; mend the folder, or set embedding.model "
                "(variable CORTEX_EMBEDDING__MODEL) to another one"
            )
