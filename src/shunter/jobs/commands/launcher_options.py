"""The programs that start training processes, and the options that a command line gives them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from shunter.api.late_patterns import late_pattern

Launcher = Literal["torchrun", "accelerate", "deepspeed", "mpirun", "horovodrun"]
"""`torchrun` is also `python -m torch.distributed.run` and `.launch`, which is one program."""

_LOOKED_UP = late_pattern(r"\$\(\s*(?:which|command\s+-v|type\s+-[pP])\s+([^\s()]+)\s*\)")
"""How a shell text names a program by its path."""


class Syntax(NamedTuple):
    """Which options of a program take a value; all others are flags. Names without dashes, `_` as `-`."""

    values: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    """Options that take two values: mpirun's `-mca`; one if it holds `=`: `-genv A=1` of Hydra."""
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
    "np x H hostfile default-hostfile bind-to map-by rank-by output output-filename output-directory output-proctable stdin "
    "display wdir wd path prefix ppn perhost timeout spawn-timeout npernode npersocket N rankfile rf ppr cpu-set cpu-list "
    "cpus-per-proc cpus-per-rank stream-buffering tune am amca app file arch preload-files pset launch-agent max-vm-size "
    "tmpdir forward-signals xterm xml-file stop-in-init max-restarts with-ft initial-errhandler debugger report-events "
    "report-pid report-uri personality runtime-options ompi-server dvm hnp cf cartofile genvlist envlist launcher "
    "launcher-exec rmk topolib membind demux iface prepend-pattern outfile-pattern errfile-pattern nameserver order-nodes "
    "localhost usize gpus-per-proc configfile",
    pairs="mca gmca omca gomca prtemca pmixmca env genv",
    n="np",
    c="np",
    f="hostfile",
    host="H",
    hosts="H",
    machinefile="hostfile",
)
"""Those of Open MPI 4 (orterun(1) of 4.1.4) and 5 (schizo/ompi of PRRTE), then those of MPICH (mpiexec.hydra of 4.0.2)."""
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
        if taken == 2 and "=" in "".join(words[place + 1 : place + 2]):
            taken = 1
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
    """`/usr/bin/python3` is `python3`, and so is `$(which python3)`."""
    if looked_up := _LOOKED_UP.fullmatch(word):
        word = looked_up[1]
    return word.rstrip("/").rpartition("/")[2] or word
