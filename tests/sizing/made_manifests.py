"""Manifests of machines, and what whoever serves them would say against them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml

from shunter.migrate.pods import admission
from shunter.sizing import SizeOptions
from shunter.sizing.fits import MachineChoice, choice_of
from shunter.sizing.instances import Instance, known_instances
from shunter.sizing.manifests import Manifests
from shunter.sizing.nodes import CLUSTER
from shunter.sizing.shapes import known_models

FACTS = yaml.load(Path(__file__).with_name("crd_facts.yaml").read_text(), yaml.CSafeLoader)["definitions"]
OURS = ("TrainJob", "PyTorchJob", "ResourceQuota", "LimitRange")
NAMED: dict[str, Any] = {
    "image": "registry.example.com/train:1",
    "role": "KarpenterNodeRole",
    "subnets": ("subnet-0a1b",),
    "security_groups": ("sg-0a1b", "sg-2c3d"),
    "ami": "al2023@v20260801",
    "zone": "eu-west-1a",
}


def choice(instance: str | Instance = "p5.48xlarge", nodes: int = 2, model: str = "Llama-3.1-8B") -> MachineChoice:
    machine = known_instances()[instance] if isinstance(instance, str) else instance
    return choice_of(known_models()[model].shape, SizeOptions(seq=1024, strategy="fsdp"), machine, nodes)


def by_kind(made: Manifests) -> dict[str, Any]:
    return {obj["kind"]: obj for obj in made.objects}


def faults(obj: dict[str, Any]) -> list[str]:
    """What whoever serves this kind would say against it."""
    if obj["kind"] not in OURS:
        schema = {"$ref": f"#/definitions/{obj['kind']}", "definitions": FACTS}
        return [str(error.message) for error in jsonschema_rs.validator_for(schema).iter_errors(obj)]
    try:
        said = [f"unknown field {field}" for field in admission.unknown_fields(obj)]
        stored = admission.admitted(copy.deepcopy(obj))
    except admission.RefusedError as error:
        return [error.message]
    said += map(str, admission.schema_errors(stored))
    return [*said, *map(str, admission.cel_errors(stored)), *admission.rule_errors(stored)]


CLUSTER_NODES = Instance(
    "nodes with H100", CLUSTER, known_instances()["p5.48xlarge"].gpu, 8, 100.0, 500_000, available=4, is_type=False
)
