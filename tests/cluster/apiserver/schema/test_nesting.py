"""How deep objects may be nested."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from shunter.cluster.apiserver.schema.nesting import LIMIT, TooDeepError, check, check_aliased


def nested(levels: int, *, lists: bool = False) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value] if lists else {"a": value}
    return value


@pytest.mark.parametrize("lists", [False, True], ids=["objects", "lists"])
@pytest.mark.parametrize(("levels", "is_refused"), [(0, False), (LIMIT, False), (LIMIT + 1, True), (5000, True)])
def test_an_object_is_refused_beyond_the_limit(levels: int, is_refused: bool, lists: bool) -> None:
    value = nested(levels, lists=lists)
    text = b"[" * levels if lists else b'{"a":' * levels
    judges: tuple[Callable[[], None], ...] = (lambda: check(value, text), lambda: check_aliased(value))
    for judge in judges:
        if is_refused:
            with pytest.raises(TooDeepError, match="exceeded max depth"):
                judge()
        else:
            judge()


def test_a_wide_object_is_not_deep() -> None:
    value = {str(number): {"a": [number]} for number in range(1000)}
    check(value, json.dumps(value).encode())
    check_aliased(value)


def test_brackets_in_texts_do_not_count() -> None:
    value = {"script": "{[" * 1000}
    check(value, json.dumps(value).encode())


def test_a_value_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["a"] = [value]
    with pytest.raises(TooDeepError):
        check_aliased(value)


def test_aliases_that_multiply_are_refused_before_they_fill_the_memory() -> None:
    value: Any = [1] * 10
    for _ in range(40):
        value = [value] * 10
    with pytest.raises(TooDeepError):
        check_aliased(value)
