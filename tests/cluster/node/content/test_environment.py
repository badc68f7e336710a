"""Environment, command and downward API of a container, as values."""

from __future__ import annotations

import base64
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.cluster.node.content.downward import PodContext, field_value, resource_value
from shunter.cluster.node.content.environment import declared_environment, program, unknown_program, unsupported_source
from shunter.cluster.node.content.expansion import expand, literal, variable_references
from shunter.cluster.node.content.references import MissingSourceError, Sources, TokenKey, references
from shunter.cluster.node.resources import binary_bytes

CONTEXT = PodContext("10.1.0.2", "10.0.0.1", {"cpu": Fraction(2), "memory": Fraction(8 << 30)})
SOURCES = Sources(
    {"cm": {"data": {"a": "A", "b": "B"}, "binaryData": {"c": base64.b64encode(b"\xff").decode()}}},
    {"s": {"data": {"k": base64.b64encode(b"K").decode()}}},
    {},
)
POD: Any = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "u", "labels": {"b": "2", "a": 'say "1"'}, "annotations": {}},
    "spec": {"nodeName": "n", "serviceAccountName": "sa", "containers": []},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("$(A)-$(A)", "1-1", id="every-reference"),
        pytest.param("$(B)", "$(B)", id="unknown-stays"),
        pytest.param("$$(A)", "$(A)", id="escaped"),
        pytest.param("$$$(A)", "$1", id="escaped-dollar-then-reference"),
        pytest.param("$A ${A} $", "$A ${A} $", id="shell-syntax-is-the-shells"),
    ],
)
def test_references(text: str, expected: str) -> None:
    assert expand(text, {"A": "1"}) == expected


@pytest.mark.parametrize("text", ["$HOME", "$", "$$", "$$$", "$(A)", "$$(A)", "$$$(A) $(", "$$x", "$($(A))", "a"])
def test_a_literal_is_expanded_to_itself(text: str) -> None:
    assert expand(literal(text), {"A": "1"}) == text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("$(A)/$(b-2.c)/$(A)", ["A", "b-2.c", "A"]),
        ("$$(A)", []),
        ("$$$(A)", ["A"]),
        ("$(date +$(A))", []),
        ("$() $(A", []),
    ],
    ids=["in their order", "escaped", "after an escaped sign", "within what is no name", "without an end"],
)
def test_a_text_refers_to_what_is_replaced_in_it(text: str, names: list[str]) -> None:
    assert [one.name for one in variable_references(text)] == names
    assert [text[one.start : one.end] for one in variable_references(text)] == [f"$({name})" for name in names]
    assert (expand(text, dict.fromkeys(names, "x")) != expand(text, {})) == bool(names)


def test_a_literal_that_no_kubelet_would_change_stays_readable() -> None:
    assert literal("$HOME ${x} $") == "$HOME ${x} $"


def environment(*variables: Any, **container: Any) -> dict[str, str]:
    return declared_environment(POD, {"name": "c", "env": list(variables), **container}, sources=SOURCES, context=CONTEXT)


def test_later_variables_win_and_see_only_earlier_ones() -> None:
    declared = environment({"name": "A", "value": "$(B)"}, {"name": "B", "value": "1"}, {"name": "C", "value": "$(B)"})
    assert declared == {"A": "$(B)", "B": "1", "C": "1"}


def test_variables_may_refer_to_what_every_container_is_given_without_declaring_it() -> None:
    container = {"name": "c", "env": [{"name": "A", "value": "$(HOST) $(OWN)"}, {"name": "HOST", "value": "mine"}]}
    given = {"HOST": "given", "OWN": "given"}
    declared = declared_environment(POD, container, sources=SOURCES, context=CONTEXT, given=given)
    assert declared == {"A": "given given", "HOST": "mine"}


def test_env_overrides_env_from() -> None:
    source = {"prefix": "X_", "configMapRef": {"name": "cm"}}
    assert environment({"name": "X_a", "value": "mine"}, envFrom=[source]) == {"X_a": "mine", "X_b": "B"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param({"configMapKeyRef": {"name": "none", "key": "a"}}, 'configmap "none" not found', id="configmap"),
        pytest.param(
            {"configMapKeyRef": {"name": "cm", "key": "z"}}, "couldn't find key z in ConfigMap ns/cm", id="configmap-key"
        ),
        pytest.param(
            {"configMapKeyRef": {"name": "cm", "key": "c"}}, "couldn't find key c in ConfigMap ns/cm", id="configmap-bytes"
        ),
        pytest.param({"secretKeyRef": {"name": "none", "key": "a"}}, 'secret "none" not found', id="secret"),
        pytest.param({"secretKeyRef": {"name": "s", "key": "z"}}, "couldn't find key z in Secret ns/s", id="secret-key"),
    ],
)
def test_missing_sources_are_named_as_kubelet_names_them_unless_optional(source: Any, message: str) -> None:
    with pytest.raises(MissingSourceError) as raised:
        environment({"name": "A", "valueFrom": source})
    assert str(raised.value) == message
    kind, reference = next(iter(source.items()))
    assert environment({"name": "A", "valueFrom": {kind: {**reference, "optional": True}}}) == {}


