"""Every kind that the operator serves can be installed, or left out."""

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.packaged_schemas import packaged_crds
from shunter.install import manifests
from shunter.install.kinds import RESOURCES
from shunter.install.values import Kinds, checked
from shunter.operator.kinds import KINDS
from shunter.operator.overview import JOB_RESOURCES


def test_values_name_every_kind_that_the_operator_serves() -> None:
    assert set(Kinds.__struct_fields__) == set(KINDS) == set(RESOURCES)


def test_the_first_resource_of_a_kind_is_its_job() -> None:
    assert {kind: resources[0] for kind, resources in RESOURCES.items()} == {job.kind: job for job in JOB_RESOURCES}


def texts(node: Any) -> set[str]:
    if isinstance(node, dict):
        return {text for key, value in node.items() for text in (key, *texts(value))}
    if isinstance(node, list):
        return {text for element in node for text in texts(element)}
    return {str(node)}


@pytest.mark.parametrize("kind", KINDS)
def test_an_installation_without_a_kind_never_mentions_it(kind: str) -> None:
    values: Json = checked({"kinds": {kind: False}, "monitoring": "always"})
    objects = manifests.manifests(values, namespace="here") + manifests.chosen_crds(packaged_crds(), values)
    names = {name for resource in RESOURCES[kind] for name in (resource.plural, resource.kind)}
    assert names & texts([{**obj, "spec": {}} if obj["kind"] == "CustomResourceDefinition" else obj for obj in objects]) == set()


def test_jobset_is_not_ours_to_install() -> None:
    names = [crd["metadata"]["name"] for crd in manifests.chosen_crds(packaged_crds(), checked({}))]
    ours = {resource for resources in RESOURCES.values() for resource in resources}
    assert set(names) == {f"{resource.plural}.{resource.group}" for resource in ours}
