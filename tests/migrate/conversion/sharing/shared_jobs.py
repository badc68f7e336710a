"""Jobs that may share a runtime, and what proves that their pods stay as they were."""

from __future__ import annotations

import copy
from typing import Any

from migrate.test_properties import lost, refused
from shunter.api.meta import Json
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.emit import files
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.sharing import shared
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options
from shunter.migrate.proof.comparison import compared

ANY_VARIABLE = ["train"]


def job(name: str, kind: str = "PyTorchJob", role: str = "Worker", workers: int = 2, **container: Any) -> Json:
    specs = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs", "JAXJob": "jaxReplicaSpecs"}
    names = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "JAXJob": "jax"}
    pod = container.pop("pod", {})
    template = {"spec": {"containers": [{"name": names[kind], "image": "x:1", **container}], **pod}}
    replicas = {"replicas": workers, "restartPolicy": "OnFailure", "template": template}
    roles = {role: replicas} if kind != "PyTorchJob" else {"Master": {**replicas, "replicas": 1}, "Worker": replicas}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "team"},
        "spec": {specs[kind]: roles},
    }


def converted(*found: Json, options: Options = Options(), known: tuple[Json, ...] = ()) -> list[Conversion]:  # noqa: B008
    sources = [SourceObject(copy.deepcopy(one), f"{one['metadata']['name']}.yaml") for one in found]
    return files.usable(shared(batch.converted(sources, options), known))


def runtimes(found: list[Conversion]) -> list[Json]:
    by_key = {files.runtime_key(one.runtime): one.runtime for one in found if one.runtime}
    return [*by_key.values()]


def node(runtime: Json, number: int = 0) -> Json:
    container: Json = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"][
        "containers"
    ][number]
    return container


def require_proof(found: list[Conversion], options: Options = Options()) -> None:  # noqa: B008
    for one in found:
        assert [f"{each.topic.id} {each.message}" for each in compared(one, options).findings if each.is_blocking] == []
        assert lost(one.source.value, one) == []
        assert refused(one) == []
