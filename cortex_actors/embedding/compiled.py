"""The compiled provider: a model as ONNX in this process, computed on a few threads of its own."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.embedding import manifest as manifests
from cortex_actors.embedding.lanes import Lanes
from cortex_actors.embedding.meter import Meter
from cortex_actors.embedding.provider import State, refusal
from cortex_actors.embedding.session import BATCH_TOKENS, Runner
from cortex_actors.embedding.texts import require_texts
from cortex_actors.errors import CortexError, EmbedderDown, ModelMissing
from cortex_actors.runtime.child import cores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.manifest import Manifest
    from cortex_actors.embedding.provider import Vectors
    from cortex_actors.embedding.session import Begun

log = logging.getLogger("cortex.embedder")

#: Texts of one patient request: enough to fill the threads with texts of like length.
BULK = 64

#: Seconds until loading is tried again after its first, second ... failure.
PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)

#: Seconds the threads have to end: a micro-batch is 28 ms of CPU, and the machine may be busy.
CLOSE_DEADLINE = 10.0


class CompiledProvider:
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
        manifest: Manifest,
        clock: Clock,
        *,
        threads: int = 0,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        self._folder, self._manifest, self._clock = folder, manifest, clock
        self._limit = threads or cores()
        self._budget = batch_tokens
        self._lanes: Lanes | None = None
        self._runner: Runner | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._meter = Meter(clock)
        self._restarts = 0
        self.model_id, self.dimension = manifest.model_id, manifest.dimension
        self.max_tokens, self.bulk = manifest.max_tokens, BULK
        self.state, self.reason = State.LOADING, ""

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
        if self._keeper is None or (self._keeper.done() and self.state is State.MISSING):
            self._become(State.LOADING)
            if self._lanes is None:
                self._lanes = Lanes("embedder", self._limit, clock=self._clock)
            self._keeper = asyncio.create_task(self._keep(self._lanes), name="embedder-keeper")

    async def settled(self) -> State:
        """Return the state as soon as it is not `loading`."""
        while self.state is State.LOADING:
            await self._settled.wait()
        return self.state

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return one unit row a text; raises what the port says, and never waits for loading.

        A text has the same row whatever it is embedded with, to 1e-7 in each number: activations
        are quantised by row (`rowwise.py`), and only the order of pooling's sums is left.
        """
        require_texts(texts)
        error = refusal(self)
        if error is not None or self._runner is None or self._lanes is None:
            raise error or EmbedderDown(f"the embedding model {self.model_id} was let go of")
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return await self._computed(self._runner, self._lanes, texts, urgent=urgent)

    async def close(self) -> None:
        """Drop what waits, end the threads and give the memory back; `start` loads it again.

        Raises nothing when a thread does not end in time: it is said in the log, and the thread
        ends with the micro-batch that it computes.
        """
        keeper, self._keeper = self._keeper, None
        lanes, self._lanes = self._lanes, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait({keeper})
        self._become(State.LOADING)
        if lanes is not None:
            await lanes.close(CLOSE_DEADLINE)
        self._runner = None

    async def _computed(
        self, runner: Runner, lanes: Lanes, texts: Sequence[str], *, urgent: bool
    ) -> Vectors:
        """Cut the texts up on a thread, compute the micro-batches on all, and put them together."""
        threads = lanes.limit
        waited = self._meter.waited
        begin = partial(_begin, runner, tuple(texts), budget=self._budget, threads=threads)
        [(begun, made)] = await lanes.run([begin], urgent=urgent, waited=waited)
        rest = [partial(runner.run, begun, batch) for batch in begun.batches[len(made) :]]
        if rest:
            made = await lanes.run(rest, urgent=urgent, waited=waited)
        rows = runner.end(begun, made, texts=len(texts))
        self._meter.embedded(begun)
        return rows

    async def _keep(self, lanes: Lanes) -> None:
        """Load the model, again and again if need be, until it is there or known to be missing."""
        for attempt in count():
            try:
                [self._runner] = await lanes.run([self._loaded], urgent=True)
            except ModelMissing as error:
                self._become(State.MISSING, str(error))
                return
            except (CortexError, OSError, MemoryError) as error:
                pause = PAUSES[min(attempt, len(PAUSES) - 1)]
                log.warning("the model %s is away: %s", self.model_id, error)
                self._become(State.DOWN, f"{error}; next attempt in {pause:g} s")
                await self._clock.sleep(pause)
                self._restarts += 1
                self._become(State.LOADING)
            else:
                self._become(State.READY)
                return

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

    def _become(self, state: State, reason: str = "") -> None:
        self.state, self.reason = state, reason
        if state is State.LOADING:
            self._settled.clear()
        else:
            self._settled.set()


def _begin(
    runner: Runner, texts: Sequence[str], *, budget: int, threads: int
) -> tuple[Begun, list[NDArray[np.float32]]]:
    """Cut texts up; what fits into one micro-batch is computed on the same thread at once."""
    begun = runner.begin(texts, budget=budget, threads=threads)
    if len(begun.batches) == 1:
        return begun, [runner.run(begun, begun.batches[0])]
    return begun, []
