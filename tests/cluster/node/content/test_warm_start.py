"""Which containers can start warm, and what those that cannot are told."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from shunter.cluster.node.content.warm_start import WarmStart, difference, module_names, warm_start

PYTHON = os.path.join(os.path.dirname(sys.executable), "python")


def spec(*argv: str, **changes: Any) -> dict[str, Any]:
    return {
        "level": "namespaces",
        "argv": ["python", *argv],
        "env": {"PATH": os.path.dirname(sys.executable), "RANK": "1"},
        **changes,
    }


@pytest.mark.parametrize(
    ("words", "program"),
    [
        pytest.param(["train.py", "--lr", "3"], ("file", "train.py", ["--lr", "3"], False), id="a file and its arguments"),
        pytest.param(["-c", "\npass", "-c"], ("code", "\npass", ["-c"], False), id="code"),
        pytest.param(["-u", "-m", "my.train", "-u"], ("module", "my.train", ["-u"], True), id="an unbuffered module"),
    ],
)
def test_a_program_of_python_starts_warm(words: list[str], program: tuple[str, str, list[str], bool]) -> None:
    found = warm_start(spec(*words))
    assert isinstance(found, WarmStart)
    assert found.interpreter.path == PYTHON
    assert tuple(found.program[key] for key in ("kind", "what", "arguments", "unbuffered")) == program


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        pytest.param({"argv": ["sh", "-c", "python train.py"]}, "its program sh is not Python", id="a shell"),
        pytest.param({"argv": ["python"]}, "its program comes from its standard input", id="no program"),
        pytest.param({"argv": ["python", "-O", "t.py"]}, "the interpreter gets the option -O", id="an option"),
        pytest.param({"argv": ["python", "-m"]}, "-m says nothing to run", id="no module"),
        pytest.param({"argv": ["python", "-c", " pass"]}, "its code is indented", id="indented code"),
        pytest.param({"image_root": "/srv/ubuntu"}, "its image is a root directory", id="another root"),
        pytest.param({"user": {"uid": 1000}}, "another user", id="another user"),
        pytest.param({"level": "plain"}, "pods run at level plain on this machine", id="plain processes"),
        pytest.param({"terminal": True}, "it has a terminal", id="a terminal"),
        pytest.param({"shares_processes_of": "x"}, "it looks into another container", id="a debugger"),
    ],
)
def test_what_cannot_start_warm_says_why(changed: dict[str, Any], reason: str) -> None:
    assert reason in str(warm_start({**spec("train.py"), **changed}))


def test_a_relative_python_path_starts_cold() -> None:
    assert warm_start(spec("-c", "pass") | {"env": {"PATH": "", "PYTHONPATH": "lib"}, "argv": [PYTHON, "t.py"]}) == (
        "PYTHONPATH has a relative path"
    )


@pytest.mark.parametrize(
    ("variable", "is_another"),
    [
        *((name, False) for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "PET_NNODES", "LEARNING_RATE", "PYTHONUNBUFFERED")),
        *((name, False) for name in ("NCCL_DEBUG", "GLOO_SOCKET_IFNAME", "CUDA_VISIBLE_DEVICES")),
        *((name, False) for name in ("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "TORCHELASTIC_RUN_ID")),
        *((name, True) for name in ("OMP_NUM_THREADS", "PYTHONHASHSEED", "LD_PRELOAD", "TORCH_LOGS", "LC_ALL", "TZ", "HOME")),
        *((name, True) for name in ("MKL_NUM_THREADS", "PYTORCH_CUDA_ALLOC_CONF", "CUDA_HOME", "TORCH_CPP_LOG_LEVEL")),
    ],
)
def test_only_variables_that_are_read_on_import_need_a_parent_of_their_own(variable: str, is_another: bool) -> None:
    plain, changed = spec("train.py"), spec("train.py")
    changed["env"][variable] = "1"
    first, second = warm_start(plain), warm_start(changed)
    assert isinstance(first, WarmStart)
    assert isinstance(second, WarmStart)
    assert (first.interpreter != second.interpreter) is is_another


def test_a_variable_that_python_code_read_on_import_makes_a_difference() -> None:
    container = spec("train.py")
    container["env"]["FX_PATCH_GETITEM"] = "1"
    assert "FX_PATCH_GETITEM" in difference(container, names=["FX_PATCH_GETITEM"], directories=[])
    assert difference(container, names=["HOME", "PATH"], directories=[]) == ""


@pytest.mark.parametrize(
    ("target", "differs"),
    [
        ("/opt/venv", True),
        ("/opt/venv/lib/extra", True),
        ("/opt", True),
        ("/data", False),
        ("/opt/venv2", False),
        ("/run/shunter/bin", False),
    ],
)
def test_a_volume_among_what_is_imported_makes_a_difference(target: str, differs: bool) -> None:
    container = spec("train.py", mounts=[{"target": target}])
    assert bool(difference(container, names=[], directories=["/opt/venv/lib"])) is differs


def test_modules_are_named_with_commas_between_them() -> None:
    assert module_names(" torch, torch.distributed ,") == ("torch", "torch.distributed")
    with pytest.raises(ValueError, match="'tor-ch' is not the name of a module"):
        module_names("torch,tor-ch")
