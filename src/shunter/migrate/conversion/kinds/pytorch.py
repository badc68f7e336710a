"""PyTorchJob: Master and Workers become the nodes of one group, the Master being rank 0, or a group each if they differ.

Which variables they need depends on what starts their processes (`rules/pytorch/launcher`). Variables of the torch plugin are
declared before those that refer to them, so that Kubernetes replaces $(PET_...): the plugin fills them in in place.
"""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.trainer.runtime import NODE
from shunter.api.training.pytorch import MASTER, WORKER
from shunter.migrate.conversion.commands.rewriting import with_option
from shunter.migrate.conversion.compat_environment import GLOBAL_INDEX_SOURCE, place_roles, variables_of_v1
from shunter.migrate.conversion.draft import SUCCESS_OF_RUNTIME, Change, Draft, Group
from shunter.migrate.conversion.rules.pytorch import elastic, launcher, processes, rendezvous_port
from shunter.migrate.conversion.rules.pytorch.elastic import Nodes
from shunter.migrate.conversion.rules.pytorch.launcher import LaunchMethod, TrainingContainer
from shunter.migrate.conversion.rules.pytorch.rendezvous_port import RendezvousPort
from shunter.migrate.conversion.templates import Difference, differences, have_differing_ports
from shunter.migrate.findings import NO_DIFFERENCE, Topic
from shunter.operator.trainer.rendezvous import RANK_SOURCE
from shunter.operator.training.frameworks.pytorch import processes_per_node

KIND = "PyTorchJob"
_REQUESTED = "--profile=plain selects a runtime without a plugin"
PLACEHOLDERS = ("PET_NNODES", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")

APART = Topic(
    id="TORCH014",
    title="Master and Workers differ, so each role has a replicated job",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "A replicated job has one pod template. Because the roles differ, the Master gets its own replicated job, and each "
        "Worker its own Job, whose number is its rank; a plain runtime sets the same variables as v1. The trainer section of "
        "the TrainJob applies only to the Master, gang schedulers count one pod for each replicated job, and queues get more "
        "and smaller Jobs."
    ),
    remedy="Use the same template and restartPolicy for both roles if the difference does not matter.",
    effort=3,
    explains=NO_DIFFERENCE,
)
MASTERS_END = Topic(
    id="TORCH017",
    title="the job ends with its Master",
    severity="info",
    other_impact="advisory",
    change="lossless",
    grade="Q",
    explanation=(
        "A v1 job is finished when its Master is, whatever its Workers do; a v2 job when all nodes are. A successPolicy in the "
        "generated runtime restores the v1 rule, but also stops Workers that still run, which v1 leaves running. Needs "
        "Kubernetes 1.31."
    ),
    remedy="Nothing, if processes end together.",
    effort=0,
)
PORTS = Topic(
    id="TORCH018",
    title="Master and Workers name different ports",
    severity="info",
    change="lossless",
    grade="Q",
    explanation=(
        "The ports of a container are informational: programs may listen on others. v1 creates Services from them, v2 does not. "
        "The roles share one pod template, which declares the ports of the Master."
    ),
    remedy="No action needed.",
    effort=0,
    explains=("ports.*",),
)


def arrange(draft: Draft) -> None:
    """One group if Master and Workers are equal; a plain runtime if they differ, or `--profile plain` asks for it. An elastic job
    gets the nodes of `elastic.nodes`."""
    is_elastic = draft.job.spec.elastic_policy is not None
    chosen = elastic.nodes(draft) if is_elastic else Nodes(draft.job.total_replicas, draft.job.total_replicas)
    as_given = draft.job
    if is_elastic:
        draft.job = elastic.resized(draft.job, chosen)
    roles = tuple(role for role in (MASTER, WORKER) if draft.job.replica_count(role))
    differing = differences(draft, roles)
    if differing or (draft.options.profile == "plain" and MASTER in roles):
        _arrange_plain(draft, roles, chosen, differing)
    else:
        _arrange_together(draft, roles, chosen)
    if len(draft.groups) == 1 and have_differing_ports(draft, roles):
        draft.report(PORTS, draft.role_path(WORKER), "The pods of both roles declare the ports of the Master now.")
    if is_elastic:
        elastic.account(draft, as_given, chosen)


