"""What `shunter runtime create` makes: a copy of a runtime with a fast network, or with restarts of all pods."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from shunter.api.meta import Json
from shunter.api.names import subdomain_faults
from shunter.api.resources import TRAINING_RUNTIMES
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists
from shunter.launch.fabric import Fabric, find_fabric, require_profile
from shunter.launch.fabric_objects import runtime_with_fabric
from shunter.launch.options import require_restarts
from shunter.launch.runtimes.choice import Runtime, find_runtime
from shunter.launch.runtimes.copies import copied_runtime, with_restarts
from shunter.launch.submitting import write


@dataclasses.dataclass(frozen=True, kw_only=True)
class RuntimeOptions:
    """What a runtime is to be. `source` names the one that it is a copy of; empty for our default. InputError for what cannot be
    meant."""

    name: str
    source: str = ""
    fabric: str = ""
    instance: str = ""
    restarts: int | None = None

    def __post_init__(self) -> None:
        if faults := subdomain_faults(self.name):
            raise InputError(f"{self.name!r} is not a valid runtime name: {faults[0]}.")
        require_restarts(self.restarts)
        if require_profile(self.fabric, self.instance) is None and self.restarts is None:
            raise InputError(f"runtime {self.name} would equal the one that it is copied from.", "Add --fabric or --restarts.")


def runtime_copy(options: RuntimeOptions, base: Runtime, fabric: Fabric | None, namespace: str) -> Json:
    """The TrainingRuntime, as `kubectl apply` takes it. Pure."""
    made = copied_runtime(base.object, name=options.name, namespace=namespace)
    if options.restarts is not None:
        made = with_restarts(made, options.restarts)
    return runtime_with_fabric(made, fabric) if fabric else made


async def create_runtime(
    client: Client, options: RuntimeOptions, namespace: str, notify: Callable[[str], None], *, dry_run: bool = False
) -> Json:
    """Creates the runtime and returns it as it was sent; with `dry_run` the server only judges it. InputError for a name that is
    taken, and for what the server refuses. `notify` gets a sentence about its network."""
    base = await find_runtime(client, namespace, options.source, option="--from")
    fabric = await find_fabric(client, options.fabric, options.instance)
    if fabric is not None:
        notify(f"fabric {fabric.title}")
    made = runtime_copy(options, base, fabric, namespace)
    try:
        await write(client, TRAINING_RUNTIMES, made, notify, dry_run=dry_run)
    except AlreadyExists:
        raise InputError(f"TrainingRuntime {namespace}/{options.name} exists.", "Use another name, or delete it first.") from None
    return made
