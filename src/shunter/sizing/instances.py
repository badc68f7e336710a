"""Machines with GPUs: those of instances.yaml, and how users select them."""

from __future__ import annotations

import dataclasses
from functools import cache
from importlib import resources
from typing import Any

import msgspec
import yaml

from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError

MIB = 2**20


class Gpu(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of GPU. Without `mfu`, its speed in training is unknown."""

    name: str
    memory_mib: int
    bf16: bool = True
    tflops: float = 0
    mfu: tuple[float, float] | None = None
    mfu_long: tuple[float, float] | None = None
    mfu_gbps: float = 0


@dataclasses.dataclass(frozen=True)
class Instance:
    """A machine type. `cpu` (cores) and `memory_mib` are what pods may request, 0 if unknown."""

    name: str
    provider: str
    gpu: Gpu
    gpus: int
    cpu: float = 0
    memory_mib: int = 0
    efa: int = 0
    nvme_gb: int = 0
    gbps: float = 0
    available: int = 0
    """The number of such machines; 0: unlimited."""
    note: str = ""
    """Why no verdict is possible on it."""
    is_type: bool = True
    """Whether `name` is the value of the label node.kubernetes.io/instance-type."""


@cache
def known_gpus() -> dict[str, Gpu]:
    """The GPUs of gpus.yaml by name."""
    return {gpu.name: gpu for gpu in msgspec.convert(_read("gpus.yaml")["gpus"], list[Gpu])}


@cache
def known_instances() -> dict[str, Instance]:
    """The machines of instances.yaml by name."""
    gpus = known_gpus()
    return {row["name"]: Instance(**{**row, "gpu": gpus[row["gpu"]]}) for row in _read("instances.yaml")["instances"]}


def chosen_instances(text: str) -> list[Instance]:
    """The machines of a text such as `aws`, `aws:p5.48xlarge,g5.48xlarge` or `p5.48xlarge`; all of AWS for an empty text.
    InputError for an unknown name, and for a machine of another cloud."""
    chosen: list[Instance] = []
    providers = {instance.provider for instance in known_instances().values()}
    provider = ""
    for word in text.split(",") if text else ["aws"]:
        # A cloud precedes the first of its machines: aws:p5.48xlarge,g5.48xlarge.
        before, _, name = word.strip().rpartition(":")
        provider = before or provider
        if name in providers and not before:
            chosen += [instance for instance in known_instances().values() if instance.provider == name]
            continue
        found = known_instances().get(name)
        if found is None:
            close = nearest(name, [*known_instances(), *providers])
            remedy = did_you_mean(close, "Use aws, azure, cluster, or machine types: see docs/sizing.md.")
            if name == "cluster":
                remedy = "Give --on cluster alone; in Python pass the instances of nodes.cluster_instances."
            raise InputError(f"--on {word.strip()!r}: not known.", remedy)
        if provider and found.provider != provider:
            raise InputError(f"--on {word.strip()!r}: {name} is a machine of {found.provider}, not of {provider}.")
        chosen.append(found)
    return list(dict.fromkeys(chosen))


def _read(name: str) -> Any:
    return yaml.load(resources.files(__package__).joinpath(name).read_text(), Loader=yaml.CSafeLoader)
