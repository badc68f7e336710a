"""Names of other pods of the job, written out in commands, arguments, variables and scripts.

v1 had a Service for each pod, JOB-worker-0; in v2 a pod is JOB-node-0-1.JOB. What the names are now is up to the kind
(`Draft.hosts`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.api.resources import JOBSETS
from shunter.jobs.commands.launcher_options import program_name
from shunter.migrate.conversion.commands.mounted_files import object_texts, sources
from shunter.migrate.conversion.draft import JOB_NAME, Draft, Group
from shunter.migrate.conversion.rules.programs.texts import all_programs, quoted
from shunter.migrate.conversion.rules.programs.texts import place as programs_place
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path

_BEFORE, _AFTER = r"(?<![A-Za-z0-9._-])(?<!^/)(?<![^/]/)", r"(?![A-Za-z0-9_-])"
"""A host is a word of its own, and no part of a path."""
_DOMAIN = r"(?=\.(?P<domain>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)|)"
"""What stands behind a host's name, as far as it may be a part of it."""
_ASKING = frozenset({"kubectl", "oc"})
_KUBECTL = late_pattern(r"\b(?:kubectl|oc)\s")
_COMMAND_END = late_pattern(r"[\n|;&]|\Z")
_INDEX = late_pattern(r"-[0-9]+(?=$|\.)")
_TEXTS = frozenset({"command", "args", "value", "host", "hostnames", "searches"})
_EXPANDED = frozenset({"command", "args", "env"})
"""Fields of a container in which Kubernetes replaces $(NAME)."""

RENAMED = Topic(
    id="HOST003",
    title="a host name of v1 is replaced by the one of v2",
    severity="warning",
    change="lossless",
    grade="Q",
    explanation=(
        "In v1 each pod has a Service of the same name, JOB-worker-0. In v2 a pod is reached as JOB-node-0-1.JOB, through the "
        "headless service of the JobSet, as soon as the pod exists. The name contains the job's name: if you rename the job, "
        "change it too."
    ),
    remedy="No action needed here; change programs that build such names themselves.",
    effort=0,
)
BUILT = Topic(
    id="HOST004",
    title="a script builds v1 host names",
    severity="warning",
    other_impact="blocking",
    change="manual",
    grade="D",
    explanation=(
        "The text contains the start of a v1 host name (JOB-worker-), and the rest is added when the program runs. Such a name "
        "does not resolve in v2, where a pod is reached as JOB-node-0-1.JOB."
    ),
    remedy="Build v2 names instead, or use MASTER_ADDR and RANK; then suppress with --accept HOST004.",
    effort=3,
    acceptable=True,
    limits_proof=True,
)
IN_A_SCRIPT = Topic(
    id="HOST005",
    title="a ConfigMap or Secret of the pods contains host names of v1",
    severity="warning",
    change="manual",
    grade="D",
    explanation="ConfigMaps and Secrets are not converted; the v1 host names in them do not resolve in v2.",
    remedy="Replace the names there by the names in the message.",
    limits_proof=True,
)
SERVICE_IN_THE_WAY = Topic(
    id="HOST007",
    title="a Service has the name of the job",
    severity="error",
    change="manual",
    grade="L",
    explanation=(
        "JobSet creates a headless Service with the job's name, or uses an existing one whatever its selector is: the host "
        "names of the pods then do not resolve, and the nodes cannot find each other."
    ),
    remedy="Rename or delete the Service, or convert with --suffix.",
)
OWN_PORTS = Topic(
    id="HOST008",
    title="ports of the training container no longer belong to a Service",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v1 each pod has a Service with the ports of its training container, for port forwarding or for clients outside the "
        "job. The headless service of a JobSet has no ports: pods are reached by their names on any port."
    ),
    remedy="For clients outside the job create a Service that selects batch.kubernetes.io/job-completion-index.",
)

ASKED_OF_DNS = Topic(
    id="HOST018",
    title="a program looks up a pod port in DNS",
    severity="warning",
    other_impact="blocking",
    change="manual",
    grade="D",
    explanation=(
        "An SRV record (_PORT._tcp.JOB-worker-0) exists for each named port of a Service. v1 made a Service with the ports of "
        "the training container for each pod; the headless service of a JobSet has no ports, so DNS has no such record in v2."
    ),
    remedy="Set the host and the port in the program, or create a Service with the port; then suppress with --accept HOST018.",
    acceptable=True,
    limits_proof=True,
)
_SRV = late_pattern(r"_[A-Za-z0-9-]+\._(?:tcp|udp|sctp)\.(?P<host>[A-Za-z0-9-]+)")


