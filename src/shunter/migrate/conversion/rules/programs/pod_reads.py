"""Programs that read what v2 calls otherwise: host names, and variables that tell of the pod.

Asked when the result stands (`conversion.convert`), for the values are those of both sides' pods. What only shows a value is a
warning; what decides by it may train something else, and blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from shunter.api.grouping import grouped_by
from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.api.training.mpi import KIND
from shunter.migrate.conversion.commands.mounted_files import mounted_files, path_in
from shunter.migrate.conversion.commands.pod_reads import PodRead, pod_reads
from shunter.migrate.conversion.commands.reads import HOST_LIST, HOST_NAME, HOSTS_FILE, UNREAD, is_for_a_name
from shunter.migrate.conversion.commands.shell_reads import files_written
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, place, quoted
from shunter.migrate.findings import Topic
from shunter.operator.training.names import REPLICA_INDEX

if TYPE_CHECKING:
    from shunter.migrate.pods.values import PodValue, PodValues

DECIDES = Topic(
    id="HOST009",
    title="a program depends on a name that differs in v2",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "The program parses its host name, or a variable about its pod, compares it, or uses it as a rank. A v1 pod is named "
        "JOB-worker-3; the host name in v2 is JOB-node-0-4: it does not contain the role, and the number counts the Master as "
        "0. So two pods may use the same rank or shard, none may consider itself the first, or all may wait forever. Neither "
        "manifests nor a comparison of pods shows this."
    ),
    remedy="Read the rank from a variable that v1 and v2 both set; suppress with --accept HOST009 if the program works in v2.",
    effort=3,
    acceptable=True,
    explains=("none",),
    limits_proof=True,
)
READS = Topic(
    id="HOST010",
    title="a program reads a name that differs in v2",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The program reads its host name, or the hosts it knows, and prints it or passes it on unchanged: to a log, the name of "
        "a file or directory, or an experiment tracker. TensorBoard's SummaryWriter writes to runs/DATE_HOST by default. Host "
        "names differ in v2: JOB-node-0-1 instead of JOB-worker-0. Whatever is looked up by such a name, including files of an "
        "earlier run, is not found."
    ),
    remedy="Nothing if only people read the name; if something is looked up by it, use the rank instead.",
    explains=("none",),
    limits_proof=True,
)
UNREAD_TEXT = Topic(
    id="HOST027",
    title="a program is too long, or too deeply nested, to analyze",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The rules read what a shell runs up to a dozen substitutions within each other, three texts of `eval` within each "
        "other, and a few hundred thousand characters that variables, and texts that are started again, add to a container's "
        "programs. The rest was not analyzed: it may read names and ports that differ in v2."
    ),
    remedy="Look through the program for host names, ports and variables of v1.",
    explains=("none",),
    limits_proof=True,
)
_WRITES = late_pattern(r"(?:host|HOST|uname)[^\0]*(?:>|\btee\b)\s*[\"']?/")
"""A text that may write a name to a file."""
_RANKS = {
    "PyTorchJob": "RANK (PET_NODE_RANK where torchrun starts the program)",
    "TFJob": "task.index of TF_CONFIG",
    "JAXJob": "PROCESS_ID",
    "XGBoostJob": "RANK",
    "MPIJob": "OMPI_COMM_WORLD_RANK",
    "PaddleJob": "PADDLE_TRAINER_ID",
}
"""Where a program of the kind finds its rank in both generations."""


def report(draft: Draft, train_job: Json, runtime: Json | None) -> None:
    """Reports every program that reads a name which changes. `train_job` and `runtime` are the result."""
    values: PodValues | None = None
    is_asked = False
    for programs in all_programs(draft):
        variables = {**pod_variables(draft, programs), **_files_of_others(draft, programs)}
        hosts = {*_of_hosts(draft, programs.roles[0])}
        found = [
            one
            for one in pod_reads(programs.container, programs.volumes, draft.texts_of, variables)
            # That a variable is of the pod has a finding of its own (POD005, POD007), and addresses are there to be called.
            if one.read.decides or one.read.name in (HOST_NAME, HOSTS_FILE, UNREAD) or _is_in_a_name(one, hosts)
        ]
        if any(one.read.name == HOST_LIST for one in found) and not _lists_pods(draft, programs):
            found = [one for one in found if one.read.name != HOST_LIST]
        if found and not is_asked:
            from shunter.migrate.pods.values import pod_values  # takes long to import, and few programs read a name

            values, is_asked = pod_values(draft.source.value, train_job, runtime, draft.options), True
        for reads in _by_value(found):
            _report(draft, programs, reads, values)


def _files_of_others(draft: Draft, programs: Programs) -> dict[str, str]:
    """The files that other programs of the pod write the host name to, as the container calls them."""
    found = {}
    for other in all_programs(draft):
        for text, spot in other.texts if other.roles == programs.roles else ():
            is_apart = other is not programs or spot.file or spot.path[0] == "lifecycle"
            if not is_apart or not _WRITES.search(text):
                continue
            for path, name in files_written(text, pod_variables(draft, other)).items():
                place = path_in(programs.container, path, other.container)
                if place and name == HOST_NAME:
                    found[place] = name
    return found


def _report(draft: Draft, programs: Programs, reads: list[PodRead], values: PodValues | None) -> None:
    """One finding for what a text reads of one value."""
    name = reads[0].read.name
    if name == UNREAD:
        path, offset = place(programs, reads[0].spot, reads[0].spot.start)
        line = quoted(reads[0].text, reads[0].start, reads[0].spot, with_number=True)
        draft.report(UNREAD_TEXT, path, f"{line} is too long, or too deeply nested, to analyze.", offset=offset)
        return
    of_pods: list[PodValue] = []
    if values is not None and name != HOST_LIST:
        of_pods = (
            values.variables(programs.roles, programs.field, str(programs.container.get("name")), name)
            if _is_variable(name)
            else values.host_names(programs.roles)
        )
        if not any(one.v1 != one.v2 for one in of_pods):
            return
    deciding = [one for one in reads if one.read.decides and not _keeps_number(one, of_pods)]
    first = (deciding or reads)[0]
    path, offset = place(programs, first.spot, first.spot.start)
    topic = DECIDES if deciding else READS
    message = _message(first, len(reads) - 1, of_pods, decides=bool(deciding))
    if name == HOST_LIST and draft.hosts and draft.kind == KIND.resource.kind:
        host = next(iter(draft.hosts))
        message += f" It lists {host.partition('.')[0]} in v1, and {draft.host(*draft.hosts[host])} in v2."
    draft.report(topic, path, message, remedy=_remedy(draft, programs) if deciding else "", offset=offset)


def _lists_pods(draft: Draft, programs: Programs) -> bool:
    """Whether /etc/mpi/hostfile may list pods of the job. The operators write it for MPIJobs alone; another job has the one that
    it mounts itself, or that of its image."""
    file = mounted_files(programs.container, programs.volumes, draft.texts_of).get(HOST_LIST)
    if file is not None:
        return any(host.partition(".")[0] in file.text for host in draft.hosts)
    places = [str(mount.get("mountPath")) for mount in programs.container.get("volumeMounts") or ()]
    return draft.kind == KIND.resource.kind or any(map(PurePosixPath(HOST_LIST).is_relative_to, places))


def _is_in_a_name(one: PodRead, hosts: set[str]) -> bool:
    """Whether an address becomes a part of the name of a file, a directory or a run."""
    return one.read.name in hosts and (one.spot.path[-1:] == ("subPathExpr",) or is_for_a_name(one.text, one.start))


def _message(one: PodRead, others: int, values: list[PodValue], *, decides: bool) -> str:
    what = f"the {one.read.name}" if one.read.name == HOST_NAME else one.read.name
    more = f" (and in {others} more place{'s' if others > 1 else ''})" if others else ""
    line = quoted(one.text, one.start, one.spot, with_number=True)
    text = f"{line} {'decides by' if decides else 'reads'} {what}{more}."
    if not values:
        return text
    from shunter.migrate.pods.values import values_text

    text += f" {values_text(values)}."
    if one.read.takes_last_number and any(number for value in values for number in value.numbers):
        before, after = (", ".join(one.numbers[side] or "nothing" for one in values[:8]) for side in (0, 1))
        text += (
            f" The number at its end is {before} in v1 and {after} in v2." if before != after else " The number at its end stays."
        )
    return text


def _remedy(draft: Draft, programs: Programs) -> str:
    index = "JOB_COMPLETION_INDEX" if programs.group.replicas == 1 else "the pod's label jobset.sigs.k8s.io/job-index"
    rank = _RANKS.get(draft.kind, "")
    place = f"{rank}, or from {index} in v2" if rank else index
    return f"Take the rank from {place}; if the program works in v2 unchanged, suppress with --accept {DECIDES.id}."


def _is_variable(name: str) -> bool:
    return name not in (HOST_NAME, HOSTS_FILE, HOST_LIST)


def _keeps_number(one: PodRead, values: list[PodValue]) -> bool:
    """Whether it takes nothing but the number at the end, which is the same in v2."""
    return one.read.takes_last_number and bool(values) and all(value.numbers[0] == value.numbers[1] != "" for value in values)


def _by_value(found: list[PodRead]) -> Iterator[list[PodRead]]:
    """What one finding reports: reads of one value by one text."""
    together = grouped_by(found, lambda one: (one.spot.file, one.spot.path, one.read.name))
    yield from together.values()


def pod_variables(draft: Draft, programs: Programs) -> dict[str, str]:
    """The variables that may hold a value of the pod, by what they are called."""
    found = {"HOSTNAME": HOST_NAME}
    names = {*_of_hosts(draft, programs.roles[0])} if programs.field == "containers" else set()
    for variable in programs.container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference and REPLICA_INDEX in str(reference.get("fieldPath")):
            continue  # what reads it decides by it (POD005, POD016)
        if reference or "$(" in str(variable.get("value", "")):
            names.add(str(variable.get("name")))
        elif variable.get("name") == "HOSTNAME":
            del found["HOSTNAME"]
    return {**found, **{name: name for name in names}}


def _of_hosts(draft: Draft, role: str) -> Iterator[str]:
    """The variables by which v1's operator names pods; ranks, sizes and ports are compared pod by pod."""
    for variable in draft.framework.environment(draft.job, role)(0):
        if draft.job.name in str(variable.get("value", "")):
            yield variable["name"]
