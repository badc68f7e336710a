"""hostAliases of one ip and imagePullSecrets of one name: lists of v1 where it has no keys for them, refused by v2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path
from shunter.migrate.pods.places import CANONICAL_NAME

_LONGEST = 510
"""Bytes of a line of /etc/hosts that musl reads whole: `name_from_hosts` has a buffer of 512, with its line break and end."""

EQUAL = Topic(
    id="INPUT021",
    title="a duplicate entry in hostAliases or imagePullSecrets is removed",
    severity="info",
    change="lossless",
    grade="E",
    explanation=(
        "The API server rejects a TrainingRuntime with two hostAliases of one ip, or two imagePullSecrets of one name; v1 built "
        "with Kubernetes 1.29 or older accepts them. The second entry has no effect."
    ),
    remedy="Remove the second entry from the source.",
    effort=0,
)
JOINED = Topic(
    id="INPUT022",
    title="hostAliases of one ip are merged into one entry",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The API server rejects a TrainingRuntime with two hostAliases of one ip; v1 built with Kubernetes 1.29 or older "
        "accepts them, and the kubelet writes a line of /etc/hosts for each. In v2 one line has the names of both: every name "
        "resolves to the same address as before, but the canonical name of all of them is the first name of that line."
    ),
    remedy="Nothing, unless a program looks up canonical names (getent hosts NAME, getaddrinfo with AI_CANONNAME).",
    effort=0,
    explains=(f"spec.hostAliases.{CANONICAL_NAME}.*",),
)


def apply(draft: Draft) -> None:
    """Writes each ip and each name once, where that is certain to lead to the same addresses."""
    for group in draft.groups:
        spec = group.pod["spec"]
        aliases = spec.get("hostAliases") or []
        if _has_two(aliases, "ip") and not aliases_kept_apart(aliases):
            _join_aliases(draft, group, aliases)
        secrets = spec.get("imagePullSecrets") or []
        if _has_two(secrets, "name") and not secrets_kept_apart(secrets):
            _leave_out_secrets(draft, group, secrets)


class Obstacle(NamedTuple):
    """Why entries of one key cannot be one."""

    reason: str
    remedy: str = "Replace the two entries by one."


def aliases_kept_apart(aliases: Sequence[Json]) -> Obstacle | None:
    """Why the entries of one ip cannot be one; None when they can."""
    if not _leads_alike(aliases):
        return Obstacle("between two of one ip stands another ip with a name of the second")
    if not _say_alike(aliases, "ip", "hostnames"):
        return Obstacle("two of one ip differ in other fields")
    entries = Counter(alias["ip"] for alias in aliases)
    lines = ["\t".join((ip, *names)) for ip, names in _names_by_ip(aliases).items() if entries[ip] > 1]
    if any(len(line.encode()) > _LONGEST for line in lines):
        return Obstacle(
            f"one line of /etc/hosts with all names would be longer than {_LONGEST} bytes, and musl (Alpine) reads no further",
            f"Remove names that no program uses, until the address and all its names are {_LONGEST} bytes or fewer; then the "
            "entries are joined. Where the image has glibc (Debian, Ubuntu, Red Hat), which reads lines of any length, write one "
            "entry with all names.",
        )
    return None


def secrets_kept_apart(secrets: Sequence[Json]) -> Obstacle | None:
    """Why the entries of one name cannot be one; None when they can."""
    return None if _say_alike(secrets, "name") else Obstacle("two of one name differ in other fields")


def _leads_alike(aliases: Sequence[Json]) -> bool:
    """Whether every name leads to the same address when the entries of one ip stand where the first of them does: no entry of
    another ip in between has a name of a later one."""
    first = _first_of(aliases, "ip")
    for number, alias in enumerate(aliases):
        between = aliases[first[alias["ip"]] : number]
        taken = {name for other in between if other["ip"] != alias["ip"] for name in _names(other)}
        if taken.intersection(_names(alias)):
            return False
    return True


def _say_alike(entries: Sequence[Json], *but: str) -> bool:
    """Whether all entries of one key, the first of `but`, have the same other fields."""
    first = _first_of(entries, but[0])
    others = [{field: value for field, value in entry.items() if field not in but} for entry in entries]
    return all(other == others[first[entry.get(but[0]) or ""]] for entry, other in zip(entries, others, strict=True))


def _join_aliases(draft: Draft, group: Group, given: Sequence[Json]) -> None:
    names = _names_by_ip(given)
    first, places = _first_of(given, "ip"), {ip: place for place, ip in enumerate(names)}
    group.pod["spec"]["hostAliases"] = [
        {**given[first[ip]], "hostnames": [*known]} if known else given[first[ip]] for ip, known in names.items()
    ]
    for template in draft.template_paths(group):
        for number, alias in enumerate(given):
            ip = alias["ip"]
            path: Path = (*template, "spec", "hostAliases", number)
            target: Path = (*draft.pod_template_path(group), "spec", "hostAliases", places[ip])
            draft.carry(path, "TrainingRuntime", target)
            for index, name in enumerate(_names(alias)):
                draft.carry((*path, "hostnames", index), "TrainingRuntime", (*target, "hostnames", names[ip][name]))
            if number != first[ip]:
                added = [name for name in _names(alias) if name not in _names(given[first[ip]])]
                topic, more = (JOINED, f", and leads from {', '.join(added)} as well") if added else (EQUAL, "")
                draft.report(topic, path, f"{ip} is one entry in v2{more}.")


def _leave_out_secrets(draft: Draft, group: Group, given: Sequence[Json]) -> None:
    first = _first_of(given, "name")
    kept = [number for number, secret in enumerate(given) if first[secret.get("name") or ""] == number]
    group.pod["spec"]["imagePullSecrets"] = [given[number] for number in kept]
    for template in draft.template_paths(group):
        for number, secret in enumerate(given):
            path: Path = (*template, "spec", "imagePullSecrets", number)
            if number in kept:
                target = (*draft.pod_template_path(group), "spec", "imagePullSecrets", kept.index(number))
                draft.carry(path, "TrainingRuntime", target)
            else:
                title = secret.get("name") or f"imagePullSecrets[{number}], which has no name,"
                draft.report(EQUAL, path, f"{title} is one entry in v2.", dropped=True)


def _names_by_ip(aliases: Sequence[Json]) -> Mapping[str, Mapping[str, int]]:
    """The names of each ip, once each, with the place of each among them."""
    names: dict[str, dict[str, int]] = {}
    for alias in aliases:
        known = names.setdefault(alias["ip"], {})
        for name in _names(alias):
            known.setdefault(name, len(known))
    return names


def _has_two(entries: Sequence[Json], key: str) -> bool:
    return len(_first_of(entries, key)) < len(entries)


def _first_of(entries: Sequence[Json], key: str) -> Mapping[str, int]:
    """Where each value of the key stands first."""
    found: dict[str, int] = {}
    for number, entry in enumerate(entries):
        found.setdefault(entry.get(key) or "", number)
    return found


def _names(alias: Json) -> list[str]:
    return alias.get("hostnames") or []
