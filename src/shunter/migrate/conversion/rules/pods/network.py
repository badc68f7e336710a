"""The pods' own network settings: host names, and the node's network."""

from __future__ import annotations

from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.findings import Topic

HOST_NAME = Topic(
    id="HOST001",
    title="the pod template sets hostname or subdomain, which JobSet owns",
    severity="error",
    impact="blocking",
    change="lossy",
    grade="L",
    explanation=(
        "JobSet gives each pod its host name and the subdomain of its headless service: by these names the nodes of a job find "
        "each other. A template cannot have others."
    ),
    remedy="Remove the field, and use the names JOB-node-0-INDEX.JOB; or suppress with --accept HOST001.",
    effort=3,
    acceptable=True,
)
NODE_NETWORK = Topic(
    id="HOST002",
    title="pods of one job on the same node would use the same host port",
    severity="warning",
    impact="advisory",
    change="semantic-change",
    grade="D",
    explanation=(
        "With hostNetwork the ports of a pod are the node's. v2 meets on port 29500 unless the job chose another that "
        "could be kept, so two jobs, or two pods of one job that listen, cannot share a node."
    ),
    remedy="Spread the pods by anti-affinity on kubernetes.io/hostname, or give up hostNetwork.",
    effort=1,
)


def apply(draft: Draft) -> None:
    for group in draft.groups:
        spec = group.pod["spec"]
        for field in ("hostname", "subdomain"):
            if spec.pop(field, None) is not None:
                _report_dropped(draft, group, field)
        if spec.get("hostNetwork") and group.count * group.replicas > 1:
            path = (*draft.template_paths(group)[0], "spec", "hostNetwork")
            draft.report(NODE_NETWORK, path, f"The {group.count * group.replicas} pods of {group.name} use their node's ports.")


def _report_dropped(draft: Draft, group: Group, field: str) -> None:
    for template in draft.template_paths(group):
        draft.report_if_given(HOST_NAME, (*template, "spec", field), f"{field} is JobSet's to set.")
