"""Arguments from Python of another type than the annotation says."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from shunter.argument_types import require_types, typed
from shunter.errors import InputError
from shunter.launch.code.delivery import ImageCode
from shunter.launch.code.tree import packed_code
from shunter.launch.objects import launch
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.running import run
from shunter.sizing import SizeOptions, size


@dataclasses.dataclass(frozen=True)
class Place:
    """A class that no JSON type stands for."""

    name: str


@typed
def called(
    path: str | Path = "",
    *,
    words: Sequence[str] = (),
    number: int = 0,
    limit: float | None = None,
    flag: bool = False,
    names: Mapping[str, str] | None = None,
    place: Place | None = None,
    places: tuple[Place, ...] = (),
) -> str:
    """Takes some of every kind."""
    return f"{path} {words} {number} {limit} {flag} {names} {place} {places}"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"words": "--lr 3"}, "called: words='--lr 3': expected list, got str. Its type is Sequence[str]."),
        ({"words": ["--lr", 3]}, "called: words: expected str, got int - at $[1]. Its type is Sequence[str]."),
        ({"number": "2"}, "called: number='2': expected int, got str. Its type is int."),
        ({"number": 1.5}, "called: number=1.5: expected int, got float."),
        ({"number": True}, "called: number=True: expected int, got bool."),
        ({"number": None}, "called: number=None: expected int, got None."),
        ({"limit": "5s"}, "called: limit='5s': expected float, got str. Its type is float | None."),
        ({"flag": "no"}, "called: flag='no': expected bool, got str."),
        ({"names": {"TOKEN": 5}}, "called: names: expected str, got int - at $[...]. Its type is Mapping[str, str] | None."),
        ({"names": ["a=b"]}, "called: names: expected dict, got list."),
        ({"place": {"name": "a"}}, "called: place: expected Place, got dict. Its type is Place | None."),
        ({"path": 8}, "called: path=8: expected str, got int. Its type is str | Path."),
    ],
)
def test_another_type_is_refused_by_the_argument_the_value_and_the_type(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        called(**values)


def test_what_an_annotation_allows_is_taken() -> None:
    assert called(Path("a"), words=["b"], number=2, limit=5, flag=True, names={"c": "d"}, place=Place("e"), places=(Place("f"),))
    assert called("a", words=("b",), limit=None, names=None, place=None)


def test_an_argument_that_there_is_not_is_told_as_python_does() -> None:
    with pytest.raises(TypeError, match=re.escape("called() got an unexpected keyword argument 'label'")):
        called(label=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: run("train.py", args="--lr 3"), "run: args='--lr 3': expected list, got str"),
        (lambda: run("train.py", nodes="2"), "run: nodes='2'"),  # type: ignore[arg-type]
        (lambda: size(parameters=8_000_000_000), "size: parameters=8000000000"),  # type: ignore[arg-type]
        (lambda: SizeOptions(seq="4096"), "SizeOptions: seq='4096'"),  # type: ignore[arg-type]
        (lambda: Program(path="train.py", arguments="--lr 3"), "Program: arguments='--lr 3'"),  # type: ignore[arg-type]
        (
            lambda: LaunchOptions(program=Program(path="train.py"), nodes="2"),  # type: ignore[arg-type]
            "LaunchOptions: nodes='2'",
        ),
    ],
    ids=["run, words", "run, number", "size", "SizeOptions", "Program", "LaunchOptions"],
)
def test_what_is_called_from_python_is_held_to_its_types(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make()


def test_a_dataclass_is_held_to_the_types_of_its_fields() -> None:
    require_types(Place, {"name": "a"})
    with pytest.raises(InputError, match="Place: name=1: expected str, got int"):
        require_types(Place, {"name": 1})


def test_the_functions_that_make_objects_without_a_cluster_are_held_to_their_types() -> None:
    options = LaunchOptions(program=Program(path="train.py"))
    with pytest.raises(InputError, match=r"^packed_code: root='/work': expected Path, got str. Its type is Path."):
        packed_code("/work", options.program)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^launch: runtime='torch': expected Runtime, got str. Its type is Runtime."):
        launch(options, ImageCode(), "torch", name="train", namespace="team")  # type: ignore[arg-type]
