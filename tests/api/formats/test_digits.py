"""Numbers that users write in digits."""

from __future__ import annotations

import pytest

from shunter.api.formats.digits import integer, port_number, whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        (str(2**63 - 1), 2**63 - 1),
        (str(2**63), None),
        ("9" * 20, None),
        ("0" * 5000 + "7", 7),
        ("1" * 5000, None),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("１２", None),
    ],
)
def test_a_number_is_read_where_64_bits_may_hold_it(text: str, number: int | None) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("-7", -7),
        ("+7", 7),
        (str(-(2**63)), -(2**63)),
        (str(-(2**63) - 1), None),
        (str(2**63), None),
        ("0" * 30 + "5", 5),
        ("1_000", None),
        ("--1", None),
        (" 1", None),
        ("", None),
        ("-", None),
    ],
)
def test_a_number_with_a_sign_is_read_as_go_reads_it(text: str, number: int | None) -> None:
    assert integer(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("65535", 65535), ("0", None), ("65536", None), ("8" * 5000, None), ("８０", None), ("http", None)],
    ids=["least", "most", "zero", "too large", "too long", "digits of another script", "name"],
)
def test_a_port_is_read_where_it_is_one(text: str, number: int | None) -> None:
    assert port_number(text) == number
