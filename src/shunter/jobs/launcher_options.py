"""The programs that start training processes, and the options that a command line gives them. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

Launcher = Literal["torchrun", "accelerate", "deepspeed", "mpirun", "horovodrun"]
"""`torchrun` is also `python -m torch.distributed.run` and `.launch`, which is one program."""


class Syntax(NamedTuple):
    """Which options of a program take a value; all others are flags. Names without dashes, `_` as `-`."""

    values: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    """Options that take two values: mpirun's `-mca`."""
    synonyms: Mapping[str, str] = {}
    """Short names and what they stand for."""
    abbreviates: bool = False
    """Whether an unambiguous beginning of a long name does, as with argparse."""


class GivenOption(NamedTuple):
    """An option as it was given: `--nnodes=2` is one word, `--nnodes 2` two."""

    name: str
    """The full one."""
    value: str
    """Empty for a flag."""
    words: slice
    """Which words say it."""


class Started(NamedTuple):
    """A launcher in a command line."""

    launcher: Launcher
    options: Mapping[str, str]
    """Values by full name; the last one if repeated."""
    written: Mapping[str, str]
    """The same as they were written: `--nnodes 2`."""

    def number(self, name: str) -> int | None:
        """The value of an option that is a whole number; None for another, and where it is not given."""
        value = self.options.get(name, "")
        return int(value) if value.isdecimal() else None


def syntax(values: str = "", *, pairs: str = "", abbreviates: bool = False, **synonyms: str) -> Syntax:
    """A Syntax from names with spaces between them."""
    return Syntax(frozenset(values.split()), frozenset(pairs.split()), synonyms, abbreviates)


TORCHRUN = syntax(
    "nnodes nproc-per-node rdzv-backend rdzv-endpoint rdzv-id rdzv-conf max-restarts monitor-interval start-method role log-dir "
    "redirects tee local-ranks-filter node-rank master-addr master-port local-addr logs-specs event-log-handler numa-binding "
    "signals-to-handle duplicate-stdout-filters duplicate-stderr-filters log-line-prefix-template shutdown-timeout",
    abbreviates=True,
    r="redirects",
    t="tee",
    m="module",
)
"""torchrun and its older names (torch 2.15: torch/distributed/run.py)."""
ACCELERATE = syntax(
    "config-file num-processes num-machines machine-rank main-process-ip main-process-port mixed-precision gpu-ids rdzv-backend "
    "rdzv-conf max-restarts monitor-interval tee log-dir role dynamo-backend dynamo-mode num-cpu-threads-per-process env "
    "deepspeed-config-file zero-stage deepspeed-hostfile deepspeed-multinode-launcher deepspeed-exclusion-filter "
    "deepspeed-inclusion-filter offload-optimizer-device offload-param-device offload-optimizer-nvme-path "
    "offload-param-nvme-path gradient-accumulation-steps gradient-clipping zero3-init-flag zero3-save-16bit-model "
    "deepspeed-moe-layer-cls-names fsdp-version fsdp-sharding-strategy fsdp-offload-params fsdp-min-num-params "
    "fsdp-reshard-after-forward fsdp-auto-wrap-policy fsdp-transformer-layer-cls-to-wrap fsdp-backward-prefetch "
    "fsdp-forward-prefetch fsdp-state-dict-type fsdp-use-orig-params fsdp-cpu-ram-efficient-loading fsdp-sync-module-states "
    "fsdp-activation-checkpointing megatron-lm-tp-degree megatron-lm-pp-degree megatron-lm-num-micro-batches "
    "megatron-lm-sequence-parallelism megatron-lm-recompute-activations megatron-lm-use-distributed-optimizer "
    "megatron-lm-gradient-clipping fp8-backend fp8-format tpu-vm tpu-name tpu-zone",
    m="module",
)
DEEPSPEED = syntax(
    "hostfile include exclude num-nodes num-gpus num-accelerators min-elastic-nodes max-elastic-nodes master-port master-addr "
    "node-rank launcher launcher-args autotuning enable-each-rank-log bind-core-list ssh-port venv-script",
    H="hostfile",
    i="include",
    e="exclude",
)
MPIRUN = syntax(
    "np x H hostfile default-hostfile bind-to map-by rank-by output-filename wdir wd path prefix ppn perhost timeout env "
    "genvlist npernode npersocket N rankfile rf cpu-set",
    pairs="mca gmca genv prtemca pmixmca",
    n="np",
    c="np",
    f="hostfile",
    host="H",
    hosts="H",
    machinefile="hostfile",
)
HOROVODRUN = syntax(
    "np H hostfile p ssh-port network-interfaces min-np max-np min-num-proc max-num-proc host-discovery-script slots-per-host "
    "start-timeout elastic-timeout reset-limit output-filename config-file mpi-args nics log-level num-proc hosts"
)
FORMS: Mapping[Launcher, Syntax] = {
    "torchrun": TORCHRUN,
    "accelerate": ACCELERATE,
    "deepspeed": DEEPSPEED,
    "mpirun": MPIRUN,
    "horovodrun": HOROVODRUN,
}
PROGRAMS: Mapping[str, Launcher] = {
    "torchrun": "torchrun",
    "accelerate-launch": "accelerate",
    "deepspeed": "deepspeed",
    "deepspeed.pt": "deepspeed",
    "ds": "deepspeed",
    "mpirun": "mpirun",
    "mpiexec": "mpirun",
    "mpiexec.hydra": "mpirun",
    "mpirun.openmpi": "mpirun",
    "orterun": "mpirun",
    "prterun": "mpirun",
    "horovodrun": "horovodrun",
}
"""Launchers by the name of the program; `accelerate launch` has two words."""
MODULES: Mapping[str, Launcher] = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
    "deepspeed.launcher.launch": "deepspeed",
    "horovod.runner": "horovodrun",
    "horovod.runner.launch": "horovodrun",
}


