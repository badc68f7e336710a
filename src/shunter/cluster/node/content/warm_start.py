"""Which containers can be forks of a warm parent, an interpreter that has imported their framework already. Pure.

What a program could tell from an interpreter that starts now must be the same, or it starts cold. Which variables are read on
import was measured: by Python each time (`warm_parent.Imported`), by C libraries once, with a probe on getenv
(docs/warm-start.md).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.program_start import ProgramStart, read_start
from shunter.cluster.node.content import images
from shunter.cluster.node.launch.executable import candidates

ANNOTATION = "shunter.dev/warm"
"""Annotation of a pod: the modules, comma-separated, that its containers need not import again; empty for none."""
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_INTERPRETER = re.compile(r"python(3(\.\d+)?)?")
_READ_ON_IMPORT = re.compile(
    r"(PYTHON(?!UNBUFFERED$)|LD_|LC_|OMP_|GOMP_|KMP_|MKL|OPENBLAS_|GOTO_|ACC_|DNNL_|ONEDNN_|NPY_|NUMPY_|TQDM_"
    r"|TORCH(?!_?ELASTIC_)|PYTORCH_|CUDA_(?!VISIBLE_DEVICES$)|CUBLAS|NVRTC_|LIBNVVM_|NV_|CASK_|KINETO_|OMPI_|MPI_LOCAL|I_MPI_"
    r"|INTEL_|GFORTRAN_|GLIBC|MALLOC_|OPENSSL_|LLVM_)|(LANG|LANGUAGE|HOME|PATH|TZ|TZDIR|LOCPATH|GCONV_PATH|AS_SECURE_LOG_FILE)$"
)
"""Variables that C libraries of torch, numpy and Python read when they are loaded, or that the interpreter or the linker read.
Those of the group (RANK, WORLD_SIZE, MASTER_ADDR, PET_*) are none of them, nor are NCCL's and gloo's: they are read later."""
_OWN_MOUNTS = (images.SHIMS,)
_SHELL = "sh"
_KNOWN_SHELL = "dash"
"""What `sh` must be where a warm parent does as it does: other shells report in other words that a signal ended the program."""
_STEPS = re.compile(r':|mkdir -p "\$\w+"|(mkdir -p "\$\w+" && )?cd (?P<directory>/[\w./-]+)')
"""Before a program, where none of them changes what there is to import."""
_SET_BY_SHELL = ("PWD", "OLDPWD")


class Interpreter(NamedTuple):
    """What a warm parent is started as."""

    path: str
    """A path on this machine."""
    environment: tuple[tuple[str, str], ...]
    """The variables that something may read on import."""


class WarmStart(NamedTuple):
    """What a container asks of its parent, and its program."""

    interpreter: Interpreter
    program: Json
    """`kind` (file, code or module), `what` it is, its `arguments`, whether it is `unbuffered`, and its `directory`, empty for
    that of the container. Behind a shell also `shell`: its path, its `preparation` and the `argv` of the program."""


def module_names(text: str) -> tuple[str, ...]:
    """The modules that an option or an annotation names. Raises ValueError for what is no name of a module."""
    names = tuple(name for part in text.split(",") if (name := part.strip()))
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a module")
    return names


def warm_start(spec: Json) -> WarmStart | str:
    """How the container of an attempt's spec can start warm, or why it cannot."""
    behind = _behind_shell(spec)
    if isinstance(behind, str):
        return behind
    argv = behind.shell["argv"] if behind else spec["argv"]
    found = interpreter(argv[0], spec["env"], level=spec["level"], root=spec.get("image_root", "/"))
    if isinstance(found, str):
        return found
    if spec.get("shares_processes_of"):
        return "it looks into another container"
    if (spec.get("user") or {}).get("uid"):
        return "it runs as another user than the warm parent"
    if spec.get("terminal"):
        return "it has a terminal"
    program = _program(argv[1:])
    if isinstance(program, str):
        return program
    if behind:
        program |= {"shell": behind.shell}
    return WarmStart(found, {**program, "interpreter": found.path, "directory": behind.directory if behind else ""})


