"""How the fields of a kind are owned, by its schema."""

from __future__ import annotations

from shunter.cluster.apiserver.apply.fields import DEDUCED, compile_fields
from shunter.cluster.apiserver.packaged_schemas import definitions


def test_a_schema_handed_over_without_its_name_knows_structs_by_value() -> None:
    named = compile_fields({"$ref": "#/components/schemas/io.k8s.api.core.v1.Pod"}, definitions())
    assert compile_fields(definitions()["io.k8s.api.core.v1.Pod"], definitions()).zeros == named.zeros
    assert named.fields["spec"].zeros == {"containers": None}


def test_a_kind_without_a_schema_is_owned_field_by_field() -> None:
    tree = compile_fields({}, {})
    assert tree.fields["metadata"].fields["finalizers"].list_type == "set"
    assert tree.child("spec") is DEDUCED
