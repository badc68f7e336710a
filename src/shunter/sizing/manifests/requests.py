"""What a pod that has a whole machine for itself requests. Pure."""

from __future__ import annotations

from typing import Final

from shunter.api.meta import Json
from shunter.api.scheduling.pod_requests import GPU
from shunter.fabrics.settings import EFA_RESOURCE
from shunter.sizing.fits import MachineChoice

SHARE: Final = 0.9
"""The share of a node's resources that is requested; the rest is for the pods of daemon sets."""


def pod_resources(choice: MachineChoice) -> Json:
    """Requests and limits of one pod: all GPUs of its machine, 90 % of the processors and the memory that it offers to pods, and
    its EFA interfaces when the job spans machines. Memory is limited to what is requested, as a node that runs out of it
    kills."""
    machine = choice.instance
    devices = {GPU: str(machine.gpus)}
    if efa := efa_count(choice):
        devices[EFA_RESOURCE] = str(efa)
    if not machine.memory_mib:
        return {"requests": dict(devices), "limits": devices}
    memory = f"{memory_mib(choice)}Mi"
    return {
        "requests": {"cpu": f"{int(machine.cpu * SHARE * 1000)}m", "memory": memory, **devices},
        "limits": {"memory": memory, **devices},
    }


def memory_mib(choice: MachineChoice) -> int:
    """Memory that one pod requests, in MiB."""
    return int(choice.instance.memory_mib * SHARE)


def efa_count(choice: MachineChoice) -> int:
    """EFA interfaces that each pod needs: all of its machine, when there are others to talk to."""
    return choice.instance.efa if choice.nodes > 1 else 0
