"""An object as YAML for people."""

from __future__ import annotations

from shunter.api.yaml import load_yaml
from shunter.page.object_text import object_text

POD = load_yaml("""
status: {phase: Running}
spec:
  containers:
  - name: main
    env:
    - {name: HF_TOKEN, value: hf_abcdefghijk}
    - {name: EPOCHS, value: "3"}
    args: ["--api-key", "sk-1234567890abcdefghijkl", "--url=https://ann:s3cretpw@host/x", "hf_zyxwvutsrq"]
metadata:
  name: p
  managedFields: [{manager: a}, {manager: b}]
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"token":"s3cret-token"}}'
    note: "\\u202Eabc"
kind: Pod
apiVersion: v1
""")


def test_what_repeats_the_object_is_left_out_and_said_so() -> None:
    text = object_text(POD, shows_credentials=True)
    assert text.startswith("# metadata.managedFields is left out (2 managers).\n")
    assert "s3cret-token" not in text
    assert list(load_yaml(text)) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert "managedFields" not in load_yaml(text)["metadata"]


def test_credentials_are_hidden_by_name_address_and_shape_until_they_are_asked_for() -> None:
    hidden, whole = object_text(POD), object_text(POD, shows_credentials=True)
    for secret in ("hf_abcdefghijk", "sk-1234567890abcdefghijkl", "s3cretpw", "hf_zyxwvutsrq"):
        assert secret not in hidden
        assert secret in whole
    assert "shown as ***" in hidden
    assert "shown as ***" not in whole
    assert "EPOCHS" in hidden


def test_text_that_turns_around_is_seen() -> None:
    assert "\u202e" not in object_text(POD)
