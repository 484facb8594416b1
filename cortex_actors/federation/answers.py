"""What a remote store has answered, looked at before it is believed. Pure.

A store may be another program than it should be, an older or newer one, or a hostile one: whatever
does not have the shape that was agreed is either no answer at all (`StoreDown`) or left out, and
then the answer says how much was. Nothing is repaired or guessed.

Received: what another program answered, made harmless before anybody reads it.

Nothing of it is believed: it is cut to a size, invisible characters are written out, and it is
marked as another's. What looks like an attack is kept, and says so: a person decides.

A remote store's hit, from what it measured. Pure.

What a store calls a distance or a score is a number of its own space. It is kept for people to
look at, and compared with nothing but the same store's other numbers.

Whether the vector of a question means anything among another program's vectors. Pure.

Two models put the same text to places that have nothing to do with one another: a distance between
them is a number, and the order of such numbers is chance. So a store with vectors of its own is
asked only where it is known to be of our model, by its own word or by a person's.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.hit import REMOTE, RankedHit
from cortex_actors.errors import StoreDown
from cortex_actors.federation.store import Answer
from cortex_actors.rules.ranking.fusion import base_relevance
from cortex_actors.text.hazards import find_hidden, find_suspicion, show_hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cortex_actors.storage.embeddings import Matrix


#: Characters an id may have: some stores use paths for ids, none uses a page. What is kept of a
#: remote id (federation/received.py) is no shorter, so that no two become one.
ID_LIMIT = 256

#: Bits of a whole number: a longer one is no id, stops other programs, and takes long to write out.
ID_BITS = 64

#: Rows that are looked at for every hit that is wanted. A store that gives more was not asked for
#: them: a hundred thousand small ones fit the size allowed, and took the loop 2.5 s to read.
ROWS = 4


def require_object(document: object, *, shape: str) -> Mapping[str, Any]:
    """Return a document that has to be an object; `shape` says what of: "a SerenLoci's answer".

    Raises `StoreDown` for anything else.
    """
    if not isinstance(document, dict):
        raise refuse_shape(shape)
    return document


def read_hits(
    document: object,
    read: Callable[[Mapping[str, Any]], RankedHit | None],
    *,
    limit: int,
    shape: str,
    notes: Sequence[str] = (),
) -> Answer:
    """Return what a document has under `hits`; raises as `answer` does, and for what is no list.

    An answer without it, or with null in its place, knows nothing; the former says so, because
    another kind of program may be answering.
    """
    found = require_object(document, shape=shape)
    rows = found.get("hits")
    if not isinstance(rows, list | None):
        raise refuse_shape(shape)
    more = () if "hits" in found else ("answered without hits, which counts as none",)
    return answer(rows or [], read, limit=limit, shape=shape, notes=(*notes, *more))


def answer(
    rows: Sequence[Any],
    read: Callable[[Mapping[str, Any]], RankedHit | None],
    *,
    limit: int,
    shape: str,
    notes: Sequence[str] = (),
) -> Answer:
    """Return the hits in some rows, in their order, at most `limit` of them.

    `read` makes a hit of a row, or None of one that has no id or no text. Of one id the first place
    counts, and only the first `ROWS` times as many rows are looked at. How many of them were left
    out is under `skipped`, after `notes`. Raises `StoreDown` when nothing of it is a hit: then
    another kind of program answers.
    """
    some = rows[: max(limit, 1) * ROWS]
    hits = [read(row) if isinstance(row, dict) else None for row in some]
    first: dict[str, RankedHit] = {}
    for hit in hits:
        if hit is not None:
            first.setdefault(hit.id, hit)
    bad = hits.count(None)
    if bad and not first:
        raise refuse_shape(shape)
    lost = (f"{bad} of its {len(hits)} hits have no id or no text and are left out",) if bad else ()
    return Answer(tuple(first.values())[:limit], (*notes, *lost))


def refuse_shape(shape: str) -> StoreDown:
    """Return that something else answers at an address."""
    return StoreDown(f"answered in a shape that is not {shape}; see that its type is right")


def read_number(value: object) -> float | None:
    """Return a number that can be reckoned with; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def read_text(value: object) -> str:
    """Return a text that can be written as UTF-8; nothing for what is none.

    JSON may hold half of a character; a question mark takes its place.
    """
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def read_id(value: object) -> str:
    """Return an id, which may come as a number; nothing for what cannot be one."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if value.bit_length() <= ID_BITS else ""
    found = value if isinstance(value, str) else ""
    return found if len(found) <= ID_LIMIT and found.isprintable() else ""


def record(value: object) -> dict[str, Any]:
    """Return a copy of an object; an empty one for anything else."""
    return dict(value) if isinstance(value, dict) else {}


#: Bytes of a text, in UTF-8: a page; instruction files are cut up smaller than that.
TEXT_BYTES = 8_192

#: Characters of an id, of a name and of a word under a name: more is no id, and no word.
ID, NAME = 256, 64

#: Characters that a hit may say beside its text, all of it together.
BESIDE = 16_384

#: Members of one list or object, and how deep these may be nested.
MEMBERS, DEEP = 64, 5

#: Characters that a value which is no text takes of the room: a number's, about.
VALUE = 8


def clean_hits(hits: Iterable[RankedHit], *, store: str, limit: int) -> tuple[RankedHit, ...]:
    """Return at most that many hits of a store, fit to be passed on; of an id the first place.

    The store's name is the one it has here, whatever it calls itself.
    """
    found: dict[str, RankedHit] = {}
    for hit in hits:
        if len(found) >= limit:
            break
        kept = _harmless(hit, store)
        found.setdefault(kept.id, kept)
    return tuple(found.values())


def flag_hit(hit: RankedHit) -> RankedHit:
    """Return a hit that says under `suspicious` what makes its text look like an attack.

    What is this daemon's own was looked at when it was written down, and stays as it is.
    """
    sign = find_suspicion(hit.text) if hit.trust == REMOTE else None
    if sign is None:
        return hit
    reasons = hit.extra.get("suspicious")
    known = reasons if isinstance(reasons, list) else []
    return replace(hit, extra={**hit.extra, "suspicious": [*known, sign]})


def clean_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a store says of itself, fit to be shown: bounded, and with nothing hidden."""
    return dict(_Plain().of(dict(document), DEEP))


