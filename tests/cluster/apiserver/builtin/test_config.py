"""What is refused of ConfigMaps and Secrets (Kubernetes 1.36: `apis/core/validation`)."""

from __future__ import annotations

import base64

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.builtin import config
from shunter.cluster.apiserver.kinds import Kind

KINDS = {kind.resource.kind: kind for kind in config.kinds()}


def refused(kind: Kind, value: Json, old: Json | None = None) -> list[str]:
    """The faults of an object, with its defaults: `FIELD: SENTENCE`."""
    assert kind.default is not None
    kind.default(value)
    if old is not None:
        kind.default(old)
    assert kind.validate is not None
    return [f"{error.field}: {error.body}" for error in kind.validate(value, old)]


def secret(type: str, /, **data: str) -> list[str]:
    return refused(KINDS["Secret"], {"type": type, "data": {key: encoded(text) for key, text in data.items()}})


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def docker(text: str) -> list[str]:
    return refused(KINDS["Secret"], {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": encoded(text)}})


@pytest.mark.parametrize(
    ("type", "data", "fields"),
    [
        ("kubernetes.io/basic-auth", {}, ["data[username]", "data[password]"]),
        ("kubernetes.io/basic-auth", {"username": ""}, []),
        ("kubernetes.io/basic-auth", {"password": "p"}, []),
        ("kubernetes.io/tls", {"tls.crt": ""}, ["data[tls.key]"]),
        ("kubernetes.io/tls", {"tls.crt": "", "tls.key": ""}, []),
        ("kubernetes.io/ssh-auth", {}, ["data[ssh-privatekey]"]),
        ("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}, ["data[ssh-privatekey]"]),
        ("kubernetes.io/ssh-auth", {"ssh-privatekey": "k"}, []),
        ("Opaque", {}, []),
        ("example.com/own", {}, []),
    ],
)
def test_a_secret_of_a_known_type_has_its_keys(type: str, data: dict[str, str], fields: list[str]) -> None:
    """Only the key for SSH may not be empty."""
    assert [fault.partition(":")[0] for fault in secret(type, **data)] == fields


@pytest.mark.parametrize("text", ["{}", '{"auths": {"a": {"auth": "x"}}}', "null", " {}\n"])
def test_credentials_of_a_registry_are_a_json_object(text: str) -> None:
    """As Go decodes them into a map, which null is as well."""
    assert docker(text) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "unexpected end of JSON input"),
        ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ('"{}"', "json: cannot unmarshal string into Go value"),
        ("1.5", "json: cannot unmarshal number into Go value"),
        ("true", "json: cannot unmarshal bool into Go value"),
        ('{"a": NaN}', "invalid character 'N' looking for beginning of value"),
        ('{"a": ' * 20_000, "exceeded max depth"),
        ("{", ""),
    ],
)
def test_other_credentials_of_a_registry_are_refused_and_never_shown(text: str, says: str) -> None:
    [fault] = docker(text)
    assert fault.startswith("data[.dockerconfigjson]: Invalid value: ")
    assert "<secret contents redacted>" in fault
    assert says in fault


def test_what_is_written_as_text_wins_over_bytes_of_the_same_key() -> None:
    value: Json = {"data": {"a": encoded("old"), "b": encoded("b")}, "stringData": {"a": "\u00fc", "c": ""}}
    assert refused(KINDS["Secret"], value) == []
    assert value["data"] == {"a": encoded("\u00fc"), "b": encoded("b"), "c": ""}
    assert "stringData" not in value
    assert value["type"] == "Opaque"


@pytest.mark.parametrize("size", [2**20, 2**20 + 1])
def test_a_mebibyte_is_the_most_that_a_config_map_and_a_secret_hold(size: int) -> None:
    half = size // 2
    texts: Json = {"data": {"a": "x" * half}, "binaryData": {"b": encoded("x" * (size - half))}}
    assert bool(refused(KINDS["ConfigMap"], texts)) == (size > 2**20)
    assert bool(refused(KINDS["Secret"], {"data": {"b": encoded("x" * size)}})) == (size > 2**20)


def test_sizes_are_those_of_bytes_and_not_of_characters() -> None:
    assert refused(KINDS["ConfigMap"], {"data": {"a": "\u00fc" * (2**19 + 1)}})


@pytest.mark.parametrize("key", ["a b", "a/b", "..", "..a", "x" * 254, ""])
def test_keys_become_names_of_files(key: str) -> None:
    assert refused(KINDS["ConfigMap"], {"data": {key: ""}})
    assert refused(KINDS["ConfigMap"], {"binaryData": {key: ""}})


def test_a_key_stands_in_one_of_both() -> None:
    assert refused(KINDS["ConfigMap"], {"data": {"a": ""}, "binaryData": {"a": ""}}) == [
        'data[a]: Invalid value: "a": duplicate of key present in binaryData'
    ]


def test_what_is_immutable_stays_so_and_keeps_its_content() -> None:
    frozen: Json = {"data": {"a": "1"}, "immutable": True}
    faults = refused(KINDS["ConfigMap"], {"data": {"a": "2"}}, frozen)
    assert [fault.partition(":")[0] for fault in faults] == ["immutable", "data"]
    assert refused(KINDS["ConfigMap"], {**frozen, "metadata": {"labels": {"a": "b"}}}, frozen) == []
    assert refused(KINDS["ConfigMap"], {**frozen, "binaryData": {}}, frozen) == []


def test_the_type_of_a_secret_does_not_change() -> None:
    assert [fault.partition(":")[0] for fault in refused(KINDS["Secret"], {"type": "a/b"}, {})] == ["type"]
