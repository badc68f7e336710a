"""Whether a runtime that is shipped does, so that no runtime of the job's own is needed.

A TrainJob can say the image, command, arguments, environment and resources of its nodes, and patch some fields of their pods;
the rest is as the runtime says it. The job gets a shipped runtime only where nothing that its user wrote is lost by that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shunter.api.meta import Json
from shunter.api.trainer.runtime import NODE
from shunter.api.trainer.torch_validation import TORCHRUN_ENVIRONMENT
from shunter.migrate.conversion.commands.rewriting import with_torchrun
from shunter.migrate.conversion.draft import JOB_NAME, SUCCESS_OF_RUNTIME, Draft, Group
from shunter.migrate.conversion.ledger import Target
from shunter.migrate.conversion.rules.pods.environment import EXPANDS_NOW, are_known, references
from shunter.migrate.conversion.rules.pytorch.launcher import V1_VARIABLES, training_container
from shunter.migrate.conversion.rules.restart_policy import UNLIMITED
from shunter.migrate.conversion.rules.trainer import fits
from shunter.migrate.conversion.versions import has
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path
from shunter.operator.trainer.plugins.jax import PROCESS_ENVIRONMENT

MANAGER = "migrate.shunter.dev/conversion"
SHIPPED = {"torch": "torch-distributed", "jax": "jax-distributed"}
"""The runtime that sets up a framework and nothing else."""
FIRST_ENDS: Json = {"rules": [{"succeededIndexes": "0"}]}
"""The Job's successPolicy by which it is done when its first node is."""
_SET_BEFORE = {"jax": PROCESS_ENVIRONMENT}
"""Variables of a plugin that stand before those of the TrainJob; torch's stand behind them."""
_PATCHABLE = frozenset({
    "serviceAccountName", "volumes", "imagePullSecrets", "securityContext", "nodeSelector", "affinity", "tolerations",
    "schedulingGates", "terminationGracePeriodSeconds",
})  # fmt: skip
_OF_THE_CONTAINER = frozenset({"volumeMounts", "securityContext"})
_ENVIRONMENT: Path = ("spec", "trainer", "env")
_POD: Path = ("template", "spec", "replicatedJobs", 0, "template", "spec", "template")

IDIOMATIC, TORCHRUN = "--profile=idiomatic", "--torch-launch=torchrun"
SHORTER = {
    IDIOMATIC: "no pod fails more than 6 times, and the job may end when all of its nodes have",
    TORCHRUN: "the program takes its rank and its group from torch.distributed or torchrun's variables",
}
"""Options that make results shorter, and the condition under which they train the same."""

RUNTIME_DECIDES = Topic(
    id="PROFILE001",
    title="the shipped runtime decides when the job succeeds and fails",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The manifest does not set restarts, so the job uses a shipped runtime. There a Job fails after 6 restarts, where v1 "
        "restarted without limit; and the job is complete when all nodes are, where v1 considered only the Master. Changes of "
        "the runtime change the job: resources of the TrainJob are merged with the runtime's, and a TrainJob without a trainer "
        "section would get no variables."
    ),
    remedy="Convert with --profile=runtime to keep v1's rules in a runtime of its own.",
    effort=0,
    explains=("ending.*",),
)
NOT_EXPRESSIBLE = Topic(
    id="PROFILE002",
    title="the job needs a generated runtime",
    severity="warning",
    change="lossless",
    grade="Q",
    explanation=(
        "--profile=idiomatic selects a TrainJob with a shipped runtime. The manifest has fields that neither the trainer "
        "section nor a patch supports. The result has its own runtime, which contains them."
    ),
    remedy="Remove the fields named in the message, if they are not needed.",
    effort=0,
)


def apply(draft: Draft) -> None:
    """Takes a shipped runtime where `--profile` allows it and nothing is in the way; with `idiomatic` reports what is."""
    if draft.options.profile not in ("auto", "idiomatic"):
        return
    obstacles = [*_obstacles(draft)]
    if draft.options.profile == "idiomatic" and obstacles:
        draft.report(NOT_EXPRESSIBLE, (), f"A shipped runtime cannot say {', '.join(dict.fromkeys(obstacles))}.")
    elif not obstacles and (draft.options.profile == "idiomatic" or not _decides_how_to_end(draft)):
        _use_shipped(draft)
    elif not obstacles:
        draft.shorter = _shorter(draft)


