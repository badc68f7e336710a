"""Flags and variables of a container's program: read, and set for a trial."""

from __future__ import annotations

import copy

import pytest

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.migrate.moving.runs.program import settings, with_argument, with_variable


@pytest.mark.parametrize(
    ("container", "changed"),
    [
        ({"command": ["train", "--steps", "9"]}, {"command": ["train", "--steps", "2"]}),
        ({"command": ["train", "--steps=9", "-v"]}, {"command": ["train", "--steps=2", "-v"]}),
        ({"command": ["train", "--max-steps", "9"]}, {"command": ["train", "--max-steps", "9", "--steps", "2"]}),
        ({"command": ["train"]}, {"command": ["train", "--steps", "2"]}),
        ({"command": ["train"], "args": ["-v"]}, {"command": ["train"], "args": ["-v", "--steps", "2"]}),
        ({}, {"args": ["--steps", "2"]}),
        ({"command": ["sh", "-c", "train --steps 9; ls"]}, {"command": ["sh", "-c", "train --steps 2; ls"]}),
        ({"command": ["sh", "-c", "train --steps='9 8' x"]}, {"command": ["sh", "-c", "train --steps=2 x"]}),
        ({"command": ["sh", "-c", "a --steps 9 && b --steps 7"]}, {"command": ["sh", "-c", "a --steps 2 && b --steps 2"]}),
    ],
    ids=["two words", "one word", "a longer flag", "none", "arguments", "an entrypoint", "a shell", "quoted", "twice"],
)
def test_a_flag_is_replaced_where_it_stands_or_put_at_the_end(container: Json, changed: Json) -> None:
    container = copy.deepcopy(container)
    with_argument(container, "--steps", "2", "PyTorchJob a/b")
    assert container == changed


def test_a_value_for_a_shell_is_quoted() -> None:
    container = {"command": ["sh", "-c", "train --dir /a"]}
    with_argument(container, "--dir", "/b; rm x", "PyTorchJob a/b")
    assert container["command"][2] == "train --dir '/b; rm x'"


def test_a_flag_that_is_not_in_a_shell_text_is_refused_rather_than_given_to_the_shell() -> None:
    container = {"name": "pytorch", "command": ["sh", "-c", "train --max-steps 9"]}
    with pytest.raises(InputError, match="--steps is not in the text that the shell of container pytorch runs") as refusal:
        with_argument(container, "--steps", "2", "PyTorchJob a/b")
    assert "--env NAME=VALUE" in refusal.value.remedy


@pytest.mark.parametrize(
    ("env", "after"),
    [
        (None, [{"name": "A", "value": "1"}]),
        ([{"name": "B", "value": "0"}], [{"name": "B", "value": "0"}, {"name": "A", "value": "1"}]),
        ([{"name": "A", "valueFrom": {"fieldRef": {}}}], [{"name": "A", "value": "1"}]),
    ],
    ids=["no variables", "another", "one from elsewhere"],
)
def test_a_variable_is_set_or_replaced(env: list[Json] | None, after: list[Json]) -> None:
    container: Json = {"env": env}
    with_variable(container, "A", "1")
    assert container["env"] == after


def test_what_a_program_is_told_is_read_with_the_flags_it_stands_after() -> None:
    words = ["train", "--out", "/a", "--log=/b", "key=/c", "-v", "--last", "/d"]
    assert [tuple(one) for one in settings(words, {"DIR": "/e"})] == [
        ("", "train"), ("--out", "/a"), ("--log", "/b"), ("key", "/c"), ("--last", "/d"), ("DIR", "/e"),
    ]  # fmt: skip


def test_texts_for_a_shell_are_taken_apart_also_with_a_quote_that_does_not_end() -> None:
    assert ("--out", "/a b") in [tuple(one) for one in settings(["sh", "-c", "train --out '/a b' # --out /c"], {})]
    assert ("--out", "/a") in [tuple(one) for one in settings(["sh", "-c", "train --out /a it's"], {})]
