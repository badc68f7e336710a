"""The pod selectors of an object. For known kinds a table has their paths; in any other object everything with the form of a
`metav1.LabelSelector` counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.selectors import LabelSelector, selects
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.paths import MISSING, Path, value_at

Form = Literal["labels", "selector"]
"""`labels`: a plain map of labels, as a Service has; `selector`: a metav1.LabelSelector."""

_NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that the API server gives every Namespace."""


class _Kind(NamedTuple):
    path: Path
    form: Form
    consequence: str
    """The consequence if the selector no longer selects any pod."""
    namespaces: Path = ()
    """The path of a `namespaceSelector` of Prometheus' operator."""
    of_services: bool = False
    """Whether it selects Services, not pods."""


_NO_METRICS = "their metrics are not collected"
_POLICY = "the policy does not apply to them"
_SCRAPE = ("spec", "namespaceSelector")
_KINDS: dict[str, tuple[_Kind, ...]] = {
    "Service": (_Kind(("spec", "selector"), "labels", "it has no endpoints"),),
    "NetworkPolicy": (_Kind(("spec", "podSelector"), "selector", _POLICY),),
    "PodDisruptionBudget": (_Kind(("spec", "selector"), "selector", "it does not protect them from evictions"),),
    "PodMonitor": (_Kind(("spec", "selector"), "selector", _NO_METRICS, _SCRAPE),),
    "VMPodScrape": (_Kind(("spec", "selector"), "selector", _NO_METRICS, _SCRAPE),),
    "ServiceMonitor": (_Kind(("spec", "selector"), "selector", _NO_METRICS, _SCRAPE, of_services=True),),
    "VMServiceScrape": (_Kind(("spec", "selector"), "selector", _NO_METRICS, _SCRAPE, of_services=True),),
    **{
        kind: (_Kind(("spec", "selector"), "selector", _POLICY),)
        for kind in ("AuthorizationPolicy", "PeerAuthentication", "RequestAuthentication", "Telemetry", "WasmPlugin")
    },
    **{kind: (_Kind(("spec", "workloadSelector", "labels"), "labels", _POLICY),) for kind in ("Sidecar", "EnvoyFilter")},
}
_PEERS = (("ingress", "from", "traffic from them is denied"), ("egress", "to", "traffic to them is denied"))
_OWN_PODS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job")
"""Kinds whose `spec.selector` selects the pods that they create."""
_OTHER_SELECTORS = ("namespaceSelector", "nodeSelector", "nodeAffinity", "volumeClaimTemplates")
"""Fields below which nothing selects pods."""


@dataclass(frozen=True)
class Selection:
    """One pod selector. `namespaces` are those in which it selects, None for all; "" is that of a manifest without namespace."""

    source: SourceObject
    path: Path
    form: Form
    value: Json
    consequence: str
    namespaces: frozenset[str] | None
    namespace_labels: Json | None = None
    """A selector of namespaces; those that `namespaces` names count as well, as in terms of affinities."""
    of_services: bool = False
    only_reads: bool = False
    """Whether it only collects metrics, so that additional pods do no harm."""
    is_known: bool = True
    """Whether the kind and field are in the table, so that it certainly selects pods."""

    @property
    def selector(self) -> Json:
        """The selection as a metav1.LabelSelector."""
        return {"matchLabels": self.value} if self.form == "labels" else self.value

    def selects(self, labels: Json) -> bool:
        """Whether it selects pods with these labels, in any of its namespaces (`looks_in`)."""
        return selects(self.selector, labels)

    def looks_in(self, namespace: str, known: Mapping[str, Json]) -> bool:
        """Whether it selects in this namespace. A manifest without namespace may be applied to any, and a Namespace whose labels
        are not `known` may have the required ones."""
        if self.namespace_labels is not None:
            is_open = not namespace or (namespace not in known and _requires_more_than_name(self.namespace_labels))
            is_named = namespace in (self.namespaces or ())
            return is_open or is_named or selects(self.namespace_labels, {_NAMESPACE_NAME: namespace, **known.get(namespace, {})})
        return self.namespaces is None or not namespace or namespace in self.namespaces or "" in self.namespaces


