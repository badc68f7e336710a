"""Verdicts on common network settings that are wrong, useless or slow: the reason and the remedy. One table for `shunter run` and
`shunter migrate scan`. Pure.

Sources: the names in libnccl 2.30.7 and torch 2.15, NCCL's manual, AWS's notes on EFA, the code of aws-ofi-nccl.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, Literal, NamedTuple

from shunter.api.meta import Json
from shunter.fabrics import INSTANCE_LABEL, profiles

EFA_RESOURCE = "vpc.amazonaws.com/efa"
DEBUG_LEVELS = ("info", "trace")
START_ONLY = ("NCCL_DEBUG_SUBSYS", "INIT")
"""With NCCL_DEBUG=INFO, ranks print only a few lines when they form a group, one of which names the network."""


class Rule(NamedTuple):
    """A rule about one or more variables: for which values it applies, its severity, title, reason and remedy."""

    names: tuple[str, ...]
    applies: Callable[[str], bool]
    severity: Literal["info", "warning", "error"]
    title: str
    reason: str
    remedy: str


class Verdict(NamedTuple):
    """A rule that applies to a setting, such as `NCCL_NET=efa`."""

    setting: str
    rule: Rule

    def __str__(self) -> str:
        return f"{self.setting}: {self.rule.reason} {self.rule.remedy}"


def _always(_: str) -> bool:
    return True


WRONG_NETWORK = Rule(
    ("NCCL_NET",),
    lambda value: value.lower() == "efa",
    "error",
    "a network that NCCL does not have",
    "NCCL has no network named efa and stops: the EFA plugin is named Libfabric, up to 1.11 AWS Libfabric.",
    'Write NCCL_NET="AWS Libfabric", which every version of the plugin answers to, or use shunter run --fabric efa.',
)
NO_TIMEOUT = Rule(
    ("NCCL_TIMEOUT",),
    _always,
    "warning",
    "a timeout without effect",
    "Neither NCCL (2.30.7) nor torch (2.15) reads it: collectives time out as before, after 10 minutes.",
    "Give it to the program: init_process_group(timeout=timedelta(seconds=1800)).",
)
OLD_PROVIDER = Rule(
    ("FI_PROVIDER",),
    lambda value: value.lower() == "efa",
    "warning",
    "a provider that the plugin chooses itself",
    "Only aws-ofi-nccl up to 1.5 needs it; later versions choose the provider.",
    "Remove it, and set NCCL_NET, which makes NCCL stop if EFA is missing.",
)
SIMPLE_PROTOCOL = Rule(
    ("NCCL_PROTO",),
    lambda value: value.lower() == "simple",
    "warning",
    "only one of NCCL's protocols",
    "Only aws-ofi-nccl up to 1.5 needs it; with later versions it takes the protocols for small messages away.",
    "Leave it out: the plugin sets what the machine needs.",
)
DEVICE_RDMA = Rule(
    ("FI_EFA_USE_DEVICE_RDMA",),
    _always,
    "info",
    "a default value",
    "Not needed since libfabric 1.18 with aws-ofi-nccl 1.7, which use RDMA if the machine has it.",
    "Leave it out.",
)
ONE_INTERFACE = Rule(
    ("NCCL_SOCKET_IFNAME",),
    lambda value: not value.startswith("^"),
    "warning",
    "interfaces selected by a name prefix",
    "It is a prefix: only interfaces that start with it are used; if a pod has none, as often on the host network, NCCL fails.",
    "Exclude the wrong ones instead: NCCL_SOCKET_IFNAME=^lo,docker. A profile of the network's maker that names one may stay.",
)
DEBUG_OUTPUT = Rule(
    ("NCCL_DEBUG",),
    lambda value: value.lower() in DEBUG_LEVELS,
    "info",
    "NCCL's debug output",
    "Every rank prints many lines at every start: for a day, not for good.",
    "Use WARN once the network works. INFO with NCCL_DEBUG_SUBSYS=INIT logs only the start, including `Using network`.",
)
FORK_SAFE = Rule(
    ("RDMAV_FORK_SAFE", "RDMAV_HUGEPAGES_SAFE"),
    _always,
    "warning",
    "a setting of rdma-core that breaks on new kernels",
    "AWS advises against all RDMAV variables: on newer kernels they break things, and forking is safe without since 5.15.",
    "Remove it. If the workers of a DataLoader fail to fork with EFA, set FI_EFA_USE_HUGE_PAGE=0.",
)
TUNING = Rule(
    ("NCCL_MIN_NCHANNELS", "NCCL_MIN_CHANNELS", "NCCL_BUFFSIZE"),
    _always,
    "warning",
    "NCCL tuning that is rarely correct",
    "More channels or other buffers than NCCL chooses make messages smaller and starve the network; the best value differs with "
    "each machine and version.",
    "Leave it out unless it was measured here. A profile of the network's maker that names it, as GKE's for TCPXO, may stay.",
)
RULES = (
    WRONG_NETWORK,
    NO_TIMEOUT,
    OLD_PROVIDER,
    SIMPLE_PROTOCOL,
    DEVICE_RDMA,
    ONE_INTERFACE,
    DEBUG_OUTPUT,
    FORK_SAFE,
    TUNING,
)
EFA_COUNT = Rule(
    (EFA_RESOURCE,),
    _always,
    "warning",
    "a number of EFA interfaces that the machine does not have",
    "A pod gets exactly this number of interfaces: the remaining bandwidth is unused, or no machine has enough interfaces.",
    "Request all that the node's allocatable shows; shunter run --fabric efa does.",
)
BY_NAME = {name: rule for rule in RULES for name in rule.names}


def variable_verdict(name: str, value: str) -> Verdict | None:
    """The verdict on a variable, if there is one."""
    rule = BY_NAME.get(name)
    return Verdict(f"{name}={value}", rule) if rule is not None and rule.applies(value) else None


def is_resolved(verdict: Verdict, beside: Collection[tuple[str, str]]) -> bool:
    """Whether another variable of the container makes the verdict unnecessary."""
    return verdict.setting.lower() == "nccl_debug=info" and START_ONLY in beside


def efa_verdict(count: int, machines: Collection[str]) -> Verdict | None:
    """The verdict on a request for this number of EFA interfaces on machines of these types, which may be unknown. A machine
    whose primary interface is plain ENA has one less than in the table."""
    has = {machine.type: machine.devices for machine in profiles()["efa"].instances if machine.devices}
    meant = {type: has[type] for type in machines if type in has}
    if meant:
        if any(count in (number, number - 1) for number in meant.values()):
            return None
        shown = ", ".join(f"{type} has {number}" for type, number in meant.items())
        return Verdict(f"{EFA_RESOURCE}: {count}", EFA_COUNT._replace(reason=f"{shown}. {EFA_COUNT.reason}"))
    most = max(has, key=lambda type: has[type])
    if count >= has[most] - 1:
        return None
    alike = [type for type, number in has.items() if number == count]
    whose = f"{', '.join(alike)} {'has' if len(alike) == 1 else 'have'} so many" if alike else "no known machine has so many"
    reason = f"It does not say on which machine: {whose}, {most} has {has[most]}. {EFA_COUNT.reason}"
    return Verdict(f"{EFA_RESOURCE}: {count}", EFA_COUNT._replace(reason=reason))


def verdicts_of(obj: Json) -> list[Verdict]:
    """The verdicts on an object: on variables and requests of its containers, for any kind, and on the data of a ConfigMap, which
    may become variables. Each setting once."""
    found = [verdict for variables in _environments(obj) for verdict in _verdicts(variables)]
    if obj.get("kind") == "ConfigMap":
        found += _verdicts([(name, str(value)) for name, value in (obj.get("data") or {}).items()])
    machines = list(_machines(obj))
    found += [efa_verdict(count, machines) for count in _efa_counts(obj)]
    return list({verdict.setting: verdict for verdict in found if verdict is not None}.values())


def _verdicts(variables: Collection[tuple[str, str]]) -> list[Verdict | None]:
    found = (variable_verdict(name, value) for name, value in variables)
    return [verdict for verdict in found if verdict is not None and not is_resolved(verdict, variables)]


def _inner(value: Any) -> Iterator[Json]:
    """Every object within a value, itself included."""
    waiting = [value]
    while waiting:
        present = waiting.pop()
        if isinstance(present, dict):
            yield present
            waiting += reversed(present.values())
        elif isinstance(present, list):
            waiting += reversed(present)


def _environments(obj: Json) -> Iterator[list[tuple[str, str]]]:
    """The variables of each container in it."""
    for inner in _inner(obj):
        variables = inner.get("env")
        if isinstance(variables, list):
            yield [
                (variable["name"], str(variable.get("value", "")))
                for variable in variables
                if isinstance(variable, dict) and isinstance(variable.get("name"), str) and "valueFrom" not in variable
            ]


def _machines(obj: Json) -> Iterator[str]:
    for inner in _inner(obj):
        if isinstance(type := inner.get(INSTANCE_LABEL), str):
            yield type
        if inner.get("key") == INSTANCE_LABEL and isinstance(inner.get("values"), list):
            yield from map(str, inner["values"])


def _efa_counts(obj: Json) -> Iterator[int]:
    for inner in _inner(obj):
        count = str(inner.get(EFA_RESOURCE, ""))
        if count.isdecimal():
            yield int(count)
