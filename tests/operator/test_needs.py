"""What the shipped runtimes need: one table, complete, and found by the words in which programs are said to be missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shunter.api.meta import Json
from shunter.cluster.node.launch.executable import execute
from shunter.operator import needs
from shunter.operator.trainer.runtimes import shipped

LABEL = "trainer.kubeflow.org/framework"
ROOT = Path(__file__).parents[2]
RUNTIMES = {runtime["metadata"]["name"]: runtime for runtime in shipped()}


@pytest.mark.parametrize("name", RUNTIMES)
def test_every_shipped_runtime_has_an_entry_with_its_image(name: str) -> None:
    framework = RUNTIMES[name]["metadata"]["labels"][LABEL]
    (need,) = [need for need in needs.NEEDS if need.framework == framework]
    assert need.image in training_images(RUNTIMES[name])
    assert need.programs or need.modules


def training_images(runtime: Json) -> set[str]:
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    pods = [job["template"]["spec"]["template"]["spec"] for job in jobs]
    return {container["image"] for pod in pods for container in pod["containers"] if container["name"] == "node"}


def test_no_entry_is_left_from_a_runtime_that_is_gone() -> None:
    assert {need.framework for need in needs.NEEDS} == {runtime["metadata"]["labels"][LABEL] for runtime in RUNTIMES.values()}


def test_the_documentation_has_the_table() -> None:
    assert "\n".join(needs.table()) in (ROOT / "docs/causes.md").read_text()


@pytest.mark.parametrize("need", needs.NEEDS, ids=lambda need: str(need.framework))
def test_a_program_that_our_node_misses_is_known(need: needs.Need, tmp_path: Path) -> None:
    for program in need.programs:
        assert need.sentence in needs.for_missing(execute([program], {"PATH": str(tmp_path)}))
        assert need.sentence in needs.for_missing(execute([str(tmp_path / program)], {}))


@pytest.mark.integration
@pytest.mark.parametrize("need", needs.NEEDS, ids=lambda need: str(need.framework))
def test_a_package_that_python_misses_is_known(need: needs.Need) -> None:
    for module in need.modules:
        done = subprocess.run([sys.executable, "-I", "-S", "-c", f"import {module}"], capture_output=True, text=True, check=False)
        assert need.sentence in needs.for_missing(done.stderr)
        adds = f"shunter images add IMAGE --pip {module}" in needs.for_missing(done.stderr)
        assert adds is (module in needs.PACKAGES)


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        pytest.param(
            'failed to create containerd task: runc create failed: exec: "tune": executable file not found in $PATH: unknown',
            "torchtune",
            id="containerd",
        ),
        pytest.param("/bin/sh: 1: mlx.launch: not found", "mlx", id="dash"),
        pytest.param("bash: line 1: torchrun: command not found", "torch", id="bash"),
        pytest.param("FileNotFoundError: [Errno 2] No such file or directory: 'mpirun'", "deepspeed", id="python"),
    ],
)
def test_others_words_for_a_missing_program_are_known(text: str, framework: str) -> None:
    assert f"{framework} needs" in needs.for_missing(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        'exec: "tune": permission denied',
        'exec: "no-such-program": executable file not found in $PATH',
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/tune/x.csv'",
        "ValueError: torch: no such layer",
    ],
)
def test_nothing_is_said_of_what_is_not_missing_or_not_known(text: str) -> None:
    assert needs.for_missing(text) == ""


@pytest.mark.integration
def test_a_package_that_no_runtime_is_known_to_need_is_told_with_what_adds_it() -> None:
    done = subprocess.run([sys.executable, "-I", "-S", "-c", "import nowhere.found"], capture_output=True, text=True, check=False)
    said = needs.for_missing(done.stderr)
    assert said.startswith("The Python of its image has no module nowhere: ")
    assert "shunter images add IMAGE --pip PACKAGE" in said
    assert needs.for_missing(done.stderr * 2) == said
    assert needs.for_missing("mlflow: No module named 'mlflow', so nothing is logged: pip install mlflow-skinny") == ""


def script(place: Path) -> Path:
    place.write_text("#!/usr/bin/no-such-python\n")
    place.chmod(0o755)
    return place


def test_a_script_whose_interpreter_is_missing_is_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    train = script(tmp_path / "train.py")
    for words in (execute([str(train)], {}), execute(["train.py"], {"PATH": str(tmp_path)})):
        assert words == f"exec {train}: no such file or directory"
        assert f"the interpreter that the first line of {train} names" in needs.for_missing(words)
    train.unlink()
    assert needs.for_missing(execute([str(train)], {})) == ""


@pytest.mark.integration
def test_the_words_of_the_shell_for_a_missing_interpreter_are_known(tmp_path: Path) -> None:
    train = script(tmp_path / "train.py")
    done = subprocess.run(["bash", "-c", str(train)], capture_output=True, text=True, check=False)
    assert f"first line of {train} names" in needs.for_missing(done.stderr)
    assert "first line of ./x names" in needs.for_missing("bash: line 1: ./x: /usr/bin/python9: bad interpreter: No such file")


@pytest.mark.integration
def test_a_variable_that_only_torchrun_sets_is_told() -> None:
    program = "import os; os.environ['LOCAL_RANK']"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, env={}, check=False)
    assert needs.for_missing(done.stderr) == needs.NO_LOCAL_RANK
    assert needs.for_missing("KeyError: 'RANKS'") == ""


@pytest.mark.integration
def test_the_words_of_torch_for_nccl_without_a_gpu_say_to_take_gloo(tmp_path: Path) -> None:
    distributed = pytest.importorskip("torch.distributed")
    if pytest.importorskip("torch").cuda.is_available():
        pytest.skip("torch has a GPU here")
    with pytest.raises(RuntimeError) as said:
        distributed.init_process_group("nccl", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    assert needs.for_missing(f"RuntimeError: {said.value}") == needs.NO_GPU


@pytest.mark.parametrize("said", ["Found no NVIDIA driver on your system. Please check that you", "No CUDA GPUs are available"])
def test_the_words_of_torch_for_cuda_without_a_gpu_are_known(said: str) -> None:
    assert needs.for_missing(f"RuntimeError: {said}") == needs.NO_GPU


def test_the_words_of_earlier_releases_for_nccl_without_a_gpu_are_known() -> None:
    said = "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!"
    assert needs.for_missing(said) == needs.NO_GPU
    assert needs.for_missing("[rank1] NCCL WARN Cuda failure 'out of memory'") == ""
