"""What `cortex model` says of a home's model: its space, its compiled form, and why there is none.

Read from the files of the home alone, so that it is the same with and without a daemon. Hashes what
it reads, so it belongs on a thread.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cortex_actors.embedding import manifest as manifests
from cortex_actors.embedding.refusals import refused
from cortex_actors.embedding.seat import is_compiled, source_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cortex_actors.embedding.manifest import Manifest

#: The provider whose models have compiled forms.
COMPILES = "sentence-transformers"


def report(models: Path, model_id: str, *, provider: str, compiles: bool) -> dict[str, Any]:
    """Return what is known of the model of a vector space; `compiles` is the setting.

    `form` is what makes its vectors: "int8", "fp32" (both compiled), "float" (torch), or the name
    of another provider. `why` says why there is no compiled form; empty when there is one.
    """
    source = source_of(model_id)
    found, wrong = _compiled_form(models, model_id), _wrong(models, model_id, source)
    return {
        "id": model_id,
        "source": source,
        "provider": provider,
        "form": _form(model_id, provider),
        "compiled": None if found is None else _shape(*found),
        "why": "" if found else _why(models, source, provider, compiles=compiles, wrong=wrong),
        "damaged": wrong,
        "lost": _is_lost(models, model_id),
    }


def _compiled_form(models: Path, model_id: str) -> tuple[Path, Manifest] | None:
    """Return the compiled form that a space's vectors come from, or could come from."""
    if is_compiled(model_id):
        return manifests.by_id(models, model_id)
    return manifests.compiled(models, model_id)


def _wrong(models: Path, model_id: str, source: str) -> dict[str, str]:
    """Return the forms of a model that cannot be used though they should, and what is wrong."""
    damaged = manifests.damaged(models)
    found = {name: why for name, why in damaged.items() if source_of(name) == source}
    if _is_lost(models, model_id):
        found[model_id] = (
            f"the folder {models / model_id} is not there. The daemon makes it again when it "
            "starts, `cortex model prepare` does so now"
        )
    return found


def _is_lost(models: Path, model_id: str) -> bool:
    """Say whether the compiled model that answers has no folder any more."""
    return is_compiled(model_id) and not (models / model_id).exists()


def _form(model_id: str, provider: str) -> str:
    """Return what makes the vectors of a space."""
    if is_compiled(model_id):
        return model_id.rpartition("+")[2].partition("-")[0]
    return "float" if provider == COMPILES else provider


def _why(
    models: Path, source: str, provider: str, *, compiles: bool, wrong: Mapping[str, str]
) -> str:
    """Return why a model has no compiled form that can be used."""
    if provider != COMPILES:
        return f"only models of {COMPILES} are compiled"
    if reason := refused(models, source):
        return reason
    if wrong:
        return "it is damaged or not there, and has to be made again"
    if not compiles:
        return "embedding.compile is false"
    return "not compiled yet: a daemon does it in the background, `cortex model prepare` does now"


def _shape(folder: Path, manifest: Manifest) -> dict[str, Any]:
    """Return a compiled form as a client gets it."""
    size = sum((folder / name).stat().st_size for name in (*manifest.hashes, manifests.MANIFEST))
    return {**asdict(manifest), "kind": str(manifest.kind), "folder": str(folder), "size": size}
