"""What jobs need to train over a cluster's fast network, one profile a YAML file: variables, devices, volumes, sidecars, and the
machines that have it. Data: `launch.fabric` chooses the numbers, `launch.fabric_objects` puts them into objects. `settings` is
about what people set by themselves.

Every profile sets NCCL_NET, so that NCCL stops where the network is missing: by itself it goes on over TCP, many times slower,
and nobody notices.
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
"""No profile: what is there without one."""


class Variable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable of the training's container, and the reason for it."""

    name: str
    value: str
    why: str


class Device(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A resource that nodes with this network offer. A pod gets all of a node's, or `each_pod` of those that pods share."""

    name: str
    each_pod: int = 0


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine by the value of the label node.kubernetes.io/instance-type. `devices` is how many of the profile's first device
    it has; `checked` whether anybody has seen that."""

    type: str
    gpus: int
    accelerator: str
    memory: str
    checked: bool
    devices: int = 0
    environment: tuple[Variable, ...] = ()


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One network. `network` is what NCCL calls it; volumes, mounts, annotations and sidecars are written as in a pod. `excluded`
    says by the beginning of a machine's type why it is not for this profile although it has the network."""

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
        """The row of this type of machine; None where the profile has none."""
        return next((machine for machine in self.instances if machine.type == type), None)

    def exclusion(self, type: str) -> str:
        """Why machines of this type are not for this profile; empty when they may be."""
        return next((why for beginning, why in self.excluded.items() if type.startswith(beginning)), "")


@cache
def profiles() -> dict[str, Profile]:
    """Every profile by its name."""
    files = sorted(file.name for file in resources.files(__name__).iterdir() if file.name.endswith(".yaml"))
    return {profile.name: profile for profile in map(_profile, files)}


def _profile(file: str) -> Profile:
    content = load_yaml(resources.files(__name__).joinpath(file).read_text())
    return msgspec.convert({"name": file.removesuffix(".yaml"), **content}, Profile)
