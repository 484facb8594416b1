"""The entailment layer: a CrossEncoder that says whether one statement follows from another.

A statement contradicts another whichever is read first, and two are the same claim when each
follows from the other, so every pair is scored in both directions.

What the probabilities of an entailment model say of two statements. Pure.

Each direction has a row: that the second statement contradicts the first, follows from it, or is
neither. What must hold whichever is read first is believed as far as the less sure direction.

Where a CrossEncoder's files are, and which of its outputs is which; no network, no torch.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.domain.insight import Conflict, Decider, Judgement, Relation
from cortex_actors.endpoint.client import Breaker
from cortex_actors.errors import BadInput, CortexError, JudgeDown, JudgeMissing
from cortex_actors.home import compute_fingerprint, list_weights
from cortex_actors.judging.layer import (
    Answer,
    JudgeQuestion,
    LayerInfo,
    LayerState,
    QuestionKind,
    Told,
)
from cortex_actors.runtime.child import LOAD_TIMEOUT, ChildHandlerError, ChildProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cortex_actors.clock import Clock
    from cortex_actors.sections import JudgingSettings


#: Decimal places of a probability that are kept.
PLACES = 4

#: How far the three probabilities of a row may be from 1 together: rounding.
SLACK = 0.01

Row = tuple[float, float, float]


def read_rows(answer: object) -> tuple[Row, Row] | None:
    """Return the two rows that an answer holds; None for what is none."""
    rows = answer.get("rows") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or len(rows) != 2:  # noqa: PLR2004 - two directions
        return None
    forth, back = (_row(row) for row in rows)
    return None if forth is None or back is None else (forth, back)


def make_judgement(rows: tuple[Row, Row], sure: float) -> Judgement | None:
    """Return the first of these that is at least `sure`, or None."""
    forth, back = rows
    least = [min(both) for both in zip(forth, back, strict=True)]
    findings = (
        (least[0], Relation.CONTRADICTION, "each contradicts the other"),
        (least[1], Relation.SAME, "each follows from the other"),
        (max(forth[1], back[1]), Relation.RELATED, "one follows from the other and says more"),
        (least[2], Relation.RELATED, "neither follows from the other nor contradicts it"),
    )
    for probability, relation, why in findings:
        if probability >= sure:
            return Judgement(
                relation,
                Decider.NLI,
                f"{why} (entailment model, {probability:.2f})",
                conflict=Conflict.DIRECT if relation is Relation.CONTRADICTION else None,
                confidence=round(probability, PLACES),
            )
    return None


def _row(row: object) -> Row | None:
    """Return three probabilities that are one together; None for what is none."""
    if not isinstance(row, list) or not all(isinstance(each, float | int) for each in row):
        return None
    # The last comparison is also false for what is no number.
    if len(row) != 3 or min(row) < 0 or not abs(sum(row) - 1) <= SLACK:  # noqa: PLR2004 - labels
        return None
    return (float(row[0]), float(row[1]), float(row[2]))


#: What an entailment model has to tell apart, as its configuration names its outputs.
LABELS = ("contradiction", "entailment", "neutral")

#: The mend of a model that cannot be used.
_SET = (
    "set judging.cross_encoder (variable CORTEX_JUDGING__CROSS_ENCODER) to an entailment model's "
    "folder, such as `hf download cross-encoder/nli-deberta-v3-small` prints, or to nothing"
)


@dataclass(frozen=True, slots=True)
class EntailmentModel:
    """A model folder, and the numbers of its outputs in the order of `LABELS`."""

    model_id: str
    folder: Path
    outputs: tuple[int, ...]


def locate(path: str, named: Sequence[str] = ()) -> EntailmentModel:
    """Return the model in a folder.

    `named` are its outputs where its configuration does not name them. Its id changes with its
    weights. Raises `JudgeMissing` saying how to mend it. Reads some small files.
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise JudgeMissing(f"there is no folder {folder.absolute()}; {_SET}")
    if not any(list_weights(folder)):
        raise JudgeMissing(f"{folder} holds no *.safetensors or pytorch_model.bin; {_SET}")
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        labels = dict(enumerate(named)) or config.get("id2label", {})
        by_label = {str(label).lower(): int(number) for number, label in labels.items()}
        outputs = tuple(by_label[label] for label in LABELS)
        model_id = f"{folder.resolve().name}@{compute_fingerprint(folder)}"
        return EntailmentModel(model_id, folder.absolute(), outputs)
    except KeyError as error:
        raise JudgeMissing(
            f"the model in {folder} is no entailment model: its configuration names no output "
            f"{error.args[0]!r}; name its outputs in judging.cross_encoder_labels, or {_SET}"
        ) from error
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise JudgeMissing(
            f"the files in {folder} are not a CrossEncoder's ({error}); {_SET}"
        ) from error


