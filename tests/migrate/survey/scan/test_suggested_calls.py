"""Suggested calls against the SDK that they are for: names exist, and take the arguments that they are given."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import kubeflow.trainer
import kubeflow.trainer.options
import pytest
from kubeflow.trainer import TrainerClient

from shunter.migrate.survey.scan.suggested_calls import suggested

pytestmark = pytest.mark.slow  # imports the SDKs

CALLS = {
    "TrainingClient": ["TrainingClient()", "TrainingClient(namespace='a', context=c, job_kind='TFJob')"],
    "create_job": [
        (
            "client.create_job(name='a', train_func=train, parameters={'lr': 1}, num_workers=3, resources_per_worker={'gpu': 1},"
            " packages_to_install=['x'], pip_index_url=url, env_vars={'A': 'b'}, labels=labels, annotations={}, queue_name='q')"
        ),
        "client.create_job(name='a', base_image='i', packages_to_install=['x'], parameters={}, pip_index_url=url)",
        "self.client.create_job(name=name, base_image='i', num_workers=n, labels={'a': 'b'}, volumes=v, namespace='a')",
    ],
    "wait_for_job_conditions": [
        "client.wait_for_job_conditions('a')",
        (
            "client.wait_for_job_conditions(name=n, expected_conditions={'Succeeded', 'Failed'}, wait_timeout=9, "
            "polling_interval=1, callback=show)"
        ),
    ],
    "get_job_logs": [
        "client.get_job_logs('a', follow=True)",
        "client.get_job_logs(name='a', replica_type='Worker', replica_index=2)",
        "client.get_job_logs('a', replica_type='worker', replica_index=index)",
    ],
    "get_job": ["client.get_job('a', namespace='b')"],
    "delete_job": ["client.delete_job(name='a')"],
    "list_jobs": ["client.list_jobs(namespace='a')"],
    "get_job_conditions": ["client.get_job_conditions('a')"],
    "is_job_created": ["client.is_job_created('a')"],
    "is_job_running": ["client.is_job_running('a')"],
    "is_job_succeeded": ["client.is_job_succeeded(name='a')"],
    "is_job_failed": ["client.is_job_failed('a')"],
    "get_job_pods": ["client.get_job_pods('a', is_master=True)"],
    "get_job_pod_names": ["get_client().get_job_pod_names('a')"],
}


@pytest.mark.parametrize(("method", "call"), [(method, call) for method, calls in CALLS.items() for call in calls])
def test_a_suggestion_is_a_call_that_v2_takes(method: str, call: str) -> None:
    said = suggested(method, parsed(call))
    text = said.removeprefix("Write `").partition("`")[0]
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.Call) and (called := v2(node.func)) is not None:
            itself = [] if inspect.isclass(called) else [None]
            inspect.signature(called).bind(*itself, *node.args, **{keyword.arg or "": None for keyword in node.keywords})


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("create_job", "client.create_job(job)"),
        ("create_job", "client.create_job(job=job)"),
        ("update_job", "client.update_job(j, n)"),
    ],
)
def test_nothing_is_suggested_where_v2_has_no_such_call(method: str, call: str) -> None:
    assert suggested(method, parsed(call)) == ""


def test_what_only_a_runtime_can_say_is_named() -> None:
    assert "volumes: in a TrainingRuntime of your own" in suggested("create_job", parsed(CALLS["create_job"][2]))


def parsed(call: str) -> ast.Call:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


def v2(func: ast.expr) -> Any:
    """The class or method of the v2 SDK that an expression names."""
    if isinstance(func, ast.Name):
        return getattr(kubeflow.trainer, func.id, None) or getattr(kubeflow.trainer.options, func.id, None)
    assert isinstance(func, ast.Attribute)
    return getattr(TrainerClient, func.attr)
