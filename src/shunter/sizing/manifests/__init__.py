"""The objects for a choice of machines: the job, its quota, Karpenter's pool, Kueue's queue. Pure.

Whatever is the user's (role, subnets, image, ...) and was not named becomes a placeholder: a value that starts with `hole-`, or
ends so where the schema wants a prefix, and that an annotation of its object explains. Objects with placeholders pass the
schemas, and are not to be applied.

job.py          a TrainJob, or a PyTorchJob
requests.py     what a pod that has a machine for itself requests
quotas.py       a ResourceQuota for one such job, and defaults for containers
kueue.py        a queue that admits the job as a whole
karpenter.py    a pool of one type of machine
placeholders.py    values that only the user knows

Tests: tests/sizing/manifests; that the objects are accepted in tests/sizing/test_manifests.py.
"""

from __future__ import annotations

import dataclasses

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.sizing.fits import MachineChoice
from shunter.sizing.manifests.job import longest_job_name, train_job, v1_job
from shunter.sizing.manifests.karpenter import node_class, node_pool
from shunter.sizing.manifests.kueue import queues
from shunter.sizing.manifests.placeholders import PLACEHOLDERS, Placeholder, Placeholders
from shunter.sizing.manifests.quotas import limit_range, resource_quota
from shunter.sizing.nodes import CLUSTER
from shunter.sizing.options import ManifestOptions


@dataclasses.dataclass(frozen=True)
class Manifests:
    """Objects as `kubectl apply` takes them, cluster-wide ones first; and what is missing in them."""

    objects: tuple[Json, ...]
    placeholders: tuple[Placeholder, ...]
    notes: tuple[str, ...]
    """Sentences for the user about what was chosen."""


def manifests(choice: MachineChoice, options: ManifestOptions) -> Manifests:
    """What has to be applied for a training on these machines. On nodes that a cluster has no pool is made, and none for clouds
    that Karpenter's AWS provider does not serve. InputError for a name that is too long for the pods of so many machines."""
    if len(options.name) > (most := longest_job_name(options.api, choice.nodes)):
        raise InputError(
            f"--name {options.name!r} has {len(options.name)} characters; names of the job's pods and services contain it, and "
            f"those of {choice.nodes} nodes leave it at most {most}.",
            f"Use at most {most} characters.",
        )
    placeholders = Placeholders()
    notes = []
    objects: list[Json] = []
    if choice.instance.provider == "aws":
        objects += [node_class(choice, options, placeholders), node_pool(choice, options, placeholders)]
        if options.spot:
            notes.append("spot machines can be reclaimed at any time: the program must save checkpoints and resume from them")
    elif choice.instance.provider != CLUSTER:
        notes.append(f"no node pool for {choice.instance.provider}: Karpenter's objects are created only for AWS")
    if choice.instance.provider != "aws" and options.pool_options:
        notes.append(f"without effect, as no node pool is created: {', '.join(options.pool_options)}")
    if not choice.instance.memory_mib:
        notes.append(f"what pods may request of {choice.instance.name} is not published: the job requests only GPUs")
    if options.kueue:
        objects += queues(choice, options)
    objects += [resource_quota(choice, options), limit_range(options)]
    objects.append((train_job if options.api == "trainjob" else v1_job)(choice, options, placeholders))
    return Manifests(tuple(objects), tuple(placeholders.found), tuple(notes))


__all__ = ["PLACEHOLDERS", "Manifests", "Placeholder", "manifests"]
