"""What the actors of the pipeline are handed; the rest of the tree's is in parts.py."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors.embedding.tokens import Counter
from cortex_actors.pipeline.accumulator import Accumulator
from cortex_actors.pipeline.likeness import SecondOpinion
from cortex_actors.pipeline.organiser import Organiser
from cortex_actors.pipeline.reconciler import Reconciler
from cortex_actors.pipeline.resolver import Resolver
from cortex_actors.storage.search.matrix import Neighbours

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cortex_actors import byname
    from cortex_actors.bus.consumer import Desk
    from cortex_actors.runtime.actor import AsyncioActor
    from cortex_actors.settings import Settings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Records
    from cortex_actors.storage.search.matrix import VectorMatrix
    from cortex_actors.world import World

#: Seconds for which a model may still be loading before a file is written without it.
PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What they share, as the settings are now."""

    world: World
    settings: Settings
    records: Records
    #: What a consumer of that name is handed.
    desk: Callable[[str], Desk]
    #: The id of the vector space that answers.
    model: str
    #: Asks the cache for vectors.
    embed: Callable[..., Awaitable[Matrix]]
    judge: byname.Judge
    matrix: VectorMatrix

    def makers(self) -> dict[str, Callable[[], AsyncioActor]]:
        """Return how the actors are made, by name."""
        return {
            "accumulator": self._accumulator(),
            "reconciler": self._reconciler(),
            "organiser": self._organiser(),
            "resolver": self._resolver(),
        }

    def _accumulator(self) -> Callable[[], AsyncioActor]:
        return partial(
            Accumulator,
            self.desk("accumulator"),
            self.records,
            settings=self.settings.accumulation,
            model=self.model,
            embed=self.embed,
            neighbours=Neighbours(self.matrix),
        )

    def _reconciler(self) -> Callable[[], AsyncioActor]:
        return partial(
            Reconciler,
            self.desk("reconciler"),
            self.records,
            settings=self.settings.reconciliation,
            neighbours=Neighbours(self.matrix),
            judge=self.judge,
            tables=self.world.home.rules,
            opinion=SecondOpinion(self.records, self.embed, model=self.model),
        )

    def _organiser(self) -> Callable[[], AsyncioActor]:
        return partial(
            Organiser,
            self.desk("organiser"),
            self.records,
            settings=self.settings.organisation,
            promotion=self.settings.reconciliation,
            neighbours=Neighbours(self.matrix),
            embed=self.embed,
            writer=self.judge,
            tables=self.world.home.rules,
        )

    def _resolver(self) -> Callable[[], AsyncioActor]:
        return partial(
            Resolver,
            self.desk("resolver"),
            self.records,
            settings=self.settings.resolution,
            reconciliation=self.settings.reconciliation,
            model=self.model,
            # A person may be waiting, and a model that loads is worth waiting for.
            embed=partial(self.embed, urgent=True, patience=PATIENCE),
            count=Counter(self.settings.embedding.provider),
            tables=self.world.home.rules,
        )