def apply(draft: Draft) -> None:
    """Puts v2's names in the place of v1's wherever a whole name is written; reports names that programs put together."""
    _look_for_service(draft)
    for group in draft.groups:
        _look_at_ports(draft, group)
    _look_for_srv(draft)
    if not _may_name_hosts(draft):
        return
    known, prefixes = _known_names(draft), _name_prefixes(draft)
    for group in draft.groups:
        for path, words, key in _texts(group.pod["spec"]):
            if isinstance(words, list) and program_name(words[0]) in _ASKING:
                continue  # names of pods, not of hosts: `cluster_requests` tells of them
            place = (*draft.template_paths(group)[0], *path)
            if found := _names_in(draft, known, words[key]):
                new = {name: _counterpart(draft, group, path, name) for name in found}
                words[key] = known.sub(_replacement(draft, new), words[key])
                draft.changed(group, path, "hosts have the names of v2")
                draft.report(RENAMED, place, "; ".join(f"{old} is {name} now" for old, name in new.items()) + ".")
            if built := prefixes.search(words[key]):
                draft.report(BUILT, place, f"A host name that begins with {built[0]} is built here.")
        _look_at_mounted_texts(draft, group, known)


def _may_name_hosts(draft: Draft) -> bool:
    """Whether a text holds the beginning of a host name: most jobs name none, and patterns of names take long to compile."""
    stems = {name.rpartition("-")[0] for name in draft.hosts}
    for group in draft.groups:
        texts = [words[key] for _, words, key in _texts(group.pod["spec"])]
        texts += [text for _, _, inner in _mounted_texts(draft, group) for text in inner]
        if any(stem in text for text in texts for stem in stems):
            return True
    return False


def is_own_domain(draft: Draft, domain: str) -> bool:
    """Whether a name of a pod, with that behind it, is still the pod of the job's namespace: NAMESPACE, NAMESPACE.svc or
    NAMESPACE.svc.DOMAIN. A manifest that names no namespace may be for any."""
    namespace, _, service = domain.partition(".")
    is_full = not service or service == "svc" or service.startswith("svc.")
    return not domain or (is_full and draft.source.namespace in ("", namespace))


def _replacement(draft: Draft, new: dict[str, str]) -> Callable[[re.Match[str]], str]:
    return lambda match: new[match[0]] if _is_own(draft, match) else match[0]


def _known_names(draft: Draft) -> re.Pattern[str]:
    """What looks like the name of a pod of the job, by any index: a job may have a hundred thousand of them."""
    shapes = (f"{re.escape(stem)}(?:-[0-9]+)?{re.escape(rest)}" for stem, rest in _shapes(draft))
    return re.compile(f"{_BEFORE}(?:{'|'.join(shapes)}){_AFTER}{_DOMAIN}")


def _names_in(draft: Draft, known: re.Pattern[str], text: str) -> list[str]:
    """The names in the text of pods that the job has."""
    return [*dict.fromkeys(match[0] for match in known.finditer(text) if _is_own(draft, match))]


def _is_own(draft: Draft, match: re.Match[str]) -> bool:
    """Whether it is a host of the job, and not the name of a pod among kubectl's arguments."""
    is_host = match[0] in draft.hosts and not _is_asked_for(match.string, match.start())
    return is_host and is_own_domain(draft, match["domain"] or "")


def _is_asked_for(text: str, place: int) -> bool:
    """Whether the place is among the words that a kubectl is given."""
    given = _words_of_kubectl(text)
    number = bisect_right(given, place, key=lambda words: words[0])
    return number > 0 and place <= given[number - 1][1]


@lru_cache(maxsize=64)
def _words_of_kubectl(text: str) -> Sequence[tuple[int, int]]:
    """Where the words begin and end that each kubectl is given."""
    found: list[tuple[int, int]] = []
    for match in _KUBECTL.finditer(text):
        if (not found or found[-1][1] < match.end()) and (end := _COMMAND_END.search(text, match.end())):
            found.append((match.end(), end.start()))
    return found


