from __future__ import annotations

from typing import Any

import pytest

from shunter.migrate.pods.effective import effective_container


def container(env: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    return {"name": "node", "env": env, **fields}


def look(env: list[dict[str, Any]], **fields: Any) -> Any:
    own = container(env, **fields)
    pod = {"metadata": {"name": "p", "namespace": "team", "annotations": {"index": "3"}}, "spec": {"containers": [own]}}
    return effective_container(pod, own)


def test_of_two_variables_with_one_name_the_last_is_seen() -> None:
    assert look([{"name": "RANK", "value": "7"}, {"name": "RANK", "value": "0"}]).environment == {"RANK": "0"}


def test_a_value_refers_to_what_stands_before_it_only() -> None:
    env = [{"name": "A", "value": "$(B)"}, {"name": "B", "value": "b"}, {"name": "C", "value": "$(B)"}]
    assert look(env).environment == {"A": "$(B)", "B": "b", "C": "b"}


def test_command_and_arguments_get_what_the_environment_says_in_the_end() -> None:
    effective = look([{"name": "RANK", "value": "2"}], command=["run", "--rank=$(RANK)"], args=["$$(RANK)", "$(NOBODY)"])
    assert effective.program == ["run", "--rank=2", "$(RANK)", "$(NOBODY)"]


def test_without_a_command_the_image_decides() -> None:
    effective = look([], args=["--steps=1"])
    assert (effective.program, effective.arguments) == (None, ["--steps=1"])


@pytest.mark.parametrize(
    ("source", "value"),
    [
        pytest.param({"fieldRef": {"fieldPath": "metadata.annotations['index']"}}, "3", id="annotation"),
        pytest.param({"fieldRef": {"fieldPath": "status.podIP"}}, "<address of the pod>", id="address"),
        pytest.param({"secretKeyRef": {"name": "token", "key": "hf"}}, "<Secret token: hf>", id="secret"),
        pytest.param({"configMapKeyRef": {"name": "settings", "key": "lr"}}, "<ConfigMap settings: lr>", id="config-map"),
        pytest.param(
            {"secretKeyRef": {"name": "token", "key": "hf", "optional": True}}, "<optional Secret token: hf>", id="optional"
        ),
    ],
)
def test_sources_are_told_by_what_they_name(source: dict[str, Any], value: str) -> None:
    assert look([{"name": "X", "valueFrom": source}]).environment == {"X": value}


def test_a_reference_that_kubernetes_does_not_offer_is_an_error() -> None:
    with pytest.raises(ValueError, match="fieldPath"):
        look([{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "spec.nothing"}}}])
