"""What stands before a line of a job's logs, in terminals, pipes and on the web page. Pure."""

from __future__ import annotations

from shunter.jobs.training_pods import TRAINING_CONTAINERS
from shunter.operator.pod_places import Member, Place


def log_prefix(member: Member | Place, container: str) -> str:
    """`[worker-1]`, or `[worker-1 sidecar]` for a container that does not train."""
    trains = container in TRAINING_CONTAINERS or container == member.container
    return f"[{member.label}]" if trains else f"[{member.label} {container}]"
