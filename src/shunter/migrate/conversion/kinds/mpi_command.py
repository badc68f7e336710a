"""What the launcher of an MPIJob tells mpirun: options that name v1's way into the workers go, those that count are checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shunter.api.formats.digits import whole_number
from shunter.api.meta import Json
from shunter.api.trainer.runtime import HOST_FILE, HOST_FILE_DIRECTORY
from shunter.api.training.mpi import LAUNCHER
from shunter.jobs.commands.arguments import Option
from shunter.migrate.conversion.commands import Started, understood
from shunter.migrate.conversion.commands.rewriting import without_options
from shunter.migrate.conversion.draft import Change, Draft, Group
from shunter.migrate.conversion.rules.ssh import AGENTS
from shunter.migrate.excerpts import excerpt
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path
from shunter.operator.trainer.plugins.mpi import OPEN_MPI_HOST_FILE
from shunter.operator.training.mpi.objects import KUBECTL, KUBEXEC

_PARAMETERS = frozenset({"mca", "gmca", "prtemca"})
_HOST_FILES = frozenset({"hostfile", "default-hostfile"})
_OWN_HOST_FILE = (f"{HOST_FILE_DIRECTORY}/{HOST_FILE}", f"${OPEN_MPI_HOST_FILE}", f"$({OPEN_MPI_HOST_FILE})")
"""The list that both generations write, by its path or by the variable in which both tell it."""

AGENT = Topic(
    id="MPI012",
    title="the option for kubectl exec as launch agent is removed",
    severity="warning",
    change="semantic-change",
    grade="Q",
    explanation="v1 writes /etc/mpi/kubexec.sh, with which mpirun starts its daemons through kubectl exec. v2 uses ssh.",
    remedy="No action needed.",
    effort=0,
)
KUBECTL_EXEC = Topic(
    id="MPI013",
    title="the launcher uses kubectl exec itself",
    severity="error",
    change="manual",
    grade="L",
    explanation=(
        "v1 provides the launcher with kubectl, a script kubexec.sh that execs into a worker, and the permission to do so. v2 "
        "provides none of them, so direct uses of them by the launcher fail; mpirun is not affected."
    ),
    remedy=(
        "Replace `kubexec.sh HOST COMMAND` by `$PRTE_MCA_plm_ssh_agent HOST COMMAND`, the ssh command of mpirun; then suppress "
        "with --accept MPI013."
    ),
    effort=3,
    acceptable=True,
)
PROCESSES = Topic(
    id="MPI014",
    title="the number of processes of mpirun differs from the number of slots",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The command sets the number of processes; the number of slots is numNodes times numProcPerNode of the TrainJob. They "
        "already differed in v1: with fewer processes than slots some workers are idle, with more mpirun fails for lack of "
        "slots."
    ),
    remedy="Remove -np: mpirun then starts a process in each slot.",
)
OTHER_HOST_FILE = Topic(
    id="MPI015",
    title="mpirun reads a custom host list",
    severity="error",
    change="manual",
    grade="L",
    explanation=(
        "v1 and v2 both write /etc/mpi/hostfile. The custom list contains the names of v1 pods, which differ in v2, or is "
        "created by a program that queries v1 for them."
    ),
    remedy="Use /etc/mpi/hostfile, or write the new names into the list; then suppress with --accept MPI015.",
    effort=3,
    acceptable=True,
)


def adapt(draft: Draft, launcher: Group, container: Json, path: Path, slots: int) -> None:
    """Changes the launcher's command, and tells what it says of its hosts. `container` is the launcher's, at `path` of the
    source; `slots` are those of all nodes."""
    volumes = (draft.job.replicas[LAUNCHER].template.get("spec") or {}).get("volumes") or []
    found = understood(container, volumes, draft.texts_of)
    runs = [started for started in found.started if started.launcher == "mpirun"]
    agents = [option for run in runs for option in _agents(run)]
    changed = without_options(container, agents) if agents else {}
    for field, words in (changed or {}).items():
        launcher.changes[field] = Change(words, "mpirun no longer uses kubexec.sh")
        draft.report(AGENT, (*path, field), f"{agents[0].words[0].value} {agents[0].value} is left out.")
    _report_kubectl(draft, {**container, **(changed or {})}, path, hidden=agents if changed is None else ())
    for run in runs:
        _report_hosts(draft, run, path, slots)


def _agents(run: Started) -> Iterator[Option]:
    for name, option in run.given:
        if name in _PARAMETERS and option.value.partition(" ")[0] in AGENTS:
            yield option


def _report_kubectl(draft: Draft, container: Json, path: Path, hidden: Sequence[Option]) -> None:
    """What is left of v1's way in; `hidden` are options in texts that are not the container's own."""
    if hidden:
        spot = hidden[0].words[0].spot
        draft.report(KUBECTL_EXEC, path, f"{spot.file or 'the command'} tells mpirun {hidden[0].value}.")
    for field in ("command", "args"):
        for index, word in enumerate(container.get(field) or []):
            if KUBEXEC in str(word) or KUBECTL in str(word):
                name = KUBEXEC if KUBEXEC in str(word) else KUBECTL
                draft.report(KUBECTL_EXEC, (*path, field), f"{field}[{index}] uses {name}.")


def _report_hosts(draft: Draft, run: Started, path: Path, slots: int) -> None:
    processes = run.option("np") or ""
    if processes.isdecimal() and whole_number(processes) != slots:
        draft.report(PROCESSES, _place(path, run.options["np"]), f"-np {excerpt(processes)} for {slots} slots.")
    for name, option in run.given:
        if name in _HOST_FILES and option.value not in _OWN_HOST_FILE:
            draft.report(OTHER_HOST_FILE, _place(path, option), f"The hosts are in {option.value}.")


def _place(path: Path, option: Option) -> Path:
    spot = option.words[-1].spot
    return path if spot.file else (*path, *spot.path)
