"""elasticPolicy: a number of Workers that may change, which v2 does not have.

The result has a fixed number of nodes, but still torchrun's tolerance: it goes on with the nodes that are left, down to
minReplicas, and takes those in that Kubernetes starts again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from shunter.api.batch import MOST_PODS
from shunter.api.formats.digits import whole_number
from shunter.api.meta import Json
from shunter.api.trainer.torch_validation import TORCHRUN_ENVIRONMENT
from shunter.api.training.pytorch import MASTER, WORKER
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.reading import UnreadableJobError
from shunter.migrate.conversion.rules.programs.hosts import is_own_domain
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path
from shunter.operator.training.job import AnyJob

POLICY: Path = ("spec", "elasticPolicy")
_BOUNDS = ("minReplicas", "maxReplicas")
_OF_THE_RENDEZVOUS = {
    "rdzvBackend": "PET_RDZV_BACKEND",
    "rdzvHost": "PET_RDZV_ENDPOINT",
    "rdzvPort": "PET_RDZV_ENDPOINT",
    "rdzvId": "PET_RDZV_ID",
    "rdzvConf": "PET_RDZV_CONF",
    "maxRestarts": "PET_MAX_RESTARTS",
}
"""Fields that v1 says to torchrun by variables, which the runtime says just so."""

_EXPLAINED = ("pods", "group", "program", "env.PET_NNODES", "env.WORLD_SIZE")

NOT_CHOSEN = Topic(
    id="ELASTIC001",
    title="the number of nodes of an elastic job has to be chosen",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation=(
        "The number of nodes of a TrainJob cannot change, so the job would keep the number that it starts with. A v1 job with "
        "elasticPolicy may have any number of Workers between minReplicas and maxReplicas: `kubectl scale` and its "
        "HorizontalPodAutoscaler change it while the job runs. torchrun continues when nodes are lost, and includes them when "
        "they are back."
    ),
    remedy=(
        "Choose with --elastic-nodes=min|max|replicas|N, accept the current number of replicas with --accept ELASTIC001, or "
        "leave the job on v1."
    ),
    effort=5,
    upstream="kubeflow/trainer#2903",
    acceptable=True,
    explains=_EXPLAINED,
)
NO_SCALING = Topic(
    id="ELASTIC002",
    title="the HorizontalPodAutoscaler of the job is lost",
    severity="warning",
    change="lossy",
    grade="L",
    explanation=(
        "v1 creates a HorizontalPodAutoscaler from elasticPolicy.metrics, which sets Worker.replicas. A TrainJob has no scale "
        "subresource and a fixed number of nodes, so an autoscaler has nothing to set."
    ),
    remedy="Choose the number of nodes with --elastic-nodes, and remove anything that watches the autoscaler.",
    effort=3,
    upstream="kubeflow/trainer#2903",
)
FIXED = Topic(
    id="ELASTIC003",
    title="the number of nodes is fixed",
    severity="warning",
    change="semantic-change",
    grade="L",
    explanation=(
        "--elastic-nodes fixes the number of nodes. Lost nodes are restarted, and torchrun continues with at least minReplicas "
        "of them, but `kubectl scale` can neither add nor remove nodes."
    ),
    remedy="To change the number, recreate the job.",
    explains=_EXPLAINED,
)
OTHER_STORE = Topic(
    id="ELASTIC004",
    title="the rendezvous server is outside the job",
    severity="warning",
    change="lossless",
    grade="Q",
    explanation="rdzvBackend, rdzvHost and rdzvPort are passed to torchrun as in v1. The server is not part of the job.",
    remedy="Check that the server can be reached from the namespace of the TrainJob.",
)
STANDALONE = Topic(
    id="ELASTIC005",
    title="elasticPolicy.standalone is dropped",
    severity="warning",
    change="lossy",
    grade="L",
    explanation=(
        "v1 passes standalone to torchrun as PET_STANDALONE with an empty value, and torchrun fails with `invalid literal for "
        "int()`, so the setting can never have worked."
    ),
    remedy="Remove standalone; a job of one node needs no rendezvous.",
    effort=0,
    explains=("env.PET_STANDALONE",),
)
ANY_WORKER = Topic(
    id="ELASTIC006",
    title="the job succeeds when one of its nodes does",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 marks an elastic job without a Master as succeeded when any Worker has succeeded. The Job's successPolicy "
        "(succeededCount 1) does the same, but stops the remaining pods, which v1 lets run. torchrun waits for the other nodes "
        "before it ends, so they have ended by then. Needs Kubernetes 1.31."
    ),
    remedy="Nothing, if the processes are started by torchrun.",
)


class Nodes(NamedTuple):
    """How many nodes the job gets, and how few torchrun goes on with."""

    total: int
    fewest: int


def nodes(draft: Draft) -> Nodes:
    """The number of nodes and its bounds. The bounds in v1 are those of Workers, in addition to which there may be a Master;
    `replicas` is limited to them. The result counts all nodes. Raises UnreadableJobError for more than a Job may have."""
    policy, choice = draft.job.spec.elastic_policy, draft.options.elastic_nodes
    masters, workers = draft.job.replica_count(MASTER), draft.job.replica_count(WORKER)
    low, high = max(policy.min_replicas or workers, 1), max(policy.max_replicas or workers, 1)
    kept = max(min(workers, high), low)
    numbers = {"": kept + masters, "replicas": kept + masters, "min": low + masters, "max": high + masters}
    count = numbers.get(choice, whole_number(choice))
    assert count is not None, "checked by Options"
    if count > MOST_PODS:
        bound = POLICY if choice.isdecimal() else (*POLICY, "maxReplicas" if count - masters == high else "minReplicas")
        raise UnreadableJobError(
            draft.source,
            bound,
            f"{count} nodes are more than a Job may have",
            f"Choose at most {MOST_PODS} with --elastic-nodes.",
        )
    return Nodes(count, min(low, count))


def resized(job: AnyJob, chosen: Nodes) -> AnyJob:
    """The job with as many Workers as make the chosen nodes."""
    workers = job.replicas.get(WORKER)
    if workers is None:
        return job
    count = chosen.total - job.replica_count(MASTER)
    return replace(job, replicas={**job.replicas, WORKER: replace(workers, replicas=count)})


def kept_variables(draft: Draft, variables: Iterable[Json]) -> list[Json]:
    """v1's variables without PET_STANDALONE, which breaks torchrun, and with the v2 host name of a pod that the job names for its
    rendezvous."""
    policy = draft.job.spec.elastic_policy
    kept = [variable for variable in variables if variable["name"] != "PET_STANDALONE"]
    host = _own_host(draft) if policy else None
    if host is None:
        return kept
    return [
        {**variable, "value": variable["value"].replace(policy.rdzv_host, host, 1)}
        if variable["name"] == "PET_RDZV_ENDPOINT"
        else variable
        for variable in kept
    ]


def beside_plugin(variables: Iterable[Json]) -> list[Json]:
    """The variables that the torch plugin does not set: PET_MAX_RESTARTS, PET_RDZV_..."""
    return [variable for variable in variables if variable["name"] not in TORCHRUN_ENVIRONMENT]


def _own_host(draft: Draft) -> str | None:
    """The name in v2 of the pod that rdzvHost names, in full or in short; None when it is none of the job's."""
    short, _, domain = (draft.job.spec.elastic_policy.rdzv_host or "").partition(".")
    return draft.host(*draft.hosts[short]) if short in draft.hosts and is_own_domain(draft, domain) else None


