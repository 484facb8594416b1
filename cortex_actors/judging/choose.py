"""Which layers the settings ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.judging.chat import LanguageLayer
from cortex_actors.judging.nli import EntailmentLayer

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.clock import Clock
    from cortex_actors.judging.layer import Layer
    from cortex_actors.modelsections import JudgingSettings


def layers_for(
    settings: JudgingSettings, clock: Clock, *, on_line: Callable[[str], None]
) -> tuple[Layer, ...]:
    """Return the layers beyond the rules, the first to be asked first; none by default.

    A model that is not on this machine is a state of its layer and no error here.
    """
    found: list[Layer] = []
    if settings.cross_encoder:
        found.append(EntailmentLayer(settings, clock, on_line=on_line))
    if settings.model:
        found.append(LanguageLayer(settings, clock))
    return tuple(found)
