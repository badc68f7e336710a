"""The labels of each job's pods on both sides, built as in the proof (`pods/sides`), and only if a selector may match them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from shunter.api.jobset import JOBSET_NAME
from shunter.api.meta import Json
from shunter.api.titles import object_title
from shunter.api.trainer.runtime import LAUNCHER as LAUNCHERS
from shunter.api.trainer.runtime import NODE
from shunter.api.training.mpi import LAUNCHER
from shunter.errors import ShunterError
from shunter.migrate.conversion import mpi_operator
from shunter.migrate.conversion.batch import Outcome
from shunter.migrate.conversion.draft import role_path
from shunter.migrate.conversion.one_job import Conversion, framework_of
from shunter.migrate.conversion.reading import read
from shunter.migrate.options import Options
from shunter.migrate.paths import Path, value_at
from shunter.migrate.pods.differences import paired
from shunter.migrate.pods.facts import is_own
from shunter.migrate.pods.sides import Replica, v1_side, v2_side
from shunter.migrate.survey.neighbours.selections import Selection, placements
from shunter.operator.training.job import AnyJob
from shunter.operator.training.names import JOB_NAME
from shunter.operator.training.services import desired_services


class PodPair(NamedTuple):
    """The labels of one pod in v1 and in v2; None on a side that has no such pod."""

    v1: Json | None
    v2: Json | None
    role: str = ""
    """The v1 role."""
    specs: tuple[Json, Json] = ({}, {})
    """The pod's spec on both sides."""