def _arrange_together(draft: Draft, roles: tuple[str, ...], chosen: Nodes) -> None:
    group = Group(name=NODE, roles=roles, count=chosen.total)
    draft.groups, draft.ml_policy = [group], {"torch": {}}
    draft.trainer["numNodes"] = chosen.total
    draft.profile, draft.reason = "P2", "all pods are alike"
    place_roles(draft)
    found = launcher.training_container(draft, roles[0])
    method = launcher.launch_method(draft, group, found)
    is_rewritten = bool(group.changes)
    if is_rewritten:
        found = found.changed({field: change.value for field, change in group.changes.items()})
    group.explicit_environment = _explicit_environment(draft, roles[0])
    if reason := _reason_for_plain(draft, found, method, chosen):
        draft.ml_policy, draft.profile, draft.reason = {}, "P3", reason
        group.environment = group.explicit_environment
        processes.set_by_variable(draft)
    else:
        options = processes.options(draft, group, found, method, is_rewritten=is_rewritten)
        rendezvous = rendezvous_port.port_in_v2(draft, found, method)
        group.explicit_environment = rendezvous_port.with_port(group.explicit_environment, rendezvous.port)
        if rendezvous.option:
            options.append(rendezvous.option)
        if _is_elastic_torchrun(draft, found):
            group.environment = elastic.beside_plugin(group.explicit_environment)
            if chosen.fewest < chosen.total and not found.launch.main.option("nnodes"):
                options.append(f"--nnodes={chosen.fewest}:{chosen.total}")
        else:
            _set_variables(draft, group, method, rendezvous)
        _add_options(group, found, options)
    _set_success(draft, group)


def _reason_for_plain(draft: Draft, found: TrainingContainer, method: LaunchMethod, chosen: Nodes) -> str:
    """Why the torch plugin cannot be used; empty if it can. It always sets an address and a rank in all pods, and the number of
    nodes."""
    if draft.options.profile == "plain" and draft.job.spec.elastic_policy is not None:
        return _REQUESTED
    if method == "nothing":
        return "v1 sets neither an address nor a rank, nor does a plain runtime"
    is_range = _is_elastic_torchrun(draft, found) and chosen.fewest < chosen.total
    is_read = any(use.name == "PET_NNODES" for use in found.launch.uses)
    if is_range and (is_read or (not found.launch.main.option("nnodes") and not found.accepts_options)):
        return "torchrun can get its range of nodes by variables only, so a plain runtime sets those of v1"
    return ""


def _is_elastic_torchrun(draft: Draft, found: TrainingContainer) -> bool:
    """Whether the job is elastic and torchrun starts its processes, or may."""
    return draft.job.spec.elastic_policy is not None and found.launch.launcher in {"torchrun", "unknown"}


def _add_options(group: Group, found: TrainingContainer, options: list[str]) -> None:
    changed = with_option(found.container, found.launch.main, *options) if options else None
    for field, value in (changed or {}).items():
        before = f"{group.changes[field].note}, and " if field in group.changes else ""
        group.changes[field] = Change(value, f"{before}torchrun gets {' '.join(options)}")


def _set_variables(draft: Draft, group: Group, method: LaunchMethod, rendezvous: RendezvousPort) -> None:
    """Sets v1's variables from those of the torch plugin. WORLD_SIZE counts processes as v1 does."""
    group.environment = [{"name": "PYTHONUNBUFFERED", "value": "1"}]
    if method == "variables":
        factor = processes_per_node(draft.job.spec.nproc_per_node)
        names = PLACEHOLDERS if rendezvous.is_default else PLACEHOLDERS[:-1]
        group.plugin_placeholders = [{"name": name, "value": ""} for name in names]
        group.environment += [
            {"name": "MASTER_ADDR", "value": "$(PET_MASTER_ADDR)"},
            {"name": "MASTER_PORT", "value": "$(PET_MASTER_PORT)" if rendezvous.is_default else str(rendezvous.port)},
            {"name": "RANK", "value": "$(PET_NODE_RANK)"},
            {"name": "WORLD_SIZE", "value": "$(PET_NNODES)" if factor == 1 else str(group.count * factor)},
        ]


