"""The flags that decide how jobs are converted, the same for every verb that converts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, NamedTuple

import typer

from shunter.migrate.conversion import suppression
from shunter.migrate.options import Options


class TorchLaunch(StrEnum):
    """Values of `--torch-launch`; `migrate.options.Options` says what they mean."""

    auto = "auto"
    env_compat = "env-compat"
    torchrun = "torchrun"
    as_is = "as-is"


class Profile(StrEnum):
    """Values of `--profile`; `migrate.options.Options` says what they mean."""

    auto = "auto"
    idiomatic = "idiomatic"
    runtime = "runtime"
    plain = "plain"


SuffixOption = Annotated[str, typer.Option("--suffix", help="Suffix of the names of results.")]


class ConversionOptions(NamedTuple):
    """The options for the conversion of a job. `meaning` reads them."""

    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", help="Suppress a blocking finding by id; repeatable or comma-separated.", metavar="ID"),
    ] = None
    torch_launch: Annotated[
        TorchLaunch, typer.Option("--torch-launch", help="How programs not started by torchrun get their rank.")
    ] = TorchLaunch.auto
    profile: Annotated[
        Profile,
        typer.Option("--profile", help="Runtime of the result: shipped, generated, or generated without a framework plugin."),
    ] = Profile.auto
    gang: Annotated[
        str, typer.Option("--gang", help="Gang scheduler of the v1 operator: volcano, coscheduling:SCHEDULER or none.")
    ] = "none"
    elastic_nodes: Annotated[
        str, typer.Option("--elastic-nodes", help="Number of nodes of an elastic job: min, max, replicas or a number.")
    ] = ""
    mpi_image: Annotated[str, typer.Option("--mpi-image", help="Image with sshd for MPIJobs.")] = ""
    target_version: Annotated[str, typer.Option("--target-version", help="Trainer release that runs the result: 2.0 to 2.4.")] = (
        "2.3"
    )
    v1_labels: Annotated[bool, typer.Option("--v1-labels", help="Keep the v1 labels on pods for queries and selectors.")] = False
    cluster_domain: Annotated[
        str, typer.Option("--cluster-domain", help="Value of CUSTOM_CLUSTER_DOMAIN of the v1 operator.")
    ] = ""

    def meaning(self, *, suspend: bool, suffix: str = "") -> Options:
        """The options that the flags select. Raises InputError for an invalid value."""
        accepted: tuple[str, ...] = ()
        if self.accept:
            accepted = suppression.accepted(self.accept)
        return Options(
            torch_launch=self.torch_launch.value,
            profile=self.profile.value,
            gang=self.gang,
            elastic_nodes=self.elastic_nodes,
            mpi_image=self.mpi_image,
            target_version=self.target_version,
            suspend=suspend,
            suffix=suffix,
            v1_labels=self.v1_labels,
            cluster_domain=self.cluster_domain,
            accepted=accepted,
        )
