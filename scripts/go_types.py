#!/usr/bin/env python
"""Writes what only Kubernetes' Go sources say about its types: protobuf field numbers, and which fields are structs by value.

Needs the modules k8s.io/{api,apimachinery,apiextensions-apiserver} of VERSION in Go's module cache, so it is run by hand when the
Kubernetes version moves (`go mod download k8s.io/api@VERSION ...`); its output is committed. It takes facts only: names, numbers
and types from `generated.proto`, JSON names from the tags in `types.go`.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

VERSION = "v0.36.3"
OUTPUT = Path(__file__).resolve().parent.parent / "src/shunter/cluster/apiserver/data"

SCALARS = {"string": "s", "bool": "b", "bytes": "y", "double": "d", "int32": "i", "int64": "i"}
ALWAYS = ("k8s.io/apimachinery@{0}/pkg/apis/meta/v1", "k8s.io/apiextensions-apiserver@{0}/pkg/apis/apiextensions/v1")
LEFT_OUT = frozenset(
    {"apiserverinternal", "imagepolicy", "extensions", "resource", "flowcontrol", "storagemigration", "testapigroup"}
)

MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"^  (?:(optional|repeated|required) )?(map<\w+, *[\w.]+>|[\w.]+) (\w+) = (\d+)", re.M)
STRUCT = re.compile(r"^type (\w+) struct \{(.*?)^\}", re.M | re.S)
TAGGED = re.compile(r"^\t(?:\w+\s+)?(\S+)\s+`(?:json:\"([^\"]*)\")?[^`]*?protobuf:\"\w+,(\d+)", re.M)


class GoField(NamedTuple):
    """A struct field: its JSON name (empty when inlined), and how Go encodes it when it is empty."""

    json_name: str
    is_pointer: bool
    omits_empty: bool
    omits_zero: bool


class Message(NamedTuple):
    name: str
    fields: dict[int, tuple[str, str, str]]
    """Number -> label, type, proto name."""
    go: dict[int, GoField]


def main() -> None:
    cache = Path(subprocess.run(["go", "env", "GOMODCACHE"], check=True, capture_output=True, text=True).stdout.strip())
    messages: dict[str, Message] = {}
    groups: dict[str, str] = {}
    for folder in folders(cache):
        package = re.search(r"^package ([\w.]+);", (folder / "generated.proto").read_text(), re.M)
        assert package, f"{folder}: no package"
        for message in read(folder, package[1]):
            messages[message.name] = message
        group = re.search(r'GroupName = "([^"]*)"', (folder / "register.go").read_text())
        assert group, f"{folder}: no group"
        groups[f"{group[1]}/{folder.name}" if group[1] else folder.name] = package[1]
    used = {name: dict(table(message, messages)) for name, message in messages.items()}
    tables = {"groups": groups, "messages": used}
    write(OUTPUT / "protobuf-tables.json.gz", tables)
    by_value = {definition(name): fields for name in messages if (fields := list(structs_by_value(name, messages)))}
    write(OUTPUT / "structs-by-value.json.gz", by_value)


def folders(cache: Path) -> Iterator[Path]:
    for pattern in ALWAYS:
        yield cache / pattern.format(VERSION)
    for proto in sorted((cache / f"k8s.io/api@{VERSION}").glob("*/*/generated.proto")):
        if "alpha" not in proto.parent.name and "beta" not in proto.parent.name and proto.parent.parent.name not in LEFT_OUT:
            yield proto.parent


def read(folder: Path, package: str) -> Iterator[Message]:
    proto = re.sub(r"^\s*//.*\n", "", (folder / "generated.proto").read_text(), flags=re.M)
    go: dict[str, dict[int, GoField]] = {}
    for source in sorted(folder.glob("*.go")):
        if not source.name.endswith(("_test.go", ".pb.go")):
            for name, body in STRUCT.findall(source.read_text()):
                go[name] = {int(number): go_field(kind, tag) for kind, tag, number in TAGGED.findall(body)}
    for name, body in MESSAGE.findall(proto):
        fields = {int(number): (label, kind, field) for label, kind, field, number in FIELD.findall(body)}
        yield Message(f"{package}.{name}", fields, go.get(name, {}))


def go_field(kind: str, tag: str) -> GoField:
    name, *options = tag.split(",")
    return GoField(name, kind.startswith("*"), "omitempty" in options, "omitzero" in options)


def table(message: Message, messages: dict[str, Message]) -> Iterator[tuple[int, list[str]]]:
    """Number -> JSON name (empty when inlined), type, and `p` for pointers, `r` for what is written even when empty."""
    for number, (label, kind, proto_name) in message.fields.items():
        go = message.go.get(number)
        json_name = go.json_name if go else proto_name
        flag = "p" if go and go.is_pointer else "" if not go or go.omits_empty else "r"
        yield number, [json_name, decoded(typed(label, kind, message.name), messages), flag]


def decoded(kind: str, messages: dict[str, Message]) -> str:
    """A type as the decoder reads it: a message that wraps nothing but a list is `=` and the type of the items."""
    prefix, name = ("", kind) if kind[:2] not in ("[]", "{}") else (kind[:2], kind[2:])
    wrapped = messages.get(name)
    if wrapped and not wrapped.go and [field[2] for field in wrapped.fields.values()] == ["items"]:
        label, item, _ = wrapped.fields[1]
        return prefix + "=" + typed(label, item, name)[2:]
    return kind


def typed(label: str, kind: str, message: str) -> str:
    if kind.startswith("map<"):
        return "{}" + typed("", kind[4:-1].split(",")[1].strip(), message)
    if label == "repeated":
        return "[]" + typed("", kind, message)
    if kind in SCALARS:
        return SCALARS[kind]
    return kind.lstrip(".") if "." in kind else f"{message.rpartition('.')[0]}.{kind}"


def structs_by_value(name: str, messages: dict[str, Message]) -> Iterator[str]:
    message = messages[name]
    for number, (label, kind, _) in message.fields.items():
        below = typed(label, kind, name)
        go = message.go.get(number)
        if go is None or go.is_pointer or go.omits_zero or below not in messages or not messages[below].go:
            continue
        if go.json_name:
            yield go.json_name
        else:
            yield from structs_by_value(below, messages)


def definition(message: str) -> str:
    """The OpenAPI definition of a message."""
    return "io." + message.replace("k8s.io.", "k8s.").replace("apiextensions_apiserver", "apiextensions-apiserver")


def write(path: Path, value: Any) -> None:
    path.write_bytes(gzip.compress(json.dumps(value, separators=(",", ":"), sort_keys=True).encode(), mtime=0))
    print(path)


if __name__ == "__main__":
    main()
