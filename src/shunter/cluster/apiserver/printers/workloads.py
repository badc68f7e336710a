"""Printers of Jobs and of other workloads."""

from __future__ import annotations

from datetime import datetime

from shunter.api.formats.times import moment
from shunter.api.meta import Json
from shunter.api.ownership import controller_reference
from shunter.cluster.apiserver.printers.columns import (
    AGE,
    NAME,
    Printer,
    at_time,
    boolean,
    format_labels,
    format_selector,
    human_duration,
    integer,
    of_containers,
    printer,
    since,
    spec_of,
    status_of,
    text,
    wide,
)

_LATER_JOB_WORDS = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _pod_spec(document: Json) -> Json:
    return (spec_of(document).get("template") or {}).get("spec") or {}


def _completions(job: Json) -> str:
    spec, succeeded = spec_of(job), status_of(job).get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    return f"{succeeded}/1 of {spec['parallelism']}" if spec.get("parallelism", 0) > 1 else f"{succeeded}/1"


def _duration(job: Json, now: datetime) -> str:
    status = status_of(job)
    if not status.get("startTime"):
        return ""
    until = moment(status["completionTime"]) if status.get("completionTime") else now
    return human_duration((until - moment(status["startTime"])).total_seconds())


def _job_word(job: Json) -> str:
    true = {c["type"] for c in (job.get("status") or {}).get("conditions") or () if c.get("status") == "True"}
    for type in ("Complete", "Failed"):
        if type in true:
            return type
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return next((type for type in _LATER_JOB_WORDS if type in true), "Running")


def _job_spec(cron_job: Json) -> Json:
    return (spec_of(cron_job).get("jobTemplate") or {}).get("spec") or {}


def _last_schedule(cron_job: Json, now: datetime) -> str:
    last = status_of(cron_job).get("lastScheduleTime")
    return since(last, now) if last else "<none>"


def _ready(document: Json) -> str:
    return f"{status_of(document).get('readyReplicas', 0)}/{spec_of(document).get('replicas', 0)}"


def _selector(document: Json) -> str:
    return format_selector(spec_of(document).get("selector"))


def _autoscaled(autoscaler: Json) -> str:
    target = spec_of(autoscaler).get("scaleTargetRef") or {}
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def _metrics(autoscaler: Json) -> str:
    specs, current = spec_of(autoscaler).get("metrics") or [], status_of(autoscaler).get("currentMetrics") or []
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


def _controller(revision: Json) -> str:
    owner = controller_reference(revision)
    if not owner:
        return "<none>"
    group = owner["apiVersion"].rpartition("/")[0]
    return f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}"


_CONTAINERS = (wide("Containers", of_containers("name", _pod_spec)), wide("Images", of_containers("image", _pod_spec)))
_TEMPLATE = (*_CONTAINERS, wide("Selector", _selector))
_REPLICAS = (
    NAME,
    integer("Desired", "spec.replicas"),
    integer("Current", "status.replicas"),
    integer("Ready", "status.readyReplicas"),
    AGE,
    *_CONTAINERS,
)

PRINTERS: dict[tuple[str, str], Printer] = {
    ("batch", "Job"): printer(
        NAME, text("Status", _job_word), text("Completions", _completions), at_time("Duration", _duration), AGE, *_TEMPLATE
    ),
    ("batch", "CronJob"): printer(
        NAME,
        text("Schedule", "spec.schedule"),
        text("Timezone", "spec.timeZone", "<none>"),
        boolean("Suspend", lambda it: {None: "<unset>", True: "True", False: "False"}[spec_of(it).get("suspend")]),
        integer("Active", lambda it: len(status_of(it).get("active") or ())),
        at_time("Last Schedule", _last_schedule),
        AGE,
        wide("Containers", of_containers("name", lambda it: _pod_spec({"spec": _job_spec(it)}))),
        wide("Images", of_containers("image", lambda it: _pod_spec({"spec": _job_spec(it)}))),
        wide("Selector", lambda it: format_selector(_job_spec(it).get("selector"))),
    ),
    ("apps", "Deployment"): printer(
        NAME,
        text("Ready", _ready),
        text("Up-to-date", "status.updatedReplicas", 0),
        text("Available", "status.availableReplicas", 0),
        AGE,
        *_TEMPLATE,
    ),
    ("apps", "ReplicaSet"): printer(*_REPLICAS, wide("Selector", _selector)),
    ("", "ReplicationController"): printer(*_REPLICAS, wide("Selector", lambda it: format_labels(spec_of(it).get("selector")))),
    ("", "PodTemplate"): printer(
        NAME,
        text("Containers", of_containers("name", lambda it: _pod_spec({"spec": it}))),
        text("Images", of_containers("image", lambda it: _pod_spec({"spec": it}))),
        text("Pod Labels", lambda it: format_labels(((it.get("template") or {}).get("metadata") or {}).get("labels"))),
    ),
    ("apps", "StatefulSet"): printer(NAME, text("Ready", _ready), AGE, *_CONTAINERS),
    ("apps", "DaemonSet"): printer(
        NAME,
        integer("Desired", "status.desiredNumberScheduled"),
        integer("Current", "status.currentNumberScheduled"),
        integer("Ready", "status.numberReady"),
        integer("Up-to-date", "status.updatedNumberScheduled"),
        integer("Available", "status.numberAvailable"),
        text("Node Selector", lambda it: format_labels(_pod_spec(it).get("nodeSelector"))),
        AGE,
        *_TEMPLATE,
    ),
    ("apps", "ControllerRevision"): printer(NAME, text("Controller", _controller), text("Revision", "revision", 0), AGE),
    ("policy", "PodDisruptionBudget"): printer(
        NAME,
        text("Min Available", lambda it: str(spec_of(it).get("minAvailable", "N/A"))),
        text("Max Unavailable", lambda it: str(spec_of(it).get("maxUnavailable", "N/A"))),
        integer("Allowed Disruptions", "status.disruptionsAllowed"),
        AGE,
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): printer(
        NAME,
        text("Reference", _autoscaled),
        text("Targets", _metrics),
        text("MinPods", lambda it: str(spec_of(it).get("minReplicas", "<unset>"))),
        text("MaxPods", "spec.maxReplicas", 0),
        text("Replicas", "status.currentReplicas", 0),
        AGE,
    ),
}
