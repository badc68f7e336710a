"""A conversion in the making: what the rules read, and what they write.

`groups` are the replicated jobs of the runtime, decided by the kind's module (`kinds/`); then the rules (`rules/`) fill in the
rest, each its own part. A rule that takes a field of the source says so in the ledger, through `carry`, `default` or `report`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion.input_context import NOTHING, InputContext
from shunter.migrate.conversion.ledger import Ledger, Manifest, Target
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.excerpts import MESSAGE, excerpt
from shunter.migrate.findings import Finding, Topic
from shunter.migrate.options import Options
from shunter.migrate.paths import MISSING, Path, value_at
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.job import AnyJob

Profile = Literal["P1", "P2", "P3"]
SUCCESS_OF_RUNTIME = "TrainingRuntime successPolicy"
"""What a finding is about that says how a runtime of the job's own restores v1's rule of success: a shipped one does not."""
JOB_NAME = "TRAIN_JOB_NAME"
"""The variable by which `host_expression` names the job: known to the pod only, so it survives generateName and namePrefix."""
JOB_NAME_VARIABLE: Json = {
    "name": JOB_NAME,
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/jobset-name']"}},
}


_JOB_KINDS = {kind.resource.kind: kind for kind in JOB_KINDS}


class Change(NamedTuple):
    """A field of the training container that a kind says anew."""

    value: Any
    note: str
    """How it was changed, for the ledger."""


@dataclass(eq=False)
class Group:
    """One replicated job of the runtime: pods of one template."""

    name: str
    roles: tuple[str, ...]
    """The v1 roles whose pods it stands for, in rank order; their templates say the same where it matters, the first is taken."""
    count: int
    """Pods of each of its Jobs."""
    replicas: int = 1
    """Jobs; more than one where each pod needs a Job of its own."""
    trains: bool = True
    """Whether it has the ancestor label `trainer`, so that the TrainJob's trainer section is about it."""
    environment: list[Json] = field(default_factory=list)
    """What tells its containers who they are (a shim), in place of what v1 appended."""
    plugin_placeholders: list[Json] = field(default_factory=list)
    """Variables that a plugin fills in and `environment` is made of: they must stand before it, or `$(NAME)` is left as it is."""
    explicit_environment: list[Json] = field(default_factory=list)
    """The environment without use of a plugin: for the pod's other containers, and for a TrainJob of a shipped runtime, less the
    names that v2 reserves."""
    changes: dict[str, Change] = field(default_factory=dict)
    """Fields of the training container (`command`, `args`) in place of the template's: a program that torchrun starts now."""
    container_names: dict[str, str] = field(default_factory=dict)
    """New names of containers: that of the one which trains is always `node`."""
    runtime_says: frozenset[str] = frozenset()
    """Fields of the training container (`env`, `resources`) that stay in the runtime although the group trains."""
    depends_on: list[Json] = field(default_factory=list)
    """Groups before it that it waits for: `{"name": "node", "status": "Ready"}`."""
    job_spec: Json = field(default_factory=dict)
    """Fields of the Job's spec beside template, parallelism and completions."""
    pod: Json = field(default_factory=dict)
    """The pod template in the making: a copy of the first role's, made by `rules/pod_template`. The rules after it change it in
    place and say so (`Draft.changed`); lists keep their places in it until `rules/environment` and `rules/init_containers`."""

    def host_expression(self, index: int | str) -> str:
        """`Draft.host` in terms of JOB_NAME, for the value of a variable that stands behind JOB_NAME_VARIABLE; the index may be
        in terms of another."""
        return f"$({JOB_NAME})-{self.name}-{self._place(index)}.$({JOB_NAME})"

    def host(self, job: str, index: int) -> str:
        """The name by which pods of the TrainJob `job` reach the pod of this index: `bert-node-0-1.bert`."""
        return f"{job}-{self.name}-{self._place(index)}.{job}"

    def _place(self, index: int | str) -> str:
        return f"{index}-0" if self.replicas > 1 else f"0-{index}"


