"""The compiled provider: a model as ONNX in this process, without torch, on threads of its own.

One session serves all threads: it has no threads of its own and is called from several at once,
which on two cores was 1.2 to 1.7 times as fast as one call spread over both. The threads take the
most urgent call first; `runtime.threads.Threads` was not taken because its queue knows no order but
that of arrival.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import os
import threading
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
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


log = logging.getLogger("cortex.embedder")

R = TypeVar("R")


class ThreadLanes:
    """At most `limit` threads, all of one loop.

    Urgent calls overtake those that wait, and never one that runs; of equal urgency the first to
    come is the first to go. Calls should be short, because that is how long an urgent one waits.
    """

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.limit = limit
        #: The answers of the calls that are in a thread now, by number.
        self.running: dict[int, Future[Any]] = {}
        self._pool = ThreadPoolExecutor(limit, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._heap: list[_EmbedCall] = []
        self._numbers: Iterator[int] = count()
        self._closed = False

    @property
    def waiting(self) -> int:
        """Return how many calls wait for a thread."""
        return len(self._heap)

    async def run(self, calls: Sequence[Callable[[], R]], *, urgent: bool) -> list[R]:
        """Run blocking calls in the threads and return their results in order.

        Once one of them fails, or the awaiting task is cancelled, those that have not begun never
        will; those that run go on to their end, and their results are dropped. Raises what the
        first one raised that failed, and `EmbedderDown` after `close`.
        """
        jobs = [_EmbedCall(not urgent, next(self._numbers), call) for call in calls]
        with self._lock:
            if self._closed:
                raise self._refusal()
            for job in jobs:
                heapq.heappush(self._heap, job)
                self._pool.submit(self._run_first)
        answers = [asyncio.wrap_future(job.answer) for job in jobs]
        try:
            # A list of futures and no `gather` of tasks: cancelling must not reach into a thread.
            return [await answer for answer in answers]
        finally:
            for job, answer in zip(jobs, answers, strict=True):
                job.answer.cancel()  # in vain once it has begun
                if not answer.cancel() and not answer.cancelled():
                    answer.exception()  # looked at: the first failure is raised for all
            with self._lock:  # the threads need not come upon what no caller waits for
                if any(job.answer.cancelled() for job in self._heap):
                    self._heap = [job for job in self._heap if not job.answer.cancelled()]
                    heapq.heapify(self._heap)

    async def close(self, deadline: float) -> bool:
        """Take no more calls, fail those that wait, and return whether all threads ended in time.

        A thread that is still in a call after `deadline` seconds ends when that call does.
        """
        with self._lock:
            self._closed = True
            dropped, self._heap = self._heap, []
            answers = [asyncio.wrap_future(each) for each in self.running.values()]
        for job in dropped:
            job.answer.set_exception(self._refusal())
        # Not waited for on another thread: the loop's own end would wait for that one.
        self._pool.shutdown(wait=False)
        late = (await asyncio.wait(answers, timeout=deadline))[1] if answers else ()
        for each in answers:
            if not each.cancel():
                each.exception()  # looked at: its caller has it
        if late:
            log.warning("threads %r still work after %g s, and end when done", self.name, deadline)
            return False
        self._pool.shutdown()  # their calls are done: microseconds
        return True

    def _run_first(self) -> None:
        """Run the most urgent call that waits, in a thread; there is one of these for each call."""
        with self._lock:
            while self._heap:
                job = heapq.heappop(self._heap)
                if job.answer.set_running_or_notify_cancel():
                    break
            else:
                return
            self.running[job.number] = job.answer
        result: Any = None
        error: BaseException | None = None
        try:
            result = job.call()
        except Exception as raised:  # noqa: BLE001 - the asker's, whatever it is
            error = raised
        except BaseException as raised:  # noqa: BLE001 - a panic of a library in Rust is one
            error = EmbedderDown(f"the embedding model broke off: {raised}")
            error.__cause__ = raised
        with self._lock:
            del self.running[job.number]
        if error is None:
            job.answer.set_result(result)
        else:
            job.answer.set_exception(error)

    def _refusal(self) -> EmbedderDown:
        return EmbedderDown("the embedding model is not loaded any more; ask again when it is back")


@dataclass(order=True, slots=True)
class _EmbedCall:
    """A call in the queue: urgent ones (False sorts first), then by number."""

    patient: bool
    number: int
    call: Callable[[], Any] = field(compare=False)
    answer: Future[Any] = field(compare=False, default_factory=Future)


#: Texts of one patient request: enough to fill the threads with texts of like length.
BULK = 64

#: Seconds the threads have to end: a micro-batch is 28 ms of CPU, and the machine may be busy.
CLOSE_DEADLINE = 10.0


class CompiledProvider(KeptProvider):
    """A folder that `embedding.manifest` vouches for, behind the port.

    A request is cut into micro-batches, which the threads compute one after another: a person's
    question waits for those that are being computed and overtakes all others. The rest of a request
    is dropped when its caller stops waiting. A folder that is not what its manifest says, or a
    library that is not installed, makes it `missing`; any other failure to load makes it `down`,
    and it is tried again after 1 to 60 seconds.

    Args:
        folder: where the model lies.
        manifest: what it said when the provider was chosen; checked again with every hash when the
            model is loaded.
        clock: paces the attempts to load.
        threads: threads that compute; 0 for as many as this process has cores.
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
        self._lanes: ThreadLanes | None = None
        self._runner: Runner | None = None
        self._counts = Counter[str](tokens=0, split=0)
        self.model_id, self.dimension = manifest.model_id, manifest.dimension
        self.max_tokens, self.bulk = manifest.max_tokens, BULK

    @property
    def counters(self) -> Mapping[str, int]:
        """Return times that loading was tried again, tokens, texts in windows, calls that wait."""
        waiting = self._lanes.waiting if self._lanes else 0
        return {"restarts": self._restarts, **self._counts, "waiting": waiting}

    async def start(self) -> None:
        """Begin to load on a thread and return at once; nothing happens if it has begun already.

        One that is `missing` looks again.
        """
        if self._lanes is None:
            self._lanes = ThreadLanes("embedder", self._limit)
        self._begin(partial(self._load, self._lanes))

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return one unit row a text; raises what the port says, and never waits for loading.

        A text has the same row whatever it is embedded with, to 1e-7 in each number: activations
        are quantised by row (`rowwise.py`), and only the order of pooling's sums is left.
        """
        require_texts(texts)
        error, runner, lanes = explain_refusal(self), self._runner, self._lanes
        if error is not None or runner is None or lanes is None:
            raise error or EmbedderDown(f"the embedding model {self.model_id} is closed")
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)

        def begin() -> tuple[Begun, list[NDArray[np.float32]]]:
            begun = runner.begin(tuple(texts), budget=self._budget, threads=lanes.limit)
            # What fits into one micro-batch is computed on the same thread at once.
            is_one = len(begun.batches) == 1
            return begun, [runner.run(begun, begun.batches[0])] if is_one else []

        # Cut up on a thread, computed on all of them, put together here.
        [(begun, made)] = await lanes.run([begin], urgent=urgent)
        rest = [partial(runner.run, begun, batch) for batch in begun.batches[len(made) :]]
        if rest:
            made = await lanes.run(rest, urgent=urgent)
        rows = runner.end(begun, made, texts=len(texts))
        windows = Counter(piece.owner for piece in begun.pieces)
        self._counts["tokens"] += sum(len(piece.ids) for piece in begun.pieces)
        self._counts["split"] += sum(many > 1 for many in windows.values())
        return rows

    async def close(self) -> None:
        """Drop what waits, end the threads and give the memory back; `start` loads it again.

        Raises nothing when a thread does not end in time: it is said in the log, and the thread
        ends with the micro-batch that it computes.
        """
        lanes, self._lanes = self._lanes, None
        await super().close()
        if lanes is not None:
            await lanes.close(CLOSE_DEADLINE)
        self._runner = None

    async def _load(self, lanes: ThreadLanes) -> None:
        """Load the model; there is no more to do then."""
        [self._runner] = await lanes.run([self._loaded], urgent=True)
        self._become(ProviderState.READY)

    def _loaded(self) -> Runner:
        """Check the files, load them and embed a word, so that the first text is quick."""
        found = manifests.read(self._folder)
        if found.model_id != self.model_id:
            raise ModelMissing(
                f"{self._folder} holds the model {found.model_id} and no more {self.model_id}; "
                "start the daemon again"
            )
        runner = Runner(self._folder, found)
        runner.rows(["warm"])
        return runner
