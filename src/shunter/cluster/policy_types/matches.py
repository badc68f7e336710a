"""The kinds that a policy applies to, as far as it names them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import Resource

MOST = 10
"""Kinds that are looked at for one rule; the rules after it are left out then."""


class GroupKind(NamedTuple):
    """A kind in a version, in the order in which faults are told."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"


def named_versions(policy: Json, served: Iterable[str]) -> list[str]:
    """The served group-versions in which the policy's rules name resources."""
    return sorted(
        {version for rule in _rules(policy) for group, name in _versions(rule) for version in _served(group, name, served)}
    )


def matched_kinds(policy: Json, resources: Iterable[Resource]) -> list[GroupKind]:
    """What the rules match of these resources, in order. Rules with `*` for a group or version, and resources with one, count for
    nothing, as do subresources."""
    found: set[GroupKind] = set()
    known = list(resources)
    for rule in _rules(policy):
        count = 0
        for group, version in _versions(rule):
            for name in sorted(one for one in rule.get("resources") or () if not set("*/") & set(one)):
                for resource in _named(known, group, version, name):
                    found.add(GroupKind(resource.group, resource.version, resource.kind))
                    count += 1
                    if count == MOST:
                        return sorted(found)
    return sorted(found)


def _rules(policy: Json) -> Sequence[Json]:
    rules: Sequence[Json] = (policy["spec"].get("matchConstraints") or {}).get("resourceRules") or ()
    return rules


def _versions(rule: Json) -> Iterator[tuple[str, str]]:
    groups, versions = sorted(rule.get("apiGroups") or ()), sorted(rule.get("apiVersions") or ())
    if not any("*" in one for one in (*groups, *versions)):
        yield from ((group, version) for group in groups for version in versions)


def _served(group: str, version: str, served: Iterable[str]) -> Iterator[str]:
    """An empty group stands for any group that has this version."""
    for one in served:
        its_group, _, its_version = one.rpartition("/")
        if its_version == version and group in ("", its_group):
            yield one


def _named(resources: Iterable[Resource], group: str, version: str, name: str) -> Iterator[Resource]:
    """By plural or singular."""
    for one in resources:
        if one.version == version and group in ("", one.group) and name.lower() in (one.plural, one.kind.lower()):
            yield one
