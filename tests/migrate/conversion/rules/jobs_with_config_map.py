"""A job whose ConfigMap the input has."""

from __future__ import annotations

from typing import Any

from migrate.conversion.rules.test_indirect_reads import ROLES
from shunter.api.meta import Json
from shunter.migrate.conversion.input_context import context_of
from shunter.migrate.conversion.one_job import Conversion, convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options


def with_config_map(container: Json, data: Json, kind: str = "PyTorchJob", **fields: Any) -> Conversion:
    """A job of one container, whose ConfigMap `settings` the input has."""
    field, name, roles = ROLES[kind]
    template = {"spec": {"containers": [{"name": name, "image": "train:1", **container}], **fields}}
    specs = {role: {"replicas": 1, "template": template} for role in roles}
    metadata = {"name": "bert", "namespace": "training"}
    job = SourceObject({"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": {field: specs}}, "job.yaml")
    others = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "training"}, **data}]
    return convert(job, Options(), context_of([job], others))
