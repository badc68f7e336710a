"""Objects that options name: they must be there, and claims with several nodes be of a kind that several nodes can mount."""

from __future__ import annotations

import contextlib

from shunter.api.meta import Json
from shunter.api.resources import PERSISTENT_VOLUME_CLAIMS, Resource
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.discovery import Discovery, served_versions
from shunter.kube.errors import Forbidden, NotFound
from shunter.launch.options import LaunchOptions


async def require_claims(client: Client, namespace: str, options: LaunchOptions) -> None:
    """InputError for the first claim of the options that is missing, cannot be mounted by all nodes, or is for checkpoints
    and can only be read."""
    claims = [("--volume", volume.claim, volume.read_only) for volume in options.volumes]
    if options.checkpoints is not None and options.checkpoints.claim:
        claims.append(("--checkpoints", options.checkpoints.claim, False))
    for option, name, read_only in claims:
        claim = await named_object(client, PERSISTENT_VOLUME_CLAIMS, name, namespace, option=f"{option} {name}")
        if option == "--checkpoints" and claim["spec"].get("accessModes") == ["ReadOnlyMany"]:
            raise InputError(
                f"{option} {name}: the claim is ReadOnlyMany, so nothing can be saved in it.",
                "Use a claim that is ReadWriteMany.",
            )
        if fault := shared_fault(claim, nodes=options.nodes, read_only=read_only):
            raise InputError(f"{option} {name}: {fault}", "Use a claim that is ReadWriteMany, or --nodes 1.")


async def require_queue(client: Client, namespace: str, options: LaunchOptions) -> None:
    """InputError for a queue that does not exist, and on a cluster without Kueue, where the label has no effect. One that may not
    be read is accepted unchecked."""
    if not options.queue:
        return
    group, discovery = QUEUE_LABEL.partition("/")[0], Discovery(client)
    versions = sorted(version for version in await served_versions(client) if version.startswith(f"{group}/"))
    served = [resource for version in versions for resource in await discovery.resources(version)]
    queues = next((resource for resource in served if resource.kind == "LocalQueue"), None)
    option = f"--queue {options.queue}"
    if queues is None:
        raise InputError(
            f"{option}: the cluster has no Kueue, so the job would not wait.",
            "Leave it out, or use a cluster that has it: --context NAME.",
        )
    with contextlib.suppress(Forbidden):
        await named_object(client, queues, options.queue, namespace, option=option)


async def named_object(client: Client, resource: Resource, name: str, namespace: str, *, option: str) -> Json:
    """An object that an option names. InputError, which begins with `option`, where there is none."""
    try:
        return await client.get(resource, name, namespace)
    except NotFound:
        raise InputError(
            f"{option}: there is no {resource.kind} {name} in namespace {namespace}.",
            f"List them with: kubectl get {resource.plural} -n {namespace}",
        ) from None


def shared_fault(claim: Json, *, nodes: int, read_only: bool) -> str:
    """Why so many nodes cannot mount a claim; empty when they can."""
    modes = claim["spec"].get("accessModes") or []
    enough = {"ReadWriteMany", "ReadOnlyMany"} if read_only else {"ReadWriteMany"}
    if nodes == 1 or enough & set(modes):
        return ""
    return f"the claim is {', '.join(modes) or 'without access modes'}, which {nodes} nodes cannot all mount."
