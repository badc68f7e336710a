"""nprocPerNode: how many processes torchrun starts in each pod.

v1 passes the word to torchrun, `auto` by default; a TrainJob takes a number, and v2 counts GPUs or requested CPUs without one.
"""

from __future__ import annotations

from shunter.api.formats import counts
from shunter.api.formats.digits import integer
from shunter.api.late_patterns import late_pattern
from shunter.api.training.pytorch import KIND
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.conversion.reading import UnreadableJobError
from shunter.migrate.conversion.rules.programs.texts import all_programs, matches
from shunter.migrate.conversion.rules.pytorch import launcher_topics as topics
from shunter.migrate.conversion.rules.pytorch.launcher import LaunchMethod, TrainingContainer
from shunter.migrate.excerpts import excerpt
from shunter.migrate.paths import Path
from shunter.operator.trainer.resources import cpu_count, gpu_count
from shunter.operator.training.frameworks.pytorch import processes_per_node

_MOST_DIGITS = 9
"""Of a number of processes, which v2 holds in 32 bits."""
_READ = late_pattern(r"\bPET_NPROC_PER_NODE\b(?!\s*=[^=])")
FIELD: Path = ("spec", "nprocPerNode")
ELASTIC_FIELD: Path = ("spec", "elasticPolicy", "nProcPerNode")
AUTO = "auto"


def options(draft: Draft, group: Group, found: TrainingContainer, method: LaunchMethod, *, is_rewritten: bool) -> list[str]:
    """Sets numProcPerNode, if it is a number. Returns the options that torchrun needs."""
    number = _number(draft)
    word = None if number is not None else draft.job.spec.nproc_per_node or AUTO
    main, launcher = found.launch.main, found.launch.launcher
    if number is not None:
        draft.trainer["numProcPerNode"] = number
        for field in (FIELD, ELASTIC_FIELD):
            if draft.is_given(field):
                draft.carry(field, "TrainJob", ("spec", "trainer", "numProcPerNode"), "a number in v2")
        _warn_of_scaled_world_size(draft, group, found, number, method, is_rewritten=is_rewritten)
    elif is_rewritten:
        draft.trainer["numProcPerNode"] = 1
        draft.default(FIELD, "torchrun starts one process, as the program was")
    elif launcher == "python" and not found.is_elsewhere:
        draft.default(FIELD, "a plain Python program is one process, whatever the word")
    elif launcher not in {"torchrun", "unknown", "python"}:
        draft.default(FIELD, f"{launcher} does not read it")
    elif main.option("nproc-per-node"):
        draft.default(FIELD, "overridden by an option of torchrun")
    elif word == AUTO and gpu_count(found.container.get("resources") or {}):
        draft.default(FIELD, "v2 sets auto for torchrun if there are GPUs")
    elif found.accepts_options:
        path, offset = found.place(found.start)
        text = f"{found.text} gets the option --nproc_per_node={word}, as nprocPerNode is {word} in v1."
        draft.report(topics.PROCESSES_BY_OPTION, path, text, offset=offset)
        draft.default(FIELD, "set by an option of torchrun")
        return [f"--nproc_per_node={word}"]
    else:
        _warn_of_other_count(draft, found, word or AUTO)
    return []


def set_by_variable(draft: Draft) -> None:
    """Accounts for nprocPerNode in a plain runtime, which sets PET_NPROC_PER_NODE as v1 does."""
    for field in (FIELD, ELASTIC_FIELD):
        draft.default(field, "the runtime sets it in PET_NPROC_PER_NODE")


def report_reads(draft: Draft) -> None:
    """Reports programs that read the number of processes where v2 sets another value: without GPUs, `auto` is a number in v2."""
    if draft.kind != KIND.resource.kind or "torch" not in draft.ml_policy or draft.job.spec.elastic_policy:
        return
    before = str(draft.job.spec.nproc_per_node or AUTO)
    for programs in all_programs(draft):
        resources = programs.container.get("resources") or {}
        after = str(draft.trainer.get("numProcPerNode") or (AUTO if gpu_count(resources) else max(1, cpu_count(resources))))
        if programs.field != "containers" or after == before:
            continue
        for found in matches(programs, _READ):
            says = f"{found.line} reads PET_NPROC_PER_NODE, which is {before} in v1 and {after} in v2."
            draft.report(topics.PROCESSES_BY_REQUEST, found.path, says, offset=found.offset)


def number_of_processes(found: TrainingContainer) -> int:
    """How many processes v2 starts in a pod without GPUs by default (Trainer v2.3, torch plugin)."""
    return max(1, cpu_count(found.container.get("resources") or {}))


def _number(draft: Draft) -> int | None:
    """nprocPerNode if it is a number; torchrun uses that of elasticPolicy if both are set."""
    spec = draft.job.spec
    if spec.elastic_policy and spec.elastic_policy.n_proc_per_node is not None:
        return int(spec.elastic_policy.n_proc_per_node)
    text: str = spec.nproc_per_node or AUTO
    if len(text) > _MOST_DIGITS and text.lstrip("+-").isdecimal():
        says = f"{excerpt(text)} processes are more than a node may have"
        raise UnreadableJobError(draft.source, FIELD, says, "Use the number of GPUs or CPUs of the node, or auto.")
    return integer(text)


def _warn_of_scaled_world_size(
    draft: Draft, group: Group, found: TrainingContainer, number: int, method: LaunchMethod, *, is_rewritten: bool
) -> None:
    if number <= 1 or method != "variables" or is_rewritten:
        return
    uses_world_size = any(use.name == "WORLD_SIZE" for use in found.uses_of_v1_variables)
    if found.launch.launcher == "python" or uses_world_size:
        total = group.count * processes_per_node(draft.job.spec.nproc_per_node)
        text = f"WORLD_SIZE is {total}, for {group.count} pods with a RANK each."
        draft.report(topics.SCALED_WORLD_SIZE, FIELD, text)


def _warn_of_other_count(draft: Draft, found: TrainingContainer, word: str) -> None:
    """Reports a launcher that gets no option, or is not known to be torchrun."""
    if word != AUTO:
        text = f"nprocPerNode is {word}, which cannot be passed to {found.decisive_text}."
        draft.report(topics.PROCESSES_BY_WORD, FIELD, text, dropped=True)
        return
    count = number_of_processes(found)
    draft.default(FIELD, f"v2 counts what each node requests: {count}")
    path, offset = found.place(found.decisive_start)
    number = f"{counts.count(count, 'process', 'processes')} per pod"
    is_sure = found.launch.launcher == "torchrun"
    starts = found.decisive_text
    text = f"v2 sets {number} for {starts}." if is_sure else f"If {starts} starts torchrun, v2 sets {number}."
    draft.report(topics.PROCESSES_BY_REQUEST, path, text, offset=offset)
