"""The network over which a job trains: a profile, and numbers of devices from the nodes or the profile's table. Pure except
`find_fabric`.

Nothing is guessed: if neither the nodes nor the table have the number of devices that a pod needs, the job is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from shunter.api.formats.counts import count
from shunter.api.meta import Json
from shunter.api.resources import NODES
from shunter.api.scheduling.pod_requests import GPU, allocatable
from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError
from shunter.fabrics import INSTANCE_LABEL, NONE, Device, Machine, Profile, Variable, profiles
from shunter.fabrics.settings import is_resolved, variable_verdict
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden


@dataclasses.dataclass(frozen=True)
class Fabric:
    """What a training node of a job needs: the profile, `count` of a device (none if it is empty), and the machine type
    `instance` (any if it is empty)."""

    profile: Profile
    device: str = ""
    count: int = 0
    instance: str = ""
    source: str = ""
    """The source of the number: `allocatable of 4 nodes`, `table, not checked`."""
    gpus: int = 0
    """The number of GPUs of a node; 0 if unknown."""

    @property
    def environment(self) -> tuple[Variable, ...]:
        """Variables for the containers: those of the profile, then those of the machine type."""
        machine = self.profile.machine(self.instance)
        return (*self.profile.environment, *(machine.environment if machine else ()))

    @property
    def title(self) -> str:
        """`efa: 32 vpc.amazonaws.com/efa a node (allocatable of 4 nodes)`."""
        devices = f"{self.count} {self.device} a node ({self.source})" if self.device else f"{self.instance} ({self.source})"
        return f"{self.profile.name}: {devices}"


async def find_fabric(client: Client, name: str, instance: str = "") -> Fabric | None:
    """The fabric of this name, with the numbers of the cluster's nodes; None without a profile."""
    profile = require_profile(name, instance)
    if profile is None:
        return None
    try:
        nodes: Sequence[Json] | None = (await client.list(NODES)).items
    except Forbidden:
        nodes = None
    return fabric_of(profile, nodes, instance)


def require_profile(name: str, instance: str = "") -> Profile | None:
    """The profile of this name; None for an empty name and `none`. InputError for an unknown one, and for an instance without
    one."""
    if name in ("", NONE):
        if instance:
            raise InputError(f"--instance {instance} needs --fabric.", f"Add --fabric, one of {_names()}.")
        return None
    if name not in profiles():
        close = nearest(name, [*profiles(), NONE])
        raise InputError(f"--fabric {name}: unknown profile.", did_you_mean(close, f"There are: {_names()}."))
    return profiles()[name]


def fabric_of(profile: Profile, nodes: Sequence[Json] | None, instance: str = "") -> Fabric:
    """The fabric of a job on machines of this type, or of any type if it is empty. `nodes` is None if they may not be listed.
    InputError if the number of devices or the machine is unknown, or the profile excludes the machine."""
    if why := profile.exclusion(instance):
        raise InputError(
            f"--instance {instance}: {why}.", "Omit --fabric, and set the required resources and variables in a TrainJob."
        )
    seen = [node for node in nodes or () if _type(node) == instance] if instance else _carriers(profile, nodes or ())
    if not profile.devices:
        return _by_machine(profile, seen, nodes, instance)
    if not seen:
        return _by_table(profile, nodes, instance)
    device = next((device for device in profile.devices if any(_offered(node, device) for node in seen)), None)
    if device is None:
        name = seen[0]["metadata"]["name"]
        raise InputError(
            f"--fabric {profile.name}: node {name} is a {instance} and offers no {profile.devices[0].name}.",
            f"Install its device plugin, or wait until that has registered its devices: kubectl describe node {name}",
        )
    having = [node for node in seen if _offered(node, device)]
    counts = {_type(node): min(_offered(each, device) for each in having if _type(each) == _type(node)) for node in having}
    if not device.each_pod and len(set(counts.values())) > 1:
        shown = ", ".join(f"{count} ({type or 'no instance type'})" for type, count in sorted(counts.items()))
        raise InputError(
            f"--fabric {profile.name}: nodes offer different numbers of {device.name}: {shown}.",
            "Name the machine type: --instance TYPE.",
        )
    source = f"allocatable of {count(len(having), 'node')}"
    gpus = int(max(allocatable(node, GPU) for node in having))
    return Fabric(profile, device.name, device.each_pod or min(counts.values()), instance, source, gpus)


