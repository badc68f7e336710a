"""Custom resources and their definitions are answered as a real kube-apiserver 1.36 does: cases/ was recorded by record.py."""

from __future__ import annotations

import copy
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.apiserver.schema.record import definition, thing
from shunter.api.field_errors import FieldError, aggregate
from shunter.api.meta import Json
from shunter.cluster.apiserver import crd
from shunter.cluster.apiserver.builtin import custom_definitions
from shunter.cluster.apiserver.kinds import MalformedError
from shunter.cluster.apiserver.schema import StructuralSchema, compile_schema

CASES = Path(__file__).parent / "cases"
FAULT = re.compile(r"(?:, |: \[|\]$)(?=[A-Za-z.<\"]|$)")
OBJECT = re.compile(r"Invalid value: (?:\{.*?\}|\[\{.*?\}\]): ")


def cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in content(name)["cases"]]


@cache
def content(name: str) -> Json:
    loaded: Json = yaml.load((CASES / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    return loaded


@cache
def schema(name: str) -> StructuralSchema:
    loaded = content(name)
    version = definition(loaded["schema"], **loaded.get("root", {}))["spec"]["versions"][0]
    return compile_schema(version["schema"]["openAPIV3Schema"], {})


def answer(name: str, spec: Any, to: Any) -> Json:
    """Creates a Thing, or updates one, through the schema alone."""
    compiled, old = schema(name), None
    for wanted in (spec, to)[: 1 if to is None else 2]:
        obj = thing(copy.deepcopy(wanted))
        try:
            compiled.prune(obj)
        except MalformedError as error:
            return {"code": 400, "message": str(error)}
        compiled.default(obj)
        errors = compiled.validate(obj, old)
        if errors:
            return {"code": 422, "message": f'Thing.cases.shunter.example "t" is invalid: {aggregate(errors)}'}
        old = obj
    return {"code": 201 if to is None else 200, "spec": obj["spec"]}


def faults(message: str) -> set[str]:
    """The faults without their order, and without objects that Go prints in its internal form."""
    text = OBJECT.sub("Invalid value: <object>: ", message).replace(
        "Invalid value: <object>: must have", "Invalid value: must have"
    )
    return set(FAULT.split(text))


@pytest.mark.parametrize("case", cases("validation"))
def test_a_custom_resource_is_pruned_defaulted_and_validated_alike(case: Json) -> None:
    assert_same(answer("validation", case["spec"], case.get("to")), case["answer"])


@pytest.mark.parametrize("case", cases("rules"))
def test_rules_hold_alike(case: Json) -> None:
    assert_same(answer("rules", case["spec"], case.get("to")), case["answer"])


@pytest.mark.parametrize("case", cases("definitions"))
def test_a_definition_is_refused_alike(case: Json) -> None:
    obj = copy.deepcopy(case["definition"])
    custom_definitions.kind().schema().prune(obj)
    crd.default(obj)
    errors: list[FieldError] = crd.validate(obj)
    wanted = case["answer"]
    assert bool(errors) == (wanted["code"] >= 400), errors
    if errors:
        name = obj["metadata"]["name"]
        message = f'CustomResourceDefinition.apiextensions.k8s.io "{name}" is invalid: {aggregate(errors)}'
        assert faults(message) == faults(wanted["message"])


def assert_same(got: Json, wanted: Json) -> None:
    assert got["code"] == wanted["code"], got
    if "message" in wanted:
        assert faults(got["message"]) == faults(wanted["message"])
    else:
        assert got["spec"] == wanted["spec"]
