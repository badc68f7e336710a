"""The pods' own network settings: host names, and the node's network."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.conversion.mpi_operator import MPIOperatorSpec
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path

_USUAL_DOTS = 5
"""The kubelet's, for pods that take the cluster's DNS."""

HOST_NAME = Topic(
    id="HOST001",
    title="the pod template sets hostname or subdomain, which JobSet owns",
    severity="error",
    change="lossy",
    grade="L",
    explanation=(
        "JobSet sets the host name of each pod and its subdomain, the headless service; the nodes of a job find each other by "
        "these names. A template cannot set others."
    ),
    remedy="Remove the field, and use the names JOB-node-0-INDEX.JOB; or suppress with --accept HOST001.",
    effort=3,
    acceptable=True,
)
NODE_NETWORK = Topic(
    id="HOST002",
    title="pods of one job on the same node would use the same host port",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "With hostNetwork the ports of a pod are those of its node. v2 uses port 29500 for the rendezvous unless the job's own "
        "port could be kept, so two jobs, or two listening pods of one job, cannot share a node."
    ),
    remedy="Spread the pods by anti-affinity on kubernetes.io/hostname, or remove hostNetwork.",
)
FULL_NAME = Topic(
    id="HOST024",
    title="setHostnameAsFQDN is dropped, as it has no effect in v1",
    severity="info",
    change="lossless",
    grade="E",
    explanation=(
        "The field makes the fully qualified name of a pod its host name. v1 pods have no subdomain, so that name is the short "
        "one. v2 pods have one: the host name would be JOB-node-0-1.JOB.NAMESPACE.svc.cluster.local, and a pod whose name is "
        "longer than 64 characters does not start."
    ),
    remedy="Remove the field from the source; it has no effect there.",
    effort=0,
    explains=("spec.setHostnameAsFQDN",),
)
OTHER_FULL_NAME = Topic(
    id="HOST025",
    title="setHostnameAsFQDN gives the pods of a job of mpi-operator other full names in v2",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The field makes the fully qualified name of a pod its host name. mpi-operator sets the job's name as the subdomain of "
        "launcher and workers, as v2 does, so the field is kept: JOB-worker-0.JOB.NAMESPACE.svc.cluster.local becomes "
        "JOB-node-0-0.JOB.NAMESPACE.svc.cluster.local, and JOB-launcher becomes JOB-launcher-0-0. A pod whose full name is "
        "longer than 64 characters does not start, and the launcher's is 4 characters longer than before."
    ),
    remedy="Check the length of the launcher's full name, and look for programs that read the host name.",
)

FEW_DOTS = Topic(
    id="HOST032",
    title="host names of v2 have a dot, and the DNS settings look up such names as they are",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "A v1 pod is reached as JOB-worker-0, without a dot, and in v2 as JOB-node-0-1.JOB. With ndots of 1 or less, as it is "
        "with dnsPolicy None unless dnsConfig says otherwise, a resolver first looks up a name with a dot without the search "
        "list. glibc then tries the search list, too; musl (Alpine) does not, and the nodes cannot find each other."
    ),
    remedy="Remove the option, or set ndots to 2 or more, unless the image has glibc.",
)


def apply(draft: Draft) -> None:
    """Drops `hostname` and `subdomain`, which JobSet sets, and setHostnameAsFQDN where it did nothing in v1. Reports what
    changes, and pods of a group that share a node's ports."""
    for group in draft.groups:
        spec = group.pod["spec"]
        for field in ("hostname", "subdomain"):
            if spec.pop(field, None) is not None:
                _report_dropped(draft, group, field)
        if spec.get("setHostnameAsFQDN"):
            _judge_full_names(draft, group)
        if len(draft.hosts) > 1 and _dots(spec) <= 1:
            path = (*draft.template_paths(group)[0], "spec", "dnsConfig")
            draft.report(FEW_DOTS, path, f"ndots is {_dots(spec)}, and the first pod is {draft.host(group, 0)} in v2.")
        if spec.get("hostNetwork") and group.count * group.replicas > 1:
            path = (*draft.template_paths(group)[0], "spec", "hostNetwork")
            draft.report(NODE_NETWORK, path, f"The {group.count * group.replicas} pods of {group.name} use their node's ports.")


def _dots(spec: Json) -> int:
    """From how many dots on a name is looked up as it is first. Source: kubelet 1.36 `dns.go`; resolv.conf(5)."""
    options = (spec.get("dnsConfig") or {}).get("options") or ()
    given = [str(one.get("value")) for one in options if one.get("name") == "ndots"]
    if given:
        return int(given[-1]) if given[-1].isdigit() else _USUAL_DOTS
    return 1 if spec.get("dnsPolicy") == "None" else _USUAL_DOTS


def _judge_full_names(draft: Draft, group: Group) -> None:
    """The field stays where the pods have a subdomain in v1: their template says one, or their operator does."""
    paths = [(*template, "spec", "setHostnameAsFQDN") for template in draft.template_paths(group)]
    if isinstance(draft.job.spec, MPIOperatorSpec):
        for path in filter(draft.is_given, paths):
            host = group.host(draft.name or "JOB", 0)
            draft.report(OTHER_FULL_NAME, path, f"The host name of the first pod of {group.name} begins with {host} in v2.")
    elif not any(_has_subdomain(draft, template) for template in draft.template_paths(group)):
        del group.pod["spec"]["setHostnameAsFQDN"]
        for path in paths:
            draft.report_if_given(FULL_NAME, path, "Host names stay short, as in v1.")


def _has_subdomain(draft: Draft, template: Path) -> bool:
    return draft.is_given((*template, "spec", "subdomain"))


def _report_dropped(draft: Draft, group: Group, field: str) -> None:
    for template in draft.template_paths(group):
        draft.report_if_given(HOST_NAME, (*template, "spec", field), f"{field} is set by JobSet.")
