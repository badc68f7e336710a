"""The v1 jobs of a cluster, read and nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import NAMESPACES, Resource
from shunter.api.training.kinds import JOB_KINDS
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden, NotFound
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding, Place, Topic

CLUSTER = "cluster"
ALL = ""
KINDS: tuple[Resource, ...] = tuple(kind.resource for kind in JOB_KINDS)

UNREADABLE_KIND = Topic(
    id="INPUT008",
    title="a kind that may not be read",
    severity="error",
    impact="blocking",
    change="manual",
    grade="N",
    explanation="The cluster refuses to list jobs of this kind, so nobody knows whether there are any.",
    remedy="Ask for the right to list it: read-only access is enough.",
    effort=1,
)


class Live(NamedTuple):
    """`jobs` by kind, namespace and name; `findings` about kinds that could not be read."""

    jobs: tuple[SourceObject, ...]
    findings: tuple[Finding, ...]


class Page(NamedTuple):
    """Some jobs of one kind as the server sent them, so that they can be decoded in another process."""

    resource: Resource
    items: list[bytes]

    def sources(self) -> list[SourceObject]:
        return [source(msgspec.json.decode(item), self.resource) for item in self.items]


async def jobs(
    client: Client,
    namespaces: Sequence[str] = (ALL,),
    *,
    label_selector: str = "",
    kinds: Sequence[Resource] = KINDS,
    read: Callable[[int], None] = lambda count: None,
) -> Live:
    """Every job of `kinds` in `namespaces` (ALL is all of them); a kind that the cluster does not serve has none. `read` hears of
    each page how many jobs it has."""
    found: list[SourceObject] = []
    findings: list[Finding] = []
    async for page in pages(client, namespaces, label_selector=label_selector, kinds=kinds, findings=findings):
        found += page.sources()
        read(len(page.items))
    found.sort(key=lambda source: (source.kind, source.namespace, source.name))
    return Live(tuple(found), tuple(findings))


async def pages(
    client: Client,
    namespaces: Sequence[str] = (ALL,),
    *,
    label_selector: str = "",
    kinds: Sequence[Resource] = KINDS,
    findings: list[Finding],
) -> AsyncGenerator[Page]:
    """The same page by page, for who need not hold them all at once. What cannot be read is added to `findings`."""
    for resource in kinds:
        for namespace in namespaces:
            try:
                async for page in client.pages(resource, namespace, view=msgspec.Raw, label_selector=label_selector):
                    yield Page(resource, [bytes(item) for item in page.items])
            except NotFound:
                continue
            except Forbidden as error:
                where = f"namespace {namespace}" if namespace else "all namespaces"
                place = Place(f"{CLUSTER}:{resource.plural}.{resource.group}")
                message = f"{resource.kind}s of {where}: {error.message}"
                findings.append(Finding(UNREADABLE_KIND, resource.kind, place, (), message))


async def require_namespaces(client: Client, namespaces: Iterable[str]) -> None:
    """InputError for a namespace that the cluster does not have, which would look like one without jobs; whoever may not ask
    for it is believed."""
    for name in filter(None, namespaces):
        try:
            await client.get(NAMESPACES, name)
        except NotFound:
            raise InputError(f"namespace {name}: the cluster has none of this name.", "See `kubectl get namespaces`.") from None
        except Forbidden:
            continue


def source(item: Json, resource: Resource) -> SourceObject:
    """An item of a list, of which the API server leaves kind and version out."""
    return SourceObject({"apiVersion": resource.api_version, "kind": resource.kind, **item}, CLUSTER)
