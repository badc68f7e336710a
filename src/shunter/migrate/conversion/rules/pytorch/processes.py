"""nprocPerNode: how many processes torchrun starts in each pod.

v1 hands the word on to torchrun, `auto` when there is none; a TrainJob takes a number, and counts GPUs or requested CPUs without.
"""

from __future__ import annotations

from shunter.api.formats import counts
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

_INTEGER = late_pattern(r"[+-]?[0-9]{1,18}")
"""What v1 takes for one (strconv.Atoi)."""
_MOST_DIGITS = 9
"""Of a number of processes, which v2 holds in 32 bits."""
_READ = late_pattern(r"\bPET_NPROC_PER_NODE\b(?!\s*=[^=])")
FIELD: Path = ("spec", "nprocPerNode")
ELASTIC_FIELD: Path = ("spec", "elasticPolicy", "nProcPerNode")
AUTO = "auto"


def options(draft: Draft, group: Group, found: TrainingContainer, told: LaunchMethod, *, is_rewritten: bool) -> list[str]:
    """Says numProcPerNode, as far as it is a number. Returns what torchrun must be told by an option."""
    number = _number(draft)
    word = None if number is not None else draft.job.spec.nproc_per_node or AUTO
    main, launcher = found.launch.main, found.launch.launcher
    if number is not None:
        draft.trainer["numProcPerNode"] = number
        for field in (FIELD, ELASTIC_FIELD):
            if draft.is_given(field):
                draft.carry(field, "TrainJob", ("spec", "trainer", "numProcPerNode"), "a number in v2")
        _warn_of_scaled_world_size(draft, group, found, number, told, is_rewritten=is_rewritten)
    elif is_rewritten:
        draft.trainer["numProcPerNode"] = 1
        draft.default(FIELD, "torchrun starts one process, as the program was")
    elif launcher == "python" and not found.is_elsewhere:
        draft.default(FIELD, "a program of plain Python is one process, whatever the word")
    elif launcher not in {"torchrun", "unknown", "python"}:
        draft.default(FIELD, f"{launcher} counts for itself")
    elif main.option("nproc-per-node"):
        draft.default(FIELD, "an option of torchrun wins over it")
    elif word == AUTO and gpu_count(found.container.get("resources") or {}):
        draft.default(FIELD, "v2 tells torchrun auto where there are GPUs")
    elif found.can_be_told:
        path, offset = found.place(found.start)
        text = f"{found.text} is given --nproc_per_node={word}, as nprocPerNode {word} set it in v1."
        draft.report(topics.PROCESSES_BY_OPTION, path, text, offset=offset)
        draft.default(FIELD, "an option of torchrun says it")
        return [f"--nproc_per_node={word}"]
    else:
        _warn_of_other_count(draft, found, word or AUTO)
    return []


def say_by_variable(draft: Draft) -> None:
    """In a plain runtime PET_NPROC_PER_NODE says what it said in v1."""
    for field in (FIELD, ELASTIC_FIELD):
        draft.default(field, "the runtime says it in PET_NPROC_PER_NODE")


def look_at_reads(draft: Draft) -> None:
    """Says which programs read the number of processes, where v2 tells another than v1: `auto` is a number there without GPUs."""
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
    """How many processes v2 starts in a pod without GPUs when the job does not say (Trainer v2.3, torch plugin)."""
    return max(1, cpu_count(found.container.get("resources") or {}))


def _number(draft: Draft) -> int | None:
    """nprocPerNode where it is a number; torchrun heeds that of elasticPolicy, should both be there."""
    spec = draft.job.spec
    if spec.elastic_policy and spec.elastic_policy.n_proc_per_node is not None:
        return int(spec.elastic_policy.n_proc_per_node)
    text: str = spec.nproc_per_node or AUTO
    if len(text) > _MOST_DIGITS and text.lstrip("+-").isdecimal():
        says = f"{excerpt(text)} processes are more than a node may have"
        raise UnreadableJobError(draft.source, FIELD, says, "Use the number of GPUs or CPUs of the node, or auto.")
    return int(text) if _INTEGER.fullmatch(text) else None


def _warn_of_scaled_world_size(
    draft: Draft, group: Group, found: TrainingContainer, number: int, told: LaunchMethod, *, is_rewritten: bool
) -> None:
    if number <= 1 or told != "variables" or is_rewritten:
        return
    uses_world_size = any(use.name == "WORLD_SIZE" for use in found.told_uses)
    if found.launch.launcher == "python" or uses_world_size:
        total = group.count * processes_per_node(draft.job.spec.nproc_per_node)
        text = f"WORLD_SIZE is {total}, for {group.count} pods with a RANK each."
        draft.report(topics.SCALED_WORLD_SIZE, FIELD, text)


def _warn_of_other_count(draft: Draft, found: TrainingContainer, word: str) -> None:
    """What starts the processes cannot be told, or is not known to be torchrun."""
    if word != AUTO:
        text = f"nprocPerNode is {word}, and {found.decisive_text} cannot be told so."
        draft.report(topics.PROCESSES_BY_WORD, FIELD, text, dropped=True)
        return
    count = number_of_processes(found)
    draft.default(FIELD, f"v2 counts what each node requests: {count}")
    path, offset = found.place(found.decisive_start)
    told = f"{counts.count(count, 'process', 'processes')} a pod"
    is_sure = found.launch.launcher == "torchrun"
    starts = found.decisive_text
    text = f"v2 tells {starts} {told}." if is_sure else f"If {starts} starts torchrun, v2 tells it {told}."
    draft.report(topics.PROCESSES_BY_REQUEST, path, text, offset=offset)
