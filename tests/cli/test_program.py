"""What `run` of a program makes of its words and says of its code; whole runs are in tests/e2e/test_run_program.py."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from shunter.cli import program
from shunter.cli.options.program_options import ProgramOptions
from shunter.launch.code.delivery import PackedCode
from shunter.launch.objects import launch
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.runtimes.choice import Runtime


def test_files_of_git_that_stay_behind_are_named() -> None:
    code = PackedCode(b"x", 2, from_git=True, left_out=(".env", "a.pt", "b.pt", "c.pt"))
    said = program.code_line(code, Path("/p"), sent=0)
    assert said.startswith("code: 2 files, 1 byte packed (git: tracked and new, not ignored), sha256 ")
    assert said.endswith("; already in the cluster\nleft out, as secrets and weights always are: .env, a.pt, b.pt and 1 more")


@pytest.mark.parametrize(
    ("size", "said"), [(1000, ""), (200_000, "the code is large: apply it with kubectl apply --server-side\n")]
)
def test_code_that_kubectl_cannot_apply_plainly_is_said(capsys: pytest.CaptureFixture[str], size: int, said: str) -> None:
    code = PackedCode(b"x" * size)
    options = LaunchOptions(program=Program(path="train.py"))
    program.print_applicable(launch(options, code, Runtime("t", "torch"), name="a", namespace="b"), None)
    assert capsys.readouterr().err == said


TAKEN_AS_THEY_ARE: dict[str, Any] = {
    "nodes": 2, "gpus": 3, "procs": 4, "cpus": "5", "memory": "6Gi", "name": "a", "image": "b", "queue": "c", "resume": "d",
    "restarts": 5,
}  # fmt: skip
READ = {"volume", "checkpoints", "fabric"}
"""Texts that become values."""


def test_no_option_is_forgotten_on_the_way() -> None:
    made = program.launch_options(ProgramOptions(**TAKEN_AS_THEY_ARE), Program(path="train.py"), [])
    assert {name: getattr(made, name) for name in TAKEN_AS_THEY_ARE} == TAKEN_AS_THEY_ARE
    shared = {field.name for field in dataclasses.fields(LaunchOptions)} & set(ProgramOptions._fields)
    assert shared == {*TAKEN_AS_THEY_ARE} | (READ & shared)
