"""What a user decides about a conversion; the same for all jobs of a run."""

from __future__ import annotations

from typing import Literal

from shunter.api.meta import Struct

TorchLaunch = Literal["auto", "env-compat", "torchrun", "as-is"]
ProfileChoice = Literal["auto", "idiomatic", "runtime", "plain"]


class Options(Struct, frozen=True):
    """The defaults are those of a conversion without any flag."""

    torch_launch: TorchLaunch = "auto"
    """How a program that torchrun does not start is told its rank: `auto` takes `env-compat` where the program needs it."""
    profile: ProfileChoice = "auto"
    """P1 (idiomatic), P2 (runtime of its own with the framework's plugin), P3 (plain runtime); `auto` takes the simplest that
    loses nothing."""
    gang: str = "none"
    """What `--gang-scheduler-name` of the v1 operator was: `volcano`, or `coscheduling:SCHEDULER_NAME`."""
    elastic_nodes: str = ""
    """How many nodes an elastic job gets: `min`, `max`, `replicas` or a number; empty refuses elastic jobs."""
    mpi_image: str = ""
    """An image with sshd for MPIJobs, in place of one that has none."""
    target_version: str = "2.3"
    """The Trainer that is to run the result."""
    suspend: bool = False
    """Whether results are made suspended whatever the source says: jobs read from a cluster are."""
    suffix: str = ""
    """Appended to the names of results."""
    v1_labels: bool = False
    """Whether pods get the labels by which v1's log queries select them."""
    cluster_domain: str = ""
    """CUSTOM_CLUSTER_DOMAIN of the v1 operator."""
    accepted: tuple[str, ...] = ()
    """Ids of topics that are suppressed (`--accept`)."""
