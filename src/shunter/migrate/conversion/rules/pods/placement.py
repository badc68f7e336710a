"""Selectors of pods by v1's labels, in affinities and topology spread constraints: pods of v2 have other labels, and a
selector that matches nothing is silently of no effect.
"""

from __future__ import annotations

from shunter.api.jobset import JOBSET_NAME, REPLICATED_JOB
from shunter.api.meta import Json
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.conversion.rules import names
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path, mappings
from shunter.operator.training.names import JOB_NAME, OPERATOR_NAME, REPLICA_TYPE
from shunter.operator.training.names import PREFIX as V1_PREFIX

_KEY_LISTS = ("matchLabelKeys", "mismatchLabelKeys")

REWRITTEN = Topic(
    id="POD003",
    title="a selector of pods is rewritten to the labels of v2",
    severity="info",
    change="lossless",
    grade="Q",
    explanation=(
        "Affinities and topology spread constraints that select training.kubeflow.org/* labels would match no v2 pod, and so "
        "have no effect. They now select the labels that JobSet sets."
    ),
    remedy="No action needed here; change NetworkPolicies, PodMonitors and log queries that select these labels yourself.",
    effort=0,
)
NO_SUCH_LABEL = Topic(
    id="POD004",
    title="a selector of pods names a label that pods of v2 do not have",
    severity="error",
    change="manual",
    grade="D",
    explanation=(
        "v2 pods have no label with the same meaning, so the selector would match nothing and the constraint would have no "
        "effect, or could never be satisfied."
    ),
    remedy="Select a label that the pod template sets itself; or suppress with --accept POD004.",
    effort=3,
    acceptable=True,
)

RENAMED = Topic(
    id="POD017",
    title="a selector of pods refers to another job, which is renamed",
    severity="warning",
    change="semantic-change",
    grade="Q",
    explanation=(
        "An affinity or spread constraint of the job selects the pods of another job of the input, which has another name in "
        "v2. The selector uses the new name, so it selects nothing while the other job is still a v1 job."
    ),
    remedy="Apply both jobs together, as they were converted.",
)


def apply(draft: Draft) -> None:
    """Rewrites each selector in place, as far as v2's labels can say the same."""
    for group in draft.groups:
        spec = group.pod["spec"]
        for field in ("affinity", "topologySpreadConstraints"):
            for path, term in mappings(spec.get(field), ("spec", field)):
                if "labelSelector" in term or any(keys in term for keys in _KEY_LISTS):
                    _rewrite(draft, group, path, term)


def kept_labels(draft: Draft) -> frozenset[str]:
    """Labels of v1 that pods have in v2 as well (`--v1-labels`)."""
    if not draft.options.v1_labels:
        return frozenset()
    are_apart = all(len(group.roles) == 1 for group in draft.groups)
    return frozenset({JOB_NAME, OPERATOR_NAME, REPLICA_TYPE} if are_apart else {JOB_NAME, OPERATOR_NAME})


def _rewrite(draft: Draft, group: Group, path: Path, term: Json) -> None:
    selector = term.get("labelSelector") or {}
    labels = selector.get("matchLabels") or {}
    rewritten: Json = {}
    for key, value in labels.items():
        place: Path = (*path, "labelSelector", "matchLabels", key)
        new = _counterpart(draft, key, [value], has_job=JOB_NAME in labels)
        if new is None:
            rewritten[key] = value
            _report_if_v1(draft, group, place, key)
        elif new:
            new_key, (new_value,) = new
            rewritten[new_key] = new_value
            _carry(draft, group, place, (*path, "labelSelector", "matchLabels", new_key), new_key)
            _report_new_names(draft, group, place, [value] if key == JOB_NAME else [])
        else:
            for template in draft.template_paths(group):
                draft.default((*template, *place), "the selector names the job already")
    if labels:
        selector["matchLabels"] = rewritten
    for index, expression in enumerate(selector.get("matchExpressions") or []):
        place = (*path, "labelSelector", "matchExpressions", index)
        new = _counterpart(draft, expression.get("key", ""), expression.get("values") or [], has_job=False)
        if new:
            _report_new_names(draft, group, place, (expression.get("values") or []) if new[0] == JOBSET_NAME else [])
            expression["key"] = new[0]
            if expression.get("values"):
                expression["values"] = new[1]
            draft.changed(group, place, f"selects {new[0]}")
            draft.report(REWRITTEN, (*draft.template_paths(group)[0], *place), f"This selects by {new[0]} now.")
        else:
            _report_if_v1(draft, group, (*place, "key"), expression.get("key", ""))
    for field in _KEY_LISTS:
        for index, key in enumerate(term.get(field) or []):
            new = _counterpart(draft, key, [], has_job=False)
            if new:
                term[field][index] = new[0]
                draft.changed(group, (*path, field, index), f"{new[0]} in v2")
                draft.report(REWRITTEN, (*draft.template_paths(group)[0], *path, field, index), f"This is {new[0]} now.")
            else:
                _report_if_v1(draft, group, (*path, field, index), key)


def _counterpart(draft: Draft, key: str, values: list[str], *, has_job: bool) -> tuple[str, list[str]] | tuple[()] | None:
    """Label and values in v2; an empty tuple for a label that says nothing more, None for one without counterpart."""
    if key in kept_labels(draft):
        return None
    if key == JOB_NAME:
        return JOBSET_NAME, [_new_name(draft, value) for value in values]
    if key == OPERATOR_NAME and has_job:
        return ()
    if key == REPLICA_TYPE:
        groups = {role.lower(): {group.name for group in draft.groups if role in group.roles} for role in draft.job.replicas}
        names = [groups.get(value, set()) for value in values]
        if all(len(found) == 1 for found in names) and all(len(group.roles) == 1 for group in draft.groups):
            return REPLICATED_JOB, [next(iter(found)) for found in names]
    return None


def _new_name(draft: Draft, name: str) -> str:
    """The name of the TrainJob that the v1 job becomes; of a job that is not in the input, its own."""
    if name == draft.job.name:
        return draft.name
    kinds = draft.context.kinds_called(draft.source.namespace, name)
    if len(kinds) != 1:
        return name
    other = SourceObject({"kind": kinds[0], "metadata": {"name": name, "namespace": draft.source.namespace}}, "")
    return names.requested_name(other, draft.options, draft.context)


def _report_new_names(draft: Draft, group: Group, path: Path, values: list[str]) -> None:
    for value in values:
        new = _new_name(draft, value)
        if value not in (new, draft.job.name):
            message = f"This selects pods of {new}, which {value} becomes when it is converted in the same way."
            draft.report(RENAMED, (*draft.template_paths(group)[0], *path), message)


def _carry(draft: Draft, group: Group, source: Path, target: Path, key: str) -> None:
    for template in draft.template_paths(group):
        draft.carry((*template, *source), "TrainingRuntime", (*draft.pod_template_path(group), *target), f"{key} in v2")
    draft.report(REWRITTEN, (*draft.template_paths(group)[0], *source), f"This selects by {key} now.")


def _report_if_v1(draft: Draft, group: Group, path: Path, key: str) -> None:
    if key.startswith(V1_PREFIX) and key not in kept_labels(draft):
        draft.report(
            NO_SUCH_LABEL, (*draft.template_paths(group)[0], *path), f"No pod of v2 has the label {key} with this meaning."
        )
