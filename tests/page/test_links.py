"""Which addresses of a job become links."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.page.links import link_to, links

GOOD = {
    "https://mlflow.example.com/#/experiments/1/runs/2": "mlflow.example.com",
    "http://10.0.0.1:5000": "10.0.0.1:5000",
    "https://[::1]:8443/x?y=z&a=b": "::1:8443",
}
BAD = [
    "javascript:alert(1)",
    "JAVASCRIPT:alert(1)",
    "java\nscript:alert(1)",
    "\x01javascript:alert(1)",
    " https://example.com",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://example.com/x",
    "ftp://example.com",
    "//example.com/x",
    "/jobs",
    "example.com",
    "https:/example.com",
    "https:example.com",
    "https://",
    "https://user:password@example.com",
    "https://example.com@evil.example",
    "https://ex%61mple.com",
    "https://example.com\\@evil.example",
    "https://ex\u0430mple.com",
    "https://example.com/\u202egnp",
    'https://example.com/"onmouseover=alert(1)',
    "https://example.com/<script>",
    "https://example.com:99999",
    "https://[::1",
    "databricks",
    "",
    "https://example.com/" + "a" * 2048,
]


@pytest.mark.parametrize(("address", "host"), GOOD.items())
def test_an_address_of_a_page_is_a_link_with_its_host(address: str, host: str) -> None:
    found = link_to("MLflow", address)
    assert found is not None
    assert (found.url, found.host) == (address, host)


@pytest.mark.parametrize("address", BAD, ids=repr)
def test_anything_else_is_none(address: str) -> None:
    assert link_to("MLflow", address) is None


def test_only_annotations_and_variables_that_are_meant_for_it_are_looked_at() -> None:
    job: Json = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {
            "annotations": {
                "shunter.dev/tensorboard-url": "https://tensorboard.example.com",
                "evil.example/url": "https://evil.example",
                "shunter.dev/tracking-url": "javascript:alert(1)",
            }
        },
        "spec": {
            "trainer": {
                "env": [
                    {"name": "MLFLOW_TRACKING_URI", "value": "https://mlflow.example.com/"},
                    {"name": "HOMEPAGE", "value": "https://evil.example"},
                    {"name": "WANDB_ENTITY", "value": "../../x"},
                    {"name": "WANDB_PROJECT", "value": "p q"},
                ]
            }
        },
        "status": {
            "trainerStatus": {
                "metrics": [{"name": "mlflow.experiment", "value": "7"}, {"name": "mlflow.run", "value": "abc/../d"}]
            }
        },
    }
    assert [(link.title, link.url) for link in links(job)] == [
        ("TensorBoard", "https://tensorboard.example.com"),
        ("MLflow run", "https://mlflow.example.com/#/experiments/7/runs/abc%2F..%2Fd"),
        ("Weights & Biases", "https://wandb.ai/..%2F..%2Fx/p%20q"),
    ]


def test_the_embedded_cluster_s_mlflow_is_linked_as_a_browser_reaches_it() -> None:
    trainer = {"env": [{"name": "MLFLOW_TRACKING_URI", "value": "http://mlflow.shunter-system.svc:5001"}]}
    job: Json = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {}, "spec": {"trainer": trainer}}
    assert [(link.url, link.host) for link in links(job)] == [("http://127.0.0.1:5001", "127.0.0.1:5001")]
    metrics = [{"name": "mlflow.experiment", "value": "7"}, {"name": "mlflow.run", "value": "abc"}]
    job["status"] = {"trainerStatus": {"metrics": metrics}}
    assert [link.url for link in links(job)] == ["http://127.0.0.1:5001/#/experiments/7/runs/abc"]


def test_variables_of_a_v1_job_are_those_of_its_containers() -> None:
    given = [{"name": "MLFLOW_TRACKING_URI", "value": f"http://{host}:5000"} for host in ("old", "mlflow")]  # The last counts.
    sidecar = {"env": [{"name": "MLFLOW_TRACKING_URI", "value": "http://other:5000"}]}
    template = {"spec": {"containers": [{"env": given}, sidecar]}}
    spec = {"pytorchReplicaSpecs": {"Master": {"template": template}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {}, "spec": spec}
    assert [link.url for link in links(job)] == ["http://mlflow:5000"]
