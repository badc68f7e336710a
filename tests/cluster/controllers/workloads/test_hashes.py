"""The short hash of a template."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.cluster.controllers.workloads.hashes import canonical, encoded, fnv_1, template_hash


@pytest.mark.parametrize(
    ("content", "number"),
    [(b"", 0x811C9DC5), (b"a", 0x050C5D7E), (b"foobar", 0x31F0B262)],
    ids=["nothing", "a letter", "a word"],
)
def test_fnv_1_has_the_values_of_its_reference(content: bytes, number: int) -> None:
    assert fnv_1(content) == number


@pytest.mark.parametrize("number", [0, 1789, 1234567890, 2**32 - 1])
def test_a_number_is_written_with_one_letter_a_digit_and_without_vowels(number: int) -> None:
    assert encoded(1789) == "5cdf"
    assert not set(encoded(number)) & set("aeiou013")
    assert len(encoded(number)) == len(str(number))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param({"a": 1}, {"a": 2}, id="another value"),
        pytest.param({"a": "1"}, {"a": 1}, id="another type"),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, id="another order of a list"),
        pytest.param({"a": None}, {}, id="null and absent"),
        pytest.param({"a": "\u00e9"}, {"a": "e\u0301"}, id="two ways to write a letter"),
    ],
)
def test_templates_that_differ_have_hashes_that_differ(left: Json, right: Json) -> None:
    assert template_hash(left, None) != template_hash(right, None)


def test_the_order_of_keys_changes_no_hash_and_a_collision_does() -> None:
    assert template_hash({"a": 1, "b": 2}, None) == template_hash({"b": 2, "a": 1}, None)
    assert len({template_hash({}, count) for count in (None, 0, 1, 2)}) == 4


def test_json_is_written_as_go_writes_maps() -> None:
    assert (
        canonical({"b": "<&>", "a": [1, True, None, "\u00e9"]})
        == '{"a":[1,true,null,"\u00e9"],"b":"\\u003c\\u0026\\u003e"}'.encode()
    )