@dataclass(frozen=True)
class JobPods:
    """One job of the input."""

    outcome: Outcome
    options: Options

    @cached_property
    def namespace(self) -> str:
        """The namespace; empty if the manifest has none."""
        return self.outcome.source.namespace

    @property
    def title(self) -> str:
        """`PyTorchJob training/bert`."""
        return self.outcome.source.title

    @cached_property
    def result(self) -> Conversion | None:
        """The conversion; None for a job that remains a v1 job."""
        return None if self.outcome.is_blocked else self.outcome.conversion

    @cached_property
    def new_name(self) -> str:
        """The name of the TrainJob; empty if the API server generates it, or there is no TrainJob."""
        return str(self.result.train_job["metadata"].get("name") or "") if self.result else ""

    @property
    def new_title(self) -> str:
        """`TrainJob training/bert`."""
        metadata = self.result.train_job["metadata"] if self.result else {}
        name = metadata.get("name") or f"{metadata.get('generateName', '')}*"
        return object_title("TrainJob", self.namespace, name)

    def is_called(self, name: str) -> bool:
        """Whether it is converted and its v1 job has this name."""
        return self.result is not None and self.outcome.source.name == name

    def has_host(self, host: str) -> bool:
        """Whether it is converted, and `host` is one of its v1 pods with a Service (`bert-worker-3`)."""
        role, _, index = host.removeprefix(f"{self.outcome.source.name}-").rpartition("-")
        if self.result is None or not host.startswith(f"{self.outcome.source.name}-"):
            return False
        if not role:
            return index == LAUNCHER.lower() and framework_of(self.outcome.source) is not mpi_operator.FRAMEWORK
        counts = {known.lower(): number for known, number in self.counts.items()}
        return index.isdecimal() and int(index) < counts.get(role, 0)

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of v1 pods of each role."""
        framework = framework_of(self.outcome.source)
        assert framework is not None, "it was converted"
        job, _ = read(self.outcome.source, framework)
        return {role: job.replica_count(role) for role in job.replicas}

    @cached_property
    def pairs(self) -> tuple[PodPair, ...]:
        """The pods; none if they cannot be built, which `validate` reports."""
        try:
            if self._of_mpi_operator is not None:
                return tuple(self._pairs_of_mpi_operator(self._of_mpi_operator))
            before = v1_side(self.outcome.source.value, self.options)
            if self.result is None:
                return tuple(PodPair(_labels(replica), None) for replica in before.replicas)
            after = v2_side(self.result.train_job, self.result.runtime)
        except ShunterError:
            return ()
        return tuple(
            PodPair(_labels(pair.v1), _labels(pair.v2), pair.role, (_spec(pair.v1), _spec(pair.v2)))
            for pair in paired(before, after)
        )

    @cached_property
    def _of_mpi_operator(self) -> AnyJob | None:
        """The job as read by the mpi-operator, if it is one of its kind. Raises UnreadableJobError."""
        framework = framework_of(self.outcome.source)
        return read(self.outcome.source, framework)[0] if framework is mpi_operator.FRAMEWORK else None

    def _pairs_of_mpi_operator(self, job: AnyJob) -> Iterator[PodPair]:
        """The pairs of an mpi-operator job: its launcher and that of the TrainJob, its Workers and the nodes."""
        after = v2_side(self.result.train_job, self.result.runtime).replicas if self.result is not None else ()
        there = {(replica.role, replica.index): replica for replica in after}
        for role in job.replicas:
            template: Json = job.replicas[role].template
            own = (template.get("metadata") or {}).get("labels") or {}
            for index in range(job.replica_count(role)):
                replica = there.get((LAUNCHERS if role == LAUNCHER else NODE, index))
                labels = {**own, **mpi_operator.pod_labels(job, role, index)}
                yield PodPair(labels, _labels(replica), role, (template.get("spec") or {}, _spec(replica)))

    def role_path(self, role: str) -> Path:
        """The path of a role in the source."""
        framework = framework_of(self.outcome.source)
        assert framework is not None, "it has pods"
        return role_path(self.outcome.source, framework, role)

    @property
    def has_placements(self) -> bool:
        """Whether its pods have affinity terms or spread constraints that select pods."""
        return next(placements(self.outcome.source.value, self.outcome.source), None) is not None

    @cached_property
    def services(self) -> tuple[Json, ...]:
        """The labels of the Services that v1's operator creates for the pods; those of v2 have none."""
        try:
            if self._of_mpi_operator is not None:
                return (mpi_operator.service_labels(self._of_mpi_operator.name),)
            side = v1_side(self.outcome.source.value, self.options)
        except ShunterError:
            return ()
        return tuple(service["metadata"]["labels"] for service in desired_services(side.framework, side.job))

    @cached_property
    def given_labels(self) -> frozenset[tuple[str, Any]]:
        """Labels of the job's pods that are known without building them: those of its templates, and its names."""
        name = self.outcome.source.name
        found: set[tuple[str, Any]] = {(JOB_NAME, name), (JOB_NAME, self.new_name), (JOBSET_NAME, self.new_name)}
        if framework_of(self.outcome.source) is mpi_operator.FRAMEWORK:
            found.update(mpi_operator.service_labels(name).items())
        specs = self.outcome.source.value.get("spec")
        for roles in specs.values() if isinstance(specs, dict) else ():
            for role in roles.values() if isinstance(roles, dict) else ():
                labels = value_at(role, ("template", "metadata", "labels"))
                found.update(labels.items() if isinstance(labels, dict) else ())
        return frozenset(found)


class Jobs:
    """The jobs of an input, indexed by their labels."""

    def __init__(self, outcomes: Iterable[Outcome], options: Options, namespaces: dict[str, Json]) -> None:
        self.all = [JobPods(outcome, options) for outcome in outcomes]
        self._namespaces = namespaces
        self._by_label: dict[tuple[str, Any], list[JobPods]] = {}
        for job in self.all:
            for label in job.given_labels:
                self._by_label.setdefault(label, []).append(job)

    def in_reach(self, selection: Selection, selector: Json) -> list[JobPods]:
        """The jobs in the selection's namespaces whose pods may have the labels that the selector requires."""
        required = [
            (key, value)
            for key, value in (selector.get("matchLabels") or {}).items()
            if key in (JOB_NAME, JOBSET_NAME) or not is_own(key)
        ]
        found = min((self._by_label.get(label, []) for label in required), key=len, default=self.all)
        return [job for job in found if selection.looks_in(job.namespace, self._namespaces)]


def _labels(replica: Replica | None) -> Json | None:
    return replica.pod["metadata"].get("labels") or {} if replica else None


def _spec(replica: Replica | None) -> Json:
    spec: Json = replica.pod["spec"] if replica else {}
    return spec
