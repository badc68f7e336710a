"""Programs that only start another one: `nohup`, `env`, `numactl`, `uv run`. What they start is what counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from shunter.migrate.launch.arguments import Argument, Syntax, parsed, syntax

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class _Wrapper(NamedTuple):
    form: Syntax = Syntax()
    verbs: tuple[str, ...] = ()
    """Subcommands, one of which must come first: `run` of `uv run`."""
    operands: int = 0
    """Words of its own before the program: the duration of `timeout`."""


_WRAPPERS: dict[str, _Wrapper] = {
    "env": _Wrapper(syntax("u unset C chdir S split-string")),
    "nohup": _Wrapper(),
    "exec": _Wrapper(syntax("a")),
    "command": _Wrapper(),
    "builtin": _Wrapper(),
    "time": _Wrapper(syntax("o output f format")),
    "setsid": _Wrapper(),
    "stdbuf": _Wrapper(syntax("i input o output e error")),
    "unbuffer": _Wrapper(),
    "nice": _Wrapper(syntax("n adjustment")),
    "ionice": _Wrapper(syntax("c class n classdata")),
    "chrt": _Wrapper(operands=1),
    "taskset": _Wrapper(operands=1),
    "numactl": _Wrapper(
        syntax("N cpunodebind m membind C physcpubind i interleave p preferred l localalloc-node W weighted-interleave")
    ),
    "timeout": _Wrapper(syntax("k kill-after s signal"), operands=1),
    "tini": _Wrapper(syntax("e p")),
    "dumb-init": _Wrapper(syntax("rewrite r")),
    "catatonit": _Wrapper(),
    "gosu": _Wrapper(operands=1),
    "su-exec": _Wrapper(operands=1),
    "sudo": _Wrapper(syntax("u user g group C D h p R r t T")),
    "xvfb-run": _Wrapper(syntax("n server-num s server-args e error-file f auth-file w wait")),
    "catchsegv": _Wrapper(),
    "nsys": _Wrapper(
        syntax("o output t trace s sample c capture-range delay y duration d sampling-frequency stats kill w show-output"),
        verbs=("profile", "launch"),
    ),
    "ncu": _Wrapper(syntax("o export k kernel-name c launch-count s launch-skip set section metrics target-processes f")),
    "nvprof": _Wrapper(syntax("o export-profile")),
    "py-spy": _Wrapper(syntax("o output f format d duration r rate"), verbs=("record", "top")),
    "ddtrace-run": _Wrapper(),
    "opentelemetry-instrument": _Wrapper(syntax("traces-exporter metrics-exporter logs-exporter service-name")),
    "uv": _Wrapper(
        syntax("with with-requirements with-editable python p project directory extra group index index-url env-file package"),
        verbs=("run",),
    ),
    "conda": _Wrapper(syntax("n name p prefix cwd"), verbs=("run",)),
    "mamba": _Wrapper(syntax("n name p prefix cwd"), verbs=("run",)),
    "micromamba": _Wrapper(syntax("n name p prefix r root-prefix a attach cwd"), verbs=("run",)),
    "poetry": _Wrapper(syntax("C directory P project"), verbs=("run",)),
    "pipenv": _Wrapper(verbs=("run",)),
    "pdm": _Wrapper(syntax("p project"), verbs=("run",)),
    "pixi": _Wrapper(syntax("e environment manifest-path"), verbs=("run",)),
    "hatch": _Wrapper(verbs=("run",)),
}


class Unwrapped(NamedTuple):
    words: tuple[Argument, ...]
    assignments: tuple[tuple[str, str], ...] = ()
    """What `env NAME=value` sets."""


def program_name(word: str) -> str:
    """`/usr/bin/python3` is `python3`."""
    return PurePosixPath(word).name or word


def is_wrapper(word: str) -> bool:
    return program_name(word) in _WRAPPERS


def unwrapped(words: Sequence[Argument]) -> Unwrapped:
    """The words from the program on that is finally started; none if a wrapper starts nothing."""
    rest, assignments = tuple(words), []
    while rest:
        name = program_name(rest[0].value)
        wrapper = _WRAPPERS.get(name)
        if wrapper is None:
            break
        inner = rest[1:]
        if wrapper.verbs:
            if not inner or inner[0].value not in wrapper.verbs:
                break
            inner = inner[1:]
        inner = parsed(inner, wrapper.form).rest[wrapper.operands :]
        while name in {"env", "sudo"} and inner and _ASSIGNMENT.match(inner[0].value):
            variable, _, value = inner[0].value.partition("=")
            assignments.append((variable, value))
            inner = inner[1:]
        rest = inner
    return Unwrapped(rest, tuple(assignments))
