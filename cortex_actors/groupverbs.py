"""The verbs about many at once: clusters of insights, fragments of files, and what is to do."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cortex_actors import learned, wants
from cortex_actors.domain.insight import NO_DOMAIN, ClusterSort, FragmentSort
from cortex_actors.storage import contradictions, insight_lists, projects
from cortex_actors.storage.insight_lists import Named, find
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cortex_actors.storage.contradictions import Cluster
    from cortex_actors.storage.ledger.actor import Connection

#: What comes first in each order of clusters.
_ORDERS: dict[ClusterSort, Callable[[Cluster], tuple[float, ...]]] = {
    ClusterSort.SIZE: lambda each: (-len(each.members), -each.coherence),
    ClusterSort.COHERENCE: lambda each: (-each.coherence,),
    ClusterSort.LOOSE: lambda each: (each.coherence,),
    ClusterSort.NEWEST: lambda each: (-each.made_at,),
}


class GroupVerbs(Verbs):
    """Part of the front desk."""

    async def clusters(
        self,
        project: str | None = None,
        limit: int = 20,
        *,
        domain: str | None = None,
        search: str = "",
        size: int = 2,
        coherence: float | None = None,
        sort: str = "size",
        skip: int = 0,
    ) -> dict[str, Any]:
        """Return insights that say nearly the same, grouped, with the one in the middle first.

        `size` is the least number of members, `coherence` their least mean cosine, `domain` that of
        a member, `search` words that one member holds. Raises `UnknownProject`, `BadInput`.
        """
        wants.page(limit, skip, of="clusters")
        least = wants.share(coherence, what="the least coherence") or 0.0
        order = _ORDERS[wants.chosen(ClusterSort, sort, what="order") or ClusterSort.SIZE]
        project_id = await self._project_id(project)
        words = search.lower().split()

        def look(connection: Connection) -> dict[str, Any]:
            every = contradictions.list_clusters(connection, project_id=project_id)
            some = [e for e in every if len(e.members) >= size and e.coherence >= least]
            if domain is not None or words:
                some = _speaking(connection, some, domain=domain, words=words)
            found = sorted(some, key=lambda each: (*order(each), each.id))[skip : skip + limit]
            return {"total": len(some), "clusters": _shaped(connection, found)}

        return await self._parts.records.read(look)

    async def cluster(self, cluster: str) -> dict[str, Any]:
        """Return one cluster, by its id or the beginning of it. Raises `NotFound`, `BadInput`."""

        def look(connection: Connection) -> dict[str, Any]:
            found = contradictions.get_cluster(connection, find(connection, Named.CLUSTER, cluster))
            return _shaped(connection, [found] if found else [])[0]

        return await self._parts.records.read(look)

    async def fragments(
        self,
        project: str | None = None,
        limit: int = 20,
        *,
        path: str | None = None,
        sort: str = "path",
        skip: int = 0,
    ) -> dict[str, Any]:
        """Return the parts of instruction files, and how much of what each says stands how.

        `path` is a file or a folder. Raises `UnknownProject`, `BadInput`.
        """
        wants.page(limit, skip, of="fragments")
        order = wants.chosen(FragmentSort, sort, what="order") or FragmentSort.PATH
        project_id = await self._project_id(project)

        def look(connection: Connection) -> dict[str, Any]:
            found = insight_lists.list_fragments(
                connection, project_id=project_id, path=path, sort=order, limit=limit, skip=skip
            )
            total = insight_lists.count_fragments(connection, project_id=project_id, path=path)
            return {"total": total, "fragments": [asdict(each) for each in found]}

        return await self._parts.records.read(look)

    async def pace(self) -> dict[str, Any]:
        """Return how much there is still to do: scans, files, texts without a vector, and others.

        A progress bar asks this again and again.
        """
        model = self._parts.model()
        return asdict(await self._parts.records.read(lambda c: projects.waiting(c, model)))


def _speaking(
    connection: Connection, some: Iterable[Cluster], *, domain: str | None, words: list[str]
) -> list[Cluster]:
    """Return the clusters with a member of that domain that holds those words."""
    every = list(some)
    said = learned.briefly(connection, [name for each in every for name in each.members])
    wanted = None if domain == NO_DOMAIN else domain

    def fits(name: str) -> bool:
        member = said.get(name)
        if member is None or (domain is not None and member["domain"] != wanted):
            return False
        return all(word in member["content"].lower() for word in words)

    return [each for each in every if any(fits(name) for name in each.members)]


def _shaped(connection: Connection, some: Iterable[Cluster]) -> list[dict[str, Any]]:
    """Return clusters as clients get them: members with what they say, the middle one first."""
    every = list(some)
    said = learned.briefly(connection, [name for each in every for name in each.members])
    return [
        {
            **asdict(each),
            "members": [
                said[name]
                for name in sorted(each.members, key=lambda name: (name != each.medoid_id, name))
                if name in said
            ],
        }
        for each in every
    ]
