"""What /metrics says under the names that dashboards and alerts of controller-runtime and client-go ask for."""

from __future__ import annotations

from typing import get_args

import pytest

from shunter import __version__
from shunter.kube.controllers.controller import Result
from shunter.kube.metrics import Metrics
from shunter.kube.tls import certificates


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def samples(metrics: Metrics) -> dict[str, float]:
    """Each series that is written, with its labels as Prometheus writes them."""
    lines = [line for line in metrics.answer().text.splitlines() if not line.startswith("#")]
    return {series: float(value) for series, _, value in (line.rpartition(" ") for line in lines)}


def test_a_key_is_followed_from_the_queue_to_the_result(metrics: Metrics) -> None:
    told = metrics.of_controller("tfjob")
    in_queue, of_controller = '{controller="tfjob",name="tfjob"}', '{controller="tfjob"}'
    told.added()
    told.dequeued(0.5)
    assert samples(metrics)[f"controller_runtime_active_workers{of_controller}"] == 1
    told.reconciled("success", 2.0)
    told.finished(2.5)
    told.retried()
    found = samples(metrics)
    assert {
        name: found[f"{name}{labels}"]
        for name, labels in (
            ("workqueue_adds_total", in_queue),
            ("workqueue_retries_total", in_queue),
            ("workqueue_queue_duration_seconds_sum", in_queue),
            ("workqueue_work_duration_seconds_sum", in_queue),
            ("controller_runtime_reconcile_time_seconds_sum", of_controller),
            ("controller_runtime_active_workers", of_controller),
            ("controller_runtime_reconcile_errors_total", of_controller),
        )
    } == {
        "workqueue_adds_total": 1,
        "workqueue_retries_total": 1,
        "workqueue_queue_duration_seconds_sum": 0.5,
        "workqueue_work_duration_seconds_sum": 2.5,
        "controller_runtime_reconcile_time_seconds_sum": 2.0,
        "controller_runtime_active_workers": 0,
        "controller_runtime_reconcile_errors_total": 0,
    }


@pytest.mark.parametrize(("result", "errors"), [("success", 0), ("requeue", 0), ("requeue_after", 0), ("error", 1)])
def test_only_an_error_is_counted_as_one(metrics: Metrics, result: Result, errors: int) -> None:
    metrics.of_controller("tfjob").reconciled(result, 0.1)
    found = samples(metrics)
    assert found[f'controller_runtime_reconcile_total{{controller="tfjob",result="{result}"}}'] == 1
    assert found['controller_runtime_reconcile_errors_total{controller="tfjob"}'] == errors


def test_controllers_are_counted_apart(metrics: Metrics) -> None:
    first, second = metrics.of_controller("tfjob"), metrics.of_controller("mpijob")
    first.panicked()
    second.added()
    found = samples(metrics)
    assert found['controller_runtime_reconcile_panics_total{controller="tfjob"}'] == 1
    assert found['controller_runtime_reconcile_panics_total{controller="mpijob"}'] == 0
    assert found['workqueue_adds_total{controller="tfjob",name="tfjob"}'] == 0


def test_every_result_is_there_before_the_first_reconcile(metrics: Metrics) -> None:
    """As with controller-runtime: of a series that begins with the first error, a rate tells only from the second one on."""
    metrics.of_controller("tfjob")
    found = samples(metrics)
    assert found['controller_runtime_reconcile_errors_total{controller="tfjob"}'] == 0
    for result in get_args(Result):
        assert found[f'controller_runtime_reconcile_total{{controller="tfjob",result="{result}"}}'] == 0


def test_requests_are_counted_by_code_method_and_host(metrics: Metrics) -> None:
    metrics.request_counter("10.0.0.1:443")("GET", "200")
    metrics.rate_limiter("10.0.0.1:443")("GET", 1.5)
    metrics.restart_counter("pods")("expired")
    found = samples(metrics)
    assert found['rest_client_requests_total{code="200",host="10.0.0.1:443",method="GET"}'] == 1
    assert found['rest_client_rate_limiter_duration_seconds_sum{host="10.0.0.1:443",verb="GET"}'] == 1.5
    assert found['shunter_watch_restarts_total{reason="expired",resource="pods"}'] == 1


def test_a_webhook_request_is_in_progress_until_it_is_answered(metrics: Metrics) -> None:
    told = metrics.of_webhooks()
    told.began("/mutate")
    told.began("/mutate")
    told.answered("/mutate", 200, 0.2)
    told.decided("/mutate", is_allowed=False)
    found = samples(metrics)
    assert found['controller_runtime_webhook_requests_in_flight{webhook="/mutate"}'] == 1
    assert found['controller_runtime_webhook_requests_total{code="200",webhook="/mutate"}'] == 1
    assert found['shunter_webhook_decisions_total{decision="denied",webhook="/mutate"}'] == 1


def test_the_leader_and_the_certificate_are_asked_at_each_scrape(metrics: Metrics) -> None:
    leads, served = [False], [b""]
    metrics.follow_leader("shunter-operator", lambda: leads[0])
    metrics.follow_certificate("shunter_webhook", lambda: served[0])
    lease, expiry = (
        'leader_election_master_status{name="shunter-operator"}',
        "shunter_webhook_certificate_expiry_timestamp_seconds",
    )
    assert (samples(metrics)[lease], samples(metrics)[expiry]) == (0, 0)
    leads[0], served[0] = True, certificates.new_authority("test").certificate
    found = samples(metrics)
    assert (found[lease], found[expiry]) == (1, certificates.expires_at(served[0]).timestamp())


def test_go_knows_no_series_of_creation_times(metrics: Metrics) -> None:
    metrics.of_controller("tfjob")
    metrics.of_webhooks().began("/mutate")
    found = samples(metrics)
    assert not [series for series in found if "_created" in series]
    assert [series for series in found if f'version="{__version__}"' in series]


def test_two_processes_in_one_share_no_counts() -> None:
    first, second = Metrics(), Metrics()
    first.of_controller("tfjob").added()
    second.of_controller("tfjob")
    assert samples(second)['workqueue_adds_total{controller="tfjob",name="tfjob"}'] == 0
