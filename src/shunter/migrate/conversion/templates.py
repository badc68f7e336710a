"""Whether the pod templates of several roles say the same, so that one group of pods can stand for them; if not, what differs.

Compared is what v1 made of them: with its defaults, and without what it ignored or overwrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from shunter.api.meta import Json
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.pods.written_metadata import of_the_user
from shunter.migrate.paths import MISSING, Path, path_text

_IGNORED_BY_V1: tuple[tuple[str, str], ...] = (
    ("metadata", "name"),
    ("metadata", "generateName"),
    ("metadata", "namespace"),
    ("metadata", "creationTimestamp"),
    ("spec", "restartPolicy"),
)
_RESTART_POLICY: Path = ("restartPolicy",)


class Difference(NamedTuple):
    """A field that two roles say differently; a value is MISSING where a role does not say it."""

    role: str
    """The role that is compared to the first one."""
    path: Path
    """Below the role: `("template", "spec", "containers", 0, "args")`."""
    first: Any
    value: Any

    @property
    def field(self) -> str:
        """`spec.containers[0].image`."""
        return path_text(self.path)


def differences(draft: Draft, roles: Sequence[str]) -> list[Difference]:
    """What the other roles say differently from the first one, field by field; empty when one template stands for all of them.

    Container ports do not count unless they take one of the node: they are but words for readers (see `differing_ports`)."""
    first, *others = roles
    found = []
    for role in others:
        pair = draft.job.replicas[first], draft.job.replicas[role]
        for path, value, other in _compared(_read_by_v1(pair[0].template), _read_by_v1(pair[1].template), ("template",)):
            found.append(Difference(role, path, value, other))
        if pair[0].restart_policy != pair[1].restart_policy:
            found.append(Difference(role, _RESTART_POLICY, pair[0].restart_policy, pair[1].restart_policy))
    return found


def have_differing_ports(draft: Draft, roles: Sequence[str]) -> bool:
    """Whether roles whose templates are alike otherwise name different ports."""
    first, *others = ([one.get("ports") for one in _containers(draft.job.replicas[role].template)] for role in roles)
    return any(other != first for other in others)


def differing_ports(draft: Draft, roles: Sequence[str]) -> Iterator[Path]:
    """The lists of ports, in the source, of roles that name others than the first one."""
    first, *others = ((role, _containers(draft.job.replicas[role].template)) for role in roles)
    for role, containers in others:
        for index, (own, same) in enumerate(zip(containers, first[1], strict=False)):
            path = (*draft.role_path(role), "template", "spec", "containers", index, "ports")
            if own.get("ports") != same.get("ports") and draft.is_given(path):
                yield path


def _read_by_v1(template: Json) -> Json:
    """The template without what v1 did not look at."""
    read = _without(template, _IGNORED_BY_V1)
    containers = [
        {field: value for field, value in container.items() if field != "ports" or _takes_node_port(value)}
        for container in _containers(template)
    ]
    metadata = of_the_user(read.get("metadata") or {})
    return {**read, "metadata": metadata, "spec": {**(read.get("spec") or {}), "containers": containers}}


def _containers(template: Json) -> list[Json]:
    containers = (template.get("spec") or {}).get("containers")
    return containers if isinstance(containers, list) else []


def _takes_node_port(ports: list[Json] | None) -> bool:
    return any(port.get("hostPort") for port in ports or ())


def _without(value: Json, paths: tuple[tuple[str, str], ...]) -> Json:
    result = dict(value)
    for section, field in paths:
        inner = result.get(section)
        if isinstance(inner, dict) and field in inner:
            result[section] = {key: kept for key, kept in inner.items() if key != field}
    return result


def _compared(first: Any, other: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """The innermost places at which two values differ. An empty or null field is as good as none."""
    if first == other or (_is_empty(first) and _is_empty(other)):
        return
    if isinstance(first, dict) and isinstance(other, dict):
        for key in {**first, **other}:
            yield from _compared(first.get(key, MISSING), other.get(key, MISSING), (*path, key))
    elif _are_lists_of_objects(first, other):
        for index, (left, right) in enumerate(zip(first, other, strict=True)):
            yield from _compared(left, right, (*path, index))
    else:
        yield path, first, other


def _is_empty(value: Any) -> bool:
    return value is MISSING or value is None or value == {} or value == []


def _are_lists_of_objects(first: Any, other: Any) -> bool:
    """Whether items can be compared one by one; a list of words is one value."""
    lists = isinstance(first, list) and isinstance(other, list) and len(first) == len(other)
    return lists and all(isinstance(item, dict) for item in (*first, *other))
