"""The Grafana dashboard of an installation, in the classic model, which Grafana 10 and later read. Pure.

`ROWS` says what is shown; the builder below it makes panels of that. Series of the operator's replicas are put together: counts
of jobs, which every replica exports, by `max`, and what each of them does by `sum`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.install import expressions

NAME = "shunter"
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS, HEIGHT = 24, 8
"""Columns of Grafana's grid, and the rows of it that a panel takes."""
WINDOW = "$__rate_interval"
"""The window that Grafana chooses for the resolution."""
V1, V2 = 'job_namespace=~"$namespace"', 'namespace=~"$namespace"'
JOBS = f"shunter_jobs{{{V2}}}"


class Query(NamedTuple):
    """PromQL, and Grafana's template for the names of its series, such as `{{phase}}`."""

    expression: str
    legend: str = ""


class Panel(NamedTuple):
    """A time series, with its unit in Grafana's words."""

    title: str
    description: str
    queries: tuple[Query, ...]
    unit: str = "short"
    width: int = 8


class Row(NamedTuple):
    """A heading of the dashboard with its panels from left to right; what does not fit goes below."""

    title: str
    panels: tuple[Panel, ...]


def per_minute(metric: str, selector: str, legend: str) -> Query:
    """Events a minute of a counter, all its series in one."""
    return Query(f"60 * sum(rate({metric}{{{selector}}}[{WINDOW}]))", legend)


def rate(metric: str, *by: str, legend: str) -> Query:
    """Events a second of a counter, a series for each value of the labels `by`."""
    return Query(expressions.rate(metric, *by, window=WINDOW), legend)


def quantile(share: float, metric: str, *by: str, selector: str = "", legend: str) -> Query:
    """The query of a quantile of a histogram, named without `_bucket`."""
    series = f"{metric}_bucket{{{selector}}}" if selector else f"{metric}_bucket"
    return Query(f"histogram_quantile({share}, {expressions.rate(series, 'le', *by, window=WINDOW)})", legend)


