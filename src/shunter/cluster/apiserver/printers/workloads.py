"""Printers of Jobs and of other workloads."""

from __future__ import annotations

from datetime import datetime

from shunter.api.meta import Json
from shunter.api.ownership import controller_reference
from shunter.cluster.apiserver.printers.columns import (
    AGE,
    NAME,
    Cells,
    Printer,
    age,
    column,
    columns,
    containers_and_images,
    format_labels,
    format_selector,
    human_duration,
    moment,
    since,
    wide,
)

_TEMPLATE = (wide("Containers"), wide("Images"), wide("Selector"))
_LATER_JOB_WORDS = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _pod_spec(document: Json) -> Json:
    return ((document["spec"].get("template") or {}).get("spec")) or {}


def _job(job: Json, now: datetime) -> Cells:
    spec, status = job.get("spec") or {}, job.get("status") or {}
    succeeded = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        completions = f"{succeeded}/{spec['completions']}"
    elif spec.get("parallelism", 0) > 1:
        completions = f"{succeeded}/1 of {spec['parallelism']}"
    else:
        completions = f"{succeeded}/1"
    duration = ""
    if status.get("startTime"):
        until = moment(status["completionTime"]) if status.get("completionTime") else now
        duration = human_duration((until - moment(status["startTime"])).total_seconds())
    return [
        job["metadata"]["name"],
        _job_word(job),
        completions,
        duration,
        age(job, now),
        *containers_and_images(_pod_spec(job)),
        format_selector(spec.get("selector")),
    ]


def _job_word(job: Json) -> str:
    true = {c["type"] for c in (job.get("status") or {}).get("conditions") or () if c.get("status") == "True"}
    for type in ("Complete", "Failed"):
        if type in true:
            return type
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return next((type for type in _LATER_JOB_WORDS if type in true), "Running")


def _cron_job(document: Json, now: datetime) -> Cells:
    spec, status = document["spec"], document.get("status") or {}
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    return [
        document["metadata"]["name"],
        spec.get("schedule", ""),
        spec.get("timeZone", "<none>"),
        {None: "<unset>", True: "True", False: "False"}[spec.get("suspend")],
        len(status.get("active") or ()),
        since(status["lastScheduleTime"], now) if status.get("lastScheduleTime") else "<none>",
        age(document, now),
        *containers_and_images((job.get("template") or {}).get("spec") or {}),
        format_selector(job.get("selector")),
    ]


def _deployment(document: Json, now: datetime) -> Cells:
    spec, status = document["spec"], document.get("status") or {}
    return [
        document["metadata"]["name"],
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(document, now),
        *containers_and_images(_pod_spec(document)),
        format_selector(spec.get("selector")),
    ]


def _replica_set(document: Json, now: datetime) -> Cells:
    spec, status = document["spec"], document.get("status") or {}
    return [
        document["metadata"]["name"],
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(document, now),
        *containers_and_images(_pod_spec(document)),
        format_selector(spec.get("selector")),
    ]


def _pod_template(document: Json, now: datetime) -> Cells:
    template = document.get("template") or {}
    labels = format_labels((template.get("metadata") or {}).get("labels"))
    return [document["metadata"]["name"], *containers_and_images(template.get("spec") or {}), labels]


def _replication_controller(document: Json, now: datetime) -> Cells:
    return [*_replica_set(document, now)[:-1], format_labels(document["spec"].get("selector"))]


def _stateful_set(document: Json, now: datetime) -> Cells:
    spec, status = document["spec"], document.get("status") or {}
    return [
        document["metadata"]["name"],
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        age(document, now),
        *containers_and_images(_pod_spec(document)),
    ]


def _daemon_set(document: Json, now: datetime) -> Cells:
    status = document.get("status") or {}
    return [
        document["metadata"]["name"],
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        format_labels(_pod_spec(document).get("nodeSelector")),
        age(document, now),
        *containers_and_images(_pod_spec(document)),
        format_selector(document["spec"].get("selector")),
    ]


def _disruption_budget(document: Json, now: datetime) -> Cells:
    spec, status = document.get("spec") or {}, document.get("status") or {}
    return [
        document["metadata"]["name"],
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        status.get("disruptionsAllowed", 0),
        age(document, now),
    ]


