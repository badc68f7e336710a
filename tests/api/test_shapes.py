"""What is said of JSON that has not the shape that code relies on."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.api.shapes import PodTemplate, ShapeError, is_template, shaped, shaped_if_possible, template_fault

CONTAINER = {"name": "c", "resources": {"requests": {"cpu": "500m", "memory": 1}}}


def template(**spec: Any) -> Json:
    return {"spec": {"containers": [CONTAINER], **spec}}


WRONG: dict[str, tuple[Any, str]] = {
    "no object": ([], "must be an object, not a list"),
    "a type": (template(containers="c"), "spec.containers: must be a list, not a string"),
    "an item": (template(containers=[CONTAINER, {"name": 7}]), "spec.containers[1].name: must be a string, not an integer"),
    "one of several types": (template(overhead={"cpu": True}), "spec.overhead[...]: must be an integer or a number or a string"),
    "a field that is missing": (template(containers=[{"env": [{}]}]), "spec.containers[0].env[0]: object missing required field"),
}


@pytest.mark.parametrize(("value", "said"), WRONG.values(), ids=WRONG)
def test_the_first_part_that_does_not_fit_is_named_in_jsons_words(value: Any, said: str) -> None:
    with pytest.raises(ShapeError) as refusal:
        shaped(value, PodTemplate)
    assert str(refusal.value).startswith(said)
    assert shaped_if_possible(value, PodTemplate) is None
    assert not is_template(value)


def test_everything_may_be_missing_or_null() -> None:
    for value in ({}, {"metadata": None, "spec": None}, {"spec": {"containers": None}}):
        assert is_template(value)
        assert template_fault(value) is None


def test_fields_that_nobody_reads_may_be_anything() -> None:
    assert is_template(template(dnsPolicy=7, tolerations="all"))


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": [{"resources": {"limits": {"cpu": "much"}}}]}, "spec.containers[0].resources: cpu"),
        ({"initContainers": [{"resources": {"requests": {"memory": "1 Gi"}}}]}, "spec.initContainers[0].resources: memory"),
        ({"resources": {"requests": {"cpu": "x"}}}, "spec.resources: cpu"),
        ({"overhead": {"cpu": "x"}}, "spec.overhead: cpu"),
    ],
)
def test_an_amount_that_is_no_quantity_is_a_fault_though_its_type_is_right(spec: Json, field: str) -> None:
    fault = template_fault(template(**spec))
    assert fault is not None
    assert fault.field == field
    assert "is no quantity" in fault.text
    assert is_template(template(**spec))
