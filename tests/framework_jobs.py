"""Jobs of the kinds of kubeflow.org/v1, what their pods are told, and a job whose pods end as a test says."""

from __future__ import annotations

from typing import Any

import msgspec

from job_world import World
from shunter.api.meta import Json
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.replicas import desired_pods

TF, XGB, JAX, PADDLE = (framework_of(kind) for kind in ("TFJob", "XGBoostJob", "JAXJob", "PaddleJob"))


def manifest(framework: AnyFramework, roles: dict[str, int], *, policy: str = "", sidecar: bool = False, **spec: Any) -> Json:
    containers = [{"name": framework.container, "image": "img:1"}, *([{"name": "side", "image": "img:2"}] if sidecar else [])]
    replica = {"template": {"spec": {"containers": containers}}, "restartPolicy": policy}
    field = framework.info.replica_specs
    return {
        "apiVersion": framework.info.resource.api_version,
        "kind": framework.info.resource.kind,
        "metadata": {"name": "job", "namespace": "team-a", "uid": "u1"},
        "spec": {field: {role: {**replica, "replicas": count} for role, count in roles.items()}, **spec},
    }


def job(framework: AnyFramework, roles: dict[str, int], **spec: Any) -> AnyJob:
    return framework.read(msgspec.convert(manifest(framework, roles, **spec), framework.info.view))


def environments(framework: AnyFramework, roles: dict[str, int], **spec: Any) -> dict[str, dict[str, str]]:
    """The variables of each pod's first container."""
    pods = desired_pods(framework, job(framework, roles, **spec))
    return {
        pod["metadata"]["name"]: {
            variable["name"]: variable.get("value") for variable in pod["spec"]["containers"][0].get("env", [])
        }
        for pod in pods
    }


class Played:
    """A job whose pods are all there, and do what is said."""

    def __init__(self, framework: AnyFramework, roles: dict[str, int], **spec: Any) -> None:
        self.world = World(framework, manifest(framework, roles, **spec))
        self.world.settle()

    def pods(self, phase: str, *names: str, code: int = 0) -> list[str]:
        """The conditions, after these pods came to be in this phase."""
        for name in names:
            self.world.set_pod(f"job-{name}", phase, exit_code=code)
        self.world.settle()
        return [f"{one['type']}={one['status']}" for one in self.world.status["conditions"]]

    @property
    def message(self) -> str:
        text: str = self.world.status["conditions"][-1]["message"]
        return text
