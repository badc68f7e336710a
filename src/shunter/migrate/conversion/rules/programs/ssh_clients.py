"""Programs of an MPIJob that come into its workers by ssh themselves: the server of v2 has another port and other keys."""

from __future__ import annotations

import re

from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.texts import all_programs, matches
from shunter.migrate.conversion.rules.ssh import PORT, serves_ssh
from shunter.migrate.findings import Topic

OWN_CLIENT = Topic(
    id="HOST026",
    title="a program starts ssh itself",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The workers run an ssh server, by the configuration of the image and with the keys of mpi-operator or the image. The "
        "server of the result reads nothing of that: it listens at port 2222 and takes the key in /etc/mpi-ssh. mpirun is told "
        "so; a program that starts ssh by itself reaches nobody."
    ),
    remedy="Write $OMPI_MCA_plm_rsh_agent HOST COMMAND, the ssh that mpirun starts.",
    explains=("none",),
    limits_proof=True,
)
_CLIENT = re.compile(
    r"(?:^|[;&|(`]|\b(?:exec|sudo|do|then|else|xargs)\s)\s*(?:/usr/bin/)?(?:ssh|scp|sftp|pdsh|pssh|parallel-ssh|clush)\s"
    r"|\b(?:import|from)\s+(?:paramiko|fabric|asyncssh)\b|[\"']ssh[\"']\s*,",
    re.MULTILINE,
)


def apply(draft: Draft) -> None:
    """Tells of each text once, where workers served ssh before."""
    if "mpi" not in draft.ml_policy or not serves_ssh(draft):
        return
    for programs in all_programs(draft):
        for found in matches(draft, programs, _CLIENT):
            says = f"{found.line} starts ssh, and v2's server listens at port {PORT} and takes a key of the job."
            draft.report(OWN_CLIENT, found.path, says, offset=found.offset)
