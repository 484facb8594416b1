"""The compiled provider: a model as ONNX in this process, computed on a few threads of its own.

A compiled model in this process: onnxruntime and a tokeniser, no torch.

One session serves all threads: it has no threads of its own and is called from several at once,
which on two cores was 1.2 to 1.7 times as fast as one call spread over both. Nothing here knows of
the loop; `compiled.py` says which thread does what.

Threads that take the most urgent work first, and nothing that nobody waits for any more.

`runtime.threads.Threads` was not taken because its queue knows no order but that of arrival.

What a compiled model did: counters for `status`, kept on the loop's thread.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import os
import threading
from collections import Counter, deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cortex_actors.embedding import manifest as manifests
from cortex_actors.embedding.provider import (
    KeptProvider,
    ProviderState,
    checked,
    refusal,
    require_texts,
)
from cortex_actors.embedding.tokens import TokenPiece, WordPieces, micro_batches, padding, pooled
from cortex_actors.errors import BadInput, EmbedderDown, ModelMissing
from cortex_actors.runtime.child import cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Vectors


#: Padded tokens computed at once; the best of the table in benchmarks/README.md.
BATCH_TOKENS = 256

#: What the session is told. Waiting threads sleep and do not spin: the daemon is not alone.
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
        return Begun(pieces, micro_batches(lengths, budget=budget, threads=threads))

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

    def __init__(self, name: str, limit: int, *, clock: Clock) -> None:
        self.name = name
        self.limit = limit
        #: How many calls are in a thread now.
        self.running = 0
        self._clock = clock
        self._changed = threading.Condition()
        self._heap: list[_EmbedCall] = []
        self._numbers: Iterator[int] = count()
        self._closed = False
        self._threads = {
            threading.Thread(target=self._work, name=f"{name}-{number}", args=(end,)): end
            for number, end in enumerate((Future[None]() for _ in range(limit)), 1)
        }
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """Return how many calls wait for a thread."""
        return len(self._heap)

    async def run(
        self,
        calls: Sequence[Callable[[], R]],
        *,
        urgent: bool,
        waited: Callable[[float], None] | None = None,
    ) -> list[R]:
        """Run blocking calls in the threads and return their results in order.

        Once one of them fails, or the awaiting task is cancelled, those that have not begun never
        will; those that run go on to their end, and their results are dropped. Raises what the
        first one raised that failed, and `EmbedderDown` after `close`. `waited` is told how many
        seconds each call stood in the queue.
        """
        now = self._clock.monotonic()
        jobs = [_EmbedCall(not urgent, next(self._numbers), call, now) for call in calls]
        with self._changed:
            if self._closed:
                raise self._refusal()
            for job in jobs:
                heapq.heappush(self._heap, job)
            self._changed.notify(len(jobs))
        answers = [asyncio.wrap_future(job.answer) for job in jobs]
        try:
            # A list of futures and no `gather` of tasks: cancelling must not reach into a thread.
            return [await answer for answer in answers]
        finally:
            for job, answer in zip(jobs, answers, strict=True):
                job.answer.cancel()  # in vain once it has begun
                if not answer.cancel() and not answer.cancelled():
                    answer.exception()  # looked at: the first failure stands for all
                if waited is not None and job.waited is not None:
                    waited(job.waited)
            with self._changed:  # the threads need not come upon what nobody waits for
                if any(job.answer.cancelled() for job in self._heap):
                    self._heap = [job for job in self._heap if not job.answer.cancelled()]
                    heapq.heapify(self._heap)

    async def close(self, deadline: float) -> bool:
        """Take no more calls, fail those that wait, and return whether all threads ended in time.

        A thread that is still in a call after `deadline` seconds ends when that call does.
        """
        with self._changed:
            self._closed = True
            dropped, self._heap = self._heap, []
            self._changed.notify_all()
        for job in dropped:
            job.answer.set_exception(self._refusal())
        ends = [asyncio.wrap_future(end) for end in self._threads.values()]
        _, late = await asyncio.wait(ends, timeout=deadline)
        if late:
            log.warning(
                "%d of %d threads %r still work after %g s and end when they are done",
                *(len(late), self.limit, self.name, deadline),
            )
            return False
        for thread in self._threads:
            thread.join()  # they have said good-bye: microseconds
        return True

    def _work(self, end: Future[None]) -> None:
        """Run one call after the other, in a thread, until closed."""
        while (job := self._take()) is not None:
            result: Any = None
            error: BaseException | None = None
            try:
                result = job.call()
            except Exception as raised:  # noqa: BLE001 - the asker's, whatever it is
                error = raised
            except BaseException as raised:  # noqa: BLE001 - a panic of a library in Rust is one
                error = EmbedderDown(f"the embedding model broke off: {raised}")
                error.__cause__ = raised
            with self._changed:
                self.running -= 1
            if error is None:
                job.answer.set_result(result)
            else:
                job.answer.set_exception(error)
            del job, result, error  # an idle thread must keep nothing alive
        end.set_result(None)

    def _take(self) -> _EmbedCall | None:
        """Return the next job, once there is one; None when there will be none."""
        with self._changed:
            while not self._closed or self._heap:
                if not self._heap:
                    self._changed.wait()
                elif (job := heapq.heappop(self._heap)).answer.set_running_or_notify_cancel():
                    self.running += 1
                    job.waited = self._clock.monotonic() - job.at
                    return job
            return None

    def _refusal(self) -> EmbedderDown:
        return EmbedderDown("the embedding model was let go of; ask again when it is back")


@dataclass(order=True, slots=True)
class _EmbedCall:
    """A call in the queue: urgent ones (False sorts first), then by number."""

    patient: bool
    number: int
    call: Callable[[], Any] = field(compare=False)
    #: When it was put into the queue, and the seconds it stood there; None until it begins.
    at: float = field(compare=False)
    waited: float | None = field(compare=False, default=None)
    answer: Future[Any] = field(compare=False, default_factory=Future)


#: Seconds over which tokens are counted for "tokens a second".
MINUTE = 60.0

#: Queue waits that are remembered for their percentiles.
WAITS = 1_000


class Meter:
    """Counts texts, tokens and batches, and how long micro-batches stood in the queue."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: By the names of `counters`.
        self._counts = Counter[str](texts=0, tokens=0, pieces=0, split=0, batches=0)
        self._padding = 0
        #: (when, tokens) of the last minute's requests.
        self._lately: deque[tuple[float, int]] = deque()
        self._waits: deque[float] = deque(maxlen=WAITS)

    def embedded(self, begun: Begun) -> None:
        """Count a request that was answered."""
        lengths = [len(piece.ids) for piece in begun.pieces]
        owners = [piece.owner for piece in begun.pieces]
        self._counts.update(
            texts=len(set(owners)),
            split=len({a for a, b in pairwise(owners) if a == b}),
            pieces=len(owners),
            tokens=sum(lengths),
            batches=len(begun.batches),
        )
        self._padding += padding(lengths, begun.batches)
        self._lately.append((self._clock.monotonic(), sum(lengths)))
        self._forget()

    def waited(self, seconds: float) -> None:
        """Remember how long a micro-batch stood in the queue."""
        self._waits.append(seconds)

    @property
    def counters(self) -> Mapping[str, int]:
        """Return all of it in whole numbers, under the names that `status` shows.

        `tokens` are those computed, special ones included and padding not; `padding_percent` is
        padding's share of what was computed; waits are microseconds, of the last 1,000.
        """
        self._forget()
        waits = sorted(self._waits)
        batches, computed = self._counts["batches"], self._counts["tokens"] + self._padding
        return {
            **self._counts,
            "tokens_per_s": round(sum(tokens for _, tokens in self._lately) / MINUTE),
            "batch_tokens": round(computed / batches) if batches else 0,
            "padding_percent": round(100 * self._padding / computed) if computed else 0,
            "wait_p50_us": _percentile(waits, 0.50),
            "wait_p99_us": _percentile(waits, 0.99),
        }

    def _forget(self) -> None:
        since = self._clock.monotonic() - MINUTE
        while self._lately and self._lately[0][0] < since:
            self._lately.popleft()


