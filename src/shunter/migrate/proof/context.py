"""What rules about differences know of the two sides, computed once for a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.api.training.mpi import MPI_JOBS
from shunter.cluster.node.content.expansion import variable_references
from shunter.migrate.pods.differences import Matched
from shunter.migrate.pods.facts import Place


@dataclass(frozen=True)
class Context:
    """The input of rules, besides the difference itself."""

    matched: Matched
    reasons_of_keys: dict[tuple[Place, bool], str] = field(default_factory=dict)
    """Cache: why a label or annotation is missing on one side, which is v1 if True."""

    @cached_property
    def kind(self) -> JobKind:
        """The kind of the v1 job, with the port and the containers that v1's operator adds."""
        return next(kind for kind in JOB_KINDS if kind.resource == self.matched.v1.job.resource)

    @property
    def is_mpi(self) -> bool:
        """Whether the rules about MPIJobs apply."""
        return self.kind.resource == MPI_JOBS

    @cached_property
    def variables(self) -> Mapping[str, frozenset[str]]:
        """The variables that v1's operator added to any container, by role."""
        job = self.matched.v1.job
        found: dict[str, set[str]] = {}
        for replica in self.matched.v1.replicas:
            containers = (job.replicas[replica.role].template.get("spec") or {}).get("containers") or []
            for given, made in zip(containers, replica.pod["spec"]["containers"], strict=True):
                own = (made.get("env") or [])[len(given.get("env") or []) :]
                found.setdefault(replica.role, set()).update(variable["name"] for variable in own)
        return {role: frozenset(names) for role, names in found.items()}

    @cached_property
    def init_containers(self) -> frozenset[str]:
        """The names of the init containers that v1's operator added."""
        job, framework = self.matched.v1.job, self.matched.v1.framework
        added = {container["name"] for role in job.replicas for container in framework.init_containers(job, role)}
        return frozenset(added | {*self.kind.added_containers})

    @cached_property
    def ports(self) -> frozenset[str]:
        """The rendezvous ports of v1's pods: those with the port name of the kind."""
        port = self.kind.port
        if port is None:
            return frozenset()
        found = {
            str(one.get("containerPort"))
            for replica in self.matched.v1.replicas
            for container in replica.pod["spec"]["containers"]
            for one in container.get("ports") or []
            if one.get("name") == port.name
        }
        return frozenset(found)

    @cached_property
    def referenced(self) -> frozenset[str]:
        """Variables of v2 to which other variables refer."""
        values = {
            str(variable.get("value", ""))
            for replica in self.matched.v2.replicas
            for container in replica.pod["spec"]["containers"]
            for variable in container.get("env") or []
        }
        return frozenset(one.name for value in values for one in variable_references(value))