def _name_prefixes(draft: Draft) -> re.Pattern[str]:
    """Matches a host name that ends before its index."""
    stems = (re.escape(stem) for stem, _ in _shapes(draft))
    return re.compile(f"{_BEFORE}(?:{'|'.join(stems)})-(?![A-Za-z0-9])")


def _shapes(draft: Draft) -> list[tuple[str, str]]:
    """What stands before and behind the index in the names of hosts."""
    parts = {_INDEX.sub("\0", host, count=1).partition("\0") for host in draft.hosts}
    return sorted({(stem, rest) for stem, _, rest in parts}, key=lambda shape: -len(shape[0]))


def _counterpart(draft: Draft, group: Group, path: Path, name: str) -> str:
    """By the variable that holds the job's name, where the container has it and Kubernetes puts it in (not in probes and hooks):
    the text then survives a renaming."""
    to_group, index = draft.hosts[name]
    is_training = path[:3] == ("spec", "containers", draft.container_index(group.roles[0]))
    if is_training and path[3] in _EXPANDED and any(variable["name"] == JOB_NAME for variable in group.environment):
        return to_group.host_expression(index)
    return draft.host(to_group, index)


def _texts(spec: Json) -> Iterator[tuple[Path, Any, Any]]:
    """Every text that may name a host: its place, and where it can be changed."""
    for field in ("initContainers", "containers"):
        yield from _texts_in(spec.get(field) or [], ("spec", field))
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from _texts_in(alias, ("spec", "hostAliases", index))
    yield from _texts_in(spec.get("dnsConfig") or {}, ("spec", "dnsConfig"))


def _texts_in(value: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in entries:
        if isinstance(inner, (dict, list)):
            yield from _texts_in(inner, (*path, key))
        elif isinstance(inner, str) and (key in _TEXTS or (isinstance(key, int) and path[-1] in _TEXTS)):
            yield (*path, key), value, key


def _look_at_ports(draft: Draft, group: Group) -> None:
    index = draft.container_index(group.roles[0])
    container: Path = ("spec", "containers", index)
    template = draft.template_paths(group)[0]
    training = draft.training_container(group)
    port = draft.job_kind.port
    own = [own for own in training.get("ports") or [] if port is None or own.get("name") != port.name]
    if own and group.trains:
        shown = ", ".join(dict.fromkeys(str(one.get("containerPort")) for one in own))
        draft.report(OWN_PORTS, (*template, *container, "ports"), f"No Service offers the ports {shown}.")


def _look_for_srv(draft: Draft) -> None:
    """Says which texts ask DNS for a port of a pod of the job, each once."""
    for programs in all_programs(draft):
        for text, spot in programs.texts:
            if "._" not in text:
                continue
            match = next((found for found in _SRV.finditer(text) if found["host"] in draft.hosts), None)
            if match is not None:
                path, offset = programs_place(programs, spot, spot.offset(match.start()))
                host = draft.host(*draft.hosts[match["host"]])
                asked = quoted(text, match.start(), spot)
                says = f"{asked} asks for {match[0]}; in v2 the host is {host}, and no record has its port."
                draft.report(ASKED_OF_DNS, path, says, offset=offset)


def _look_at_mounted_texts(draft: Draft, group: Group, known: re.Pattern[str]) -> None:
    template = draft.template_paths(group)[0]
    for index, title, texts in _mounted_texts(draft, group):
        found = list(dict.fromkeys(host for text in texts for host in _names_in(draft, known, text)))
        if found:
            new = ", ".join(f"{host} is {draft.host(*draft.hosts[host])} now" for host in found)
            draft.report(IN_A_SCRIPT, (*template, "spec", "volumes", index), f"{title} names hosts: {new}.")


def _mounted_texts(draft: Draft, group: Group) -> Iterator[tuple[int, str, list[str]]]:
    """The ConfigMaps and Secrets among the volumes that are in the input: which volume, the title, the texts."""
    for index, volume in enumerate(group.pod["spec"].get("volumes") or []):
        for title, _ in sources(volume):
            if found := draft.texts_of(title):
                yield index, title, [text for _, _, text in object_texts(found)]


def _look_for_service(draft: Draft) -> None:
    service = draft.context.find("Service", draft.source.namespace, draft.name) if draft.name else None
    if service and not any(owner.get("kind") == JOBSETS.kind for owner in service["metadata"]["ownerReferences"]):
        draft.report(SERVICE_IN_THE_WAY, ("metadata", "name"), f"A Service {draft.name} exists.")