def test_a_source_that_nobody_here_reads_is_named() -> None:
    variable = {"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "f", "key": "k"}}}
    plain = {"name": "B", "value": "1"}
    assert unsupported_source({"env": [plain, variable]}) == "variable A: fileKeyRef is not supported by this node"
    assert unsupported_source({"env": [plain]}) == ""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "ns"),
        ("metadata.uid", "u"),
        ("metadata.labels", 'a="say \\"1\\""\nb="2"'),
        ("metadata.labels['b']", "2"),
        ("metadata.annotations['none']", ""),
        ("spec.nodeName", "n"),
        ("spec.serviceAccountName", "sa"),
        ("status.podIP", "10.1.0.2"),
        ("status.hostIP", "10.0.0.1"),
    ],
)
def test_fields(path: str, expected: str) -> None:
    assert field_value(path, POD, CONTEXT) == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param({"resource": "limits.cpu"}, "2", id="cores-are-rounded-up"),
        pytest.param({"resource": "limits.cpu", "divisor": "1m"}, "1500", id="millicores"),
        pytest.param({"resource": "limits.memory", "divisor": "1Mi"}, "8192", id="no-limit-is-the-machine"),
        pytest.param({"resource": "requests.memory", "divisor": "1Mi"}, "100", id="requests"),
        pytest.param({"resource": "requests.cpu"}, "0", id="no-request-is-nothing"),
    ],
)
def test_resources(reference: Any, expected: str) -> None:
    container = {"name": "c", "resources": {"limits": {"cpu": "1500m"}, "requests": {"memory": "100Mi"}}}
    assert resource_value(reference, container, CONTEXT) == expected


def test_command_and_args_are_expanded() -> None:
    assert program({"name": "c", "command": ["echo", "$(A)"], "args": ["$(B)"]}, {"A": "1"}) == ["echo", "1", "$(B)"]


def test_args_go_to_the_images_program_where_the_container_has_no_command() -> None:
    assert program({"name": "c", "args": ["$(A)"]}, {"A": "1"}, ["/bin/deliver"]) == ["/bin/deliver", "1"]
    assert program({"name": "c", "command": ["echo"]}, {}, ["/bin/deliver"]) == ["echo"]


@pytest.mark.parametrize(
    ("container", "entrypoint", "argv"),
    [
        pytest.param({"args": ["python", "$(A)"]}, [], ["python", "1"], id="args alone are executed"),
        pytest.param({"command": [], "args": ["python"]}, [], ["python"], id="an empty command is none"),
        pytest.param({"command": ["sh"], "args": ["-c"]}, ["/bin/deliver"], ["sh", "-c"], id="a command replaces the entrypoint"),
        pytest.param({}, ["/bin/deliver"], ["/bin/deliver"], id="the entrypoint alone"),
    ],
)
def test_what_is_executed(container: Any, entrypoint: list[str], argv: list[str]) -> None:
    assert program({"name": "c", **container}, {"A": "1"}, entrypoint) == argv


def test_a_container_without_command_and_args_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r'container "c" has neither command nor args. Image "x" .* Set `command`'):
        program({"name": "c", "image": "x"}, {})


def test_only_a_program_that_nobody_named_is_explained() -> None:
    assert "Set `command`" in unknown_program({"name": "c", "image": "x", "args": ["--epochs"]})
    assert unknown_program({"name": "c", "image": "x", "command": ["nosuch"]}) == ""
    assert unknown_program({"name": "c", "image": "x", "args": ["--epochs"]}, ["train"]) == ""


def test_sizes_for_people() -> None:
    assert [binary_bytes(count) for count in (5, 2048, 24 << 30, (24 << 30) - 1)] == ["5", "2Ki", "24Gi", "23Gi"]


def test_everything_a_pod_refers_to_is_found() -> None:
    pod = {
        "metadata": {},
        "spec": {
            "initContainers": [{"name": "i", "envFrom": [{"configMapRef": {"name": "c1"}}, {"secretRef": {"name": "s1"}}]}],
            "containers": [
                {
                    "name": "m",
                    "env": [
                        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c2", "key": "k"}}},
                        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s2", "key": "k"}}},
                    ],
                }
            ],
            "volumes": [
                {"name": "v1", "configMap": {"name": "c3"}},
                {"name": "v2", "secret": {"secretName": "s3"}},
                {
                    "name": "v3",
                    "projected": {
                        "sources": [
                            {"configMap": {"name": "c4"}},
                            {"secret": {"name": "s4"}},
                            {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}},
                        ]
                    },
                },
            ],
        },
    }
    found = references(pod)
    assert found.config_maps == {"c1", "c2", "c3", "c4"}
    assert found.secrets == {"s1", "s2", "s3", "s4"}
    assert found.tokens == {TokenKey("", 600)}


@given(
    st.text("$()AB x", max_size=20),
    st.dictionaries(st.sampled_from(["A", "B", "AB", ""]), st.text("$()AB1", max_size=6), max_size=4),
)
def test_references_are_replaced_from_left_to_right_and_never_twice(text: str, variables: dict[str, str]) -> None:
    by_hand, at = "", 0
    while at < len(text):
        end = text.find(")", at)
        if text.startswith("$$", at):
            by_hand, at = f"{by_hand}$", at + 2
        elif text.startswith("$(", at) and end >= 0:
            name = text[at + 2 : end]
            by_hand, at = by_hand + variables.get(name, f"$({name})"), end + 1
        else:
            by_hand, at = by_hand + text[at], at + 1
    assert expand(text, variables) == by_hand


def test_a_text_that_begins_a_hundred_thousand_references_is_read_in_seconds() -> None:
    """Work that grows with the square would take this test minutes."""
    assert expand("$(A)" + "$(A $$" * 100_000, {"A": "1"}) == "1" + "$(A $" * 100_000
    assert expand("$(A)" + "$(A " * 100_000, {"A": "1"}) == "1" + "$(A " * 100_000
