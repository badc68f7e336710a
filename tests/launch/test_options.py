"""Options that cannot be meant: one sentence with the option, the value and the remedy."""

from __future__ import annotations

import os
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.launch import option_texts
from shunter.launch.checkpoints.places import read_place
from shunter.launch.names import base_name, earlier_names, first_name, free_name
from shunter.launch.options import Checkpoints, ClaimVolume, LaunchOptions, Program, shutdown_seconds
from shunter.launch.preparing import require_understood

TRAIN = Program(path="train.py")

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no node": ({"nodes": 0}, "--nodes is 0; it must be at least 1"),
    "fewer GPUs than none": ({"gpus": -1}, "--gpus is -1"),
    "restarts below none": ({"restarts": -1}, "--restarts is -1; it must be between 0 and"),
    "restarts that no field holds": ({"restarts": 2**31}, "--restarts is 2147483648"),
    "no process": ({"procs": 0}, "--procs is 0"),
    "memory without a unit that is one": ({"memory": "16GB"}, "--memory '16GB' is not an amount. Write 16Gi or 500Mi"),
    "CPUs without a number": ({"cpus": "lots"}, "--cpus 'lots' is not an amount. Write 4 or 500m"),
    "no CPU": ({"cpus": "0"}, "--cpus '0' is not a positive amount"),
    "a name with capitals": (
        {"name": "Train"},
        "--name 'Train': lower case letters, digits and '-' only, beginning with a letter, as in train-2",
    ),
    "a job to resume that is none": ({"resume": "Bad_Name"}, "--resume 'Bad_Name': lower case letters, digits"),
    "a name that makes those of pods too long": ({"name": "a" * 51}, "--name 'a+' has 51 characters; .* Use at most 50"),
    "a label that is none": ({"labels": {"team": "a b"}}, "--label team=a b: a valid label must be"),
    "an image that is none": ({"image": "my image"}, "--image 'my image': an image is named like team/train:1"),
    "a queue that is none": ({"queue": "a/b"}, "--queue 'a/b'"),
    "a variable twice": (
        {"environment": ({"name": "A", "value": "1"}, {"name": "A", "value": "2"})},
        "--env: A is given more",
    ),
    "a variable without a name": ({"environment": ({"name": "", "value": "1"},)}, "--env '': environment variable name must"),
    "two claims at one path": (
        {"volumes": (ClaimVolume("a", "/d"), ClaimVolume("b", "/d"))},
        "--volume: /d is given more",
    ),
}


@pytest.mark.parametrize(("fields", "message"), WRONG.values(), ids=WRONG)
def test_options_that_cannot_be_meant_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LaunchOptions(program=TRAIN, **fields)


TEXTS: dict[str, tuple[Any, str]] = {
    "a namespace that is none": (
        lambda: require_understood([], "", "", "Team_A"),
        "namespace 'Team_A': at most 63 lower case letters, digits and '-' only, as in team-a",
    ),
    "a duration that is none": (lambda: option_texts.duration("--grace", "5"), "--grace: '5' is not a duration"),
    "no time at all": (lambda: option_texts.duration("--deadline", "0s"), "--deadline: '0s' is not a positive duration"),
    "a variable that is not mine": (
        lambda: option_texts.variables(["TOKEN"], {}),
        "--env TOKEN: no such variable",
    ),
    "a Secret by another word": (
        lambda: option_texts.secret_reference("configmap/a"),
        "--env-from 'configmap/a' does not name a Secret",
    ),
    "a key that is none": (lambda: option_texts.secret_reference("secret/a:"), "--env-from 'secret/a:' does not name a Secret"),
    "a volume without a path": (lambda: option_texts.volume("data"), "--volume 'data' is not understood"),
    "a volume of another mode": (lambda: option_texts.volume("data:/d:rw"), "Write CLAIM:/path"),
    "a label without a value": (lambda: option_texts.labels(["team"]), "--label 'team' has no value"),
}


@pytest.mark.parametrize(("read", "message"), TEXTS.values(), ids=TEXTS)
def test_texts_that_are_not_understood_are_refused(read: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read()


def test_texts_are_read() -> None:
    assert option_texts.duration("--grace", "1m30s") == 90
    assert option_texts.duration("--grace", "") is None
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


@pytest.mark.parametrize(
    ("make", "named"),
    [
        pytest.param(lambda text: Program(path=text), "the program", id="script"),
        pytest.param(lambda text: Program(path="train.py", arguments=(text,)), "the program's argument", id="argument"),
        pytest.param(
            lambda text: LaunchOptions(program=TRAIN, environment=({"name": "A", "value": text},)), "--env A", id="variable"
        ),
    ],
)
def test_bytes_that_are_no_text_are_refused(make: Any, named: str) -> None:
    with pytest.raises(InputError, match=rf"{named} b'caf\\xe9' is not UTF-8"):
        make(os.fsdecode(b"caf\xe9"))


@pytest.mark.parametrize(("grace", "shutdown"), [(300, 280), (120, 100), (40, 20), (30, 15), (1, 0)])
def test_torchrun_ends_before_its_pod_is_killed(grace: int, shutdown: int) -> None:
    assert shutdown_seconds(grace) == shutdown


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (Program(path="train.py"), "train"),
        (Program(path="src/Train_LM.v2.py"), "train-lm-v2"),
        (Program(path="1st.py"), "job-1st"),
        (Program(path="ü.py"), "job"),
        (Program(module="pkg.train"), "train"),
        (Program(path="a" * 80 + ".py"), "a" * 45),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_job_is_called_like_its_program(program: Program, name: str) -> None:
    assert base_name(program) == name
    assert LaunchOptions(program=program, name=free_name(name, {name})).name == f"{name}-2"


@pytest.mark.parametrize(
    ("name", "title", "again"),
    [
        ("train-2", "a/train.py", "train-3"),
        ("train", "-m pkg.train", "train-2"),
        ("train-150", "train.py", "train-151"),
        ("train-2024", "train.py", "train-2024-2"),
        ("resnet-152", "train.py", "resnet-152-2"),
        ("resnet-50", "train.py", "resnet-50-2"),
        ("gpt-2", "train.py", "gpt-2-2"),
        ("run-2", "train.py", "run-2-2"),
        ("lm-2", "lm-2.py", "lm-2-2"),
    ],
)
def test_a_job_that_runs_again_gets_the_next_number_of_its_program(name: str, title: str, again: str) -> None:
    """Never a lower one: checkpoints are found by the name."""
    first = first_name(name, program=title)
    assert free_name(first, earlier_names(name, first)) == again


def test_a_name_that_is_taken_gets_the_next_number() -> None:
    assert free_name("train", {"train-2"}) == "train"
    assert free_name("train", {"train", "train-2", "train-4"}) == "train-3"
