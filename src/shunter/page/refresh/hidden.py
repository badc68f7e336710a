"""Messages about what a viewer may not read, with the Role that would allow it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.page.wire import Hidden

ROLE_NAME = "shunter-page"


class Refused(NamedTuple):
    """A list that the API server refused."""

    resource: Resource
    namespace: str
    """Empty: all namespaces, or a cluster-scoped resource."""
    consequence: str
    is_subject: bool = False
    """As in `Watch`."""


def hidden(refused: Iterable[Refused], user: str, shown: Sequence[str] = ()) -> tuple[Hidden, ...]:
    """One for each namespace and consequence. `shown` are the namespaces that are listed because not all may be."""
    groups: dict[tuple[str, bool, str, bool], set[Resource]] = {}
    for one in refused:
        groups.setdefault((one.namespace, one.resource.namespaced, one.consequence, one.is_subject), set()).add(one.resource)
    return tuple(
        Hidden(
            what=_what(resources, namespace),
            consequence=_consequence(namespace, consequence, shown if is_namespaced else ()),
            role=_role(resources, namespace, user),
            is_subject=is_subject,
        )
        for (namespace, is_namespaced, consequence, is_subject), resources in sorted(groups.items(), key=lambda item: item[0])
    )


def _what(resources: Iterable[Resource], namespace: str) -> str:
    names = sorted({resource.full_name for resource in resources})
    if namespace:
        return f"{', '.join(names)} in namespace {namespace}"
    return f"{', '.join(names)} in all namespaces" if any(resource.namespaced for resource in resources) else ", ".join(names)


def _consequence(namespace: str, consequence: str, shown: Sequence[str]) -> str:
    if namespace or not shown:
        return consequence
    few = f"{len(shown)} namespace{'s are' if len(shown) > 1 else ' is'} shown"
    return f"{few} ({', '.join(shown)}); others are hidden from you."


def _role(resources: Iterable[Resource], namespace: str, user: str) -> str:
    """YAML of the Role, with the command that binds it as a comment."""
    from_group: dict[str, set[str]] = {}
    for resource in resources:
        from_group.setdefault(resource.group, set()).add(resource.plural)
    kind = "Role" if namespace else "ClusterRole"
    lines = [f"# kubectl create {kind.lower()}binding {ROLE_NAME} --{kind.lower()}={ROLE_NAME} --user={user or 'USER'}"]
    lines[0] += f" -n {namespace}" if namespace else ""
    lines += ["apiVersion: rbac.authorization.k8s.io/v1", f"kind: {kind}", "metadata:", f"  name: {ROLE_NAME}"]
    lines += [f"  namespace: {namespace}"] if namespace else []
    lines.append("rules:")
    for group, plurals in sorted(from_group.items()):
        rule: Json = {"apiGroups": [group], "resources": sorted(plurals), "verbs": ["get", "list", "watch"]}
        lines += [f"{'- ' if field == 'apiGroups' else '  '}{field}: {_listed(values)}" for field, values in rule.items()]
    return "\n".join(lines) + "\n"


def _listed(values: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"
