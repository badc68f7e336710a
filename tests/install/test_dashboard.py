"""The dashboard shows what the operator exports, and nothing else; alerts fire when they should. Asked of a real Prometheus that
scrapes a real operator under load, and of promtool."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from cluster.api_server import start_api_server
from running_operator import PLAIN, Operator
from shunter.api.resources import TRAIN_JOBS, Resource
from shunter.cluster.free_ports import free_port
from shunter.install.alerts import ALERTS, rule_groups
from shunter.install.dashboard import dashboard
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect

ROOT = Path(__file__).parents[2]
PANELS: list[dict[str, Any]] = dashboard()["panels"]
GRAPHS = [panel for panel in PANELS if panel["type"] != "row"]
EXPRESSIONS = {f"{panel['title']} {target['refId']}": target["expr"] for panel in GRAPHS for target in panel["targets"]}
FOREIGN = ("DCGM_",)
"""Prefixes of metrics that others export."""
METRIC = re.compile(r"\b[a-zA-Z_]+_[a-zA-Z_]+\b(?=[{\[)\s]|$)")
needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None and not os.environ.get("CI"),
    reason="there is no prometheus and promtool on PATH (Debian has them in the package prometheus)",
)


def metrics_in(expression: str) -> set[str]:
    """The metrics that an expression names; labels stand in braces, or after `by`."""
    bare = re.sub(r"\b(by|without) \([^)]*\)|\{[^}]*\}|\$__rate_interval", "", expression)
    return {name for name in METRIC.findall(bare) if name not in ("histogram_quantile",)}


def family(name: str) -> str:
    """As `# TYPE` names it: of a counter, or a histogram, without the suffix of its series."""
    return re.sub(r"_(total|bucket|count|sum)$", "", name)


def test_panels_do_not_overlap_and_fill_no_more_than_the_grid() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, f"{panel['title']} lies over another panel"
        assert place["x"] + place["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)


def test_the_dashboard_belongs_to_no_instance() -> None:
    found = dashboard()
    assert found["id"] is None
    assert {json.dumps(panel.get("datasource")) for panel in GRAPHS} == {
        json.dumps({"type": "prometheus", "uid": "${datasource}"})
    }
    assert [variable["name"] for variable in found["templating"]["list"]] == ["datasource", "namespace"]


@pytest.fixture(scope="module")
def prometheus_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prometheus")


Scraped = tuple[str, Callable[[str], Any]]


@pytest.fixture
async def scraped(prometheus_directory: Path) -> AsyncIterator[Scraped]:
    """What the operator exports while jobs come, and a function that asks Prometheus, which has scraped it for some seconds."""
    server = start_api_server(prometheus_directory / "state")
    try:
        text = PLAIN + "featureGates: {{TrainJobStatus: true}}\nstatusServer: {{port: {status}}}\n"
        text += "leaderElection: {{leaderElect: true, resourceName: shunter, resourceNamespace: default}}\n"
        operator = Operator(server, prometheus_directory, text, leader_elect=True)
        async with operator.running() as running, connect(kubeconfig.load(server.kubeconfig)) as client:
            with prometheus(prometheus_directory, running.metrics) as port:
                await load(client)
                asked = asker(running.session, port)
                async with asyncio.timeout(60):
                    while not await asked("shunter_jobs offset 6s"):  # noqa: ASYNC110 -- it scrapes when it does
                        await asyncio.sleep(0.2)
                yield (await running.get(f"http://127.0.0.1:{running.metrics}/metrics"))[1], asked
    finally:
        server.stop()


class prometheus:  # noqa: N801 -- used as a function
    """A Prometheus that scrapes one port every second, as a ServiceMonitor has it do; gives its own port."""

    def __init__(self, directory: Path, target: int) -> None:
        self._port = free_port()
        labels = {"namespace": "shunter-system", "pod": "shunter-operator-1", "job": "shunter-metrics"}
        scrape = {
            "job_name": "operator",
            "honor_labels": True,
            "static_configs": [{"targets": [f"127.0.0.1:{target}"], "labels": labels}],
        }
        file = directory / "prometheus.yaml"
        file.write_text(yaml.dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [scrape]}))
        self._command = [
            "prometheus",
            f"--config.file={file}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
            "--log.level=error",
        ]

    def __enter__(self) -> int:
        self._process = subprocess.Popen(self._command)
        return self._port

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def asker(session: aiohttp.ClientSession, port: int) -> Callable[[str], Any]:
    async def asked(expression: str) -> Any:
        """The result of a query; an error of Prometheus fails the test. While it starts there is none."""
        try:
            async with session.get(f"http://127.0.0.1:{port}/api/v1/query", params={"query": expression}) as answer:
                found = await answer.json(content_type=None)
        except aiohttp.ClientError:
            return []
        if answer.status == 503:
            return []
        assert found["status"] == "success", f"{expression}: {found.get('error')}"
        return found["data"]["result"]

    return asked


async def load(client: Client) -> None:
    """Jobs of both generations, one of them refused, in two namespaces."""
    pytorch = Resource("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs")
    template = {"spec": {"containers": [{"name": "pytorch", "image": "any:1"}]}}
    for number in range(20):
        specs = {"Master": {"replicas": 1, "template": template}}
        head = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": f"old-{number}"}}
        await client.create(pytorch, {**head, "spec": {"pytorchReplicaSpecs": specs}}, "default")
        head = {"apiVersion": TRAIN_JOBS.api_version, "kind": TRAIN_JOBS.kind, "metadata": {"name": f"new-{number}"}}
        await client.create(TRAIN_JOBS, {**head, "spec": {"runtimeRef": {"name": "torch-distributed"}}}, "default")


LEFT_OUT = {
    "workqueue_unfinished_work_seconds": "the oldest work under way says more than the sum of all",
    "workqueue_work_duration_seconds": "the duration of reconciles is the same but for the queue's own work",
}
"""Metrics that the operator exports and no panel shows, each with the reason."""
HAVE_DATA = (
    "Jobs by phase A",
    "Jobs created and ended a minute A",
    "Jobs created and ended a minute B",
    "Oldest waiting job A",
    "Reconciles a second A",
    "Reconcile duration, p99 A",
    "Queue depth A",
    "Queue age A",
    "Queue age B",
    "Workers busy A",
    "Longest work under way A",
    "Keys added and retried a second A",
    "Requests to the API server a second A",
    "Webhook requests a second A",
    "Webhook decisions a second A",
    "Webhook latency, p99 A",
    "Certificate: time left A",
    "Leaders and replicas A",
    "Leaders and replicas B",
)
"""Of the queries those that such a load must give values."""


@needs_prometheus
@pytest.mark.integration
@pytest.mark.slow
async def test_every_query_is_answered_and_every_metric_is_exported_and_shown(scraped: Scraped) -> None:
    exported, asked = scraped
    names = {line.split()[2] for line in exported.splitlines() if line.startswith("# TYPE")}
    families = {family(name) for name in names if not name.startswith(("python_", "process_")) and not name.endswith("_created")}
    found = {}
    for name, expression in EXPRESSIONS.items():
        for metric in metrics_in(expression):
            assert metric.startswith(FOREIGN) or family(metric) in families, f"{name}: the operator exports no {metric}"
        found[name] = await asked(expression.replace("$namespace", ".*").replace("$__rate_interval", "5s"))
    assert [name for name in HAVE_DATA if not found[name]] == []
    shown = {family(metric) for expression in EXPRESSIONS.values() for metric in metrics_in(expression)}
    assert sorted(families - shown - LEFT_OUT.keys()) == [], "exported, and neither shown nor listed as left out"
    assert sorted(LEFT_OUT.keys() - families) == []
    assert sorted(LEFT_OUT.keys() & shown) == []
    for alert in ALERTS:
        assert metrics_in(alert.expression), alert.name
        assert {family(metric) for metric in metrics_in(alert.expression)} <= families, alert.name
        await asked(alert.expression)
    for name in documented():
        assert family(name) in families, f"docs/operator.md names {name}, which is not exported"


def documented() -> Iterator[str]:
    """Names of metrics in docs/operator.md that are written in full."""
    text = (ROOT / "docs/operator.md").read_text()
    table = text[text.index("## Metrics") : text.index("No series has the name")]
    for row in table.splitlines():
        names = re.findall(r"`([a-z_.]+)`", row.split("|")[1]) if row.startswith("| `") else []
        yield from (name for name in names if not name.startswith(("_", ".")))


@needs_prometheus
@pytest.mark.integration
def test_promtool_finds_no_fault_with_the_rules(tmp_path: Path) -> None:
    done = promtool(tmp_path, "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml")
    assert f"{len(ALERTS)} rules found" in done


def promtool(directory: Path, *arguments: str) -> str:
    (directory / "rules.yaml").write_text(yaml.dump({"groups": rule_groups()}))
    done = subprocess.run(["promtool", *arguments], cwd=directory, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


BUILD = {"series": 'shunter_build_info{version="1"}', "values": "1x60"}
EXPIRY, OLDEST, AGE = (
    "shunter_webhook_certificate_expiry_timestamp_seconds",
    'shunter_oldest_waiting_job_timestamp_seconds{kind="TrainJob",namespace="n"}',
    'shunter_workqueue_oldest_seconds{name="q"}',
)


def leader(values: str) -> list[dict[str, str]]:
    return [BUILD, {"series": 'leader_election_master_status{name="l",pod="a"}', "values": values}]


def reconciles(failed: int) -> list[dict[str, str]]:
    every = {"series": 'controller_runtime_reconcile_total{controller="c"}', "values": "0+100x60"}
    return [every, {"series": 'controller_runtime_reconcile_errors_total{controller="c"}', "values": f"0+{failed}x60"}]


def constant(series: str, value: float) -> list[dict[str, str]]:
    return [{"series": series, "values": f"{value}x60"}]


CASES: list[tuple[str, str, list[dict[str, str]], str, bool]] = [
    ("ShunterNoLeader", "no replica leads", leader("0x60"), "6m", True),
    ("ShunterNoLeader", "nothing is scraped", constant("up", 1), "6m", True),
    ("ShunterNoLeader", "one leads", leader("1x60"), "6m", False),
    ("ShunterNoLeader", "the leader changes", leader("1 0 0 0 1x60"), "6m", False),
    ("ShunterNoLeader", "without an election", [BUILD], "6m", False),
    ("ShunterCertificateExpires", "6 days left", constant(EXPIRY, 6 * 86400), "16m", True),
    ("ShunterCertificateExpires", "8 days left", constant(EXPIRY, 8 * 86400), "16m", False),
    ("ShunterCertificateExpires", "no certificate yet", constant(EXPIRY, 0), "16m", False),
    ("ShunterReconcileErrors", "6 of 100", reconciles(6), "25m", True),
    ("ShunterReconcileErrors", "4 of 100", reconciles(4), "25m", False),
    ("ShunterReconcileErrors", "6 of 100 for 10 minutes", reconciles(6), "10m", False),
    ("ShunterQueueStuck", "400 seconds", constant(AGE, 400), "2m", True),
    ("ShunterQueueStuck", "200 seconds", constant(AGE, 200), "2m", False),
    ("ShunterJobsWaiting", "waits for 40 minutes", constant(OLDEST, 0), "40m", True),
    ("ShunterJobsWaiting", "waits for 20 minutes", constant(OLDEST, 0), "20m", False),
]
"""Alert, what is so, series (a value a minute), when it is looked at, whether it fires then."""


@needs_prometheus
@pytest.mark.integration
def test_alerts_fire_when_they_should_and_not_before(tmp_path: Path) -> None:
    assert {case[0] for case in CASES if case[4]} == {alert.name for alert in ALERTS}
    assert {case[0] for case in CASES if not case[4]} == {alert.name for alert in ALERTS}
    tests = []
    for name, _, series, when, fires in CASES:
        count = f'count(ALERTS{{alertname="{name}", alertstate="firing"}}) or vector(0)'
        samples = [{"labels": "{}", "value": int(fires)}]
        check = {"expr": count, "eval_time": when, "exp_samples": samples}
        tests.append({"name": f"{name}: {_}", "interval": "1m", "input_series": series, "promql_expr_test": [check]})
    (tmp_path / "tests.yaml").write_text(yaml.dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}))
    promtool(tmp_path, "test", "rules", "tests.yaml")
