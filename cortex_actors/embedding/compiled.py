"""The compiled provider: a model as ONNX in this process, without torch, on threads of its own.

One session serves all threads: it has no threads of its own and is called from several at once,
which on two cores was 1.2 to 1.7 times as fast as one call spread over both. What a person waits
for has threads of its own, so it waits behind no bulk work; both share the cores.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cortex_actors.embedding import manifest as manifests
from cortex_actors.embedding.provider import (
    KeptProvider,
    ProviderState,
    check_rows,
    explain_refusal,
    require_texts,
)
from cortex_actors.embedding.tokens import TokenPiece, WordPieces, make_batches, pool_rows
from cortex_actors.errors import BadInput, EmbedderDown, ModelMissing
from cortex_actors.runtime.child import count_cores
from cortex_actors.runtime.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Vectors


#: Padded tokens computed at once; the best of the table in benchmarks/README.md.
BATCH_TOKENS = 256

#: Options of the session. Waiting threads sleep and do not spin: the daemon is not alone.
_ENTRIES = {"session.intra_op.allow_spinning": "0", "session.inter_op.allow_spinning": "0"}

#: onnxruntime's severity "error": its warnings are about graphs, and no user could mend one.
_ERRORS_ONLY = 3

#: The inputs that a model may want, by their names.
_IDS, _MASK = "input_ids", "attention_mask"


@dataclass(frozen=True, slots=True)
class Begun:
    """Texts in pieces, and the pieces in micro-batches, by their numbers."""

    pieces: list[TokenPiece]
    batches: list[list[int]]


class Runner:
    """A compiled model's files, loaded: texts in, vectors out; each method on any thread.

    Raises `ModelMissing` when the files are no such model, `EmbedderDown` when they cannot be
    loaded now. Give it up to give its memory back.
    """

    def __init__(self, folder: Path, manifest: manifests.ModelForm) -> None:
        try:
            self._tokens = WordPieces.load(folder / manifests.TOKENIZER, manifest.max_tokens)
        except ImportError as error:
            raise _not_installed("tokenizers", error) from error
        except (OSError, ValueError) as error:
            raise ModelMissing(f"the compiled model in {folder} cannot be used: {error}") from error
        self._session = _session(folder / manifests.ONNX)
        self._manifest = manifest

    def embed_texts(self, texts: Sequence[str], *, budget: int = BATCH_TOKENS) -> Vectors:
        """Return one unit row a text, computed on this thread; raises what the port says."""
        begun = self.begin(texts, budget=budget, threads=1)
        made = [self.run(begun, batch) for batch in begun.batches]
        return self.end(begun, made, texts=len(texts))

    def begin(self, texts: Sequence[str], *, budget: int, threads: int) -> Begun:
        """Cut texts into pieces and lay out the micro-batches; raises `BadInput`."""
        try:
            pieces = self._tokens.cut_texts(texts)
        except ValueError as error:
            raise BadInput(f"{error}; change or leave out that text") from error
        lengths = [len(piece.ids) for piece in pieces]
        return Begun(pieces, make_batches(lengths, budget=budget, threads=threads))

    def run(self, begun: Begun, batch: Sequence[int]) -> NDArray[np.float32]:
        """Return the raw rows of one micro-batch.

        Raises `BadInput` when the model does not take the numbers it was given, and `EmbedderDown`
        for whatever else goes wrong in it.
        """
        ids = [begun.pieces[number].ids for number in batch]
        wanted = {name: self._input(name, ids) for name in self._manifest.inputs}
        try:
            rows: NDArray[np.float32] = self._session.run([manifests.OUTPUT], wanted)[0]
        except Exception as error:  # its classes come from a module made at run time
            text = f"the compiled model {self._manifest.model_id} failed: {error}"
            # The text's fault when the model refuses its numbers, else the model's.
            if type(error).__name__ == "InvalidArgument" or isinstance(
                error, (ValueError, IndexError)
            ):
                raise BadInput(f"{text}; change or leave out that text") from error
            raise EmbedderDown(f"{text}; ask again in a moment") from error
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
                    "`cortex doctor` says whether its files are whole"
                )
            rows[batch] = some
        owners = [piece.owner for piece in begun.pieces]
        weights = [piece.weight for piece in begun.pieces]
        return check_rows(pool_rows(rows, owners, weights, texts=texts), texts, dimension=dimension)

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
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # else the import reports to onnxruntime's maker
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


def _not_installed(package: str, error: ImportError) -> ModelMissing:
    return ModelMissing(
        f"compiled models need {package}, which cannot be imported ({error}); "
        f"`pip install {package}`, then start the daemon again"
    )


R = TypeVar("R")


def _guarded(call: Callable[[], R]) -> R:
    """Return what a call does; a panic of a library in Rust is no `Exception`, and is made one."""
    try:
        return call()
    except Exception:
        raise
    except BaseException as panic:
        raise EmbedderDown(f"the embedding model broke off: {panic}") from panic


#: Texts of one patient request: enough to fill the threads with texts of like length.
BULK = 64


class CompiledProvider(KeptProvider):
    """A folder that `embedding.manifest` vouches for, behind the port.

    A request is cut into micro-batches, which threads compute one after another: a question of a
    person and bulk work have threads of their own. The rest of a request is dropped when its caller
    stops waiting. A folder that is not what its manifest says, or a library that is not installed,
    makes it `missing`; any other failure to load makes it `down`, and it is tried again after 1 to
    60 seconds.

    Args:
        folder: where the model lies.
        manifest: what it said when the provider was chosen; checked again with every hash when the
            model is loaded.
        clock: paces the attempts to load.
        threads: threads that compute in each lane; 0 for as many as this process has cores.
        batch_tokens: tokens of a micro-batch, padding included.

    """

    def __init__(
        self,
        folder: Path,
        manifest: manifests.Manifest,
        clock: Clock,
        *,
        threads: int = 0,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        super().__init__(clock)
        self._folder, self._manifest = folder, manifest
        self._limit = threads or count_cores()
        self._budget = batch_tokens
        #: The threads of bulk work, and those of what is urgent.
        self._lanes: dict[bool, Threads] = {}
        self._runner: Runner | None = None
        self._counts = Counter[str](tokens=0, split=0)
        self.model_id, self.dimension = manifest.model_id, manifest.dimension
        self.max_tokens, self.bulk = manifest.max_tokens, BULK

    @property
    def counters(self) -> Mapping[str, int]:
        """Return times that loading was tried again, tokens, texts in windows, calls that wait."""
        waiting = sum(lane.waiting for lane in self._lanes.values())
        return {"restarts": self._restarts, **self._counts, "waiting": waiting}

    async def start(self) -> None:
        """Begin to load on a thread and return at once; nothing happens if it has begun already.

        One that is `missing` looks again.
        """
        if not self._lanes:
            names = {False: "embedder", True: "embedder-urgent"}
            self._lanes = {urgent: Threads(name, self._limit) for urgent, name in names.items()}
        self._begin(self._load)

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return one unit row a text; raises what the port says, and never waits for loading.

        A text has the same row whatever it is embedded with, to 1e-7 in each number: activations
        are quantised by row (`rowwise.py`), and only the order of pooling's sums is left.
        """
        require_texts(texts)
        error, runner = explain_refusal(self), self._runner
        if error is not None or runner is None:
            raise error or self._closed()
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)

        def begin() -> tuple[Begun, list[NDArray[np.float32]]]:
            begun = runner.begin(tuple(texts), budget=self._budget, threads=self._limit)
            # What fits into one micro-batch is computed on the same thread at once.
            is_one = len(begun.batches) == 1
            return begun, [runner.run(begun, begun.batches[0])] if is_one else []

        # Cut up on a thread, computed on all of them, put together here.
        [(begun, made)] = await self._run([begin], urgent=urgent)
        rest = [partial(runner.run, begun, batch) for batch in begun.batches[len(made) :]]
        if rest:
            made = await self._run(rest, urgent=urgent)
        rows = runner.end(begun, made, texts=len(texts))
        windows = Counter(piece.owner for piece in begun.pieces)
        self._counts["tokens"] += sum(len(piece.ids) for piece in begun.pieces)
        self._counts["split"] += sum(many > 1 for many in windows.values())
        return rows

    async def close(self) -> None:
        """Drop what waits, end the threads and give the memory back; `start` loads it again.

        A thread that computes ends with its micro-batch, which is not waited for.
        """
        lanes, self._lanes = self._lanes, {}
        await super().close()
        for lane in lanes.values():
            lane.close()
        self._runner = None

    async def _load(self) -> None:
        """Load the model; there is no more to do then."""
        [self._runner] = await self._run([self._loaded], urgent=True)
        self._become(ProviderState.READY)

    async def _run(self, calls: Sequence[Callable[[], R]], *, urgent: bool) -> list[R]:
        """Return the results of blocking calls, in order; the rest is dropped once one has failed.

        Raises what that one raised, and `EmbedderDown` when the provider is closed.
        """
        if (lane := self._lanes.get(urgent)) is None:
            raise self._closed()
        works = [asyncio.ensure_future(lane.run(_guarded, call)) for call in calls]
        try:
            return await asyncio.gather(*works)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._lanes or task is None or task.cancelling():
                raise
            raise self._closed() from None
        finally:
            for each in works:
                each.cancel()

    def _closed(self) -> EmbedderDown:
        return EmbedderDown(f"the embedding model {self.model_id} is closed; ask again in a moment")

    def _loaded(self) -> Runner:
        """Check the files, load them and embed a word, so that the first text is quick."""
        found = manifests.read(self._folder)
        if found.model_id != self.model_id:
            raise ModelMissing(
                f"{self._folder} holds the model {found.model_id} and no more {self.model_id}; "
                "start the daemon again"
            )
        runner = Runner(self._folder, found)
        runner.embed_texts(["warm"])
        return runner