def _shorter(draft: Draft) -> tuple[str, ...]:
    """The options for a shorter result: without v1's variables, if the program needs none or torchrun sets them."""
    (group,) = draft.groups
    if not any(variable["name"] in V1_VARIABLES for variable in group.environment):
        return (IDIOMATIC,)
    found = training_container(draft, group.roles[0])
    is_program = found.launch.launcher == "python" and len(found.launch.started) == 1
    can_be_started = is_program and with_torchrun(found.container, found.launch.main) is not None
    return (IDIOMATIC, TORCHRUN) if can_be_started and draft.options.torch_launch == "auto" else ()


def _decides_how_to_end(draft: Draft) -> bool:
    """Whether the user said when to restart, or several nodes make a difference to when the job is done."""
    says_restarts = any(draft.is_given((*draft.role_path(role), "restartPolicy")) for role in draft.job.replicas)
    (group,) = draft.groups
    return says_restarts or (group.count > 1 and "successPolicy" in group.job_spec)


def _obstacles(draft: Draft) -> Iterator[str]:
    """What a TrainJob of a shipped runtime cannot say."""
    group, *others = draft.groups
    if [*draft.ml_policy] not in [[framework] for framework in SHIPPED] or any(draft.ml_policy.values()):
        yield f"what {draft.kind}s of this shape need"
        return
    if others or group.replicas > 1 or not group.trains or group.depends_on:
        yield "several groups of pods"
        return
    yield from (f"{field} of the JobSet" for field in draft.jobset if field != "replicatedJobs")
    yield from (f"annotation {key} of the JobSet" for key in draft.jobset_annotations)
    yield from draft.runtime
    yield from _obstacles_in_job(group)
    yield from _obstacles_in_pod(draft, group)


def _obstacles_in_job(group: Group) -> Iterator[str]:
    for field, value in group.job_spec.items():
        if field == "backoffLimit" and value != UNLIMITED:
            yield "backoffLimit"
        elif field not in ("backoffLimit", "successPolicy") or (field == "successPolicy" and value != FIRST_ENDS):
            yield field


def _obstacles_in_pod(draft: Draft, group: Group) -> Iterator[str]:
    spec = group.pod["spec"]
    yield from (f"{field} of pods" for field in group.pod.get("metadata") or {} if field not in ("labels", "annotations"))
    for field, value in spec.items():
        if field == "restartPolicy":
            if value != "OnFailure":
                yield f"restartPolicy {value}"
        elif field == "containers":
            yield from (f"the container {container.get('name')}" for container in value if container.get("name") != NODE)
        elif field not in _PATCHABLE:
            yield field
    training = draft.training_container(group)
    for field in training:
        if (
            field not in _OF_THE_CONTAINER
            and field not in ("name", "env")
            and not (field == "ports" and _are_usual(draft, training))
        ):
            yield f"{field} of the container"
    if "image" not in draft.trainer:
        yield "a missing image"
    (framework,) = draft.ml_policy
    if not are_known(_own_environment(group), _SET_BEFORE.get(framework, ())):
        yield "variables that the runtime's plugin has to set first"
    if not fits([*_own_environment(group), *draft.trainer.get("env", [])]):
        yield "so many variables"
    if _made_of_overridden(draft, group):
        yield "variables that are made of one that v1 overrode"
    if _patch(group, training) and not has(draft.options, "runtimePatches"):
        yield "patches to pods"


def _are_usual(draft: Draft, training: Json) -> bool:
    """Whether the ports are only those at which v1 met."""
    usual = draft.job_kind.port
    return usual is not None and all(port.get("name") == usual.name for port in training["ports"])


def _own_environment(group: Group) -> list[Json]:
    own = group.explicit_environment if group.plugin_placeholders else group.environment
    return [variable for variable in own if variable["name"] not in TORCHRUN_ENVIRONMENT]