def selections(source: SourceObject) -> list[Selection]:
    """The pod selectors of an object, each once."""
    found = [*_of_known_kind(source), *_peers(source), *placements(source.value, source)]
    paths = {selection.path for selection in found}
    return [*found, *(other for other in _of_that_form(source, source.value, ()) if other.path not in paths)]


def placements(value: Any, source: SourceObject, path: Path = ()) -> Iterator[Selection]:
    """The terms of pod affinities, pod anti-affinities and topology spread constraints, in any pod template of the object."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("podAffinity", "podAntiAffinity", "topologySpreadConstraints"):
                yield from _terms(inner, source, (*path, key))
            else:
                yield from placements(inner, source, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from placements(inner, source, (*path, index))


def _of_known_kind(source: SourceObject) -> Iterator[Selection]:
    for kind in _KINDS.get(source.kind, ()):
        value = _well_formed(value_at(source.value, kind.path), kind.form)
        if value is None or (kind.form == "labels" and not value):  # a Service without labels selects nothing
            continue
        namespaces: frozenset[str] | None = frozenset({source.namespace})
        scope = value_at(source.value, kind.namespaces) if kind.namespaces else None
        if isinstance(scope, dict):
            names = scope.get("matchNames")
            namespaces = frozenset(map(str, names)) if isinstance(names, list) and names else namespaces
            namespaces = None if scope.get("any") is True else namespaces
        found = Selection(source, kind.path, kind.form, value, kind.consequence, namespaces)
        yield replace(found, of_services=kind.of_services, only_reads=bool(kind.namespaces))


def _peers(source: SourceObject) -> Iterator[Selection]:
    for field, side, consequence in _PEERS if source.kind == "NetworkPolicy" else ():
        for number, rule in enumerate(_list(value_at(source.value, ("spec", field)))):
            for index, peer in enumerate(_list(rule.get(side) if isinstance(rule, dict) else None)):
                if not isinstance(peer, dict) or "podSelector" not in peer:
                    continue
                path: Path = ("spec", field, number, side, index, "podSelector")
                value = _well_formed(peer["podSelector"], "selector")
                if value is not None:
                    scope = _well_formed(peer.get("namespaceSelector"), "selector")
                    namespaces = None if scope is not None else frozenset({source.namespace})
                    yield Selection(source, path, "selector", value, consequence, namespaces, scope)


def _terms(value: Any, source: SourceObject, path: Path) -> Iterator[Selection]:
    if isinstance(value, dict):
        found = _well_formed(value.get("labelSelector"), "selector")
        if found is not None:
            names = _list(value.get("namespaces"))
            scope = _well_formed(value.get("namespaceSelector"), "selector")
            namespaces = frozenset(map(str, names)) if names or scope is not None else frozenset({source.namespace})
            consequence = "the constraint is without effect, or can never be met"
            yield Selection(source, (*path, "labelSelector"), "selector", found, consequence, namespaces, scope)
        for key, inner in value.items():
            if key not in _OTHER_SELECTORS:
                yield from _terms(inner, source, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _terms(inner, source, (*path, index))


def _of_that_form(source: SourceObject, value: Any, path: Path) -> Iterator[Selection]:
    if isinstance(value, dict):
        if isinstance(value.get("matchLabels"), dict) or isinstance(value.get("matchExpressions"), list):
            found = _well_formed(value, "selector")
            if found is not None:
                yield Selection(source, path, "selector", found, "", None, is_known=False)
            return
        for key, inner in value.items():
            own = path == ("spec",) and key == "selector" and source.kind in _OWN_PODS
            if key not in _OTHER_SELECTORS and not own:
                yield from _of_that_form(source, inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _of_that_form(source, inner, (*path, index))


def _well_formed(value: Any, form: Form) -> Json | None:
    """The selector, if its types are valid."""
    if value is MISSING or not isinstance(value, dict):
        return None
    try:
        if form == "labels":
            msgspec.convert(value, dict[str, str])
        else:
            msgspec.convert({key: inner for key, inner in value.items() if inner is not None}, LabelSelector)
    except msgspec.ValidationError:
        return None
    return value


def _requires_more_than_name(selector: Json) -> bool:
    """Whether a namespace selector requires labels other than the name, which only the Namespace itself has."""
    keys = [*(selector.get("matchLabels") or {}), *(rule.get("key") for rule in selector.get("matchExpressions") or ())]
    return any(key != _NAMESPACE_NAME for key in keys)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
