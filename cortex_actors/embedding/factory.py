"""Which provider a model has: the ledger's choice, or else the settings'.

A model that a home's vectors were made with and that is not on this machine any more.

What a migration needs of the daemon: whose model answers, and how another takes its place.

What `cortex model` says of a home's model: its space, its compiled form, and why there is none.

Read from the files of the home alone, so that it is the same with and without a daemon. Hashes what
it reads, so it belongs on a thread.

A provider without a model: hashed words and letter triples, for tests and for trying out.

Texts that share words get similar vectors, texts that share none get vectors near a right angle,
so ranking, thresholds and caches can be tested without loading anything. It knows no synonyms.
"""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cortex_actors.embedding import manifest as manifests
from cortex_actors.embedding.compiled import CompiledProvider
from cortex_actors.embedding.openai import OpenAIProvider
from cortex_actors.embedding.provider import (
    Provider,
    ProviderState,
    Vectors,
    check_rows,
    require_texts,
)
from cortex_actors.embedding.torch_provider import SentenceProvider
from cortex_actors.errors import ModelMissing
from cortex_actors.runtime.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from cortex_actors.clock import Clock
    from cortex_actors.sections import EmbeddingSettings
    from cortex_actors.storage.models import ChosenModel


#: Numbers in a vector; as MiniLM's, so that the rest of the system sees no difference.
DIMENSION = 384

#: Texts of one patient request: few enough to share the loop with others.
BULK = 64

#: Letters (about 2 ms of hashing) from which a batch leaves the loop for a thread.
OFF_LOOP_LETTERS = 4_000

#: Numbers of a row that take as long as a letter (0.5 us).
NUMBERS_A_LETTER = 3

#: How much a feature counts. Whole numbers, so that sums are exact and the same on any machine.
WORD, SHORT_WORD, PAIR, TRIPLE = 6, 2, 3, 1

#: Letters up to which a word is short: mostly "the", "to", "in", which say little.
SHORT = 3

_WORDS = re.compile(r"\w+")


class _AtOnce:
    """A provider with nothing to load: its state is the same for as long as it lives."""

    def __init__(
        self, model_id: str, dimension: int, *, state: ProviderState, reason: str = ""
    ) -> None:
        self.model_id, self.dimension = model_id, dimension
        self.max_tokens, self.bulk = sys.maxsize, 1
        self.state, self.reason = state, reason
        self.counters: Mapping[str, int] = {}

    async def start(self) -> None:
        """Do nothing: there is nothing to load."""

    async def wait_settled(self) -> ProviderState:
        """Return its state."""
        return self.state

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


class HashingProvider(_AtOnce):
    """Feature hashing (Weinberger and others 2009) into signed, unit-length vectors.

    The same text has the same vector on every machine, in every process and for ever: a change of
    the features or weights above must change `model_id`. Never down and never loading.
    """

    def __init__(self, dimension: int = DIMENSION) -> None:
        super().__init__(f"hashing-v1-{dimension}", dimension, state=ProviderState.READY)
        self.bulk = BULK
        self._threads: Threads | None = None

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return one unit row a text; raises `BadInput` for what is not text.

        `urgent` changes nothing: hashing is quick.
        """
        require_texts(texts)
        if self._work(texts) < OFF_LOOP_LETTERS:
            return self._rows(texts)
        if self._threads is None:
            self._threads = Threads("hashing", 1)
        return await self._threads.run(self._rows, texts)

    async def close(self) -> None:
        """End the thread, if large batches have needed one."""
        if self._threads is not None:
            threads, self._threads = self._threads, None
            threads.close()

    def _work(self, texts: Sequence[str]) -> int:
        """Return how much a batch is, in letters: a wide row costs beside those of its text."""
        wide = max(0, self.dimension - DIMENSION) // NUMBERS_A_LETTER
        return sum(map(len, texts)) + len(texts) * wide

    def _rows(self, texts: Sequence[str]) -> Vectors:
        rows = np.array([_row(text, self.dimension) for text in texts], dtype=np.float64)
        return check_rows(
            rows.reshape(len(texts), self.dimension), len(texts), dimension=self.dimension
        )


def _row(text: str, dimension: int) -> list[float]:
    """Return a text's signed feature counts, scaled to length 1."""
    row = [0] * dimension
    for feature, weight in dict(_features(text)).items():
        place, sign = _place(feature)
        row[place % dimension] += sign * weight
    length = math.sqrt(sum(n * n for n in row))
    if length == 0.0:  # two features may cancel each other; there must be a direction all the same
        row[_place(f"!{text}")[0] % dimension], length = 1, 1.0
    return [n / length for n in row]


