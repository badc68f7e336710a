"""Options as they are written on the command line."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.errors import InputError
from shunter.launch import option_texts
from shunter.launch.checkpoints.destinations import read_place
from shunter.launch.options import Checkpoints, ClaimVolume, Program
from shunter.launch.preparing import require_understood

TEXTS: dict[str, tuple[Any, str]] = {
    "a namespace that is none": (
        lambda: require_understood([], "", "", "Team_A"),
        "namespace 'Team_A': at most 63 lower case letters, digits and '-' only, as in team-a",
    ),
    "a variable that is not mine": (
        lambda: option_texts.variables(["TOKEN"], {}),
        "--env TOKEN: no such variable",
    ),
    "a Secret by another word": (
        lambda: option_texts.secret_reference("configmap/a"),
        "--env-from 'configmap/a' does not name a Secret",
    ),
    "a key that is none": (lambda: option_texts.secret_reference("secret/a:"), "--env-from 'secret/a:' does not name a Secret"),
    "a volume without a path": (lambda: option_texts.volume("data"), "--volume 'data' is invalid"),
    "a volume of another mode": (lambda: option_texts.volume("data:/d:rw"), "Write CLAIM:/path"),
    "a variable without a name": (lambda: option_texts.variables([""], {}), "--env '' names no variable"),
    "a value without a variable": (lambda: option_texts.variables(["=1"], {}), "--env '=1' names no variable. Write it like KEY"),
    "a label twice": (lambda: option_texts.labels(["a=1", "b=1", "a=2"]), "--label: a is given more than once"),
    "a label without a value": (lambda: option_texts.labels(["team"]), "--label 'team' has no value"),
}


@pytest.mark.parametrize(("read", "message"), TEXTS.values(), ids=TEXTS)
def test_texts_that_are_not_understood_are_refused(read: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read()


def test_texts_are_read() -> None:
    mine = {"HOME": "/root"}
    assert option_texts.variables(["A=b=c", "HOME", "E="], mine) == [
        {"name": "A", "value": "b=c"},
        {"name": "HOME", "value": "/root"},
        {"name": "E", "value": ""},
    ]
    assert option_texts.variables(["A=$(HOME)"], mine) == [{"name": "A", "value": "$$(HOME)"}], "no reference, but these letters"
    assert option_texts.secret_reference("secret/hf:TOKEN") == ("hf", "TOKEN")
    assert option_texts.secret_reference("secret/hf") == ("hf", "")
    assert option_texts.volume("data:/data/:ro") == ClaimVolume("data", "/data", read_only=True)
    assert read_place("claim:a/b") == Checkpoints(claim="claim", inside="a/b")


def test_a_place_for_checkpoints_that_a_variable_names_too_is_refused() -> None:
    given: Any = dict.fromkeys(("cpus", "memory", "name", "image", "resume", "grace", "queue", "deadline", "mlflow"), "")
    given |= {"nodes": 1, "gpus": 0, "procs": None, "restarts": None, "volumes": (), "labels": {}, "checkpoints": "s3://b/p"}
    variable = option_texts.variable("SHUNTER_CHECKPOINT_DIR", "/data")
    told = "--checkpoints s3://b/p and the variable SHUNTER_CHECKPOINT_DIR both name a place for checkpoints. Leave one"
    with pytest.raises(InputError, match=told):
        option_texts.launch_options(Program(path="train.py"), [variable], **given)
    option_texts.launch_options(Program(path="train.py"), [], **given)