ROWS = (
    Row(
        "Jobs",
        (
            Panel(
                "Jobs by phase",
                "Jobs that exist, in all kinds.",
                (Query(f"sum by (phase) (max by (kind, namespace, phase) ({JOBS}))", "{{phase}}"),),
            ),
            Panel(
                "Failures and restarts a minute",
                "Jobs that failed, and restarts of jobs.",
                (
                    per_minute("training_operator_jobs_failed_total", V1, "failed, kubeflow.org/v1"),
                    per_minute("kubeflow_trainer_jobs_failed_total", V2, "failed, TrainJob"),
                    per_minute("training_operator_jobs_restarted_total", V1, "restarts, kubeflow.org/v1"),
                    per_minute("kubeflow_trainer_job_restarts_total", V2, "restarts, TrainJob"),
                ),
            ),
            Panel(
                "Jobs created and ended a minute",
                "Jobs that appeared, succeeded, were suspended or were deleted.",
                (
                    per_minute("training_operator_jobs_created_total", V1, "created, kubeflow.org/v1"),
                    per_minute("kubeflow_trainer_jobs_created_total", V2, "created, TrainJob"),
                    per_minute("training_operator_jobs_successful_total", V1, "succeeded, kubeflow.org/v1"),
                    per_minute("kubeflow_trainer_jobs_completed_total", V2, "succeeded, TrainJob"),
                    per_minute("kubeflow_trainer_jobs_suspended_total", V2, "suspended, TrainJob"),
                    per_minute("training_operator_jobs_deleted_total", V1, "deleted, kubeflow.org/v1"),
                ),
            ),
            Panel(
                "Time to running",
                "From the creation of a TrainJob until its pods run.",
                tuple(
                    quantile(share, "kubeflow_trainer_job_time_to_running_seconds", selector=V2, legend=f"p{100 * share:.0f}")
                    for share in (0.5, 0.95)
                ),
                "s",
                12,
            ),
            Panel(
                "Oldest waiting job",
                "How long the oldest waiting job has waited since it was created, or last resumed.",
                (Query(expressions.waiting_job_seconds(f"{{{V2}}}"), "{{kind}} in {{namespace}}"),),
                "s",
                12,
            ),
        ),
    ),
    Row(
        "Operator",
        (
            Panel(
                "Reconciles a second",
                "By controller.",
                (rate("controller_runtime_reconcile_total", "controller", legend="{{controller}}"),),
            ),
            Panel(
                "Reconcile errors a second",
                "Reconciles that failed, and those of them that failed by a bug.",
                (
                    rate("controller_runtime_reconcile_errors_total", "controller", legend="{{controller}}"),
                    rate("controller_runtime_reconcile_panics_total", "controller", legend="{{controller}}, bug"),
                ),
            ),
            Panel(
                "Reconcile duration, p99",
                "By controller.",
                (quantile(0.99, "controller_runtime_reconcile_time_seconds", "controller", legend="{{controller}}"),),
                "s",
            ),
            Panel("Queue depth", "Keys that wait for a worker.", (Query("sum by (name) (workqueue_depth)", "{{name}}"),)),
            Panel(
                "Queue age",
                "Age of the oldest key that waits for a worker, and how long those waited that were taken (p99).",
                (
                    Query(expressions.OLDEST_KEY_SECONDS, "{{name}}, oldest"),
                    quantile(0.99, "workqueue_queue_duration_seconds", "name", legend="{{name}}, p99"),
                ),
                "s",
            ),
            Panel(
                "Workers busy",
                "Share of the workers that have a key.",
                (
                    Query(
                        "sum by (controller) (controller_runtime_active_workers)"
                        " / sum by (controller) (controller_runtime_max_concurrent_reconciles)",
                        "{{controller}}",
                    ),
                ),
                "percentunit",
            ),
            Panel(
                "Longest work under way",
                "Age of the oldest reconcile that has not ended.",
                (Query("max by (name) (workqueue_longest_running_processor_seconds)", "{{name}}"),),
                "s",
                12,
            ),
            Panel(
                "Keys added and retried a second",
                "Of all queues.",
                (
                    rate("workqueue_adds_total", "name", legend="{{name}}, added"),
                    rate("workqueue_retries_total", "name", legend="{{name}}, retried"),
                ),
                width=12,
            ),
        ),
    ),
    Row(
        "API server and webhooks",
        (
            Panel(
                "Requests to the API server a second",
                "By status code.",
                (rate("rest_client_requests_total", "code", "method", legend="{{method}} {{code}}"),),
            ),
            Panel(
                "Waiting for the operator's own limit, p99",
                "How long requests to the API server waited for --kube-api-qps.",
                (quantile(0.99, "rest_client_rate_limiter_duration_seconds", "verb", legend="{{verb}}"),),
                "s",
            ),
            Panel(
                "Watch restarts a second",
                "By resource and reason.",
                (rate("shunter_watch_restarts_total", "resource", "reason", legend="{{resource}}: {{reason}}"),),
            ),
            Panel(
                "Webhook requests a second",
                "By status code, and those under way.",
                (
                    rate("controller_runtime_webhook_requests_total", "code", legend="{{code}}"),
                    Query("sum(controller_runtime_webhook_requests_in_flight)", "under way"),
                ),
            ),
            Panel(
                "Webhook decisions a second",
                "Admitted, changed and rejected objects.",
                (rate("shunter_webhook_decisions_total", "webhook", "decision", legend="{{webhook}}: {{decision}}"),),
            ),
            Panel(
                "Webhook latency, p99",
                "By webhook.",
                (quantile(0.99, "controller_runtime_webhook_latency_seconds", "webhook", legend="{{webhook}}"),),
                "s",
            ),
            Panel(
                "Certificate: time left",
                "Until the certificate of the webhooks expires.",
                (Query(expressions.CERTIFICATE_SECONDS_LEFT, "webhooks"),),
                "s",
            ),
            Panel(
                "Leaders and replicas",
                "One replica leads; of each release that runs.",
                (
                    Query("sum by (name) (leader_election_master_status)", "leaders of {{name}}"),
                    Query("count by (version, python) (shunter_build_info)", "replicas of {{version}}, Python {{python}}"),
                ),
            ),
            Panel(
                "Progress reports a second",
                "Reports of training programs by answer, how long they took (p99), and writes to the API server.",
                (
                    rate("kubeflow_trainer_status_reports_total", "code", legend="reports {{code}}"),
                    quantile(0.99, "kubeflow_trainer_status_report_duration_seconds", legend="p99, seconds"),
                    rate("kubeflow_trainer_status_writes_total", "code", legend="writes {{code}}"),
                ),
            ),
        ),
    ),
    Row(
        "Ranks (from NVIDIA's DCGM exporter, where it runs)",
        (
            Panel(
                "GPU utilization",
                "Of each pod with GPUs.",
                (Query(f"avg by (pod) (DCGM_FI_DEV_GPU_UTIL{{{V2}}})", "{{pod}}"),),
                "percent",
                12,
            ),
            Panel(
                "GPU memory",
                "Of each pod with GPUs.",
                (Query(f"sum by (pod) (DCGM_FI_DEV_FB_USED{{{V2}}})", "{{pod}}"),),
                "decmbytes",
                12,
            ),
        ),
    ),
)


def dashboard() -> Json:
    """The whole dashboard. It has no id of an instance: its data source is a variable."""
    return {
        "title": "Shunter",
        "uid": NAME,
        "id": None,
        "tags": ["shunter", "kubeflow"],
        "schemaVersion": 36,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "annotations": {"list": []},
        "templating": {"list": list(_variables())},
        "panels": list(_panels()),
    }


def dashboard_text() -> str:
    """The dashboard as JSON that Grafana imports."""
    return json.dumps(dashboard(), indent=1) + "\n"


def _variables() -> Iterator[Json]:
    default = {"text": "default", "value": "default"}
    yield {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": default}
    yield {
        "name": "namespace",
        "label": "Namespace of jobs",
        "type": "query",
        "datasource": DATA_SOURCE,
        "query": {"query": "label_values(shunter_jobs, namespace)", "refId": "namespaces"},
        "definition": "label_values(shunter_jobs, namespace)",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panels() -> Iterator[Json]:
    """Rows from the top, in each the panels from the left; what does not fit goes below."""
    number, top = 1, 0
    for row in ROWS:
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "panels": [],
            "gridPos": _place(0, top, COLUMNS, 1),
        }
        number, top, left = number + 1, top + 1, 0
        for panel in row.panels:
            if left + panel.width > COLUMNS:
                top, left = top + HEIGHT, 0
            yield _panel(panel, number, _place(left, top, panel.width, HEIGHT))
            number, left = number + 1, left + panel.width
        top += HEIGHT


def _place(x: int, y: int, width: int, height: int) -> Json:
    return {"x": x, "y": y, "w": width, "h": height}


def _panel(panel: Panel, number: int, place: Json) -> Json:
    legend = {"showLegend": True, "displayMode": "list", "placement": "bottom", "calcs": []}
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.description,
        "datasource": DATA_SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": DATA_SOURCE, "expr": query.expression, "legendFormat": query.legend}
            for index, query in enumerate(panel.queries)
        ],
    }
