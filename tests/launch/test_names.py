"""What a job is called that was given no name, and one that runs again."""

from __future__ import annotations

import pytest

from shunter.launch.names import base_name, earlier_names, first_name, free_name
from shunter.launch.options import LaunchOptions, Program


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (Program(path="train.py"), "train"),
        (Program(path="src/Train_LM.v2.py"), "train-lm-v2"),
        (Program(path="1st.py"), "job-1st"),
        (Program(path="ü.py"), "job"),
        (Program(module="pkg.train"), "train"),
        (Program(path="a" * 80 + ".py"), "a" * 43),
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


@pytest.mark.parametrize(
    ("name", "rerun_of", "there", "made"),
    [
        ("bert", "", {"bert"}, "bert-2"),
        ("bert", "", set(), "bert-2"),
        ("bert", "", {"bert", "bert-2"}, "bert-3"),
        ("bert-2", "bert", {"bert-2"}, "bert-3"),
        ("bert-9", "bert", {"bert-9", "bert-10"}, "bert-11"),
        ("resnet-50", "", {"resnet-50"}, "resnet-50-2"),
        ("resnet-50-2", "resnet-50", {"resnet-50"}, "resnet-50-3"),
        ("exp-2024", "", {"exp-2024"}, "exp-2024-2"),
        ("bert-1", "bert", {"bert-1"}, "bert-1-2"),
        ("other", "bert", {"other"}, "other-2"),
    ],
)
def test_a_job_never_gets_its_own_name_or_an_earlier_one(name: str, rerun_of: str, there: set[str], made: str) -> None:
    """And a number that its user gave stays: `resnet-51` is another model."""
    first = first_name(name, rerun_of=rerun_of)
    assert free_name(first, there | earlier_names(name, first)) == made
