"""Ruling: the thresholds and rules that hold, and a name for all of them together.

The name changes with whatever a judgement depends on beside the two texts: then everything that was
compared is compared anew.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from cortex_actors.errors import ConfigurationError
from cortex_actors.pipeline.relations import EDGE, Relations
from cortex_actors.rules.clustering import COHERENCE
from cortex_actors.rules.contradiction import Limits, Thresholds
from cortex_actors.rules.promotion import Thresholds as Promotion
from cortex_actors.text import lexicon

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.sections import ReconciliationSettings
    from cortex_actors.text.lexicon import Lexicon

log = logging.getLogger("cortex.reconciler")

#: Which form of comparing this is: another number has everything compared anew after an update.
FORM = 1


class Ruling:
    """What one reconciler judges by.

    Attributes:
        limits: the thresholds.
        promotion: what becoming a principle asks for.
        trouble: what is wrong with the user's own rules; then those from before hold.

    """

    def __init__(
        self,
        settings: ReconciliationSettings,
        model: str,
        tables: Path | None = None,
        *,
        judge: str = "",
    ) -> None:
        """Judge by the settings; `tables` are a user's own rules, which `read` reads.

        `model` is whose vectors are compared, `judge` names the model that may be asked.
        """
        self.limits = _limits(settings)
        self.promotion = Promotion(
            confidence=settings.promotion_confidence,
            observations=settings.promotion_observations,
            age=settings.promotion_age_days,
            projects=settings.promotion_projects,
        )
        self.trouble = ""
        self._names = (model, judge)
        self._tables = tables
        self._text = ""
        self._lexicon: Lexicon | None = None
        self._digest = b""

    @property
    def digest(self) -> bytes:
        """What names everything that a judgement depends on beside the texts."""
        if not self._digest:
            self.read()
        return self._digest

    def relations(self) -> Relations:
        """Return a fresh judge of pairs."""
        return Relations(self.limits, self._lexicon)

    def read(self) -> None:
        """Read the user's own rules, if they are others than before (on a thread).

        The first time, the product's own tables are read, too, which takes half a second.
        """
        try:
            text = self._said()
            if text != self._text or self.trouble:
                self._lexicon = lexicon.extended(text, origin=str(self._tables)) if text else None
                self._text, self._digest, self.trouble = text, b"", ""
        except ConfigurationError as error:
            if self.trouble != str(error):
                log.warning("%s", error)
            self.trouble = str(error)
        self._digest = self._digest or self._named()

    def _said(self) -> str:
        """Return what stands in the user's file; nothing where there is none."""
        if self._tables is None:
            return ""
        try:
            return self._tables.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"cannot read the rules in {self._tables}: {error}; mend the file or remove it"
            ) from error

    def _named(self) -> bytes:
        """Return the name of all that is judged by."""
        own = {name: asdict(each) for name, each in sorted(self.limits.by_domain.items())}
        tables = (self._lexicon or lexicon.standard()).digest
        limits = (asdict(self.limits.default), own, EDGE, COHERENCE)
        parts = (FORM, *self._names, limits, tables)
        return hashlib.sha256(json.dumps(parts).encode()).digest()


def _limits(settings: ReconciliationSettings) -> Limits:
    """Return the thresholds of the settings; what may be one cluster may be merged."""
    cluster, judged = settings.cluster, settings.judged
    plain = Thresholds(merge=cluster, cluster=cluster, judged=judged, floor=settings.floor)
    own = {
        name: replace(
            plain,
            merge=each.cluster if each.cluster is not None else cluster,
            cluster=each.cluster if each.cluster is not None else cluster,
            judged=each.judged if each.judged is not None else judged,
        )
        for name, each in settings.domains.items()
    }
    return Limits(plain, own)
