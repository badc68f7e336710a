"""Bodies that kubectl and Go programs sent come out as the JSON that Go itself makes of them.

vectors/kubectl.json: bodies of kubectl 1.32, with the object as client-go decodes it. vectors/go.jsonl.gz: objects with every
field filled at random (apimachinery's fuzzers), as client-go encodes them, to protobuf and to JSON.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.cluster.apiserver.protobuf.decode import MAGIC, decode
from shunter.cluster.apiserver.status import StatusError

VECTORS = Path(__file__).parent / "vectors"
KUBECTL = json.loads((VECTORS / "kubectl.json").read_text())
GO = [json.loads(line) for line in gzip.decompress((VECTORS / "go.jsonl.gz").read_bytes()).splitlines()]


def without_nulls(value: Any) -> Any:
    """Go writes null for empty lists and times; on the wire they are absent."""
    if isinstance(value, dict):
        return {name: without_nulls(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [without_nulls(part) for part in value]
    return value


def without_empty(value: Any) -> Any:
    """Nil and empty values of a map look the same on the wire."""
    if isinstance(value, dict):
        parts = {name: without_empty(part) for name, part in value.items()}
        return {name: part for name, part in parts.items() if part not in ("", [], None)}
    if isinstance(value, list):
        return [without_empty(part) for part in value]
    return value


@pytest.mark.parametrize("vector", KUBECTL, ids=lambda vector: vector["request"].replace(" ", "_"))
def test_body_of_kubectl(vector: dict[str, Any]) -> None:
    assert without_nulls(decode(base64.b64decode(vector["body"]))) == without_nulls(vector["object"])


@pytest.mark.parametrize("vector", GO, ids=lambda vector: f"{vector['json']['apiVersion']}-{vector['json']['kind']}")
def test_every_field_survives(vector: dict[str, Any]) -> None:
    assert without_empty(decode(base64.b64decode(vector["protobuf"]))) == without_empty(vector["json"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"{}", "the magic number is missing", id="JSON"),
        pytest.param(MAGIC + b"\x0a\x7f", "it ends inside a field", id="cut short"),
        pytest.param(MAGIC + b"\x0a", "it ends inside a number", id="a tag without a value"),
        pytest.param(MAGIC + b"\x0f", "wire type 7", id="no such wire type"),
        pytest.param(MAGIC + b"\x08\x01", "a number where bytes were expected", id="a number for a message"),
        pytest.param(MAGIC + b"\x0a\x04\x0a\x02v1", 'no kind "" is registered for version "v1"', id="no kind"),
        pytest.param(MAGIC + b"\x0a\x09\x0a\x02v1\x12\x03Pot", 'no kind "Pot" is registered for version "v1"', id="unknown kind"),
    ],
)
def test_bad_body_is_a_bad_request(body: bytes, message: str) -> None:
    with pytest.raises(StatusError) as refusal:
        decode(body)
    assert refusal.value.code == 400
    assert message in refusal.value.message


@given(st.sampled_from(KUBECTL + GO), st.data())
def test_damaged_body_is_decoded_or_refused_never_a_crash(vector: dict[str, Any], data: st.DataObject) -> None:
    body = bytearray(base64.b64decode(vector.get("body") or vector["protobuf"])[:2000])
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(len(MAGIC), len(body) - 1))
        body[position] = data.draw(st.integers(0, 255))
    with contextlib.suppress(StatusError):
        decode(bytes(body))