def _autoscaler(document: Json, now: datetime) -> Cells:
    spec, status = document["spec"], document.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    return [
        document["metadata"]["name"],
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec.get("metrics") or [], status.get("currentMetrics") or []),
        str(spec.get("minReplicas", "<unset>")),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age(document, now),
    ]


def _metrics(specs: list[Json], current: list[Json]) -> str:
    if not specs:
        return "<none>"
    shown = [_metric(spec, current[i] if i < len(current) else {}) for i, spec in enumerate(specs)]
    more = f" + {len(shown) - 2} more..." if len(shown) > 2 else ""
    return ", ".join(shown[:2]) + more


def _metric(spec: Json, current: Json) -> str:
    source = spec.get("type", "")
    name = source[:1].lower() + source[1:]
    target = (spec.get(name) or {}).get("target") or {}
    now = (current.get(name) or {}).get("current") or {}
    if source in ("Resource", "ContainerResource"):
        prefix = f"{spec[name].get('name', '')}: "
        if "averageValue" in target:
            return f"{prefix}{now.get('averageValue', '<unknown>')}/{target['averageValue']}"
        used = f"{now['averageUtilization']}%" if "averageUtilization" in now else "<unknown>"
        wanted = f"{target['averageUtilization']}%" if "averageUtilization" in target else "<auto>"
        return f"{prefix}{used}/{wanted}"
    if source in ("External", "Object", "Pods"):
        if "averageValue" in target:
            suffix = "" if source == "Pods" else " (avg)"
            return f"{now.get('averageValue', '<unknown>')}/{target['averageValue']}{suffix}"
        return f"{now.get('value', '<unknown>')}/{target.get('value', '')}"
    return "<unknown type>"


def _controller_revision(document: Json, now: datetime) -> Cells:
    owner = controller_reference(document)
    shown = "<none>"
    if owner:
        group = owner["apiVersion"].rpartition("/")[0]
        shown = f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}"
    return [document["metadata"]["name"], shown, document.get("revision", 0), age(document, now)]


_REPLICAS = columns(NAME, column("Desired", "integer"), column("Current", "integer"), column("Ready", "integer"), AGE, *_TEMPLATE)

PRINTERS: dict[tuple[str, str], Printer] = {
    ("batch", "Job"): Printer(columns(NAME, "Status", "Completions", "Duration", AGE, *_TEMPLATE), _job),
    ("batch", "CronJob"): Printer(
        columns(
            *(NAME, "Schedule", "Timezone", column("Suspend", "boolean"), column("Active", "integer"), "Last Schedule", AGE),
            *_TEMPLATE,
        ),
        _cron_job,
    ),
    ("apps", "Deployment"): Printer(columns(NAME, "Ready", "Up-to-date", "Available", AGE, *_TEMPLATE), _deployment),
    ("apps", "ReplicaSet"): Printer(_REPLICAS, _replica_set),
    ("", "ReplicationController"): Printer(_REPLICAS, _replication_controller),
    ("", "PodTemplate"): Printer(columns(NAME, "Containers", "Images", "Pod Labels"), _pod_template),
    ("apps", "StatefulSet"): Printer(columns(NAME, "Ready", AGE, wide("Containers"), wide("Images")), _stateful_set),
    ("apps", "DaemonSet"): Printer(
        columns(
            NAME,
            *(column(name, "integer") for name in ("Desired", "Current", "Ready", "Up-to-date", "Available")),
            "Node Selector",
            AGE,
            *_TEMPLATE,
        ),
        _daemon_set,
    ),
    ("apps", "ControllerRevision"): Printer(columns(NAME, "Controller", "Revision", AGE), _controller_revision),
    ("policy", "PodDisruptionBudget"): Printer(
        columns(NAME, "Min Available", "Max Unavailable", column("Allowed Disruptions", "integer"), AGE), _disruption_budget
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): Printer(
        columns(NAME, "Reference", "Targets", "MinPods", "MaxPods", "Replicas", AGE), _autoscaler
    ),
}