def cut(text: str) -> str:
    """Return the beginning of a text that has at most so many bytes; no character is halved."""
    if len(text) <= TEXT_BYTES // 4:
        return text
    kept = text[:TEXT_BYTES].encode("utf-8", "surrogatepass")[:TEXT_BYTES]
    return kept.decode("utf-8", "ignore")


def _harmless(hit: RankedHit, store: str) -> RankedHit:
    """Return one hit as it may be passed on."""
    # A return without a new line lets a terminal write over what is there.
    text = cut(hit.text).replace("\r\n", "\n").replace("\r", "\n")
    smuggled = () if _is_plain(text) else find_hidden(text)
    extra = _Plain().of(dict(hit.extra), DEEP)
    extra.pop("suspicious", None)
    if smuggled:
        # What they spell is not said: the reader of this may be whom it is meant for.
        extra["suspicious"] = [f"invisible letters: {len(smuggled)}"]
    base = hit.base_relevance if math.isfinite(hit.base_relevance) else 0.0
    return RankedHit(
        # On one line: in an answer as text an id must not look like another entry.
        id=" ".join(_seen(hit.id[:ID]).split()),
        text=show_hidden(text) if smuggled else text,
        score=hit.score,
        store=store,
        heading=None if hit.heading is None else _seen(hit.heading[:ID]),
        extra=extra,
        base_relevance=min(max(base, 0.0), 1.0),
        raw_distance=read_number(hit.raw_distance),
        native_score=read_number(hit.native_score),
        trust=REMOTE,
    )


def _seen(text: str) -> str:
    """Return a text in which everything can be seen."""
    return text if _is_plain(text) else show_hidden(text)


def _is_plain(text: str) -> bool:
    """Tell at once of most texts that they hide nothing: the rules look at every letter."""
    return text.isascii() and text.replace("\n", "").isprintable()


class _Plain:
    """Makes plain JSON of what a store says beside a text, as far as there is room."""

    def __init__(self) -> None:
        self._left = BESIDE

    def of(self, value: Any, depth: int) -> Any:  # noqa: ANN401 - whatever JSON has
        """Return a value without what is too deep, too long or no JSON."""
        if isinstance(value, str):
            return self._text(value)
        self._left = max(0, self._left - VALUE)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return value if value.bit_length() <= ID_BITS else None
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if depth == 0:
            return None
        if isinstance(value, dict):
            some = list(value.items())[:MEMBERS]
            return {
                self._text(str(key)[:NAME]): self.of(each, depth - 1)
                for key, each in some
                if self._left
            }
        if isinstance(value, list | tuple):
            return [self.of(each, depth - 1) for each in value[:MEMBERS] if self._left]
        return None

    def _text(self, text: str) -> str:
        """Return a text, cut to the room there is."""
        kept = _seen(cut(text[: self._left]))
        self._left = max(0, self._left - max(1, len(kept)))
        return kept


