"""Whether the vector of a question means anything among somebody else's vectors. Pure.

Two models put the same text to places that have nothing to do with one another: a distance between
them is a number, and the order of such numbers is chance. So a store with vectors of its own is
asked only where it is known to be of our model, by its own word or by a person's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.federation.adapter import Asked

#: What a compiled model's id puts between its model's name and `int8-...`; its vectors differ from
#: that model's by less than the gate it had to pass (docs/models.md).
_COMPILED = "+"

#: What a model may be called to be named to others: no sentence is that.
_PLAIN = re.compile(r"[A-Za-z0-9._/:+@-]{1,80}")

#: Who publishes a model and which protocol it is asked by stand before its name.
_PREFIXES = ("sentence-transformers/", "openai:")


def apart(asked: Asked, *, model: str, dimension: int | None) -> str:
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
    if not alike(asked.model, model):
        return f"its vectors are of {_shown(model)}, and ours are of {asked.model}"
    if dimension is not None and dimension != len(asked.vector):
        return (
            f"its vectors have {dimension} numbers, and ours, of {asked.model}, have "
            f"{len(asked.vector)}"
        )
    return ""


def alike(ours: str, theirs: str) -> bool:
    """Return whether two names are those of one space: spelled in full, or by the model's name.

    The host behind an endpoint's model is not compared: a model is the same wherever it runs.
    """
    return ours == theirs or _name(ours) == _name(theirs)


def _shown(model: str) -> str:
    """Return how a model is named: a store may call its own anything, and agents read that."""
    return f"the model {model}" if _PLAIN.fullmatch(model) else "another model"


def _name(model: str) -> str:
    """Return the bare name of a model."""
    bare = model.strip().lower()
    for prefix in _PREFIXES:
        if bare.startswith(prefix):
            bare = bare.removeprefix(prefix)
            bare = bare.partition("@")[0] if prefix == "openai:" else bare
    return bare.partition(_COMPILED)[0]
