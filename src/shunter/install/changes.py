"""What an installation did, or would do, to each object. Pure: objects before and after in, changes out.

What we made is marked by a label, so that an upgrade may take away what is no longer wanted and `uninstall` everything: an object
that was there before us is changed where it must be, but never marked and so never deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CLUSTER_TRAINING_RUNTIMES,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    NETWORK_POLICIES,
    POD_DISRUPTION_BUDGETS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    SERVICES,
    VALIDATING_WEBHOOKS,
    Resource,
)
from shunter.api.titles import title_of
from shunter.install import resources

MANAGED_BY = "app.kubernetes.io/managed-by"
MARK = "shunter-install"
"""Our field manager, and the value of the label on what we made."""
MADE_BY_US = f"{MANAGED_BY}={MARK}"

RESOURCES: tuple[Resource, ...] = (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    ROLES,
    ROLE_BINDINGS,
    CONFIG_MAPS,
    SERVICES,
    NETWORK_POLICIES,
    resources.ISSUERS,
    resources.CERTIFICATES,
    DEPLOYMENTS,
    POD_DISRUPTION_BUDGETS,
    resources.SERVICE_MONITORS,
    resources.POD_MONITORS,
    resources.PROMETHEUS_RULES,
    CLUSTER_TRAINING_RUNTIMES,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
)
"""Every resource that an installation may hold, in the order in which it is applied; it is taken away the other way round."""

KEPT = (CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES)
"""Never taken away by an upgrade: all jobs would go with them."""

_BY_KIND = {(resource.api_version, resource.kind): resource for resource in RESOURCES}

Verb = Literal["created", "changed", "unchanged", "deleted", "skipped"]


class Change(NamedTuple):
    """One object's: `details` are the fields that changed, or why it was skipped."""

    verb: Verb
    title: str
    details: tuple[str, ...] = ()


def resource_of(obj: Json) -> Resource:
    """The resource of an object, by apiVersion and kind. Raises KeyError for a kind that no installation contains."""
    return _BY_KIND[obj["apiVersion"], obj["kind"]]


def key_of(obj: Json) -> tuple[str, str, str, str]:
    """Group, kind, namespace and name."""
    metadata = obj["metadata"]
    return (resource_of(obj).group, obj["kind"], metadata.get("namespace", ""), metadata["name"])


def is_marked(obj: Json) -> bool:
    """Whether an installation of ours made this object."""
    return (obj["metadata"].get("labels") or {}).get(MANAGED_BY) == MARK


def is_left_unchanged(desired: Json, present: Json | None) -> bool:
    """Whether an object that was there before us is not even changed: a namespace, whose Pod Security level would hold for the
    pods of others as well."""
    return resource_of(desired) == NAMESPACES and present is not None and not is_marked(present)


def to_apply(desired: Json, present: Json | None) -> Json:
    """The object to apply: marked when it is new, or marked already."""
    if present is not None and not is_marked(present):
        return desired
    metadata = desired["metadata"]
    return {**desired, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), MANAGED_BY: MARK}}}


def change(desired: Json, before: Json | None, after: Json) -> Change:
    """What applying did."""
    if before is None:
        return Change("created", title_of(desired))
    details = tuple(sorted(changed_fields(_kept(before), _kept(after))))
    return Change("changed" if details else "unchanged", title_of(desired), details)


def changed_fields(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Paths at which two values differ; a list that changed is named as a whole unless it has as many elements as before."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in before.keys() | after.keys():
            yield from changed_fields(before.get(key), after.get(key), f"{path}.{key}" if path else key)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from changed_fields(old, new, f"{path}[{index}]")
    elif before != after:
        yield path


def to_prune(desired: Iterable[Json], marked: Iterable[Json]) -> list[Json]:
    """The objects of an earlier installation that are no longer part of it; last applied first."""
    keys = {key_of(obj) for obj in desired}
    return _last_first(obj for obj in marked if key_of(obj) not in keys and resource_of(obj) not in KEPT)


def to_remove(marked: Iterable[Json], *, crds: bool) -> list[Json]:
    """What uninstalling deletes, last applied first: the webhooks before the operator that answers them."""
    return _last_first(obj for obj in marked if crds or resource_of(obj) != CUSTOM_RESOURCE_DEFINITIONS)


def other_version(obj: Json, versions: Mapping[str, Collection[str]]) -> str:
    """The version in which a CRD stores its objects, when it is none of ours (`versions` by the CRD's name)."""
    ours = versions.get(obj["metadata"]["name"], ())
    if resource_of(obj) != CUSTOM_RESOURCE_DEFINITIONS or not ours:
        return ""
    stored: str = next(version["name"] for version in obj["spec"]["versions"] if version["storage"])
    return "" if stored in ours else stored


def other_server(configuration: Json, *, namespace: str, service: str) -> str:
    """Where a present webhook configuration sends reviews if not to our Service; empty when it is ours."""
    for webhook in configuration.get("webhooks") or ():
        called = webhook.get("clientConfig") or {}
        if called.get("url"):
            return str(called["url"])
        reference = called.get("service") or {}
        if (reference.get("namespace"), reference.get("name")) != (namespace, service):
            return f"Service {reference.get('namespace')}/{reference.get('name')}"
    return ""


_NOT_OURS = ("managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink")


def _kept(obj: Json) -> Json:
    """Without what the server counts and controllers report."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _NOT_OURS}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


def _last_first(objects: Iterable[Json]) -> list[Json]:
    order = {resource: index for index, resource in enumerate(RESOURCES)}
    return sorted(objects, key=lambda obj: (-order[resource_of(obj)], key_of(obj)))