def options_in(words: Sequence[str], form: Syntax) -> tuple[list[GivenOption], int]:
    """The options in front of the first word that is none, in order, and the place of that word."""
    given: list[GivenOption] = []
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            return given, place + 1
        if not word.startswith("-") or word == "-":
            break
        written, has_value, value = word.lstrip("-").partition("=")
        name = _full_name(written.replace("_", "-"), form)
        taken = 0 if has_value else 2 if name in form.pairs else 1 if name in form.values else 0
        end = min(place + 1 + taken, len(words))
        given.append(GivenOption(name, value if has_value else " ".join(words[place + 1 : end]), slice(place, end)))
        place = end
    return given, place


def _full_name(name: str, form: Syntax) -> str:
    name = form.synonyms.get(name, name)
    if name in form.values or not form.abbreviates:
        return name
    longer = [known for known in form.values if known.startswith(name)]
    return longer[0] if len(longer) == 1 else name


def program_name(word: str) -> str:
    """`/usr/bin/python3` is `python3`."""
    return word.rstrip("/").rpartition("/")[2] or word


@lru_cache(maxsize=256)
def launchers_in(words: tuple[str, ...]) -> tuple[Started, ...]:
    """The launchers in the words of a container's command and arguments, also within texts of a shell."""
    pieces = list(_pieces(words))
    found = []
    for place, piece in enumerate(pieces):
        rest = pieces[place + 1 :]
        launcher = PROGRAMS.get(program_name(piece)) or MODULES.get(piece)
        if program_name(piece) == "accelerate" and rest[:1] == ["launch"]:
            launcher, rest = "accelerate", rest[1:]
        if launcher is not None:
            given, _ = options_in(rest, FORMS[launcher])
            written = {one.name: " ".join(rest[one.words]) for one in given}
            found.append(Started(launcher, {one.name: one.value for one in given}, written))
    return tuple(found)


def _pieces(words: Iterable[str]) -> Iterator[str]:
    """The words, and those of texts with blanks in them."""
    for word in words:
        try:
            inner = shlex.split(word)
        except ValueError:
            inner = word.split()
        if inner == [word] or len(inner) < 2:
            yield word
        else:
            yield from _pieces(inner)
