"""Programs that only start another one: `nohup`, `env`, `numactl`, `uv run`. What they start is what counts."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands.arguments import Argument, SourceRange, parsed
from shunter.jobs.commands.launcher_options import Syntax, program_name, syntax

_ASSIGNMENT = late_pattern(r"[A-Za-z_][A-Za-z0-9_]*=")


class _Wrapper(NamedTuple):
    form: Syntax = Syntax()
    verbs: tuple[str, ...] = ()
    """Subcommands, one of which must come first: `run` of `uv run`."""
    operands: int = 0
    """Words of its own before the program: the duration of `timeout`."""
    is_behind_dashes: bool = False
    """Whether the program follows `--`, after words of any kind: `wait-for-it.sh db:5432 -t 30 -- python train.py`."""


_WRAPPERS: dict[str, _Wrapper] = {
    "env": _Wrapper(syntax("u unset C chdir S split-string")),
    "nohup": _Wrapper(),
    "exec": _Wrapper(syntax("a")),
    "command": _Wrapper(),
    "watch": _Wrapper(syntax("n interval q equexit")),
    "builtin": _Wrapper(),
    "time": _Wrapper(syntax("o output f format")),
    "setsid": _Wrapper(),
    "stdbuf": _Wrapper(syntax("i input o output e error")),
    "unbuffer": _Wrapper(),
    "nice": _Wrapper(syntax("n adjustment")),
    "ionice": _Wrapper(syntax("c class n classdata")),
    "chrt": _Wrapper(syntax("T sched-runtime P sched-period D sched-deadline"), operands=1),
    "taskset": _Wrapper(operands=1),
    "numactl": _Wrapper(
        syntax(
            "N cpunodebind c cpubind m membind C physcpubind i interleave p preferred P preferred-many w weighted-interleave"
            " S shm f file L length o offset M shmmode I shmid"
        )
    ),
    "timeout": _Wrapper(syntax("k kill-after s signal"), operands=1),
    "busybox": _Wrapper(),
    "toybox": _Wrapper(),
    "doas": _Wrapper(syntax("u C a")),
    "runuser": _Wrapper(syntax("u user g group G supp-group")),
    "nsenter": _Wrapper(syntax("t target S setuid G setgid")),
    "tini": _Wrapper(syntax("e p")),
    "dumb-init": _Wrapper(syntax("rewrite r")),
    "catatonit": _Wrapper(),
    "gosu": _Wrapper(operands=1),
    "su-exec": _Wrapper(operands=1),
    "chroot": _Wrapper(syntax("userspec groups"), operands=1),
    "unshare": _Wrapper(syntax("R root w wd S setuid G setgid map-user map-group propagation setgroups")),
    "setpriv": _Wrapper(syntax("reuid regid groups ruid euid rgid egid securebits inh-caps ambient-caps bounding-set")),
    "sudo": _Wrapper(
        syntax("u user g group C close-from D chdir h host p prompt R chroot r role t type T command-timeout U other-user"),
    ),
    "xvfb-run": _Wrapper(syntax("n server-num s server-args e error-file f auth-file w wait p xauth-protocol")),
    "catchsegv": _Wrapper(),
    "nsys": _Wrapper(
        syntax(
            "o output t trace s sample b backtrace c capture-range capture-range-end y delay d duration e env-var"
            " f force-overwrite n inherit-environment p nvtx-capture w show-output x stop-on-exit Y start-later kill stats export"
            " wait run-as sampling-frequency sampling-period sampling-trigger samples-per-backtrace cpuctxsw cudabacktrace"
            " cuda-graph-trace cuda-memory-usage cuda-flush-interval cuda-um-cpu-page-faults cuda-um-gpu-page-faults"
            " gpu-metrics-device gpu-metrics-devices gpu-metrics-frequency gpu-metrics-set gpuctxsw nic-metrics mpi-impl"
            " nvtx-domain-include nvtx-domain-exclude osrt-threshold pytorch python-backtrace python-sampling"
            " python-sampling-frequency python-functions-trace session session-new trace-fork-before-exec"
        ),
        verbs=("profile", "launch"),
    ),
    "ncu": _Wrapper(
        syntax(
            "o export i import k kernel-name kernel-name-base kernel-id c launch-count s launch-skip launch-skip-before-match set"
            " section section-folder section-folder-recursive rule apply-rules metrics devices filter-mode target-processes"
            " target-processes-filter nvtx-include nvtx-exclude range-filter replay-mode app-replay-buffer app-replay-match"
            " app-replay-mode graph-profiling profile-from-start cache-control clock-control pm-sampling-interval"
            " pm-sampling-buffer-size pm-sampling-max-passes warp-sampling-interval warp-sampling-max-passes"
            " warp-sampling-buffer-size import-source source-folders page log-file mode p port max-connections config-file"
            " config-file-path check-exit-code preload-library rename-kernels"
        )
    ),
    "nvprof": _Wrapper(
        syntax(
            "o export-profile log-file m metrics e events devices kernels query-events t timeout u normalized-time-unit"
            " profile-from-start analysis-metrics-file system-profiling cpu-profiling-mode cpu-profiling-frequency"
        )
    ),
    "py-spy": _Wrapper(syntax("o output f format d duration r rate p pid delay"), verbs=("record", "top")),
    "ddtrace-run": _Wrapper(),
    "opentelemetry-instrument": _Wrapper(
        syntax(
            "traces-exporter metrics-exporter logs-exporter service-name resource-attributes exporter-otlp-endpoint"
            " exporter-otlp-protocol exporter-otlp-headers id-generator propagators python-distro python-configurator"
        )
    ),
    "uv": _Wrapper(
        syntax(
            "w with with-requirements with-editable python p project directory extra no-extra group no-group only-group package"
            " index default-index i index-url extra-index-url f find-links index-strategy keyring-provider env-file"
            " P upgrade-package refresh-package reinstall-package no-build-package no-binary-package C config-setting"
            " resolution prerelease exclude-newer link-mode python-platform python-preference cache-dir config-file color"
            " allow-insecure-host"
        ),
        verbs=("run",),
    ),
    "conda": _Wrapper(syntax("n name p prefix cwd"), verbs=("run",)),
    "mamba": _Wrapper(syntax("n name p prefix cwd"), verbs=("run",)),
    "micromamba": _Wrapper(syntax("n name p prefix r root-prefix rc-file e env label a attach cwd"), verbs=("run",)),
    "poetry": _Wrapper(syntax("C directory P project"), verbs=("run",)),
    "pipenv": _Wrapper(verbs=("run",)),
    "pdm": _Wrapper(syntax("p project venv"), verbs=("run",)),
    "pixi": _Wrapper(syntax("e environment m manifest-path w workspace color auth-file"), verbs=("run",)),
    "hatch": _Wrapper(verbs=("run",)),
    "strace": _Wrapper(syntax("a b e E I o O p P s S u U X attach output trace signal status user env string-limit")),
    "ltrace": _Wrapper(syntax("a A D e F l n o p s u w x align output library where")),
    "perf": _Wrapper(syntax("e event o output F freq c count G call-graph p pid t m r repeat"), verbs=("record", "stat")),
    "flock": _Wrapper(syntax("w timeout wait E conflict-exit-code"), operands=1),
    "dockerize": _Wrapper(syntax("wait timeout template stdout stderr delims env wait-http-header wait-retry-interval poll")),
    **dict.fromkeys(
        ("wait-for-it.sh", "wait-for-it", "wait-for", "dotenv", "doppler", "chamber", "infisical", "op", "aws-vault"),
        _Wrapper(is_behind_dashes=True),
    ),
}


class UnwrappedCommand(NamedTuple):
    """What is left of a command line behind the programs that only start another one."""

    words: tuple[Argument, ...]
    assignments: tuple[tuple[str, str], ...] = ()
    """What `env NAME=value` sets."""


def is_wrapper(word: str) -> bool:
    """Whether the program, given by name or path, only starts another one."""
    return program_name(word) in _WRAPPERS


def unwrapped(words: Sequence[Argument]) -> UnwrappedCommand:
    """The words from the program on that is finally started; none if a wrapper starts nothing."""
    rest, assignments = tuple(words), []
    while rest:
        name = program_name(rest[0].value)
        wrapper = _WRAPPERS.get(name)
        if wrapper is None:
            break
        inner = rest[1:]
        if wrapper.is_behind_dashes:
            dashes = next((place for place, word in enumerate(inner) if word.value == "--"), None)
            if dashes is None:
                break
            inner = inner[dashes:]
        if wrapper.verbs:
            if not inner or inner[0].value not in wrapper.verbs:
                break
            inner = inner[1:]
        options, inner, _ = parsed(inner, wrapper.form)
        if name == "env" and (text := options.get("split-string") or options.get("S")):
            inner = (*_split(text.value, inner), *inner)
        if name == "uv" and (module := options.get("module") or options.get("m")):
            spot = module.words[0].spot
            inner = (Argument("python", spot._replace(is_exact=False)), Argument("-m", spot), *inner)
        inner = inner[wrapper.operands :]
        while name in {"env", "sudo"} and inner and _ASSIGNMENT.match(inner[0].value):
            variable, _, value = inner[0].value.partition("=")
            assignments.append((variable, value))
            inner = inner[1:]
        rest = inner
    return UnwrappedCommand(rest, tuple(assignments))


def _split(text: str, near: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """The words of `env -S "bash -c ..."`, which stand in one."""
    try:
        words = shlex.split(text)
    except ValueError:
        return ()
    spot = near[0].spot._replace(is_exact=False) if near else SourceRange(("command", 0))
    return tuple(Argument(word, spot) for word in words)
