"""Files and variables by which v1's operator starts the processes of an MPIJob: programs find others in v2, or none."""

from __future__ import annotations

import re

from shunter.api.training.mpi import KIND
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.texts import all_programs, matches
from shunter.migrate.conversion.rules.ssh import AGENT_ENVIRONMENT, CLIENT_VARIABLES
from shunter.migrate.findings import Topic

ONLY_IN_V1 = Topic(
    id="HOST017",
    title="a program uses a file or variable by which v1 starts processes",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 mounts /etc/mpi with kubexec.sh and discover_hosts.sh, and kubectl in /opt/kube, and passes kubexec.sh to mpirun in "
        "OMPI_MCA_plm_rsh_agent. v2 mounts /etc/mpi with hostfile only, and mpirun starts its daemons by ssh: the variable, and "
        "PRTE_MCA_plm_ssh_agent for Open MPI 5, contains the ssh command with its options (keys, port), so it consists of "
        "several words. A program that overwrites it, or treats it as one word, cannot reach any node."
    ),
    remedy=(
        "Use /etc/mpi/hostfile, do not change the variables, and write $OMPI_MCA_plm_rsh_agent HOST COMMAND without quotes; host "
        "discovery has no counterpart."
    ),
    explains=("none",),
    limits_proof=True,
)
_OF_V1 = {
    "/etc/mpi/kubexec.sh": ("MPI012", "MPI013"),
    "/etc/mpi/discover_hosts.sh": ("MPI004",),
    "/opt/kube": (),
    **dict.fromkeys(AGENT_ENVIRONMENT, ()),
}
"""With the topics of the kind that tell of it where it starts the training."""


def apply(draft: Draft) -> None:
    """Reports each text once."""
    if draft.kind != KIND.resource.kind:
        return
    reported = {finding.topic.id for finding in draft.findings}
    names = [name for name, topics in _OF_V1.items() if not reported.intersection(topics)]
    pattern = re.compile("|".join(rf"{re.escape(name)}\b" for name in names))
    for programs in all_programs(draft):
        for found in matches(programs, pattern):
            says = f"{found.line} uses {found.text}, {_in_v2(found.text)}."
            draft.report(ONLY_IN_V1, found.path, says, offset=found.offset)


def _in_v2(name: str) -> str:
    if name in CLIENT_VARIABLES:
        return "which sets ssh and its options for mpirun in v2"
    if name in AGENT_ENVIRONMENT:
        return f"which v2 does not set: mpirun gets ssh and its options from {' and '.join(CLIENT_VARIABLES)}"
    return "which does not exist in v2"
