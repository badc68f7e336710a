"""Which port of this machine stands for a port of a pod at level `plain`, where all pods share the machine's network."""

from __future__ import annotations

from logging import getLogger
from pathlib import Path

from shunter.cluster.free_ports import free_port, is_free
from shunter.cluster.node.launch import attempt

log = getLogger(__name__)

PodKey = tuple[str, str]
"""Namespace, and the key that substitution gives a pod."""


class PortTable:
    """The port of this machine that stands for a pod's port: the same number where it is free, else another.

    Kept in a file, because running pods know their ports.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ports: dict[tuple[PodKey, int], int] = {
            ((namespace, pod), port): chosen for namespace, pod, port, chosen in attempt.read_json(str(path)) or ()
        }
        self._last_pods: set[PodKey] = set()

    def port(self, pod: PodKey, port: int) -> int:
        """The port of the machine for a port of a pod, the same for the same pod and port until `keep` drops the pod."""
        known = self._ports.get((pod, port))
        if known is not None:
            return known
        taken = set(self._ports.values())
        chosen = port if port not in taken and is_free(port, "") else free_port("", taken)
        # Stored first: a port must not be given out that the next agent would not know.
        self._store({**self._ports, (pod, port): chosen})
        return chosen

    def assigned(self, pod: PodKey, port: int) -> int:
        """The port already assigned to a pod's port, else the same number."""
        return self._ports.get((pod, port), port)

    def keep(self, pods: set[PodKey]) -> None:
        """Frees the ports of deleted pods. The ports of a pod that did not exist yet stay: peers may need them before the
        pod exists."""
        gone = self._last_pods - pods
        if any(pod in gone for pod, _ in self._ports):
            try:
                self._store({(pod, port): chosen for (pod, port), chosen in self._ports.items() if pod not in gone})
            except OSError as error:
                log.warning("Ports of deleted pods are still in use: %s", error)
                return
        self._last_pods = pods

    def _store(self, ports: dict[tuple[PodKey, int], int]) -> None:
        entries = [(namespace, pod, port, chosen) for ((namespace, pod), port), chosen in ports.items()]
        attempt.write_json(str(self._path), entries)
        self._ports = ports