def interpreter(name: str, env: Mapping[str, str], *, level: str, root: str) -> Interpreter | str:
    """The parent of containers that run the program `name` in an image's root directory at a level, or why they have none."""
    if level != "namespaces":
        return f"pods run at level {level} on this machine"
    if root != "/":
        return "its image has its own root directory"
    path = _executable(name, env)
    if not (os.path.isabs(path) and _INTERPRETER.fullmatch(os.path.basename(os.path.realpath(path)))):
        return f"its program {name} is not Python"
    places = env.get("PYTHONPATH", "")
    if any(not os.path.isabs(place) for place in places.split(":") if places):
        return "PYTHONPATH has a relative path"
    return Interpreter(path, tuple(sorted((name, value) for name, value in env.items() if _READ_ON_IMPORT.match(name))))


def difference(spec: Json, *, names: Iterable[str], directories: Iterable[str]) -> str:
    """In what the container differs from a parent that has read variables of these `names`, and looks for modules in these
    `directories`; empty when in nothing."""
    start = _start(spec["argv"])
    given = {*spec["env"], *((*start.variables, *_SET_BY_SHELL) if start else ())}
    for name in names:
        if name in given and not _READ_ON_IMPORT.match(name):
            return f"variable {name} is read on import, and the warm parent has none"
    imported = [os.path.realpath(directory) for directory in directories]
    for target in _mounted(spec):
        for directory in imported:
            if _lies_in(target, directory) or _lies_in(directory, target):
                return f"a volume at {target} changes what is imported from {directory}"
    return ""


class _BehindShell(NamedTuple):
    """A program that a shell starts as `shunter run` has it."""

    shell: Json
    directory: str


def _behind_shell(spec: Json) -> _BehindShell | str | None:
    """None for what no such shell starts; else what it starts, or why that starts cold."""
    argv, env = spec["argv"], spec["env"]
    if (start := _start(argv)) is None:
        return None
    path = _executable(_SHELL, env)
    if (shell := os.path.basename(os.path.realpath(path)) if path else "missing") != _KNOWN_SHELL:
        return f"its shell is {shell}, not {_KNOWN_SHELL}"
    if (steps := _STEPS.fullmatch(start.steps)) is None:
        return "its code is unpacked first"
    if not all(map(os.path.isabs, env.get("PATH", "").split(":"))):
        return "PATH has a relative path"
    if name := next(filter(_READ_ON_IMPORT.match, start.variables), ""):
        return f"its shell sets the variable {name}, which is read on import"
    shell_says = {"path": path, "preparation": start.preparation, "argv": [*start.command, *argv[4:]]}
    return _BehindShell(shell_says, steps["directory"] or "")


def _start(argv: list[str]) -> ProgramStart | None:
    """What a command line starts by a shell's text of `shunter run`; None for another one."""
    return read_start(argv[2]) if argv[:2] == [_SHELL, "-c"] and len(argv) > 3 else None


def _executable(name: str, env: Mapping[str, str]) -> str:
    return next((path for path in candidates(name, env) if os.path.isfile(path) and os.access(path, os.X_OK)), "")


def _mounted(spec: Json) -> list[str]:
    mounted = [mount["target"] for mount in spec.get("mounts", ()) if mount["target"] not in _OWN_MOUNTS]
    return [os.path.realpath(target) for target in mounted]


def _lies_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _program(words: list[str]) -> Json | str:
    """What the interpreter is to run, or why that starts cold."""
    is_unbuffered = False
    while words and words[0] == "-u":
        is_unbuffered, words = True, words[1:]
    if not words or words[0] == "-":
        return "its program comes from its standard input"
    if words[0] in ("-c", "-m"):
        if len(words) < 2:
            return f"{words[0]} names nothing to run"
        kind, what, arguments = {"-c": "code", "-m": "module"}[words[0]], words[1], words[2:]
        if kind == "code" and what.lstrip("\n")[:1].isspace():
            return "its code is indented, which versions of Python read differently"
    elif words[0].startswith("-"):
        return f"the interpreter gets the option {words[0]}"
    else:
        kind, what, arguments = "file", words[0], words[1:]
    return {"kind": kind, "what": what, "arguments": arguments, "unbuffered": is_unbuffered}
