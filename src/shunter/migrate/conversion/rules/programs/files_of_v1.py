"""Files and variables that only v1's operator gives the pods of an MPIJob: programs find none in v2."""

from __future__ import annotations

import re

from shunter.api.training.mpi import KIND
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.texts import all_programs, matches
from shunter.migrate.findings import Topic

ONLY_IN_V1 = Topic(
    id="HOST017",
    title="a program uses a file that only v1 puts into pods",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 mounts /etc/mpi with kubexec.sh and discover_hosts.sh, and kubectl in /opt/kube, and names kubexec.sh to mpirun by "
        "OMPI_MCA_plm_rsh_agent. v2 mounts /etc/mpi with hostfile alone, and mpirun starts its daemons by ssh."
    ),
    remedy="Use /etc/mpi/hostfile and $PRTE_MCA_plm_ssh_agent, which is mpirun's ssh; discovery of hosts has no counterpart.",
    explains=("none",),
    limits_proof=True,
)
_OF_V1 = {
    "/etc/mpi/kubexec.sh": ("MPI012", "MPI013"),
    "/etc/mpi/discover_hosts.sh": ("MPI004",),
    "/opt/kube": (),
    "OMPI_MCA_plm_rsh_agent": (),
}
"""With the topics of the kind that tell of it where it starts the training."""


def apply(draft: Draft) -> None:
    """Tells of each text once."""
    if draft.kind != KIND.resource.kind:
        return
    told = {finding.topic.id for finding in draft.findings}
    pattern = re.compile("|".join(rf"{re.escape(name)}\b" for name, topics in _OF_V1.items() if not told.intersection(topics)))
    for programs in all_programs(draft):
        for found in matches(draft, programs, pattern):
            draft.report(
                ONLY_IN_V1, found.path, f"{found.line} uses {found.text}, which is not there in v2.", offset=found.offset
            )
