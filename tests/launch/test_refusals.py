"""Where a refused manifest is wrong: the line of each field that the server names, and what was meant by an unknown one."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.kube.errors import Cause, Details, Status, from_status
from shunter.kube.manifests import Manifest, parse
from shunter.launch import refusals

GADGETS = Resource("x.example", "v1", "Gadget", "gadgets")
SCHEMAS: Json = {
    "Gadget": {
        "properties": {"spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}]}},
        "x-kubernetes-group-version-kind": [{"group": "x.example", "version": "v1", "kind": "Gadget"}],
    },
    "Spec": {
        "properties": {
            "restartPolicy": {},
            "replicas": {},
            "roles": {"additionalProperties": {"properties": {"image": {}}}},
            "parts": {"items": {"$ref": "#/components/schemas/Spec"}},
        }
    },
}
HEAD = "apiVersion: x.example/v1\nkind: Gadget\nmetadata: {name: g}\n"
TEXT = (
    HEAD
    + """\
spec:
  restart_policy: Never
  replica: 2
  roles:
    Master: {imag: a}
  parts:
  - {}
  - replicas: 1
    restartpolicy: Never
  frobnicate: 1
"""
)


def told(text: str, message: str, *causes: tuple[str, str]) -> str:
    (manifest,) = parse(text, "g.yaml")
    details = Details(causes=tuple(Cause(reason, "", field) for reason, field in causes))
    error = from_status(Status(code=422, message=message, details=details))
    refused = refusals.refusal(manifest, error, refusals.places(manifest, GADGETS, error, SCHEMAS))
    return f"{refused.message}\n       {refused.remedy}".rstrip()


def strict(*names: str) -> str:
    return "strict decoding error: " + ", ".join(f'unknown field "{name}"' for name in names)


@pytest.mark.parametrize(
    ("name", "line", "meant"),
    [
        pytest.param("spec.restart_policy", 5, "restartPolicy", id="words written as Python does"),
        pytest.param("spec.replica", 6, "replicas", id="a letter too few"),
        pytest.param("spec.roles.Master.imag", 8, "image", id="within a value of a map"),
        pytest.param("spec.parts[1].restartpolicy", 12, "restartPolicy", id="within an item of a list, by a reference"),
        pytest.param("spec.frobnicate", 13, "", id="nothing is near"),
    ],
)
def test_an_unknown_field_is_told_with_its_line_and_what_was_meant(name: str, line: int, meant: str) -> None:
    hint = f"\n       Did you mean {meant}?" if meant else ""
    assert told(TEXT, strict(name)) == f"g.yaml:{line}: Gadget g: {strict(name)}{hint}"


def test_a_field_that_is_there_already_is_not_what_was_meant() -> None:
    text = HEAD + "spec: {replicas: 2, replica: 2}\n"
    assert "mean" not in told(text, strict("spec.replica"))


def test_the_lines_of_several_fields_stand_below_the_message() -> None:
    message = strict("spec.restart_policy", "spec.frobnicate", "spec.replica", "spec.elsewhere")
    assert told(TEXT, message) == (
        f"g.yaml:1: Gadget g: {message}\n"
        "       g.yaml:5: spec.restart_policy (did you mean restartPolicy?)\n"
        "       g.yaml:13: spec.frobnicate\n"
        "       g.yaml:6: spec.replica (did you mean replicas?)"
    )


def test_a_field_that_is_not_there_is_told_by_what_would_hold_it() -> None:
    assert told(TEXT, "no", ("FieldValueRequired", "spec.parts[0].image.name")).startswith("g.yaml:10: ")


def test_the_line_of_a_field_that_is_not_in_the_file_is_not_guessed() -> None:
    assert told(TEXT, "no", ("FieldValueInvalid", "spec.parts[0].image")).startswith("g.yaml:1: ")
    assert told(TEXT, "no", ("FieldValueInvalid", "spec.parts[0].image"), ("FieldValueInvalid", "spec.replica")) == (
        "g.yaml:1: Gadget g: no\n       g.yaml:6: spec.replica: 2"
    )


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        pytest.param("one", '\n       The manifest has "one" there.', id="text"),
        pytest.param("-1", "\n       The manifest has -1 there.", id="a number"),
        pytest.param("1", "\n       The manifest has 1 there.", id="a number of which the message has a part of a word (v1)"),
        pytest.param('""', '\n       The manifest has "" there.', id="an empty text"),
        pytest.param("{a: b}", "", id="a mapping, which may be long"),
        pytest.param("a" * 81, "", id="a long text"),
        pytest.param("string", "", id="what the message says already"),
    ],
)
def test_a_refused_value_is_told_unless_the_message_contains_it(value: str, hint: str) -> None:
    message = "failed to create typed patch object (g; x.example/v1, Kind=Gadget): .spec.replicas: expected numeric, got string"
    assert told(f"{HEAD}spec: {{replicas: {value}}}\n", message) == f"g.yaml:4: Gadget g: {message}{hint}"


def test_what_was_added_to_an_object_stands_in_no_line() -> None:
    (manifest,) = parse(TEXT, "g.yaml")
    manifest.object["metadata"]["namespace"] = "a"
    error = from_status(Status(code=422, message="metadata.namespace: Invalid value: no"))
    assert [place.line for place in refusals.places(manifest, GADGETS, error, {})] == [None]


def test_a_job_tried_under_another_name_is_told_under_its_own() -> None:
    (manifest,) = parse(TEXT, "g.yaml")
    error = from_status(Status(code=422, message='Gadget.x.example "q" is invalid: spec: Invalid value: "q": no'))
    assert refusals.refusal(manifest, error, [], called="q").message == (
        'g.yaml:1: Gadget g: Gadget.x.example "g" is invalid: spec: Invalid value: "q": no'
    )


def test_without_a_schema_there_is_a_line_and_no_guess() -> None:
    (manifest,) = parse(TEXT, "g.yaml")
    error = from_status(Status(code=400, message=strict("spec.replica")))
    assert refusals.places(manifest, GADGETS, error, {}) == [refusals.Place("spec.replica", 6)]


def test_a_fault_of_no_field_is_not_said_to_be_of_one_called_nil() -> None:
    text = 'Job.batch "j" is invalid: [<nil>: Invalid value: "": not so, spec.a: Invalid value: "<nil>: Kept": no]'
    manifest = Manifest({"kind": "Job", "metadata": {"name": "j"}}, "job.yaml", 1)
    error = from_status(Status(code=422, message=text))
    assert refusals.refusal(manifest, error, []).message == (
        'job.yaml:1: Job j: Job.batch "j" is invalid: [Invalid value: "": not so, spec.a: Invalid value: "<nil>: Kept": no]'
    )
