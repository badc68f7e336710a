"""What the containers of pods start, by their manifests; equal containers are analyzed once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

import msgspec

from shunter.api.meta import Json
from shunter.migrate.conversion.commands import Launch, understood
from shunter.migrate.conversion.commands.unread_variables import unread
from shunter.migrate.pods.effective import effective_container
from shunter.migrate.pods.sides import Replica

_READ = ("command", "args", "workingDir", "volumeMounts")


def launch_of(replica: Replica, environment: Mapping[str, str] = {}) -> Launch:
    """What the training container starts. `environment` expands variables; if it is empty, the container's own does."""
    training = replica.training
    container: Json = {field: training[field] for field in _READ if field in training}
    words = (*(training.get("command") or ()), *(training.get("args") or ()))
    if not environment and any("$" in word for word in words):
        environment = effective_container(replica.pod, training).environment
    container["env"] = [{"name": name, "value": value} for name, value in environment.items()]
    return _read(msgspec.json.encode((container, replica.pod["spec"].get("volumes") or [])))


def reads_nothing(container: Json, names: Collection[str]) -> bool:
    """Whether the container's whole program is known, and reads none of the variables."""
    return unread(container, names) == frozenset(names)


@lru_cache(maxsize=256)
def _read(key: bytes) -> Launch:
    container, volumes = msgspec.json.decode(key)
    return understood(container, volumes)