def _explicit_environment(draft: Draft, role: str) -> list[Json]:
    """v1's variables for the pods of one group, without a plugin."""
    return elastic.kept_variables(draft, variables_of_v1(draft, role, 0, RANK=RANK_SOURCE, PET_NODE_RANK=RANK_SOURCE))


def _set_success(draft: Draft, group: Group) -> None:
    """The job is complete when its Master is; without one when all Workers are, or any one of an elastic job."""
    if group.count == 1:
        return
    if MASTER in group.roles:
        group.job_spec["successPolicy"] = {"rules": [{"succeededIndexes": "0"}]}
        text = "The job is complete when its Master is, by the Job's successPolicy."
        draft.report(MASTERS_END, draft.role_path(MASTER), text, target=SUCCESS_OF_RUNTIME)
    elif draft.job.spec.elastic_policy is not None:
        group.job_spec["successPolicy"] = {"rules": [{"succeededCount": 1}]}
        draft.report(elastic.ANY_WORKER, elastic.POLICY, "The job is complete when one node is, by the Job's successPolicy.")


def _arrange_plain(draft: Draft, roles: tuple[str, ...], chosen: Nodes, differing: list[Difference]) -> None:
    """A group for each role, with a plain runtime that sets v1's variables."""
    if len(roles) > 1:
        workers = Group("worker", (WORKER,), 1, replicas=chosen.total - 1, trains=False)
        draft.groups = [Group("master", (MASTER,), 1), workers]
        draft.jobset["successPolicy"] = {"operator": "All", "targetReplicatedJobs": ["master"]}
        draft.report(
            MASTERS_END, draft.role_path(MASTER), "The job is complete when its Master is, by the JobSet's successPolicy."
        )
    else:
        draft.groups = [Group(NODE, roles, chosen.total)]
    draft.trainer["numNodes"] = draft.groups[0].count
    draft.profile = "P3"
    draft.reason = "Master and Workers differ, and one replicated job has one pod template" if differing else _REQUESTED
    place_roles(draft)
    for group in draft.groups:
        role, found = group.roles[0], launcher.training_container(draft, group.roles[0])
        # The index over all Jobs is the rank: the Master is the first Job.
        source = GLOBAL_INDEX_SOURCE if len(draft.groups) > 1 else RANK_SOURCE
        group.environment = elastic.kept_variables(draft, variables_of_v1(draft, role, 0, RANK=source, PET_NODE_RANK=source))
        launcher.warn_of_options(draft, chosen.total, found)
        if launcher.rewrite(draft, group, found):
            group.environment = _for_torchrun(draft, group.environment, chosen)
        group.explicit_environment = group.environment
    processes.set_by_variable(draft)
    for difference in differing:
        path = (*draft.role_path(difference.role), *difference.path)
        field = difference.field.removeprefix("template.")
        draft.report(APART, path, f"{difference.role} differs from Master in {field}.")


def _for_torchrun(draft: Draft, variables: list[Json], chosen: Nodes) -> list[Json]:
    """The variables with one process per pod and all nodes, for a program that torchrun did not start in v1."""
    values = {"PET_NNODES": str(chosen.total) if chosen.fewest == chosen.total else f"{chosen.fewest}:{chosen.total}"}
    if processes_per_node(draft.job.spec.nproc_per_node) == 1:
        values["PET_NPROC_PER_NODE"] = "1"
    return [{**variable, "value": values[variable["name"]]} if variable["name"] in values else variable for variable in variables]
