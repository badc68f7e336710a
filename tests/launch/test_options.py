"""Options that cannot be meant: one sentence with the option, the value and the remedy."""

from __future__ import annotations

import os
from typing import Any

import pytest

from shunter.api.jobset import longest_name
from shunter.api.trainer.runtime import NODE
from shunter.errors import InputError
from shunter.launch.options import LONGEST_NAME, ClaimVolume, LaunchOptions, Program

TRAIN = Program(path="train.py")
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no node": ({"nodes": 0}, "--nodes is 0; it must be at least 1"),
    "fewer GPUs than none": ({"gpus": -1}, "--gpus is -1"),
    "restarts below none": ({"restarts": -1}, "--restarts is -1; it must be at least 0"),
    "restarts that no field holds": ({"restarts": 2**31}, "--restarts is 2147483648; it must be at most 2,147,483,647"),
    "nodes that no field holds": ({"nodes": 2**31}, "--nodes is 2147483648; it must be at most 2,147,483,647"),
    "GPUs that no field holds": ({"gpus": 10**20}, "--gpus is 100000000000000000000; it must be at most"),
    "processes that no field holds": ({"procs": 2**31}, "--procs is 2147483648; it must be at most"),
    "memory in thousandths": (
        {"memory": "16m"},
        "--memory '16m' is 0.016 bytes, too little for any program. Write 16Gi",
    ),
    "memory without a unit": ({"memory": "16"}, "--memory '16' is 16 bytes, too little"),
    "no process": ({"procs": 0}, "--procs is 0"),
    "memory without a unit that is one": ({"memory": "16GB"}, "--memory '16GB' is not a quantity. Write 16Gi or 500Mi"),
    "CPUs without a number": ({"cpus": "lots"}, "--cpus 'lots' is not a quantity. Write 4 or 500m"),
    "no CPU": ({"cpus": "0"}, "--cpus '0' is not a positive quantity"),
    "a name with capitals": (
        {"name": "Train"},
        "--name 'Train': lower case letters, digits and '-' only, beginning with a letter, as in train-2",
    ),
    "a job to resume that is none": ({"resume": "Bad_Name"}, "--resume 'Bad_Name': lower case letters, digits"),
    "a name that makes those of pods too long": ({"name": "a" * 51}, "--name 'a+' has 51 characters; .* Use at most 48"),
    "a label that is none": ({"labels": {"team": "a b"}}, "--label team=a b: a valid label must be"),
    "an image that is none": ({"image": "my image"}, "--image 'my image': an image is named like team/train:1"),
    "two queues": (
        {"queue": "a", "labels": {"kueue.x-k8s.io/queue-name": "b"}},
        "--queue a and --label kueue.x-k8s.io/queue-name both name a queue. Leave one",
    ),
    "a queue that is none": ({"queue": "a/b"}, "--queue 'a/b'"),
    "a variable twice": (
        {"environment": ({"name": "A", "value": "1"}, {"name": "A", "value": "2"})},
        "--env: A is given more",
    ),
    "a variable without a name": ({"environment": ({"name": "", "value": "1"},)}, "--env '': environment variable name must"),
    "a variable without the key of its name": ({"environment": ({"value": "1"},)}, "--env '': environment variable name must"),
    "no grace": ({"grace_seconds": 0}, "--grace is 0; it must be at least 1"),
    "a deadline that has passed": ({"deadline_seconds": -5}, "--deadline is -5; it must be at least 1"),
    "a deadline that no field holds": ({"deadline_seconds": 2**31}, "--deadline is 2147483648; it must be at most"),
    "two claims at one path": (
        {"volumes": (ClaimVolume("a", "/d"), ClaimVolume("b", "/d"))},
        "--volume: /d is given more",
    ),
}


@pytest.mark.parametrize(("fields", "message"), WRONG.values(), ids=WRONG)
def test_options_that_cannot_be_meant_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LaunchOptions(program=TRAIN, **fields)


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


@pytest.mark.parametrize("fields", [{}, {"path": "train.py", "module": "pkg.train"}], ids=["neither", "both"])
def test_a_program_is_a_script_or_a_module(fields: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"^Program: path='.*' and module='.*'. Name one of the two."):
        Program(**fields)


def test_the_longest_name_is_the_one_that_a_single_node_leaves() -> None:
    """`longest_job_name` knows the runtime; before that is known, no name may be longer than in the best case."""
    assert longest_name([(NODE, 1, 1)]) == LONGEST_NAME