def _made_of_overridden(draft: Draft, group: Group) -> bool:
    """Whether the job's variables refer to one of the source for which the operator's stands, behind them all."""
    given = draft.trainer.get("env", [])
    source = draft.given((*draft.template_paths(group)[0], "spec", "containers", draft.container_index(group.roles[0]), "env"))
    names = {variable.get("name") for variable in source} if isinstance(source, list) else set()
    names -= {variable["name"] for variable in given}
    return any(names & {*references(variable.get("value"))} for variable in given)


def _patch(group: Group, training: Json) -> Json:
    """The group's pod template as a patch of the shipped runtime's."""
    patch: Json = {}
    if group.pod.get("metadata"):
        patch["metadata"] = group.pod["metadata"]
    spec = {field: value for field, value in group.pod["spec"].items() if field in _PATCHABLE}
    container = {field: value for field, value in training.items() if field in _OF_THE_CONTAINER}
    if container:
        spec["containers"] = [{"name": NODE, **container}]
    return {**patch, **({"spec": spec} if spec else {})}


def _use_shipped(draft: Draft) -> None:
    (group,) = draft.groups
    (framework,) = draft.ml_policy
    training = draft.training_container(group)
    own, given = _own_environment(group), draft.trainer.get("env", [])
    names = {variable["name"] for variable in given}
    own = [variable for variable in own if variable["name"] not in names]
    if own or given:
        # In the order of v1, which appended its own; but hosts in the job's variables are made of the job's name.
        first = [variable for variable in own if variable["name"] == JOB_NAME]
        if first and any(JOB_NAME in references(variable.get("value")) for variable in given):
            own.remove(first[0])
            _account_behind(draft, group, len(first))
        else:
            first = []
        draft.trainer["env"] = [*first, *given, *own]
        draft.findings = [finding for finding in draft.findings if finding.topic is not EXPANDS_NOW]
    patch = _patch(group, training)
    if patch:
        template = {"spec": {"replicatedJobs": [{"name": NODE, "template": {"spec": {"template": patch}}}]}}
        draft.train_job["runtimePatches"] = [{"manager": MANAGER, "trainingRuntimeSpec": {"template": template}}]
    for role in group.roles:
        draft.default((*draft.role_path(role), "restartPolicy"), "pods of a JobSet restart on failure")
        ports = (*draft.role_path(role), "template", "spec", "containers", draft.container_index(role), "ports")
        draft.default(ports, "v2 has its own port")
    draft.ledger.moved(_into_patch(draft.pod_template_path(group)))
    draft.findings = [finding for finding in draft.findings if finding.target != SUCCESS_OF_RUNTIME]
    draft.shipped_runtime = SHIPPED[framework]
    draft.profile, draft.reason = "P1", f"the shipped runtime {draft.shipped_runtime} does, and nothing that was written is lost"
    draft.report(RUNTIME_DECIDES, (), f"{draft.shipped_runtime} allows 6 restarts, and the job is complete when all nodes are.")


def _account_behind(draft: Draft, group: Group, count: int) -> None:
    """The source's variables stand behind as many others in the TrainJob."""
    for template in draft.template_paths(group):
        source: Path = (*template, "spec", "containers", draft.container_index(group.roles[0]), "env")
        for index in range(len(draft.given(source))):
            row = draft.ledger.row((*source, index))
            if row is not None and row.target is not None and row.target.path[:3] == _ENVIRONMENT:
                number = row.target.path[3] if len(row.target.path) > 3 else index
                assert isinstance(number, int), "env is a list"
                draft.carry((*source, index), "TrainJob", (*_ENVIRONMENT, number + count), row.note)


def _into_patch(pod_template: Path) -> Callable[[Target], Target]:
    """Where values of the pod template stand now."""

    def place(target: Target) -> Target:
        if target.manifest == "TrainingRuntime" and target.path[: len(pod_template)] == pod_template:
            return Target(
                "TrainJob", ("spec", "runtimePatches", 0, "trainingRuntimeSpec", *_POD, *target.path[len(pod_template) :])
            )
        return target

    return place
