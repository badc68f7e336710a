"""Environment and command of a container, as values."""

from __future__ import annotations

import base64
from fractions import Fraction
from typing import Any

import pytest

from shunter.cluster.node.content.downward import PodContext
from shunter.cluster.node.content.environment import declared_environment, program, unknown_program, unsupported_source
from shunter.cluster.node.content.references import MissingSourceError, Sources
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