def account(draft: Draft, as_given: AnyJob, chosen: Nodes) -> None:
    """Says of each field of the policy what became of it; `as_given` is the job before it was resized."""
    policy = as_given.spec.elastic_policy
    low, high = policy.min_replicas, policy.max_replicas
    is_kept = low == high and chosen.total == as_given.total_replicas and not policy.metrics
    if is_kept and low == chosen.total:
        draft.default(POLICY, "the bounds are the number of nodes")
    elif is_kept or draft.options.elastic_nodes:
        _report_bounds(draft, FIXED, f"{chosen.total} nodes, where v1 had {low} to {high} Workers.")
    else:
        _report_bounds(draft, NOT_CHOSEN, f"{low} to {high} Workers in v1, and their number is fixed in v2.")
    for field, name in _OF_THE_RENDEZVOUS.items():
        draft.default((*POLICY, field), f"the runtime says it in {name}")
    if policy.rdzv_backend not in {None, "", "c10d"} or (policy.rdzv_host and _own_host(draft) is None):
        field = "rdzvHost" if policy.rdzv_host else "rdzvBackend"
        text = f"torchrun meets at {policy.rdzv_host or 'a server'} by {policy.rdzv_backend or 'c10d'}."
        draft.report(OTHER_STORE, (*POLICY, field), text)
    if policy.standalone is not None:
        if policy.standalone:
            draft.report(STANDALONE, (*POLICY, "standalone"), "torchrun would fail with standalone.", dropped=True)
        else:
            draft.default((*POLICY, "standalone"), "false says nothing")
    if policy.metrics:
        names = ", ".join(_metric_name(metric) for metric in policy.metrics)
        text = f"The job is no longer scaled by {names}."
        draft.report(NO_SCALING, (*POLICY, "metrics"), text, dropped=True)


def _report_bounds(draft: Draft, topic: Topic, text: str) -> None:
    given = [(*POLICY, field) for field in _BOUNDS if draft.is_given((*POLICY, field))]
    draft.report(topic, given[0] if given else POLICY, text, dropped=True, target="TrainJob spec.trainer.numNodes")
    for path in given[1:]:
        draft.default(path, "reported with minReplicas")


def _metric_name(metric: dict[str, object]) -> str:
    """`cpu` of a resource metric; the type of others."""
    kind = str(metric.get("type", ""))
    section = metric.get(kind[:1].lower() + kind[1:])
    name = section.get("name") if isinstance(section, dict) else None
    return str(name or kind or "a metric")
