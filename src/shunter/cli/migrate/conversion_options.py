"""The flags that decide how jobs are converted, the same for every verb that converts."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shunter.migrate.options import Options


class TorchLaunch(StrEnum):
    auto = "auto"
    env_compat = "env-compat"
    torchrun = "torchrun"
    as_is = "as-is"


class Profile(StrEnum):
    auto = "auto"
    idiomatic = "idiomatic"
    runtime = "runtime"
    plain = "plain"


AcceptOption = Annotated[
    list[str] | None, typer.Option("--accept", help="Take on a blocking finding, by id; repeatable.", metavar="ID")
]
TorchLaunchOption = Annotated[
    TorchLaunch, typer.Option("--torch-launch", help="How programs that torchrun does not start learn their rank.")
]
ProfileOption = Annotated[
    Profile, typer.Option("--profile", help="A shipped runtime, one of its own, or one without a framework's plugin.")
]
GangOption = Annotated[
    str, typer.Option("--gang", help="The v1 operator's gang scheduler: volcano, coscheduling:SCHEDULER or none.")
]
ElasticNodesOption = Annotated[
    str, typer.Option("--elastic-nodes", help="Nodes of an elastic job: min, max, replicas or a number.")
]
MpiImageOption = Annotated[str, typer.Option("--mpi-image", help="An image with sshd for MPIJobs.")]
TargetVersionOption = Annotated[str, typer.Option("--target-version", help="The Trainer that runs the result: 2.0 to 2.4.")]
SuffixOption = Annotated[str, typer.Option("--suffix", help="Appended to the names of results.")]
V1LabelsOption = Annotated[bool, typer.Option("--v1-labels", help="Give pods the labels that v1's log queries select.")]
ClusterDomainOption = Annotated[str, typer.Option("--cluster-domain", help="CUSTOM_CLUSTER_DOMAIN of the v1 operator.")]


def options_of(
    *,
    accept: list[str] | None,
    torch_launch: TorchLaunch,
    profile: Profile,
    gang: str,
    elastic_nodes: str,
    mpi_image: str,
    target_version: str,
    suffix: str,
    v1_labels: bool,
    cluster_domain: str,
    suspend: bool,
) -> Options:
    """The options that the flags mean. InputError for a value that is none."""
    from shunter.errors import InputError
    from shunter.migrate.options import Options

    if not re.fullmatch(r"none|volcano|coscheduling:[^:\s]+", gang):
        raise InputError(f"--gang {gang}: no such gang scheduler.", "Say volcano, coscheduling:SCHEDULER_NAME or none.")
    if elastic_nodes not in ("", "min", "max", "replicas") and not re.fullmatch(r"[1-9]\d*", elastic_nodes):
        raise InputError(f"--elastic-nodes {elastic_nodes}: no number of nodes.", "Say min, max, replicas or a number from 1 on.")
    if not re.fullmatch(r"2\.[0-4]", target_version):
        raise InputError(f"--target-version {target_version}: not known.", "Say 2.0, 2.1, 2.2, 2.3 or 2.4.")
    if not re.fullmatch(r"[a-z0-9-]*[a-z0-9]|", suffix):
        raise InputError(f"--suffix {suffix}: no part of a name.", "Small letters, digits and '-', not '-' last.")
    accepted: tuple[str, ...] = ()
    if accept:
        from shunter.migrate import suppression

        accepted = suppression.accepted(accept)
    return Options(
        torch_launch=torch_launch.value,
        profile=profile.value,
        gang=gang,
        elastic_nodes=elastic_nodes,
        mpi_image=mpi_image,
        target_version=target_version,
        suspend=suspend,
        suffix=suffix,
        v1_labels=v1_labels,
        cluster_domain=cluster_domain,
        accepted=accepted,
    )
