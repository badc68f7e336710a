"""Whether a kind of others has a field."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.kube.served_fields import has_field

PATH = ("spec", "networkTopology", "highestTierName")


@pytest.mark.parametrize(
    ("topology", "wanted"),
    [
        pytest.param({"properties": {"mode": {}, "highestTierName": {}}}, True, id="it has it"),
        pytest.param({"properties": {"mode": {}}}, False, id="it does not"),
        pytest.param({"x-kubernetes-preserve-unknown-fields": True}, True, id="it keeps whatever comes"),
        pytest.param({"$ref": "#/components/schemas/x"}, None, id="it is said elsewhere"),
    ],
)
def test_a_field_is_looked_for_in_the_schema(topology: Json, wanted: bool | None) -> None:
    schema = {"properties": {"spec": {"properties": {"networkTopology": topology}}}}
    assert has_field(schema, PATH) is wanted
