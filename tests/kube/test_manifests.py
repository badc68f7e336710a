"""Manifests as users write them, right and wrong."""

import json
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.kube.manifests import Manifest, load, parse

TWO = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {when: 2026-01-01T00:00:00Z}
---
# a comment
apiVersion: v1
kind: Secret
metadata:
  name: b
"""


def test_every_object_keeps_the_line_it_starts_at() -> None:
    assert [(m.title, m.place) for m in parse(TWO, "x.yaml")] == [("ConfigMap a", "x.yaml:1"), ("Secret b", "x.yaml:7")]


def test_times_stay_text_as_in_kubernetes() -> None:
    assert next(parse(TWO, "x")).object["data"]["when"] == "2026-01-01T00:00:00Z"


def test_what_yaml_reads_in_base_60_stays_text_as_in_kubernetes() -> None:
    (manifest,) = parse("kind: A\napiVersion: v1\nmetadata: {name: a}\nd: [12:30:00, 1:30.5, 22:22, =, 8, -1_0, 0.5]\n", "x")
    assert manifest.object["d"] == ["12:30:00", "1:30.5", "22:22", "=", 8, -10, 0.5]


def test_bytes_that_are_no_text_are_said_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\nb: \xff")
    with pytest.raises(InputError, match=f"{path}:2: not UTF-8 text: byte 0xff"):
        load(str(path))


def test_lists_are_unpacked() -> None:
    text = '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}]}'
    assert [m.title for m in parse(text, "x.json")] == ["Pod p"]


def test_a_key_that_overrides_a_merged_one_stands_once_wherever_it_is_merged_again() -> None:
    text = "kind: A\napiVersion: v1\nmetadata: {name: a}\nc: &c {i: 1}\nx: {z: {b: &b {<<: *c, i: 2}}}\na: {<<: *b, k: 3}\n"
    (manifest,) = parse(text, "x")
    assert manifest.object["x"]["z"]["b"] == {"i": 2}
    assert manifest.object["a"] == {"i": 2, "k": 3}


def test_a_directory_is_read_in_the_order_of_its_file_names(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.json", "ignored.txt"):
        (tmp_path / name).write_text(f'{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name[0]}"}}}}')
    assert [m.title for m in load(str(tmp_path))] == ["Pod a", "Pod b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1, }", "x.yaml:1:8: not valid YAML"),
        ("a: 1\na: 2\n", "x.yaml:2:1: not valid YAML: key 'a' is duplicated in one object."),
        ("a: 1\nb: \x01c", "x.yaml:2:4: not valid YAML: a control character, '\\x01'."),
        ("- 1", "x.yaml:1: expected a Kubernetes object, found list [1]."),
        ("kind: Pod", "x.yaml:1: apiVersion is missing."),
        ("apiVersion: v1\nkind: 3", "x.yaml:1: kind is missing."),
        ("\n\napiVersion: v1\nkind: Pod", "x.yaml:3: Pod has no metadata.name."),
        ("a: 1\nb: !!int 0x_", "x.yaml:2:4: not valid YAML: '0x_' is no int."),
        ("a: !!bool x", "x.yaml:1:4: not valid YAML: 'x' is no bool."),
        ("a: {on: 1}", "x.yaml:1: a key is not a string"),
        ("a: &a [*a]", "x.yaml:1: nested too deeply, or an alias refers to itself."),
    ],
    ids=[
        "broken yaml",
        "duplicate key",
        "binary",
        "not an object",
        "no apiVersion",
        "kind of wrong type",
        "no name",
        "number without digits",
        "wrong bool",
        "key that is a bool",
        "alias of itself",
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        list(parse(text, "x.yaml"))
    assert message in error.value.message


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match=r"nowhere\.yaml: no such file"):
        load("nowhere.yaml")


@pytest.mark.parametrize("field", ["name", "generateName", "namespace"])
def test_a_name_that_yaml_reads_as_a_number_is_refused(field: str) -> None:
    metadata = {"name": "x"} | {field: 5}
    with pytest.raises(InputError, match=rf"f:1: metadata\.{field} is int 5, not text\. Put it in quotes"):
        list(parse(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}), "f"))


POSITIONS = """\
# two documents
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: b
    labels: &labels
      "app.kubernetes.io/name": x
- apiVersion: v1
  kind: List
  items:
  - apiVersion: v1
    kind: Pod
    metadata:
      labels:
        <<: *labels
        own: y
      name: c
    spec:
      containers:
      - name: m
      - image: i
        'name': n
"""


@pytest.mark.parametrize(
    ("number", "path", "line"),
    [
        (0, ("metadata", "name"), 4),
        (1, (), 9),
        (1, ("metadata", "labels", "app.kubernetes.io/name"), 14),
        (2, (), 18),
        (2, ("metadata", "labels", "app.kubernetes.io/name"), 14),
        (2, ("metadata", "labels", "own"), 23),
        (2, ("spec", "containers", 1), 28),
        (2, ("spec", "containers", 1, "name"), 29),
        (2, ("spec", "containers", 2), None),
        (2, ("spec", "nodeName"), None),
    ],
)
def test_the_line_of_each_field_is_known(number: int, path: tuple[str | int, ...], line: int | None) -> None:
    assert list(parse(POSITIONS, "x.yaml"))[number].line_of(path) == line


def test_the_line_around_a_field_that_is_not_there_is_known() -> None:
    _, second, third = parse(POSITIONS, "x.yaml")
    assert third.line_of(("spec", "containers", 0, "image", "x"), or_parent=True) == 27
    assert second.line_of(("data",), or_parent=True) == 9


def test_an_item_of_a_list_has_the_line_that_it_begins_in() -> None:
    assert [manifest.place for manifest in parse(POSITIONS, "x.yaml")] == ["x.yaml:2", "x.yaml:9", "x.yaml:18"]


def test_fields_of_json_have_lines() -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"a": [1]}}, indent=1)
    (manifest,) = parse(text, "x.json")
    assert text.splitlines()[(manifest.line_of(("spec", "a")) or 0) - 1] == '  "a": ['


def test_the_lines_of_an_object_that_was_not_read_are_unknown() -> None:
    assert Manifest({"metadata": {}}, "x", 1).line_of(("metadata",)) is None
