"""The v1 jobs of a cluster, read and nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json, as_json
from shunter.api.openapi import defaults
from shunter.api.resources import NAMESPACES, TRAINING_RUNTIMES, Resource
from shunter.api.trainer.runtime import MPIPolicy
from shunter.api.training.kinds import JOB_KINDS
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden, NotFound
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding, Place, Topic

CLUSTER = "cluster"
ALL = ""
KINDS: tuple[Resource, ...] = tuple(kind.resource for kind in JOB_KINDS)
_WRITTEN_METADATA = ("name", "namespace", "labels", "annotations")
_DEFAULTS = {"replicas": 1, "groupName": "default"}
"""What Trainer's CRDs put into each replicated job of a runtime."""

UNREADABLE_KIND = Topic(
    id="INPUT008",
    title="a kind without read permission",
    severity="error",
    change="manual",
    grade="N",
    explanation="The cluster denies listing jobs of this kind, so it is unknown whether any exist.",
    remedy="Request permission to list it; read-only access is enough.",
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
        """Decoded anew at each call."""
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
    """Reads the jobs page by page, so that not all are in memory at once. What cannot be read is added to `findings`."""
    for resource in kinds:
        for namespace in namespaces:
            try:
                async for page in client.pages(resource, namespace, view=msgspec.Raw, label_selector=label_selector):
                    yield Page(resource, [bytes(item) for item in page.items])
            except NotFound:
                continue
            except Forbidden as error:
                where = f"namespace {namespace}" if namespace else "all namespaces"
                place = Place(f"{CLUSTER}:{resource.full_name}")
                message = f"{resource.kind}s of {where}: {error.message}"
                findings.append(Finding(UNREADABLE_KIND, resource.kind, place, (), message))


async def runtimes(client: Client, namespaces: Sequence[str] = (ALL,)) -> tuple[SourceObject, ...]:
    """The TrainingRuntimes of the namespaces as their makers wrote them, by namespace and name. None where v2 is not installed,
    or they may not be read."""
    found: list[SourceObject] = []
    for namespace in namespaces:
        try:
            items = (await client.list(TRAINING_RUNTIMES, namespace)).items
        except (NotFound, Forbidden):
            continue
        found += [source(as_written(item), TRAINING_RUNTIMES) for item in items]
    return tuple(sorted(found, key=lambda one: (one.namespace, one.name)))


def as_written(runtime: Json) -> Json:
    """Without what the API server adds: its own metadata, and the defaults of the CRD."""
    metadata = {key: value for key, value in runtime["metadata"].items() if key in _WRITTEN_METADATA}
    written = as_json({**runtime, "metadata": metadata})
    for job in written["spec"]["template"]["spec"].get("replicatedJobs") or ():
        _leave_out(job, _DEFAULTS)
    _leave_out((written["spec"].get("mlPolicy") or {}).get("mpi") or {}, defaults(MPIPolicy))
    return written


def _leave_out(value: Json, defaults: Json) -> None:
    for field, default in defaults.items():
        if value.get(field) == default:
            del value[field]


async def require_namespaces(client: Client, namespaces: Iterable[str]) -> None:
    """InputError for a namespace that the cluster does not have, which would look like one without jobs; a user who may not ask
    for it is believed."""
    for name in filter(None, namespaces):
        try:
            await client.get(NAMESPACES, name)
        except NotFound:
            raise InputError(f"namespace {name} does not exist in the cluster.", "See `kubectl get namespaces`.") from None
        except Forbidden:
            continue


def source(item: Json, resource: Resource) -> SourceObject:
    """An item of a list, of which the API server leaves kind and version out."""
    return SourceObject(resource.typed(item), CLUSTER)
