"""Profiles of fast networks, one YAML file each: variables, devices, volumes and sidecars that jobs need, and the machines that
have the network. `launch.fabric` chooses the numbers, `launch.fabric_objects` adds them to objects. What users set
themselves is checked too.

settings.py    which network settings are wrong, useless or slow, and why
nccl_log.py    the network that NCCL uses, by its log

Every profile sets NCCL_NET, so that NCCL stops if the network is missing: by default it continues over TCP, which is many times
slower and easily goes unnoticed.

Tests: tests/fabrics; the profiles in tests/launch/test_fabric.py and tests/e2e/test_fabrics.py.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import msgspec

from shunter.api.meta import Json
from shunter.api.yaml import load_yaml

NETWORK_VARIABLE = "NCCL_NET"
INSTANCE_LABEL = "node.kubernetes.io/instance-type"
NONE = "none"
"""The name for no profile."""


class Variable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable of the training's container, and the reason for it."""

    name: str
    value: str
    why: str


class Device(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A resource of nodes with this network. A pod gets all of a node's devices, or `each_pod` if pods share them."""

    name: str
    each_pod: int = 0


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine type, as in the label node.kubernetes.io/instance-type. `devices` is its number of the profile's first device;
    `checked`: verified on a real machine."""

    type: str
    gpus: int
    accelerator: str
    memory: str
    checked: bool
    devices: int = 0
    environment: tuple[Variable, ...] = ()


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One network. `network` is NCCL's name for it; volumes, mounts, annotations and sidecars are as in a pod. `excluded` has the
    reasons why machines that have the network cannot use the profile, by the beginning of their type."""

    name: str
    title: str
    network: str
    environment: tuple[Variable, ...]
    instances: tuple[Machine, ...]
    devices: tuple[Device, ...] = ()
    volumes: tuple[Json, ...] = ()
    mounts: tuple[Json, ...] = ()
    annotations: dict[str, str] = {}
    capabilities: tuple[str, ...] = ()
    sidecars: tuple[Json, ...] = ()
    excluded: dict[str, str] = {}

    def machine(self, type: str) -> Machine | None:
        """The machine of this type; None if the profile has none."""
        return next((machine for machine in self.instances if machine.type == type), None)

    def exclusion(self, type: str) -> str:
        """Why machines of this type cannot use the profile; empty if they can."""
        return next((why for beginning, why in self.excluded.items() if type.startswith(beginning)), "")


@cache
def profiles() -> dict[str, Profile]:
    """Every profile by its name."""
    files = sorted(file.name for file in resources.files(__name__).iterdir() if file.name.endswith(".yaml"))
    return {profile.name: profile for profile in map(_profile, files)}


def _profile(file: str) -> Profile:
    content = load_yaml(resources.files(__name__).joinpath(file).read_text())
    return msgspec.convert({"name": file.removesuffix(".yaml"), **content}, Profile)
