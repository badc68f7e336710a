"""The requests of pods and the capacity of this machine. Pure but for `machine_capacity`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import msgspec

from shunter.api.formats import quantity
from shunter.api.meta import Json
from shunter.api.scheduling import pod_requests
from shunter.api.scheduling.pod_requests import GPU, may_overcommit
from shunter.cluster.node.runtime.cgroups import Limits
from shunter.errors import InputError

PODS_CAPACITY = 1000
_SHOWN_CORES = 10**15
_NATIVE = ("cpu", "memory", "ephemeral-storage", "pods")
Capacity = Mapping[str, Fraction]


def machine_capacity(dev: Path = Path("/dev")) -> dict[str, Fraction]:
    """Cores, bytes and NVIDIA GPUs of this machine, and how many pods one node takes."""
    gpus = sum(1 for name in os.listdir(dev) if re.fullmatch(r"nvidia\d+", name))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    capacity = {
        "cpu": Fraction(os.cpu_count() or 1),
        "memory": Fraction(memory),
        "ephemeral-storage": Fraction(os.statvfs("/").f_blocks * os.statvfs("/").f_frsize),
        "pods": Fraction(PODS_CAPACITY),
    }
    return capacity | ({GPU: Fraction(gpus)} if gpus else {})


def with_room_for(pods: int, amounts: Capacity) -> dict[str, Fraction]:
    """The amounts, with no more pods than these."""
    return {**amounts, "pods": min(amounts.get("pods", Fraction(0)), Fraction(pods))}


def amounts_of(container: Json) -> dict[str, str | int | float]:
    """What one container asks for. Limits count where no request is set; of devices and huge pages, of which no container gets
    more than was set aside, the limits count, which requests may only repeat."""
    resources = container.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    return {**limits, **requests, **{name: amount for name, amount in limits.items() if not may_overcommit(name)}}


def requested(spec: Json) -> dict[str, Fraction]:
    """What a pod requests at one time (`api/scheduling/pod_requests`), by the amounts of its containers."""
    fields = {
        name: [{**container, "resources": {"requests": amounts_of(container)}} for container in spec.get(name) or ()]
        for name in ("containers", "initContainers")
    }
    return pod_requests.requested(msgspec.convert({**spec, **fields}, pod_requests.PodRequests))


def shortfalls(spec: Json, capacity: Capacity) -> list[str]:
    """One sentence for each resource that the pod asks for and this machine cannot give."""
    found = []
    for name, wanted in sorted(requested(spec).items()):
        present = capacity.get(name, Fraction(0))
        if wanted <= present:
            continue
        if name == "memory":
            found.append(f"asked for {binary_bytes(int(wanted))} memory, this machine has {binary_bytes(int(present))}")
        elif name == "cpu":
            found.append(f"asked for {_cores(wanted)} cpu, this machine has {_cores(present)}")
        elif present:
            found.append(f"asked for {int(wanted)} {name}, this machine has {int(present)}")
        else:
            runs = ": runs on CPU" if "gpu" in name else ""
            found.append(f"asked for {int(wanted)} {name}, this machine has none{runs}")
    return found


def _cores(amount: Fraction) -> str:
    # A quantity may be larger than any float.
    return f"{float(amount):g}" if amount < _SHOWN_CORES else f"{_SHOWN_CORES:g} or more"


def limits(container: Json) -> Limits:
    """The cgroup limits of a container; 0 is none."""
    declared_limits = (container.get("resources") or {}).get("limits") or {}
    return Limits(
        memory=int(quantity.parse(declared_limits.get("memory", 0))) or None,
        cpu=quantity.parse(declared_limits.get("cpu", 0)) or None,
    )


def written(capacity: Capacity) -> dict[str, str]:
    """A capacity as a Node's status holds it: memory in Ki, parts of a core in thousandths, everything else whole."""
    return {name: _written(name, value) for name, value in capacity.items()}


def _written(name: str, value: Fraction) -> str:
    if name in ("memory", "ephemeral-storage"):
        return f"{int(value) // 1024}Ki"
    if name == "cpu" and value.denominator != 1:
        return f"{int(value * 1000)}m"
    return str(int(value))


def claimed(text: str) -> dict[str, Fraction]:
    """What `--allocatable cpu=64,memory=256Gi,nvidia.com/gpu=8` says. Raises InputError naming the part that is wrong."""
    claims: dict[str, Fraction] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, amount = part.partition("=")
        if name not in _NATIVE and not re.fullmatch(r"[a-z0-9.-]+/[A-Za-z0-9_.-]+", name):
            raise InputError(f"--allocatable: {name!r} is not a resource.", "Write cpu, memory, pods or nvidia.com/gpu.")
        try:
            claims[name] = quantity.parse(amount)
        except ValueError as error:
            raise InputError(
                f"--allocatable {name}{equals}{amount}: {amount!r} is not a resource quantity.",
                "Write it like cpu=64 or memory=256Gi.",
            ) from error
    return claims


def binary_bytes(count: int) -> str:
    """A size for people: the largest binary unit that keeps a whole number of at least 1, rounded down (`23Gi`)."""
    for power, suffix in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
        if count >= 1024**power:
            return f"{count // 1024**power}{suffix}"
    return str(count)