def _percentile(waits: list[float], part: float) -> int:
    """Return that percentile of sorted seconds in microseconds; 0 of none."""
    if not waits:
        return 0
    return round(waits[min(len(waits) - 1, int(part * len(waits)))] * 1_000_000)


#: Texts of one patient request: enough to fill the threads with texts of like length.
BULK = 64

#: Seconds the threads have to end: a micro-batch is 28 ms of CPU, and the machine may be busy.
CLOSE_DEADLINE = 10.0


class CompiledProvider(KeptProvider):
    """A folder that `embedding.manifest` vouches for, behind the port.

    A request is cut into micro-batches, which the threads take in turn: a person's question waits
    for those that are being computed and overtakes all others. Whoever stops waiting for a request
    has the rest of it dropped. A folder that is not what its manifest says, or a library that is
    not installed, makes it `missing`; any other failure to load makes it `down`, and it is tried
    again after 1 to 60 seconds.

    Args:
        folder: where the model lies.
        manifest: what it said when the provider was chosen; checked again with every hash when the
            model is loaded.
        clock: measures how long micro-batches wait, and paces attempts.
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
        self._limit = threads or cores()
        self._budget = batch_tokens
        self._lanes: ThreadLanes | None = None
        self._runner: Runner | None = None
        self._meter = Meter(clock)
        self.model_id, self.dimension = manifest.model_id, manifest.dimension
        self.max_tokens, self.bulk = manifest.max_tokens, BULK

    @property
    def counters(self) -> Mapping[str, int]:
        """Return what `Meter` counts, how often loading was tried again, and the queue now."""
        lanes = self._lanes
        return {
            "restarts": self._restarts,
            **self._meter.counters,
            "threads": lanes.limit if lanes else 0,
            "running": lanes.running if lanes else 0,
            "waiting": lanes.waiting if lanes else 0,
        }

    async def start(self) -> None:
        """Begin to load on a thread and return at once; nothing happens if it has begun already.

        One that is `missing` looks again.
        """
        if self._lanes is None:
            self._lanes = ThreadLanes("embedder", self._limit, clock=self._clock)
        self._begin(partial(self._load, self._lanes))

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return one unit row a text; raises what the port says, and never waits for loading.

        A text has the same row whatever it is embedded with, to 1e-7 in each number: activations
        are quantised by row (`rowwise.py`), and only the order of pooling's sums is left.
        """
        require_texts(texts)
        error, runner, lanes = refusal(self), self._runner, self._lanes
        if error is not None or runner is None or lanes is None:
            raise error or EmbedderDown(f"the embedding model {self.model_id} was let go of")
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)

        def begin() -> tuple[Begun, list[NDArray[np.float32]]]:
            begun = runner.begin(tuple(texts), budget=self._budget, threads=lanes.limit)
            # What fits into one micro-batch is computed on the same thread at once.
            is_one = len(begun.batches) == 1
            return begun, [runner.run(begun, begun.batches[0])] if is_one else []

        # Cut up on a thread, computed on all of them, put together here.
        waited = self._meter.waited
        [(begun, made)] = await lanes.run([begin], urgent=urgent, waited=waited)
        rest = [partial(runner.run, begun, batch) for batch in begun.batches[len(made) :]]
        if rest:
            made = await lanes.run(rest, urgent=urgent, waited=waited)
        rows = runner.end(begun, made, texts=len(texts))
        self._meter.embedded(begun)
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