def _features(text: str) -> Iterator[tuple[str, int]]:
    """Yield words, pairs of neighbours and letter triples, each with its weight.

    A repeated one counts once, so a text does not drift away by repeating itself.
    """
    words = _WORDS.findall(unicodedata.normalize("NFKC", text).casefold())
    if not words:
        yield f"?{text}", WORD  # only punctuation, or nothing
    for word in words:
        yield word, SHORT_WORD if len(word) <= SHORT else WORD
        if len(word) > SHORT:
            padded = f"<{word}>"
            yield from ((f"#{padded[i : i + 3]}", TRIPLE) for i in range(len(padded) - 2))
    yield from ((f"{first} {second}", PAIR) for first, second in pairwise(words))


@lru_cache(maxsize=65_536)
def _place(feature: str) -> tuple[int, int]:
    """Return where a feature counts, and whether it adds or takes away.

    blake2b, because Python's own `hash` has another seed in every process.
    """
    digest = blake2b(feature.encode(), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return number >> 1, 1 if number & 1 else -1


class AbsentProvider(_AtOnce):
    """Keeps a missing model's own id, so that its vectors are never compared with others.

    What is stored can still be searched by words; whatever would be embedded waits.
    """

    def __init__(self, model_id: str, dimension: int, reason: str) -> None:
        """Be missing for a reason, which names the mend."""
        super().__init__(model_id, dimension, state=ProviderState.MISSING, reason=reason)

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Raise `ModelMissing`."""
        del texts, urgent
        raise ModelMissing(self.reason)


#: What the id of a compiled model has behind its float model's.
_COMPILED = re.compile(r"\+(int8|fp32)-[0-9a-f]{8}$")


class Doing(StrEnum):
    """What the migrator is at."""

    IDLE = "idle"
    COMPILING = "compiling"
    MIGRATING = "migrating"
    #: Something keeps it from going on; it tries again by itself.
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Making:
    """A compile that runs: of which float model, since when, and its last step."""

    source: str
    #: UTC microseconds.
    since: int
    step: str = ""


@dataclass(frozen=True, slots=True)
class Info:
    """Which models there are and how far the coming one is."""

    state: Doing
    #: Why it waits, or what failed; empty when all is well.
    reason: str
    #: What is worth knowing and no fault: why a model has no compiled form.
    note: str
    #: How the settings ask for another model than the one that answers; empty when they do not.
    differs: str
    active: ChosenModel | None
    coming: ChosenModel | None
    #: Distinct texts that may be found, those with a vector of the coming model, and those that it
    #: cannot embed.
    total: int = 0
    done: int = 0
    failed: int = 0
    #: Texts a second, and seconds until the switch; None while that is not known.
    rate: float = 0.0
    left_s: float | None = None
    making: Making | None = None


class Seat(Protocol):
    """The place of the model that answers."""

    @property
    def provider(self) -> Provider:
        """The provider that answers."""

    def make(self, chosen: ChosenModel | None) -> Provider:
        """Return a provider of a model, not started; one that is missing says why."""

    def make_candidate(self, name: str, kind: str | None = None) -> Provider:
        """Return a provider of the model of that name, not started."""

    def make_row(self, provider: Provider, name: str, kind: str | None = None) -> ChosenModel:
        """Return what the ledger is to keep of a candidate."""

    def make_first(self) -> ChosenModel:
        """Return what the ledger is to keep of the model that the settings ask for."""

    def settle(self, chosen: ChosenModel) -> None:
        """Note what the ledger says of the model that answers."""

    def explain_difference(self) -> str:
        """Return how the settings ask for another model; empty when they do not."""

    async def compile_model(
        self, model: ChosenModel, on_step: Callable[[str], None]
    ) -> ChosenModel:
        """Return a model's compiled form, made if need be; raises `CompileFailed`.

        `on_step` is given a line for each step.
        """

    async def take(self, chosen: ChosenModel, provider: Provider) -> None:
        """Let another model answer, and restart the actors that hold the one before.

        Returns once the new one answers. The provider before is closed.
        """


def find_source(model_id: str) -> str:
    """Return the id of a compiled model's float model; any other id is its own."""
    return _COMPILED.sub("", model_id)


def is_compiled(model_id: str) -> bool:
    """Say whether an id is a compiled model's."""
    return _COMPILED.search(model_id) is not None


#: What a hashing provider's name begins with; the rest is how long its vectors are.
_HASHING = "hashing-v1-"

#: The word that means the hashing model of the usual length.
_PLAIN = "hashing"

#: The providers there are.
PROVIDERS = ("sentence-transformers", "openai", "hashing")

#: Numbers in one vector at most: twice the widest model in use, and no vector fills the memory.
WIDEST = 8_192


def make_provider(
    settings: EmbeddingSettings,
    clock: Clock,
    *,
    models: Path | None = None,
    chosen: ChosenModel | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Provider:
    """Return the provider of a model, not started yet.

    A model that is not on this machine is a state of the provider and no error here, so that the
    daemon starts, keeps what it gets and says what is missing. A compiled model whose folder is
    lost or damaged is missing, too: the float model it was made of is another vector space. Whether
    the provider's id is the one that was chosen is for the caller to compare. Reads some small
    files, and all of a compiled model (20 ms).

    Args:
        settings: how it works, and which model it has where `chosen` does not say.
        clock: the time.
        models: where compiled models are.
        chosen: the model that the ledger says; decides against the settings.
        on_line: is given what a model's process writes to its standard error.

    """
    kind: str = settings.provider
    name = settings.model
    if chosen is not None:
        if models is not None and is_compiled(chosen.model_id):
            return _compiled(models, chosen, clock, settings=settings)
        kind, name = chosen.provider, chosen.name or name
    match kind:
        case "hashing":
            width = name.removeprefix(_HASHING)
            if width == name:
                return HashingProvider(DIMENSION)
            if width.isascii() and width.isdecimal() and 1 <= int(width[:9]) <= WIDEST:
                return HashingProvider(int(width[:9]))
            return refuse_hashing(name)
        case "openai":
            dimension = 0 if chosen is None else chosen.dimension
            return OpenAIProvider(name, clock, settings=settings, dimension=dimension)
        case _:
            return SentenceProvider(
                name, clock, timeout=settings.request_timeout_s, on_line=on_line
            )


def _compiled(
    models: Path, chosen: ChosenModel, clock: Clock, *, settings: EmbeddingSettings
) -> Provider:
    """Return the provider of a compiled model that its manifest vouches for."""
    folder = models / chosen.model_id
    try:
        manifest = manifests.read(folder)
    except ModelMissing as error:
        return AbsentProvider(chosen.model_id, chosen.dimension, str(error))
    return CompiledProvider(
        folder, manifest, clock, threads=settings.threads, batch_tokens=settings.batch_tokens
    )


def is_hashing(name: str) -> bool:
    """Say whether a name is one of a hashing model, whatever its bounds."""
    return name == _PLAIN or name.removeprefix(_HASHING) != name


def refuse_hashing(name: str) -> AbsentProvider:
    """Return the provider of a hashing model that cannot be."""
    return AbsentProvider(
        name,
        0,
        f"there is no hashing model {name!r}: a vector has 1 to {WIDEST} numbers; "
        f"give a name such as {_HASHING}{DIMENSION}",
    )


#: The provider whose models have compiled forms.
COMPILES = "sentence-transformers"


def report_model(models: Path, model_id: str, *, provider: str, compiles: bool) -> dict[str, Any]:
    """Return what is known of the model of a vector space; `compiles` is the setting.

    `form` is what makes its vectors: "int8", "fp32" (both compiled), "float" (torch), or the name
    of another provider. `why` says why there is no compiled form; empty when there is one.
    `damaged` are forms that cannot be used though they should, and what is wrong with each; `lost`
    says whether the compiled model that answers has no folder any more.
    """
    source = find_source(model_id)
    found = (manifests.find_by_id if is_compiled(model_id) else manifests.find_compiled)(
        models, model_id
    )
    form = "float" if provider == COMPILES else provider
    if is_compiled(model_id):
        form = model_id.rpartition("+")[2].partition("-")[0]
    damaged = manifests.list_damaged(models)
    wrong = {name: why for name, why in damaged.items() if find_source(name) == source}
    is_lost = is_compiled(model_id) and not (models / model_id).exists()
    if is_lost:
        wrong[model_id] = (
            f"the folder {models / model_id} is not there. The daemon makes it again when it "
            "starts, `cortex model prepare` does so now"
        )
    return {
        "id": model_id,
        "source": source,
        "provider": provider,
        "form": form,
        "compiled": None if found is None else _shape(*found),
        "why": "" if found else _why(models, source, provider, compiles=compiles, wrong=wrong),
        "damaged": wrong,
        "lost": is_lost,
    }


def _why(
    models: Path, source: str, provider: str, *, compiles: bool, wrong: Mapping[str, str]
) -> str:
    """Return why a model has no compiled form that can be used."""
    if provider != COMPILES:
        return f"only models of {COMPILES} are compiled"
    if reason := manifests.find_refusal(models, source):
        return reason
    if wrong:
        return "it is damaged or not there, and has to be made again"
    if not compiles:
        return "embedding.compile is false"
    return "not compiled yet: a daemon does it in the background, `cortex model prepare` does now"


def _shape(folder: Path, manifest: manifests.Manifest) -> dict[str, Any]:
    """Return a compiled form as a client gets it."""
    size = sum((folder / name).stat().st_size for name in (*manifest.hashes, manifests.MANIFEST))
    return {**asdict(manifest), "kind": str(manifest.kind), "folder": str(folder), "size": size}
