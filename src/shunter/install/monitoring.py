"""What Prometheus Operator and Grafana read: where there are metrics (the operator, training pods), alerts, a dashboard."""

from __future__ import annotations

from shunter.api.jobset import JOBSET_NAME
from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, TRAIN_JOBS
from shunter.api.training.kinds import JOB_KINDS
from shunter.install.alerts import rule_groups
from shunter.install.dashboard import dashboard_text
from shunter.install.kinds import is_on
from shunter.install.names import METRICS_SELECTOR, OPERATOR
from shunter.install.objects import obj
from shunter.install.resources import POD_MONITORS, PROMETHEUS_RULES, SERVICE_MONITORS
from shunter.install.template import AllOf, AnyOf, Condition, Equals, On, Served, Value, When, any_of

MONITORED = AnyOf((Equals("monitoring", "always"), AllOf((Equals("monitoring", "auto"), Served(SERVICE_MONITORS.api_version)))))


def monitors() -> list[When]:
    """One for the operator, one for the pods of each generation of jobs."""
    is_v1 = any_of([is_on(kind.resource) for kind in JOB_KINDS])
    return [
        When(MONITORED, _operator_monitor()),
        _job_monitor("shunter-kubeflow-jobs", "training.kubeflow.org/job-name", is_v1),
        _job_monitor("shunter-trainjobs", JOBSET_NAME, is_on(TRAIN_JOBS)),
    ]


def dashboard_config_map() -> When:
    """For the sidecar of Grafana's chart, which looks for its label."""
    found = obj(CONFIG_MAPS, "shunter-dashboard", labels={"grafana_dashboard": "1"}, data={"shunter.json": dashboard_text()})
    return When(On("dashboard.enabled"), found)


def alert_rules() -> When:
    """A PrometheusRule with all alerts, where `alerts.enabled`."""
    return When(On("alerts.enabled"), obj(PROMETHEUS_RULES, OPERATOR, spec={"groups": rule_groups()}))


def _operator_monitor() -> Json:
    is_secure, is_guarded = On("config.metrics.secureServing"), On("config.metrics.auth.enabled")
    endpoint = {
        "port": "metrics",
        "interval": "30s",
        # Series about jobs have their namespace, not the operator's.
        "honorLabels": True,
        "scheme": When(is_secure, "https"),
        # The certificate is for the Service of the webhooks.
        "tlsConfig": When(is_secure, {"insecureSkipVerify": True}),
        "bearerTokenFile": When(is_guarded, "/var/run/secrets/kubernetes.io/serviceaccount/token"),
    }
    endpoints = [endpoint]
    return obj(SERVICE_MONITORS, OPERATOR, spec={"selector": {"matchLabels": METRICS_SELECTOR}, "endpoints": endpoints})


def _job_monitor(name: str, label: str, is_served: Condition) -> When:
    """Scrapes pods whose containers name a port `metrics`. The label becomes one of the series: `job_name`, say."""
    spec = {
        "selector": {"matchExpressions": [{"key": label, "operator": "Exists"}]},
        "namespaceSelector": When(On("namespaces"), {"matchNames": Value("namespaces")}, {"any": True}),
        "podTargetLabels": [label],
        "podMetricsEndpoints": [{"port": "metrics", "interval": "30s"}],
    }
    return When(AllOf((MONITORED, is_served)), obj(POD_MONITORS, name, spec=spec))
