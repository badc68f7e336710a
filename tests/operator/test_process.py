"""What the process serves besides reconciling: metrics, health, progress; as the configuration says."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.api_server import RunningApiServer, start_api_server
from running_operator import PLAIN, Operator
from shunter.api.resources import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS, TRAIN_JOBS, VALIDATING_WEBHOOKS
from shunter.errors import InputError
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.errors import Forbidden, Status
from shunter.kube.webhooks.registration import bundles
from shunter.operator.process import RuntimeInstallation, run
from shunter.operator.trainer.runtimes import shipped
from shunter.operator.trainer.statusserver.place import audience

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApiServer]:
    running = start_api_server(tmp_path_factory.mktemp("process") / "state")
    yield running
    running.stop()


@pytest.fixture
async def client(server: RunningApiServer) -> AsyncIterator[Client]:
    async with connect(kubeconfig.load(server.kubeconfig)) as client:
        yield client


@pytest.fixture
def operator(server: RunningApiServer, tmp_path: Path) -> Callable[..., Operator]:
    return lambda text, **options: Operator(server, tmp_path, text, **options)


async def until(condition: Callable[[], Any]) -> Any:
    async with asyncio.timeout(20):
        while not (found := await condition()):  # noqa: ASYNC110 -- the condition is the server's
            await asyncio.sleep(0.05)
        return found


async def test_metrics_have_the_names_that_dashboards_know(operator: Callable[..., Operator], client: Client) -> None:
    text = PLAIN + "controller: {{groupKindConcurrency: {{TrainJob.trainer.kubeflow.org: 7}}}}\nclientConnection: {{qps: 500}}\n"
    async with operator(text).running() as running:
        head = {"apiVersion": TRAIN_JOBS.api_version, "kind": TRAIN_JOBS.kind, "metadata": {"name": "counted"}}
        await client.create(TRAIN_JOBS, {**head, "spec": {"runtimeRef": {"name": "torch-distributed"}}}, "default")

        async def scraped() -> str:
            found = (await running.get(f"http://127.0.0.1:{running.metrics}/metrics"))[1]
            return found if 'reconcile_total{controller="trainjob_controller",result="success"}' in found else ""

        found = await until(scraped)
    for line in (
        r'controller_runtime_max_concurrent_reconciles\{controller="trainjob_controller"\} 7.0',
        r'controller_runtime_reconcile_total\{controller="trainjob_controller",result="success"\} \d',
        r'controller_runtime_reconcile_time_seconds_count\{controller="trainjob_controller"\}',
        r'controller_runtime_active_workers\{controller="trainjob_controller"\}',
        r'workqueue_depth\{controller="trainjob_controller",name="trainjob_controller"\}',
        r'workqueue_queue_duration_seconds_count\{controller="trainingruntime_controller"',
        r'workqueue_work_duration_seconds_count\{controller="clustertrainingruntime_controller"',
        r'rest_client_requests_total\{code="201",host="127.0.0.1:\d+",method="PATCH"\}',
        r'rest_client_rate_limiter_duration_seconds_count\{host="127.0.0.1:\d+",verb="PATCH"\}',
        r'controller_runtime_webhook_requests_total\{code="200",webhook="/mutate-trainer-kubeflow-org-v1alpha1-trainjob"\}',
        r'controller_runtime_webhook_latency_seconds_count\{webhook="/validate-trainer-kubeflow-org-v1alpha1-trainjob"\}',
        r'controller_runtime_webhook_requests_in_flight\{webhook="/validate-trainer-kubeflow-org-v1alpha1-trainjob"\} 0.0',
        r'shunter_webhook_decisions_total\{decision="allowed",webhook="/validate-trainer-kubeflow-org-v1alpha1-trainjob"\}',
        r'shunter_webhook_decisions_total\{decision="denied",webhook="/validate-kubeflow-org-v1-pytorchjob"\}',
        r"shunter_webhook_certificate_expiry_timestamp_seconds 1\.\d+e\+09",
        r'shunter_build_info\{python="[^"]+",version="[^"]+"\} 1.0',
        r'shunter_jobs\{kind="TrainJob",namespace="default",phase="Created"\} 1.0',
        r'kubeflow_trainer_jobs_created_total\{namespace="default"\} 1.0',
        r"kubeflow_trainer_job_time_to_running_seconds_count 0.0",
        r"# TYPE shunter_watch_restarts_total counter",
        r"# TYPE training_operator_jobs_created_total counter",
    ):
        assert re.search(f"^{line}", found, re.M), line
    assert re.findall(r"^\w+_created\b.*", found, re.M) == [], "series that Go's client does not write"


async def test_metrics_are_served_to_those_who_may_read_them_over_tls(operator: Callable[..., Operator], server: Any) -> None:
    text = PLAIN.replace("{metrics}'", "{metrics}', secureServing: true, auth: {{enabled: true}}")
    async with operator(text).running() as running:
        url = f"https://127.0.0.1:{running.metrics}/metrics"
        assert await running.get(url) == (401, "Unauthorized\n")
        assert await running.get(url, Authorization="Bearer nonsense") == (401, "Unauthorized\n")
        async with connect(kubeconfig.load(server.kubeconfig)) as client:
            request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader", "namespace": "default"}}
            await client.apply(SERVICE_ACCOUNTS, account)
            answer = await client.create(SERVICE_ACCOUNTS, request, "default", subresource="token", name="reader")
        nobody = f"Bearer {answer['status']['token']}"
        denied = "Authorization denied for user system:serviceaccount:default:reader\n"
        assert await running.get(url, Authorization=nobody) == (403, denied)
        code, found = await running.get(url, Authorization=f"Bearer {server.token}")
        assert (code, "shunter_build_info" in found) == (200, True)
        assert (await running.get(url.replace("https", "http")))[0] == 0


async def test_probes_are_served_under_their_names_and_the_usual_ones(operator: Callable[..., Operator]) -> None:
    text = PLAIN.replace("{health}'", "{health}', readinessEndpointName: ready, livenessEndpointName: live")
    async with operator(text).running(ready="ready") as running:
        for path in ("healthz", "live", "readyz", "ready"):
            assert await running.get(f"http://127.0.0.1:{running.health}/{path}") == (200, "ok")
        text = (await running.get(f"http://127.0.0.1:{running.health}/ready?verbose"))[1]
        assert "[+]webhooks ok" in text
        assert "ready check passed" in text


async def test_progress_reaches_the_job_from_what_its_pods_are_told(operator: Callable[..., Operator], client: Client) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "progress"}}
    await client.apply(NAMESPACES, namespace)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "progress"}}
    await client.apply(SERVICE_ACCOUNTS, account)
    text = PLAIN + "statusServer: {{port: {status}, qps: 100, burst: 100}}\nfeatureGates: {{TrainJobStatus: true}}\n"
    async with operator(text).running() as running:
        head = {"apiVersion": TRAIN_JOBS.api_version, "kind": TRAIN_JOBS.kind, "metadata": {"name": "told"}}
        await client.create(TRAIN_JOBS, {**head, "spec": {"runtimeRef": {"name": "torch-distributed"}}}, "progress")

        async def authorities() -> str:
            found = await client.list(CONFIG_MAPS, "progress")
            return next((one["data"]["ca.crt"] for one in found.items if one["metadata"]["name"] == "told-tls-config"), "")

        trusted = await until(authorities)
        registered = (await client.list(VALIDATING_WEBHOOKS)).items
        assert trusted.encode() in [bundle for one in registered for bundle in bundles(one)]
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": [audience("progress", "told")]},
        }
        answer = await client.create(SERVICE_ACCOUNTS, request, "progress", subresource="token", name="default")
        bearer = {"Authorization": f"Bearer {answer['status']['token']}"}
        url = f"https://127.0.0.1:{running.status}/apis/{audience('progress', 'told')}"
        status = {"lastUpdatedTime": "2026-11-21T10:00:00Z", "progressPercentage": 40}
        tls = ssl.create_default_context(cadata=trusted)
        async with running.session.post(url, json={"trainerStatus": status}, headers=bearer, ssl=tls) as reported:
            assert reported.status == 200
        job = await client.get(TRAIN_JOBS, "told", "progress")
        assert job["status"]["trainerStatus"] == status
        managers = {entry["manager"] for entry in job["metadata"]["managedFields"] if entry.get("subresource") == "status"}
        assert "trainer-status" in managers
        found = (await running.get(f"http://127.0.0.1:{running.metrics}/metrics"))[1]
        assert 'kubeflow_trainer_status_reports_total{code="200"} 1.0' in found
        assert 'kubeflow_trainer_status_writes_total{code="200"} 1.0' in found


async def test_a_flag_goes_before_the_feature_gates_of_the_file(operator: Callable[..., Operator]) -> None:
    text = PLAIN + "statusServer: {{port: {status}}}\nfeatureGates: {{TrainJobStatus: true}}\n"
    async with operator(text, feature_gates="TrainJobStatus=false").running() as running:
        assert (await running.get(f"https://127.0.0.1:{running.status}/"))[0] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metrics: {{secureServing: true}}\n", "metrics.secureServing needs the webhooks' certificate."),
        ("featureGates: {{TrainJobStatus: true}}\n", "The feature gate TrainJobStatus needs the webhooks' certificate."),
    ],
)
async def test_what_needs_the_webhooks_certificate_is_refused_without_it(
    operator: Callable[..., Operator], text: str, message: str
) -> None:
    started = operator(text, webhooks=False)
    async with started.session:
        with pytest.raises(InputError, match=re.escape(message)):
            await run(started.options)


async def test_runtimes_that_are_refused_are_asked_for_less_and_less_and_told_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waits: list[float] = []

    async def waited(seconds: float) -> None:
        waits.append(seconds)

    class Refusing(Client):
        async def apply(self, *arguments: object, **options: object) -> Any:
            if len(waits) < 60:
                raise Forbidden(Status(code=403, reason="Forbidden", message="may not"))

    monkeypatch.setattr("shunter.operator.process.asyncio.sleep", waited)
    installation = RuntimeInstallation(Refusing.__new__(Refusing))
    running = asyncio.create_task(installation.run())
    async with asyncio.timeout(10):
        while installation.why_not_ready():
            await asyncio.wait({running}, timeout=0)
    running.cancel()
    assert (waits[0], waits[-1], waits) == (0.05, 5.0, sorted(waits))
    assert caplog.messages == [f"ClusterTrainingRuntime {shipped()[0]['metadata']['name']}: may not"]