#: What is run to hold the model.
CHILD = "cortex_actors.judging.nli_child"

#: Pairs of one request: some seconds of a small model on one core.
BULK = 16


class EntailmentLayer:
    """A CrossEncoder in a process of its own, loaded at the first question and ended when idle.

    A death of the process, a hang or a failure to load fails the open questions; after
    `breaker_failures` of them in a row it is left alone for a while. A model that is not on this
    machine, or is no entailment model, makes it `missing`.
    """

    decider = Decider.NLI
    edition = 1
    kinds = frozenset({QuestionKind.COMPARE})
    bulk = BULK
    #: The process serves one request after another.
    at_once = 1
    is_metered = False

    def __init__(
        self,
        settings: JudgingSettings,
        clock: Clock,
        *,
        on_line: Callable[[str], None] | None = None,
        child: str | Sequence[str] = CHILD,
    ) -> None:
        """Look for the model; nothing is loaded yet."""
        self._settings = settings
        self._clock = clock
        self._on_line = on_line
        self._module = child
        self._breaker = Breaker(failures=settings.breaker_failures, pause=settings.breaker_pause_s)
        self._child: ChildProcess | None = None
        self._is_loaded = False
        self._turn = asyncio.Lock()
        self._begun = asyncio.Event()
        self._used = 0.0
        self._pairs = self._starts = 0
        self._missing = ""
        self._model: EntailmentModel | None = None
        try:
            self._model = locate(settings.cross_encoder, settings.cross_encoder_labels)
        except JudgeMissing as error:
            self._missing = str(error)

    @property
    def model_id(self) -> str:
        """Name and fingerprint of the model; empty while it is missing."""
        return "" if self._model is None or self._missing else self._model.model_id

    def describe(self) -> LayerInfo:
        """Return how it is."""
        name = self.model_id or self._settings.cross_encoder
        counts = {
            "pairs": self._pairs,
            "starts": self._starts,
            "breaker_opened": self._breaker.opened,
        }
        return LayerInfo(self.decider, name, self._state(), self._reason(), counts)

    async def live(self) -> None:
        """End the process after a while without a question, and at the end of all."""
        try:
            while True:
                await self._begun.wait()
                await self._clock.sleep(max(0.0, self._rest()))
                async with self._turn:
                    if self._rest() <= 0:  # no question came meanwhile
                        await self._let_go()
        finally:
            await self._let_go()

    async def answer_all(self, questions: Sequence[JudgeQuestion]) -> list[Told]:
        """Return the probabilities of each pair, in both directions."""
        async with self._turn:
            if self._model is None or self._missing:
                raise JudgeMissing(self._missing)
            if not self._breaker.admits(self._clock.monotonic()):
                raise JudgeDown(self._reason())
            try:
                rows, cut = await self._scored(self._model, questions)
            except (CortexError, OSError) as error:
                raise await self._failed(error) from error
            except BaseException:
                self._breaker.note_abandoned(self._clock.monotonic())
                raise
            self._breaker.note_success()
            self._pairs += len(questions)
            kept = [[round(float(each), PLACES) for each in row] for row in rows]
            too_long = f"two texts are longer together than {self.model_id} can read; say less"
            return [
                BadInput(too_long) if at in cut else {"rows": kept[2 * at : 2 * at + 2]}
                for at in range(len(questions))
            ]

    def accepts(self, kind: QuestionKind, answer: object) -> bool:
        """Return whether an answer holds a row of probabilities for each direction."""
        return kind is QuestionKind.COMPARE and read_rows(answer) is not None

    def read_judgement(self, answer: Answer) -> Judgement | None:
        """Return what the probabilities say, as far as they reach `cross_encoder_sure`."""
        rows = read_rows(answer)
        sure = self._settings.cross_encoder_sure
        return None if rows is None else make_judgement(rows, sure)

    async def _scored(
        self, model: EntailmentModel, questions: Sequence[JudgeQuestion]
    ) -> tuple[NDArray[np.float64], set[int]]:
        """Return two rows a question, in the order of `models.LABELS`, and which were not read."""
        child = await self._running(model)
        pairs = []
        for each in questions:
            # As premise and hypothesis, and the other way round.
            one, other = (each.quoted[name]["text"] for name in ("one", "other"))
            pairs += [(one, other), (other, one)]
        body = json.dumps(pairs).encode()
        timeout = self._settings.request_timeout_s
        told, raw = await child.request("score", None, body, deadline=timeout)
        rows = np.frombuffer(raw, dtype="<f4").reshape(-1, int(told["outputs"]))
        if len(rows) != len(pairs) or not np.isfinite(rows).all():
            raise JudgeDown(f"the entailment model {model.model_id} gave no number for some pair")
        self._used = self._clock.monotonic()
        cut = {at // 2 for at in told["cut"]}
        return rows[:, list(model.outputs)].astype(np.float64), cut

    async def _running(self, model: EntailmentModel) -> ChildProcess:
        """Return the process with the model loaded, started if need be."""
        if self._child is None:
            self._starts += 1
            self._child = await ChildProcess.spawn(
                self._module,
                ["--model", str(model.folder)],
                name="entailment model",
                on_line=self._on_line,
            )
            self._used = self._clock.monotonic()
            self._begun.set()
        if not self._is_loaded:
            told, _ = await self._child.request("load", deadline=LOAD_TIMEOUT)
            self._used, self._is_loaded = self._clock.monotonic(), True
            if int(told["outputs"]) <= max(model.outputs):
                raise JudgeMissing(
                    f"the model {model.model_id} has {told['outputs']} outputs, and its "
                    "configuration names more; mend its folder, or set judging.cross_encoder to "
                    "another one"
                )
        return self._child

    async def _failed(self, error: Exception) -> CortexError:
        """Note a failure, end the process that had it, and return the error for the askers."""
        await self._let_go()
        name = self._settings.cross_encoder
        if isinstance(error, JudgeMissing):
            self._missing = str(error)
        elif isinstance(error, ChildHandlerError) and error.is_not_installed:
            self._missing = (
                f"the entailment model {name} needs sentence-transformers, which cannot be "
                f"imported ({error}); `pip install sentence-transformers`, then "
                "`cortex daemon restart`"
            )
        if self._missing:
            self._breaker.note_success()
            return JudgeMissing(self._missing)
        self._breaker.note_failure(str(error), self._clock.monotonic())
        return JudgeDown(f"the entailment model {name} failed: {error}; ask again in a moment")

    async def _let_go(self) -> None:
        """End the process, if there is one."""
        child, self._child = self._child, None
        self._is_loaded = False
        self._begun.clear()
        if child is not None:
            await child.stop()

    def _rest(self) -> float:
        """Return the seconds until it was idle for long enough."""
        return self._used + self._settings.cross_encoder_idle_s - self._clock.monotonic()

    def _state(self) -> LayerState:
        if self._missing:
            return LayerState.MISSING
        if self._reason():
            return LayerState.DOWN
        if self._child is None:
            return LayerState.IDLE
        return LayerState.READY if self._is_loaded else LayerState.LOADING

    def _reason(self) -> str:
        """Return why it cannot be asked now; empty when it can."""
        return self._missing or self._breaker.explain_refusal(self._clock.monotonic())
