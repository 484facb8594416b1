"""An office with principles, projects and a resolver at work in them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SystemClock
from cortex_actors.domain.event import OrganisationComplete, ResolutionRequested
from cortex_actors.domain.principle import ResolutionWish
from cortex_actors.embedding.factory import HashingProvider
from cortex_actors.embedding.tokens import estimate_tokens
from cortex_actors.pipeline.resolver import Resolver
from cortex_actors.runtime.names import NamedActor
from cortex_actors.sections import ReconciliationSettings, ResolutionSettings
from cortex_actors.storage import embeddings, projects
from cortex_actors.storage.pipeline import insights, principles, resolutions
from cortex_actors.topics import ORGANISATION_COMPLETE, RESOLUTION_REQUESTED
from tests.pipeline.support import MODEL, Embedder, Office, finding
from tests.storage.distilled import distilled, principle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_actors.domain.principle import Principle, ResolutionReport, Resolved
    from cortex_actors.domain.project import Project
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.pipeline.resolutions import Resolution

#: Nobody saves while a test runs, and nobody has to approve, unless it says so.
QUICK = {
    "settle_ms": 1,
    "settle_limit_s": 0.3,
    "grace_s": 0.05,
    "least": 0.0,
    "unapproved": True,
}

HUMAN = "# Atlas\n\nA Python service.\n\n## Style\n\n- Use spaces for indentation.\n"

PYTEST = "Always run pytest before you push."
EVAL = "Never use eval in production code."
TABS = "Use tabs for indentation."


class Resolving:
    """A resolver, what it knows, and whom it writes for."""

    def __init__(self, office: Office, folder: Path, embed: Embedder) -> None:
        # Files are watched for a while in real time.
        office.clock = SystemClock()  # type: ignore[assignment]
        self.office = office
        self.embed = embed
        self.folder = folder
        self.settings: dict[str, Any] = dict(QUICK)
        self._files = 0

    async def hire(self) -> None:
        """Have the resolver at work."""
        await self.office.employ("resolver", self.resolver)

    def resolver(self) -> Resolver:
        """Return a resolver."""
        return Resolver(
            self.office.desk("resolver"),
            self.office.records,
            settings=ResolutionSettings(**self.settings),
            reconciliation=ReconciliationSettings(),
            model=MODEL,
            embed=self.embed,
            count=estimate_tokens,
        )

    async def follow(self, name: str, text: str = HUMAN, file: str = "CLAUDE.md") -> Path:
        """Follow a project with one file; return the file."""
        project = await self.office.follow(self.folder / name)
        path = Path(project.root, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    async def project(self, path: Path) -> Project:
        """Return the project of a file."""
        return await self.office.read(
            lambda c: next(each for each in projects.list_followed(c) if each.holds(str(path)))
        )

    async def opt_in(self, path: Path) -> None:
        """Let the files of a project be written by themselves."""
        found = await self.project(path)
        await self.office.write(lambda c: projects.let_resolve(c, found.id, on=True))

    async def know(self, *texts: str, **given: Any) -> list[Principle]:
        """Have principles, each said in a project of its own, with their vectors."""
        source = await self.office.follow(self.folder / "elsewhere")
        made = [principle(text, **given) for text in texts]
        provider = HashingProvider()
        rows = await provider.embed(texts)
        await provider.close()
        self._files += 1
        path = f"{source.root}/part-{self._files}/CLAUDE.md"
        said = [finding(text, path) for text in texts]

        def work(connection: Connection) -> None:
            insights.learn(connection, said, project_id=source.id, path=path, at=1)
            for each, its in zip(made, said, strict=True):
                distilled(connection, each, its.insight_id)
            vectors = {each.text_hash: row for each, row in zip(made, rows, strict=True)}
            embeddings.keep_vectors(connection, MODEL, vectors)

        await self.office.write(work)
        return made

    async def forget(self, made: Principle) -> None:
        """Have a principle no more."""
        await self.office.write(lambda c: principles.forget(c, [made.id]))

    async def resolve(self, path: Path, **wish: Any) -> ResolutionReport:
        """Do what somebody wishes."""
        found: ResolutionReport = await self._asked(
            Resolver.resolve, [ResolutionWish(str(path), **wish)]
        )
        return found

    async def resolve_all(self, paths: Iterable[Path]) -> ResolutionReport:
        """Do what somebody wishes with several files at once."""
        found: ResolutionReport = await self._asked(
            Resolver.resolve, [ResolutionWish(str(each)) for each in paths]
        )
        return found

    async def one(self, path: Path, **wish: Any) -> Resolved:
        """Do what somebody wishes with one file."""
        (found,) = (await self.resolve(path, **wish)).files
        return found

    async def undo(self, path: Path) -> Resolved:
        """Take a write back."""
        found: Resolved = await self._asked(Resolver.undo, str(path))
        return found

    async def request(self, path: Path, agent: str = "claude", *, dry_run: bool = False) -> None:
        """Say that a file is to be resolved, and return once it was."""
        payload = ResolutionRequested(str(path), agent, dry_run)
        await self.office.bus.publish(RESOLUTION_REQUESTED, payload, source="test")
        await self.office.handled("resolver")

    async def organised(self) -> None:
        """Say that principles were distilled, and return once everything came of it."""
        done = OrganisationComplete("run_1", ())
        await self.office.bus.publish(ORGANISATION_COMPLETE, done, source="organiser")
        await self.office.handled("resolver")

    async def row(self, path: Path, agent: str = "claude") -> Resolution | None:
        """Return how the ledger has a file."""
        return await self.office.read(lambda c: resolutions.find(c, str(path), agent))

    async def bullets(self, path: Path, agent: str = "claude") -> list[str]:
        """Return the bullets that the ledger has in a file."""
        found = await self.office.read(lambda c: resolutions.load_bullets(c, str(path), agent))
        return [each.text for each in found]

    async def _asked(self, method: Any, *args: Any) -> Any:
        """Ask the resolver by its name."""
        async with asyncio.timeout(20):
            return await NamedActor[Any]("resolver", self.office.names, timeout=None).ask(
                method, *args
            )
