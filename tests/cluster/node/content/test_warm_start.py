"""Which containers can start warm, and what those that cannot are told."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from shunter.api.program_start import ProgramStart
from shunter.cluster.node.content.warm_start import WarmStart, difference, module_names, warm_start

PYTHON = os.path.join(os.path.dirname(sys.executable), "python")


PLACE = "cd /workspace/code"
MAKES = 'mkdir -p "$SHUNTER_CHECKPOINT_DIR"'


def shell(steps: str, *command: str, **variables: str) -> list[str]:
    """The command line by which `shunter run` starts a command."""
    return ["sh", "-c", ProgramStart(steps, variables, command).text, "train.py"]


@pytest.fixture
def dash(tmp_path: Path) -> str:
    """A place for PATH where `sh` is dash."""
    (tmp_path / "dash").write_text("")
    (tmp_path / "dash").chmod(0o755)
    (tmp_path / "sh").symlink_to("dash")
    return str(tmp_path)


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
        pytest.param({"argv": ["python", "-m"]}, "-m names nothing to run", id="no module"),
        pytest.param({"argv": ["python", "-c", " pass"]}, "its code is indented", id="indented code"),
        pytest.param({"image_root": "/srv/ubuntu"}, "its image has its own root directory", id="another root"),
        pytest.param({"user": {"uid": 1000}}, "another user", id="another user"),
        pytest.param({"level": "plain"}, "pods run at level plain on this machine", id="plain processes"),
        pytest.param({"terminal": True}, "it has a terminal", id="a terminal"),
        pytest.param({"shares_processes_of": "x"}, "it looks into another container", id="a debugger"),
    ],
)
def test_what_cannot_start_warm_says_why(changed: dict[str, Any], reason: str) -> None:
    assert reason in str(warm_start({**spec("train.py"), **changed}))


@pytest.mark.parametrize(
    ("steps", "directory"),
    [
        pytest.param(":", "", id="in the image"),
        pytest.param(MAKES, "", id="in the image, with checkpoints"),
        pytest.param(PLACE, "/workspace/code", id="mounted"),
        pytest.param(f"{MAKES} && {PLACE}", "/workspace/code", id="mounted, with checkpoints"),
    ],
)
def test_a_program_behind_the_shell_of_run_starts_warm(dash: str, steps: str, directory: str) -> None:
    container = spec()
    container["argv"] = [*shell(steps, "python", "train.py", RANK="${A:-0}"), "--lr", "a b"]
    container["env"]["PATH"] = f"{dash}:{container['env']['PATH']}"
    found = warm_start(container)
    assert isinstance(found, WarmStart), found
    assert found.interpreter.path == PYTHON
    assert {name: found.program[name] for name in ("kind", "what", "arguments", "directory")} == {
        "kind": "file", "what": "train.py", "arguments": ["--lr", "a b"], "directory": directory,
    }  # fmt: skip
    assert found.program["shell"]["argv"] == ["python", "train.py", "--lr", "a b"]
    assert found.program["shell"]["path"] == f"{dash}/sh"
    preparation: str = found.program["shell"]["preparation"]
    assert f"{steps} || exit\n" in preparation
    assert preparation.endswith("export RANK=${A:-0}\n")
    assert "train.py" not in preparation


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        pytest.param(shell(f"python -c pass && {PLACE}", "python", "train.py"), "its code is unpacked first", id="packed"),
        pytest.param(shell(f"{PLACE} && touch x", "python", "train.py"), "its code is unpacked first", id="another step"),
        pytest.param(shell(PLACE, "mpirun", "python", "t.py"), "its program mpirun is not Python", id="mpirun"),
        pytest.param(shell(PLACE, "python", "-O", "t.py"), "the interpreter gets the option -O", id="an option"),
        pytest.param(shell(PLACE, "python", "t.py")[:3], "its program sh is not Python", id="no name"),
        pytest.param(["sh", "-ec", shell(PLACE, "python", "t.py")[2], "x"], "its program sh is not Python", id="another call"),
    ],
)
def test_a_shell_that_does_something_else_starts_cold(dash: str, argv: list[str], reason: str) -> None:
    container = spec() | {"argv": argv}
    container["env"]["PATH"] = f"{dash}:{container['env']['PATH']}"
    assert reason in str(warm_start(container))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("{dash}/other:{python}", "its shell is bash, not dash", id="another shell"),
        pytest.param("{python}", "its shell is missing, not dash", id="no shell"),
        pytest.param("{dash}:{python}:", "PATH has a relative path", id="an empty place"),
    ],
)
def test_only_a_shell_that_is_known_is_replaced(dash: str, path: str, reason: str) -> None:
    (Path(dash) / "other").mkdir()
    (Path(dash) / "bash").write_text("")
    (Path(dash) / "bash").chmod(0o755)
    (Path(dash) / "other/sh").symlink_to("../bash")
    container = spec() | {"argv": shell(PLACE, "python", "train.py")}
    (Path(dash) / "only").mkdir()
    (Path(dash) / "only/python").symlink_to(PYTHON)
    container["env"]["PATH"] = path.format(dash=dash, python=f"{dash}/only")
    assert reason in str(warm_start(container))


@pytest.mark.parametrize(
    ("variable", "starts_warm"),
    [
        *((name, True) for name in ("RANK", "PET_NNODES", "NCCL_DEBUG", "PYTHONUNBUFFERED")),
        *((name, False) for name in ("OMP_NUM_THREADS", "PYTHONPATH", "LD_PRELOAD", "TORCH_LOGS", "PATH", "HOME")),
    ],
)
def test_a_shell_that_sets_what_is_read_on_import_starts_cold(dash: str, variable: str, starts_warm: bool) -> None:
    container = spec() | {"argv": shell(PLACE, "python", "train.py", MASTER_ADDR="${A:-b}", **{variable: "/x"})}
    container["env"]["PATH"] = f"{dash}:{container['env']['PATH']}"
    found = warm_start(container)
    if starts_warm:
        assert isinstance(found, WarmStart), found
    else:
        assert found == f"its shell sets the variable {variable}, which is read on import"


@pytest.mark.parametrize("name", ["MASTER_ADDR", "PWD"])
def test_a_variable_of_the_shell_that_was_read_on_import_makes_a_difference(name: str) -> None:
    container = spec() | {"argv": shell(PLACE, "python", "train.py", MASTER_ADDR="${A:-b}")}
    assert name in difference(container, names=[name], directories=[])
    assert difference(spec("train.py"), names=[name], directories=[]) == ""


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
