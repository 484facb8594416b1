"""Who is handed which setting, and the embedding model: the tables compared with the parts."""

from __future__ import annotations

from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from cortex_actors.assembly.reload import FIXED, HANDED, MODEL, list_places
from cortex_actors.bus.consumer import Desk
from cortex_actors.embedding.factory import HashingProvider
from cortex_actors.sections import DomainThresholds, SettingsSection
from cortex_actors.settings import Settings
from cortex_actors.storage.search.matrix import Neighbours, VectorMatrix
from cortex_actors.testing import eventually
from cortex_actors.tree import TREE
from tests.flow.support import grown

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.tree import Tree


def given(thing: object) -> object:
    """Return the settings in what an actor is made with, and everything plain beside them."""
    if isinstance(thing, partial):
        return [given(each) for each in (*thing.args, *thing.keywords.values())]
    if isinstance(thing, FunctionType) and thing.__closure__:
        return [given(each.cell_contents) for each in thing.__closure__]
    if isinstance(thing, Desk):
        return thing.settings
    if hasattr(thing, "model_id"):
        return id(thing)  # a provider, which is made anew when it is to work in another way
    if isinstance(thing, VectorMatrix | Neighbours):
        return (thing.model, thing.most_mb)  # the vectors in memory, or who looks into them
    if hasattr(thing, "is_there"):
        return thing.is_there  # the judge, which nobody asks without a model
    return thing if isinstance(thing, SettingsSection | int | float | str) else type(thing)


def other(value: Any) -> Any:
    """Return another value of the same kind."""
    if isinstance(value, tuple):
        return (*value, 1.0)
    if isinstance(value, dict):
        return {**value, "python": DomainThresholds(cluster=0.9)}
    if isinstance(value, SecretStr):
        return SecretStr("another")
    return f"{value}-" if isinstance(value, str) else value + 1


async def has_model(tree: Tree) -> bool:
    """Return whether the ledger says which model answers, whatever the settings ask for."""
    return (await tree.cortex.migration())["active"] is not None


def differing(tree: Tree, key: str) -> set[str]:
    """Return who is made in another way when one setting is another one."""
    section, name = key.split(".")
    chosen = Settings()
    part = getattr(chosen, section)
    changed = part.model_copy(update={name: other(getattr(part, name))})

    def made(settings: Settings) -> dict[str, object]:
        tree.parts.adopt(settings)
        found = {actor: given(make) for actor, make in tree.parts.make.items()}
        return {**found, "watchers": tree.parts.watching.settings}

    before, after = made(chosen), made(chosen.model_copy(update={section: changed}))
    return {actor for actor in before if before[actor] != after[actor]}


class TestTable:
    async def test_handed(self, tmp_home: Path) -> None:
        """Whoever is made with a setting is in the table under its section, and nobody else."""
        async with grown(tmp_home) as tree:
            await eventually(lambda: has_model(tree))
            told: dict[str, set[str]] = {name: set() for name in Settings.model_fields}
            for section in told:
                for name in type(getattr(Settings(), section)).model_fields:
                    found = differing(tree, f"{section}.{name}")
                    nobodys = f"{section}.{name}" in FIXED or not HANDED[section]
                    assert nobodys == (not found)
                    told[section] |= found

        assert {section: set(actors) for section, actors in HANDED.items()} == told

    async def test_model(self, tmp_home: Path) -> None:
        """Whoever is made with the model, or its name, begins anew when another one answers."""
        async with grown(tmp_home) as tree:
            before = {actor: given(make) for actor, make in tree.parts.make.items()}
            parts: Any = tree.parts
            parts._incumbent.provider = HashingProvider(16)
            parts.adopt(parts._settings)
            after = {actor: given(make) for actor, make in tree.parts.make.items()}

        assert set(MODEL) == {actor for actor in before if before[actor] != after[actor]}

    def test_places(self) -> None:
        """Everybody in the table stands in the tree, under one name."""
        there = [child for _, child in list_places(TREE)]

        assert len(set(there)) == len(there)
        assert set() == {child for actors in HANDED.values() for child in actors} - set(there)
