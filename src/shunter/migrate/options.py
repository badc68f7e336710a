"""What a user decides about a conversion; the same for all jobs of a run."""

from __future__ import annotations

import re
from typing import Literal

from shunter.api.formats.digits import whole_number
from shunter.api.meta import Struct
from shunter.errors import InputError
from shunter.migrate.excerpts import excerpt

TorchLaunch = Literal["auto", "env-compat", "torchrun", "as-is"]
ProfileChoice = Literal["auto", "idiomatic", "runtime", "plain"]


class Options(Struct, frozen=True):
    """The defaults are those of a conversion without any flag. InputError for values that cannot be meant."""

    torch_launch: TorchLaunch = "auto"
    """How a program that torchrun does not start gets its rank: `auto` takes `env-compat` where the program needs it."""
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

    def __post_init__(self) -> None:
        if not re.fullmatch(r"none|volcano|coscheduling:[^:\s]+", self.gang):
            raise InputError(f"--gang {self.gang}: no such gang scheduler.", "Use volcano, coscheduling:SCHEDULER_NAME or none.")
        if self.elastic_nodes not in ("", "min", "max", "replicas") and not whole_number(self.elastic_nodes):
            text = f"--elastic-nodes {excerpt(self.elastic_nodes)}: no number of nodes."
            raise InputError(text, "Use min, max, replicas or a number from 1.")
        if not re.fullmatch(r"2\.[0-4]", self.target_version):
            raise InputError(f"--target-version {self.target_version}: not known.", "Use 2.0, 2.1, 2.2, 2.3 or 2.4.")
        if not re.fullmatch(r"[a-z0-9-]*[a-z0-9]|", self.suffix):
            raise InputError(
                f"--suffix {self.suffix}: not valid in a name.", "Use lowercase letters and digits, and '-' between them."
            )