@dataclass
class Draft:
    """Rules write into it one after the other, so what a field holds depends on which of them have run (`rules.ORDER`)."""

    source: SourceObject
    framework: AnyFramework
    job: AnyJob
    """The source with v1's defaults applied."""
    options: Options
    context: InputContext = NOTHING
    name: str = ""
    """The TrainJob's, or the beginning of a generated one; decided by `rules/names`."""
    faults: list[FieldError] = field(default_factory=list)
    """What v1's admission has against the source."""
    profile: Profile = "P2"
    reason: str = ""
    """Why this profile."""
    shipped_runtime: str = ""
    """The ClusterTrainingRuntime that the TrainJob takes; empty when it gets one of its own."""
    shorter: tuple[str, ...] = ()
    """Options with which the job would need no runtime of its own; empty where nothing does, or it has none already."""
    groups: list[Group] = field(default_factory=list)
    ml_policy: Json = field(default_factory=dict)
    """The runtime's mlPolicy but numNodes: `{"torch": {}}`; empty for a plain runtime."""
    trainer: Json = field(default_factory=dict)
    """The TrainJob's trainer section; never empty in the result."""
    train_job: Json = field(default_factory=dict)
    """The rest of the TrainJob's spec and its metadata."""
    jobset: Json = field(default_factory=dict)
    """The runtime's `template.spec` but replicatedJobs: policies of the whole JobSet."""
    jobset_annotations: dict[str, str] = field(default_factory=dict)
    """The annotations in the runtime's template that the JobSet gets."""
    runtime: Json = field(default_factory=dict)
    """The rest of the runtime's spec: `podGroupPolicy`."""
    training_containers: dict[str, int] = field(default_factory=dict)
    """Which container of a role trains, where the kind has a rule of its own for it."""
    hosts: dict[str, tuple[Group, int]] = field(default_factory=dict)
    """The names that v1 gave to pods, `bert-master-0`, and which pod of which group that is now (`host`)."""
    programs: Sequence[Any] | None = None
    """What `rules/programs/texts.all_programs` has read of the containers; None before it is asked."""
    ledger: Ledger = field(default_factory=Ledger)
    findings: list[Finding] = field(default_factory=list)
    _role_paths: dict[str, Path] = field(default_factory=dict, repr=False)
    _operator_variables: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)

    @property
    def kind(self) -> str:
        """`PyTorchJob`; MPIJob also for one of mpi-operator."""
        return self.source.kind

    @property
    def job_kind(self) -> JobKind:
        """The v1 kind of the job. Raises KeyError for a kind that v1 does not have."""
        return _JOB_KINDS[self.kind]

    @property
    def is_live(self) -> bool:
        """Whether the object was read from a cluster, be it through a file: it may be running."""
        return bool(self.job.metadata.uid)

    @property
    def replica_specs(self) -> str:
        """`pytorchReplicaSpecs`."""
        return replica_specs(self.framework)

    @property
    def run_policy(self) -> Path:
        """Where it stands in the source: the rules read its fields from there, whatever the kind."""
        return ("spec", "runPolicy")

    def role_path(self, role: str) -> Path:
        """Where a role stands, as its user spells it."""
        if role not in self._role_paths:
            self._role_paths[role] = role_path(self.source, self.framework, role)
        return self._role_paths[role]

    def given(self, path: Path) -> Any:
        """What the source says at `path`, or MISSING; a null says nothing."""
        value = value_at(self.source.value, path)
        return MISSING if value is None else value

    def is_given(self, path: Path) -> bool:
        """Whether the source says something there itself; a default of v1 does not count."""
        return self.given(path) is not MISSING

    def group_of(self, role: str) -> Group:
        """The group that has the role's pods. StopIteration for a role without any."""
        return next(group for group in self.groups if role in group.roles)

    def texts_of(self, title: str) -> Json | None:
        """The `ConfigMap NAME` or `Secret NAME` of the job's namespace, if the input has it: its texts are in `data` and
        `binaryData` (`FindObject`)."""
        kind, _, name = title.partition(" ")
        return self.context.find(kind, self.source.namespace, name)

    def carry(self, path: Path, manifest: Manifest, target: Path, note: str = "") -> None:
        """The source's field at `path`, and all below it, stands at `target` of a result. The caller puts it there."""
        self.ledger.carried(path, Target(manifest, target), note)

    def default(self, path: Path, note: str) -> None:
        """The field, if it is given, needs no counterpart."""
        if self.is_given(path):
            self.ledger.defaulted(path, note)

    def changed(self, group: Group, path: Path, note: str) -> None:
        """The value at `path` of the group's pod template is said in other words than in the source."""
        for template in self.template_paths(group):
            self.ledger.changed((*template, *path), note)

    def report(
        self,
        topic: Topic,
        path: Path,
        message: str,
        *,
        remedy: str = "",
        target: str = "",
        dropped: bool = False,
        offset: int | None = None,
    ) -> Finding:
        """Records and returns a finding about a field, or about position `offset` of its text. `dropped`: the result has no
        counterpart of the field."""
        accepted = topic.suppression_reason(self.options.accepted)
        shown = excerpt(message, MESSAGE)
        finding = Finding(topic, self.source.title, self.source.place(path, offset), path, shown, remedy, target, accepted)
        self.findings.append(finding)
        if dropped and self.is_given(path):
            self.ledger.reported(path, finding)
        return finding

    def report_if_given(self, topic: Topic, path: Path, message: str) -> None:
        """Tells the user of a field for which nothing stands in the result, if the source has it."""
        if self.is_given(path):
            self.report(topic, path, message, dropped=True)

    def template_paths(self, group: Group) -> list[Path]:
        """Where the pod templates stand in the source that the group's is made from; the first is what it is made from."""
        return [(*self.role_path(role), "template") for role in group.roles]

    def training_container(self, group: Group) -> Json:
        """The one that trains, of the group's pod template in the making."""
        container: Json = group.pod["spec"]["containers"][self.container_index(group.roles[0])]
        return container

    def pod_template_path(self, group: Group) -> Path:
        """Where the group's pod template stands in the TrainingRuntime."""
        index = self.groups.index(group)
        return ("spec", "template", "spec", "replicatedJobs", index, "template", "spec", "template")

    def container_index(self, role: str) -> int:
        """Which container of the role's template trains: the framework's by name, or else the first."""
        if role in self.training_containers:
            return self.training_containers[role]
        containers = (self.job.replicas[role].template.get("spec") or {}).get("containers") or []
        names = [container.get("name") for container in containers]
        return names.index(self.framework.container) if self.framework.container in names else 0

    def host(self, group: Group, index: int) -> str:
        """The name by which other pods of the job reach the pod: that of the JobSet's headless service."""
        return group.host(self.name, index)

    def operator_variables(self, role: str) -> frozenset[str]:
        """Names that v1's operator set in the role's pods over whatever the user had set."""
        if role not in self._operator_variables:
            variables = self.framework.environment(self.job, role)(0)
            self._operator_variables[role] = frozenset(variable["name"] for variable in variables)
        return self._operator_variables[role]


def replica_specs(framework: AnyFramework) -> str:
    """The field of a v1 spec that holds the pods by role."""
    field = framework.info.replica_specs
    return str(field)


def role_path(source: SourceObject, framework: AnyFramework, role: str) -> Path:
    """Where a role of a v1 job stands, as its user spells it."""
    field = replica_specs(framework)
    specs = value_at(source.value, ("spec", field))
    if not isinstance(specs, dict) or role in specs:
        return ("spec", field, role)
    return ("spec", field, next((key for key in specs if key.lower() == role.lower()), role))
