"""Quantities: exact values, and the forms in which Kubernetes writes them back."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shunter.api.formats import quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("500m", Fraction(1, 2)),
        ("1.5", Fraction(3, 2)),
        ("-2k", -2000),
        ("8Gi", 8 * 2**30),
        ("1.5Ki", 1536),
        ("1e3", 1000),
        ("2E", 2 * 10**18),
        (4, 4),
        (0.25, Fraction(1, 4)),
    ],
)
def test_a_quantity_has_its_exact_value(text: str | int | float, value: Fraction | int) -> None:
    assert quantity.parse(text) == value


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        ("1000Mi", "1000Mi"),
        ("1.5Gi", "1536Mi"),
        ("1000k", "1M"),
        ("1e3", "1e3"),
        ("1000", "1k"),
        ("0", "0"),
        ("0Gi", "0"),
    ],
)
def test_a_quantity_is_written_back_in_canonical_form(given: str, written: str) -> None:
    assert quantity.canonical(given) == written


def test_amounts_below_a_thousandth_are_rounded_up_in_lists_of_resources() -> None:
    assert quantity.canonical_resource("100u") == "1m"
    assert quantity.canonical_resource("100m") == "100m"


@pytest.mark.parametrize("text", ["", "x", "1 Gi", "Gi", "--1", "1.2.3"])
def test_what_is_no_quantity_is_refused_with_the_pattern(text: str) -> None:
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        quantity.parse(text)


def test_an_unknown_suffix_is_named_as_the_fault() -> None:
    with pytest.raises(ValueError, match="unable to parse quantity's suffix"):
        quantity.parse("1mi")


@pytest.mark.parametrize("text", ["1e999999999", "1E-999999999", "1e1000", "2e99999999999999999999"])
def test_a_power_of_ten_of_which_nobody_has_so_much_is_refused_at_once(text: str) -> None:
    with pytest.raises(ValueError, match="unable to parse quantity's suffix"):
        quantity.parse(text)


def test_a_small_power_of_ten_may_have_zeros_in_front() -> None:
    assert quantity.parse("1e0000003") == 1000
    assert quantity.parse("1e-30") == Fraction(1, 10**9)


def test_amounts_are_formatted_in_the_largest_exact_binary_unit() -> None:
    assert quantity.format_binary(8 * 2**30) == "8Gi"
    assert quantity.format_binary(1025) == "1025"
    assert quantity.format_milli(Fraction(2048), binary=True) == "2Ki"
    assert quantity.format_milli(Fraction(1, 3), binary=True) == "334m"