def make_nearest(
    store: str, rows: Sequence[Mapping[str, Any]], *, is_cosine: bool, limit: int, shape: str
) -> Answer:
    """Return the hits of a store of vectors in their order; raises as `answer` does.

    A row has `id`, `text`, `distance` and `metadata`. Of a cosine distance the cosine is the
    store's own score.
    """

    def read(row: Mapping[str, Any]) -> RankedHit | None:
        far = read_number(row["distance"])
        score = 1.0 - far if is_cosine and far is not None else None
        words, more = row["text"], row["metadata"]
        return make_hit(store, row["id"], text=words, distance=far, score=score, metadata=more)

    return answer(rows, read, limit=limit, shape=shape)


def make_hit(
    store: str,
    id_: object,
    *,
    text: str,
    distance: object = None,
    score: object = None,
    sure: float | None = None,
    metadata: Mapping[str, object] | None = None,
) -> RankedHit | None:
    """Return a hit as another program gave it; None for one without an id or a text.

    A number that is none is left out. `sure` is its base relevance, 0 to 1, where something else
    than the distance decides it.
    """
    known, distance = read_id(id_), read_number(distance)
    if not known or not text:
        return None
    relevance = base_relevance(distance) if sure is None else min(max(sure, 0.0), 1.0)
    return RankedHit(
        known,
        text,
        relevance,
        store,
        extra={"metadata": dict(metadata or {})},
        base_relevance=relevance,
        raw_distance=distance,
        native_score=read_number(score),
        trust=REMOTE,
    )


#: What a compiled model's id puts between its model's name and `int8-...`; its vectors differ from
#: that model's by less than the gate it had to pass (docs/models.md).
_COMPILED = "+"

#: What a model may be called to be named to others: no sentence is that.
_PLAIN = re.compile(r"[A-Za-z0-9._/:+@-]{1,80}")

#: The publisher of a model, and the protocol it is asked by, come before its name.
_PREFIXES = ("sentence-transformers/", "openai:")


def explain_mismatch(asked: OutgoingQuestion, *, model: str, dimension: int | None) -> str:
    """Return why a question cannot be put to vectors of a model; empty when it can.

    `dimension` is how many numbers they have; None while there is no vector at all.
    """
    if asked.vector is None:
        return "it is searched by vectors, and the question has none while the embedder is away"
    if not model:
        return (
            "which model made its vectors is not known, so ours may mean nothing to them; set "
            f"options.model to its name (ours is {asked.model})"
        )
    if not is_same_model(asked.model, model):
        # A store may call its own anything, and agents read that.
        theirs = f"the model {model}" if _PLAIN.fullmatch(model) else "another model"
        return f"its vectors are of {theirs}, and ours are of {asked.model}"
    if dimension is not None and dimension != len(asked.vector):
        return (
            f"its vectors have {dimension} numbers, and ours, of {asked.model}, have "
            f"{len(asked.vector)}"
        )
    return ""


def is_same_model(ours: str, theirs: str) -> bool:
    """Return whether two names are those of one space: spelled in full, or by the model's name.

    The host behind an endpoint's model is not compared: a model is the same wherever it runs.
    """
    return ours == theirs or _name(ours) == _name(theirs)


def _name(model: str) -> str:
    """Return the bare name of a model."""
    bare = model.strip().lower()
    for prefix in _PREFIXES:
        if bare.startswith(prefix):
            bare = bare.removeprefix(prefix)
            bare = bare.partition("@")[0] if prefix == "openai:" else bare
    return bare.partition(_COMPILED)[0]


@dataclass(frozen=True, slots=True)
class OutgoingQuestion:
    """A question as it leaves this machine.

    Attributes:
        text: without what is secret.
        vector: of that text, in the space of `model`; None while no text can be embedded.
        limit: hits that are wanted, at most what the adapter says a store gives.
        seconds: how long the whole of it may take.

    """

    text: str
    limit: int
    seconds: float
    vector: Matrix | None = None
    model: str = ""
