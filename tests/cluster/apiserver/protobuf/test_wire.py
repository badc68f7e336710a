"""The wire format of protobuf, by the examples of its documentation and its edges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.cluster.apiserver.protobuf.wire import fields_of, signed, varint
from shunter.cluster.apiserver.status import StatusError


def written(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        pytest.param("", [], id="an empty message"),
        pytest.param("089601", [(1, 150)], id="a number"),
        pytest.param("120774657374696e67", [(2, b"testing")], id="a text"),
        pytest.param("1a03089601", [(3, b"\x08\x96\x01")], id="a message in a message"),
        pytest.param("1200", [(2, b"")], id="an empty text"),
        pytest.param("0d01000000", [(1, b"\x01\x00\x00\x00")], id="32 bits"),
        pytest.param("090100000000000000", [(1, b"\x01" + b"\x00" * 7)], id="64 bits"),
        pytest.param("08010802", [(1, 1), (1, 2)], id="a field twice, in order"),
        pytest.param("f2ffffff0f00", [(2**29 - 2, b"")], id="a large number of a field"),
    ],
)
def test_fields_come_in_the_order_they_were_written(message: str, fields: list[tuple[int, int | bytes]]) -> None:
    assert list(fields_of(bytes.fromhex(message))) == fields


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("08", id="a tag without its number"),
        pytest.param("0880", id="a number that does not end"),
        pytest.param("12057465", id="a text that is too short"),
        pytest.param("0d0100", id="32 bits that are too short"),
        pytest.param("0b", id="a group, which Kubernetes does not use"),
        pytest.param("0f", id="a wire type that does not exist"),
        pytest.param("08" + "ff" * 10 + "01", id="a number of eleven bytes"),
        pytest.param("12ffffffffffffffffff01", id="a length of 64 bits"),
    ],
)
def test_a_body_that_is_no_protobuf_is_refused(message: str) -> None:
    with pytest.raises(StatusError) as refused:
        list(fields_of(bytes.fromhex(message)))
    assert refused.value.code == 400


@given(st.integers(0, 2**64 - 1))
def test_a_number_is_read_as_it_is_written(number: int) -> None:
    assert varint(b"\x00" + written(number) + b"\x00", 1) == (number, 1 + len(written(number)))


def test_bits_beyond_64_are_dropped() -> None:
    assert varint(b"\xff" * 9 + b"\x7f", 0) == (2**64 - 1, 10)


@pytest.mark.parametrize(("value", "number"), [(0, 0), (1, 1), (2**63 - 1, 2**63 - 1), (2**63, -(2**63)), (2**64 - 1, -1)])
def test_a_negative_number_is_sent_as_its_complement(value: int, number: int) -> None:
    assert signed(value) == number
