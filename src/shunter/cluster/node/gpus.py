"""Which of this machine's GPUs a container gets, by index: processes of one machine would all take the first one."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping
from itertools import chain

from shunter.api.formats import quantity
from shunter.api.meta import Json
from shunter.api.scheduling.pod_requests import GPU
from shunter.cluster.node.launch import attempt as files
from shunter.cluster.node.layout import PodDirectory
from shunter.cluster.node.pod.containers import Role, declared
from shunter.cluster.node.resources import amounts_of

log = logging.getLogger(__name__)

Assignment = Mapping[str, list[int]]
"""Indexes by container."""


def assign(spec: Json, count: int, users: Mapping[int, int]) -> dict[str, list[int]]:
    """Indexes below `count` for each container that asks for GPUs, those with the fewest other `users` first. Containers that run
    side by side share none of them while there are enough; an init container takes what the others get after it. Pure."""
    order = sorted(range(count), key=lambda index: (users.get(index, 0), index))
    assigned: dict[str, list[int]] = {}
    taken = 0
    for container, role in declared(spec):
        asked = int(quantity.parse(amounts_of(container).get(GPU, 0)))
        if not asked or not count:
            continue
        begin = 0 if role is Role.INIT else taken
        assigned[container["name"]] = sorted({order[(begin + place) % count] for place in range(asked)})
        if role is not Role.INIT:
            taken += asked
    return assigned


def variables(indexes: list[int]) -> dict[str, str]:
    """What makes CUDA see these GPUs alone, in the order in which nvidia-smi lists them."""
    return {"CUDA_VISIBLE_DEVICES": ",".join(map(str, indexes)), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"} if indexes else {}


def shared_gpu(index: int) -> str:
    """The warning for a pod that shares a GPU with another pod."""
    return f"{GPU}: GPU {index} is used by another pod, too, as no other is free"


class Gpus:
    """The GPUs of the node, and which pods have them. A pod keeps its own through restarts of containers and of the agent."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._held: dict[str, Assignment] = {}

    def restore(self, directory: PodDirectory) -> None:
        """Restores a pod's GPUs from an earlier agent. Must be called for all pods before `give`."""
        try:
            found = json.loads(directory.gpus_file.read_text())
        except FileNotFoundError:  # it has none
            return
        except (OSError, ValueError) as error:
            log.warning("Which GPUs pod %s has cannot be read (%s), so others may be given them too", directory.uid, error)
            return
        self._held[directory.uid] = found

    def give(self, spec: Json, directory: PodDirectory) -> list[int]:
        """Gives a pod its GPUs, unless it has them. Returns those of them that other pods have as well."""
        if directory.uid in self._held:
            return []
        users = Counter(chain.from_iterable(set(chain.from_iterable(held.values())) for held in self._held.values()))
        assigned = assign(spec, self._count, users)
        if not assigned:
            return []
        try:
            directory.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            files.write_json(str(directory.gpus_file), assigned)
        except OSError as error:  # only an agent after this one would read it
            log.warning(
                "Which GPUs pod %s has was not stored (%s): an agent started later may give them to others", directory.uid, error
            )
        self._held[directory.uid] = assigned
        return sorted(index for index in set(chain.from_iterable(assigned.values())) if users[index])

    def of(self, uid: str, container: str) -> list[int]:
        """The indexes of the GPUs of a pod's container; empty if it requested none."""
        return self._held.get(uid, {}).get(container, [])

    def free(self, uid: str) -> None:
        """Releases the GPUs of a pod that has ended."""
        self._held.pop(uid, None)
