"""The properties of a job kind of kubeflow.org/v1, defined once, as `KIND` in the module of the kind.

Schemas, defaults, admission, the operator, its rights, the installation and the command line all take it from there.
"""

from __future__ import annotations

from typing import NamedTuple

from shunter.api.meta import Struct
from shunter.api.resources import Resource

GROUP = "kubeflow.org"
VERSION = "v1"


class Port(NamedTuple):
    """A port that defaulting adds to the training container where none of this name is."""

    name: str
    number: int


class JobKind(NamedTuple):
    """One kind of training job."""

    resource: Resource
    view: type[Struct]
    """What its objects are read as."""
    replica_specs: str
    """The field of the spec that holds the pods by role: `pytorchReplicaSpecs`."""
    roles: tuple[str, ...]
    """Its roles, in the order in which they are ranked."""
    container: str
    """The name of the container that trains."""
    port: Port | None
    """The default port of that container."""
    restart_policy: str
    """The restart policy of a role that says none."""
    idle_roles: tuple[str, ...] = ()
    """Roles that have no pods where the job does not say how many; others have one."""
    added_containers: tuple[str, ...] = ()
    """Containers that the operator adds to pods: what they print says nothing about the training."""
    is_scalable: bool = False
    """Whether the number of its workers can be changed through the scale subresource."""


def resource(kind: str) -> Resource:
    """The resource of a job kind: `PyTorchJob` is served as `pytorchjobs`."""
    return Resource(GROUP, VERSION, kind, f"{kind.lower()}s")