def notes(fabric: Fabric | None, environment: Iterable[Json], gpus: int) -> list[str]:
    """Sentences for the user: which of their variables override the profile's, which have no or another effect than expected, and
    which GPUs stay unused."""
    found = []
    ours = {variable.name: variable for variable in fabric.environment} if fabric else {}
    environment = list(environment)
    beside = [(given["name"], given.get("value", "")) for given in environment]
    for given in environment:
        name, value = given["name"], given.get("value")
        if fabric and name in ours and value != ours[name].value:
            found.append(
                f"{name}={'the value of a Secret' if value is None else value} overrides {ours[name].value!r}, which --fabric "
                f"{fabric.profile.name} sets for this reason: {ours[name].why}"
            )
        verdict = variable_verdict(name, value) if name not in ours and value is not None else None
        if verdict is not None and not is_resolved(verdict, beside):
            found.append(str(verdict))
    if fabric and fabric.device and 0 < gpus < fabric.gpus:
        taken = f"{fabric.count} {fabric.device}"
        found.append(
            f"each node of the job takes {taken} for {gpus} of {fabric.gpus} GPUs, so no other such job fits on its machine"
        )
    return found


def _by_machine(profile: Profile, seen: Sequence[Json], nodes: Sequence[Json] | None, instance: str) -> Fabric:
    """The fabric of a network that is not a resource of nodes: it depends only on the machine."""
    types = sorted({_type(node) for node in seen})
    if len(types) > 1:
        raise InputError(
            f"--fabric {profile.name}: the cluster has machines of several types that have it: {', '.join(types)}.",
            "Name the machine type: --instance TYPE.",
        )
    if not (instance or types):
        raise _not_found(profile, nodes)
    machine = _known(profile, instance or types[0])
    source = f"{count(len(seen), 'node')} of that type" if seen else "no node of that type is seen"
    return Fabric(profile, instance=machine.type, source=source, gpus=machine.gpus)


def _by_table(profile: Profile, nodes: Sequence[Json] | None, instance: str) -> Fabric:
    if not instance:
        raise _not_found(profile, nodes)
    machine = _known(profile, instance)
    if not machine.devices:
        raise InputError(f"--fabric {profile.name}: {instance} has none.", f"Name one that has: {_types(profile)}.")
    mark = "" if machine.checked else ", not checked"
    return Fabric(profile, profile.devices[0].name, machine.devices, instance, f"table{mark}", machine.gpus)


def _known(profile: Profile, instance: str) -> Machine:
    machine = profile.machine(instance)
    if machine is not None:
        return machine
    usable = [known.type for known in profile.instances if known.devices or not profile.devices]
    completed = [known for known in usable if known.startswith(instance)]
    close = completed or nearest(instance, usable, cutoff=0.8)
    raise InputError(
        f"--instance {instance}: its number of {profile.name} devices is unknown, and the cluster has no node of that type.",
        did_you_mean(close, f"Start such a node, or use one of {_types(profile)}."),
    )


def _not_found(profile: Profile, nodes: Sequence[Json] | None) -> InputError:
    what = profile.devices[0].name if profile.devices else profile.title
    why = "no permission to list nodes" if nodes is None else f"no node has {what}"
    return InputError(f"--fabric {profile.name}: {why}.", f"Name the machine type: --instance {_types(profile)}.")


def _carriers(profile: Profile, nodes: Sequence[Json]) -> list[Json]:
    if not profile.devices:
        return [node for node in nodes if profile.machine(_type(node))]
    return [node for node in nodes if any(_offered(node, device) for device in profile.devices)]


def _offered(node: Json, device: Device) -> int:
    return int(allocatable(node, device.name))


def _type(node: Json) -> str:
    return str((node["metadata"].get("labels") or {}).get(INSTANCE_LABEL, ""))


def _types(profile: Profile) -> str:
    return ", ".join(machine.type for machine in profile.instances if machine.devices or not profile.devices)


def _names() -> str:
    return ", ".join([*profiles(), NONE])
