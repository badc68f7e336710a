"""What programs of the shipped runtimes need, for errors about images that lack them. Pure.

Shown beside the failure (`describe`, `run`), and in docs/causes.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Need(NamedTuple):
    """What a framework cannot do without."""

    framework: str
    """The label `trainer.kubeflow.org/framework` of its runtimes."""
    image: str
    """The image of the shipped runtime; it contains the programs and packages."""
    programs: tuple[str, ...]
    """Names without a directory."""
    modules: tuple[str, ...]
    """The Python modules, by their import names."""
    text: str

    @property
    def sentence(self) -> str:
        """In the form `xgboost needs the Python package xgboost (image ghcr.io/kubeflow/trainer/xgboost-runtime:v2.3.0).`, for
        people."""
        return f"{self.framework} needs {self.text} (image {self.image})."


NEEDS = (
    Need(
        "torch",
        "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime",
        ("torchrun",),
        ("torch",),
        "the Python package torch",
    ),
    Need(
        "torchtune",
        "ghcr.io/kubeflow/trainer/torchtune-trainer:v2.3.0",
        ("tune",),
        ("torchtune", "torchao"),
        "the Python packages torchtune, torchao and torch, NVIDIA GPUs (the runtimes request some; CPUs are very slow), and a "
        "volume at /workspace which the initializers have filled with model and dataset",
    ),
    Need(
        "deepspeed",
        "ghcr.io/kubeflow/trainer/deepspeed-runtime:v2.3.0",
        ("deepspeed", "mpirun"),
        ("deepspeed", "mpi4py"),
        "the Python packages deepspeed, mpi4py and torch, Open MPI (mpirun), and an ssh server for the user mpiuser",
    ),
    Need(
        "mlx",
        "ghcr.io/kubeflow/trainer/mlx-runtime:v2.3.0",
        ("mlx.launch", "mpirun"),
        ("mlx",),
        "the Python package mlx in its build for the node's hardware (mlx[cuda] for NVIDIA GPUs, mlx[cpu] without one; the plain "
        "package is for Apple silicon), Open MPI (mpirun), and an ssh server for the user mpiuser",
    ),
    Need(
        "jax",
        "nvcr.io/nvidia/jax:25.10-py3",
        (),
        ("jax", "jaxlib"),
        "the Python packages jax and jaxlib, for GPUs in their build for CUDA",
    ),
    Need(
        "xgboost",
        "ghcr.io/kubeflow/trainer/xgboost-runtime:v2.3.0",
        (),
        ("xgboost",),
        "the Python package xgboost",
    ),
    Need(
        "flux",
        "ubuntu:jammy",
        ("flux",),
        ("flux",),
        "Flux below /opt/view in the image that the variable FLUX_VIEW_IMAGE of the container names, built for the Linux release "
        "of the job's own image; without the variable it is ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
    ),
)

_PROGRAMS = (
    re.compile(r'exec: "(?:[^"]*/)?([^"/]+)": .*(?:not found|no such file)'),
    re.compile(r"(?:^|[\s:/])([\w.-]+): (?:command )?not found"),
    re.compile(r"No such file or directory: '(?:[^']*/)?([^'/]+)'"),
)
_FLUX_VIEW = re.compile(r"can(?:no|')t stat '/opt/view/")
"""In the words of the `cp` by which an init container brings Flux."""
_MODULE = re.compile(r"No module named '?(\w+)")
_MODULE_THAT_ENDS_IT = re.compile(r"(?:ModuleNotFoundError|python[\d.]*): No module named '?(\w+)")
"""Not what a program says of one that it does without."""
PACKAGES = ("torch", "jax", "xgboost", "deepspeed", "mpi4py")
"""Modules that PyPI has under their own name, built so that they work."""
_NO_GPU = re.compile(
    r"Found no NVIDIA driver on your system|No CUDA GPUs are available"
    r"|nccl\w* requires at least one CUDA device|ProcessGroupNCCL is only supported with GPUs|package doesn't have NCCL built in"
)
"""In the words of torch 2.15, of earlier releases, and of builds for CPUs."""
NO_GPU = (
    "The program uses CUDA or nccl, but its pod has no GPU that its torch can use: use gloo without GPUs "
    "(docs/training/ddp.md), or request GPUs (nvidia.com/gpu in resources.limits)."
)

_NO_INTERPRETER = re.compile(
    r'exec ([^\s:"]+): no such file or directory|([^\s:]+): (?:\S+: bad interpreter|cannot execute: required file not found)'
)
"""In the words of runc, where the file is there, and of older and newer bash."""
_NO_LOCAL_RANK = re.compile(r"KeyError: 'LOCAL_RANK'")
NO_LOCAL_RANK = (
    'LOCAL_RANK is not set: torchrun sets it; if a job starts python, use os.environ.get("LOCAL_RANK", 0) (docs/training/ddp.md).'
)


def for_missing(text: str) -> str:
    """What the program or Python package needs that `text`, an error, says is missing, or what to do without an interpreter, a
    GPU or LOCAL_RANK; empty when it says no such thing."""
    missing = [match[1] for pattern in _PROGRAMS for match in pattern.finditer(text)]
    missing += ["flux"] * bool(_FLUX_VIEW.search(text))
    modules = [match[1] for match in _MODULE.finditer(text)]
    sentences = [need.sentence for need in NEEDS if {*need.programs} & {*missing} or {*need.modules} & {*modules}]
    known = {module for need in NEEDS for module in need.modules}
    fatal = dict.fromkeys(match[1] for match in _MODULE_THAT_ENDS_IT.finditer(text))
    sentences += [_without_module(module) for module in fatal if module not in known]
    sentences += [_on_embedded(module) for module in fatal if module in PACKAGES]
    scripts = dict.fromkeys(match[1] or match[2] for match in _NO_INTERPRETER.finditer(text))
    sentences += [_without_interpreter(script) for script in scripts]
    sentences += [NO_GPU] * bool(_NO_GPU.search(text)) + [NO_LOCAL_RANK] * bool(_NO_LOCAL_RANK.search(text))
    return " ".join(sentences)


def _without_interpreter(script: str) -> str:
    return (
        f"The image does not have the interpreter that the first line of {script} names, or the line ends as on Windows (CR LF): "
        f"correct the line, or start the script by its interpreter, as in: python {script}"
    )


def _on_embedded(module: str) -> str:
    return f"On the embedded cluster, install {module} in shunter's own environment, or: shunter images add IMAGE --pip {module}"


def _without_module(module: str) -> str:
    return (
        f"The Python of its image has no module {module}: use an image that has it (embedded cluster: shunter "
        f"images add IMAGE --pip PACKAGE); send your own files with the program (docs/training/run.md)."
    )


def table() -> Iterator[str]:
    """The lines of the table in the documentation."""
    yield "| framework | needs | in the image of the shipped runtime |"
    yield "|---|---|---|"
    for need in NEEDS:
        yield f"| {need.framework} | {need.text} | `{need.image}` |"
