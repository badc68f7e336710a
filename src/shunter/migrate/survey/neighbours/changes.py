"""Which pods a selector selects before and after a conversion, and the selector that selects the same pods afterwards.

Both are evaluated against the actual labels of the pods on both sides. A new selector is built from the old one's requirements
and used only if it selects exactly the counterparts of the pods that the old one selected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shunter.api.batch import COMPLETION_INDEX
from shunter.api.jobset import JOBSET_NAME, REPLICATED_JOB
from shunter.api.meta import Json
from shunter.api.selectors import selects
from shunter.migrate.survey.neighbours.job_pods import JobPods, Jobs
from shunter.migrate.survey.neighbours.selections import Selection, placements
from shunter.operator.training.names import JOB_NAME, JOB_ROLE, REPLICA_INDEX, REPLICA_TYPE
from shunter.operator.training.names import PREFIX as V1_PREFIX

_RANKS = (REPLICA_TYPE, REPLICA_INDEX, JOB_ROLE)
_OF_A_JOB: Json = {"key": JOBSET_NAME, "operator": "Exists"}
_MOST_INDEXES = 8
"""Longer lists of ranks are not suggested."""


class Counts(NamedTuple):
    """The number of pods of one job that a selector selects, before and after."""

    job: JobPods
    before: int
    after: int
    is_same: bool
    """Whether the pods after are the counterparts of those before."""


@dataclass(frozen=True)
class Change:
    """A selection whose pods change for some job."""

    selection: Selection
    changed: tuple[Counts, ...]
    new: Json | None
    """A selector of exactly the counterparts, in the selection's form; None if there is none."""
    doubt: str
    """Why the new selector may not be intended; empty if it is certain."""

    @property
    def is_lost(self) -> bool:
        """Whether for all changed jobs, pods were selected before and none are now."""
        return all(count.before and not count.after for count in self.changed)

    @property
    def is_gained(self) -> bool:
        """Whether for all changed jobs, no pods were selected before and some are now."""
        return all(count.after and not count.before for count in self.changed)


def counts_of(selection: Selection, jobs: Jobs) -> list[Counts]:
    """The counts of each job in whose namespace the selection looks."""
    return [_counts(selection, selection, job) for job in jobs.in_reach(selection, selection.selector)]


def change_of(selection: Selection, counts: Sequence[Counts], jobs: Jobs) -> Change | None:
    """The change of a selection; None if it selects the same pods as before, or none of these jobs."""
    changed = tuple(count for count in counts if not count.is_same and count.job.result is not None)
    if not selection.is_known:
        changed = tuple(count for count in changed if count.before)
    if not changed or selection.of_services:
        return Change(selection, changed, None, "") if changed else None
    new, is_of_these = _new_selector(selection, jobs, [count.job for count in counts if count.before])
    staying = next((count.job for count in counts if count.before and count.job.result is None), None)
    doubt = ""
    if staying is not None:
        doubt = f"it selects {staying.title} too, which stays a v1 job"
    elif is_of_these:
        doubt = "it fits the jobs of this input only, where the old one is about any job"
    elif new is not None and _is_about_all_jobsets(selection, new) and not selection.only_reads:
        doubt = "v2 has no label that only training pods have, so it is about the pods of every JobSet"
    elif not selection.is_known:
        doubt = f"what {selection.source.kind} does with it is not known"
    return Change(selection, changed, new, doubt)


def placement_changes(job: JobPods, jobs: Jobs) -> Iterator[Change]:
    """The changed terms of a job's affinities and spread constraints, as far as they select pods of other jobs. The proof
    compares those that select its own pods."""
    compared_roles: set[str] = set()
    for pair in job.pairs if job.result is not None and job.has_placements else ():
        if pair.role in compared_roles or pair.v2 is None:
            continue
        compared_roles.add(pair.role)
        before, after = ({term.path: term for term in placements(spec, job.outcome.source)} for spec in pair.specs)
        for old, new in ((before[path], after[path]) for path in before if path in after):
            reach = [*jobs.in_reach(old, old.selector), *jobs.in_reach(new, new.selector)]
            others = {id(other): other for other in reach if other is not job and other.result is not None}
            counts = [_counts(old, new, other) for other in others.values()]
            changed = tuple(count for count in counts if not count.is_same)
            if changed:
                selection = replace(old, path=(*job.role_path(pair.role), "template", "spec", *old.path))
                wanted, _ = _new_selector(old, jobs, [count.job for count in counts if count.before])
                yield Change(selection, changed, wanted, "the term is part of the converted job")


def _counts(before: Selection, after: Selection, job: JobPods) -> Counts:
    if before.of_services:
        number = sum(before.selects(labels) for labels in job.services)
        return Counts(job, number, 0, is_same=not number)
    chosen = [(_is_selected(before, pair.v1), _is_selected(after, pair.v2)) for pair in job.pairs]
    return Counts(job, sum(a for a, _ in chosen), sum(b for _, b in chosen), all(a == b for a, b in chosen))


def _is_selected(selection: Selection, labels: Json | None) -> bool:
    return labels is not None and selection.selects(labels)


def _new_selector(selection: Selection, jobs: Jobs, selected: list[JobPods]) -> tuple[Json | None, bool]:
    """The first selector of exactly the counterparts, and whether it works only for these jobs."""
    wanted = [pair.v2 for job in selected for pair in job.pairs if pair.v2 is not None and _is_selected(selection, pair.v1)]
    for is_of_these, candidate in _candidates(selection, jobs, selected, wanted):
        if selection.form == "labels" and candidate.get("matchExpressions"):
            continue
        if _selected_in_v2(selection, candidate, jobs) == {id(labels) for labels in wanted}:
            return (candidate["matchLabels"] if selection.form == "labels" else candidate), is_of_these
    return None, False


def _selected_in_v2(selection: Selection, selector: Json, jobs: Jobs) -> set[int]:
    return {
        id(pair.v2)
        for job in jobs.in_reach(selection, selector)
        if job.result is not None
        for pair in job.pairs
        if pair.v2 is not None and selects(selector, pair.v2)
    }


def _candidates(selection: Selection, jobs: Jobs, selected: list[JobPods], wanted: list[Json]) -> Iterator[tuple[bool, Json]]:
    """Selectors to try, the most general first; each has the user's own requirements, those for the jobs, and those for roles and
    ranks. Also whether each works only for these jobs."""
    labels: Json = selection.selector.get("matchLabels") or {}
    rules: list[Json] = [*(selection.selector.get("matchExpressions") or ())]
    own = {key: value for key, value in labels.items() if not key.startswith(V1_PREFIX)}
    own_rules = [rule for rule in rules if _is_kept(rule)]
    asked = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items() if key.startswith(V1_PREFIX)]
    asked += [rule for rule in rules if str(rule.get("key", "")).startswith(V1_PREFIX)]
    keys = {str(rule.get("key", "")) for rule in asked}
    asks_for_ranks = not keys.isdisjoint(_RANKS) and JOB_NAME not in keys
    for is_of_these, of_jobs in _of_jobs(selection, jobs, asked, selected):
        for narrower in _of_ranks(selection, jobs, {**own, **_equalities(of_jobs)}, wanted) if _is_positive(of_jobs) else [[]]:
            requirements = [*of_jobs, *narrower]
            expressions = [*own_rules, *(rule for rule in requirements if not _is_equality(rule))]
            parts: Json = {"matchLabels": {**own, **_equalities(requirements)}, "matchExpressions": expressions}
            candidate = {key: value for key, value in parts.items() if value}
            if candidate:
                yield is_of_these or (asks_for_ranks and not narrower), candidate


def _of_jobs(selection: Selection, jobs: Jobs, asked: list[Json], selected: list[JobPods]) -> Iterator[tuple[bool, list[Json]]]:
    """Requirements that select the jobs, and whether they list names although the old selector had none. If only training pods
    met the old selector, only they meet the new one: other pods of the namespace are not in the input."""
    is_of_training = _is_positive(asked)
    translated = [_in_v2(rule, selection, jobs) for rule in asked if rule.get("key") == JOB_NAME]
    known = [rule for rule in translated if rule is not None]
    if len(known) == len(translated):
        yield False, [*known, *([_OF_A_JOB] if is_of_training and not _is_positive(known) else [])]
    names = sorted({job.new_name for job in selected if job.result is not None})
    if is_of_training and names and all(names):
        yield not translated, [{"key": JOBSET_NAME, "operator": "In", "values": names}]
    if not selected:
        yield False, [{"key": JOBSET_NAME, "operator": "DoesNotExist"}]


def _in_v2(rule: Json, selection: Selection, jobs: Jobs) -> Json | None:
    """A requirement on v1's label of the job's name, as one on JobSet's label; None if one of its names has no TrainJob here, or
    one that the API server names."""
    names: set[str] = set()
    for value in rule.get("values") or []:
        found = [job.new_name for job in jobs.in_reach(selection, {"matchLabels": {JOB_NAME: value}}) if job.is_called(value)]
        if not found or not all(found):
            return None
        names.update(found)
    return {"key": JOBSET_NAME, "operator": rule.get("operator"), **({"values": sorted(names)} if names else {})}


def _of_ranks(selection: Selection, jobs: Jobs, labels: Json, wanted: list[Json]) -> Iterator[list[Json]]:
    """Requirements that select pods within the jobs that have the labels: none, the role, the rank, both."""
    yield []
    reach = jobs.in_reach(selection, {"matchLabels": labels})
    others = [pair.v2 for job in reach for pair in job.pairs if pair.v2 is not None]
    role, rank = (_values(key, wanted, others) for key in (REPLICATED_JOB, COMPLETION_INDEX))
    if role:
        yield [role]
    if rank:
        yield [rank]
    if role and rank:
        yield [role, rank]


def _values(key: str, wanted: list[Json], others: list[Json]) -> Json | None:
    """A requirement for the values of the wanted pods, or against those of all others if these are fewer."""
    if not wanted or any(key not in labels for labels in wanted):
        return None
    inside = {labels[key] for labels in wanted}
    outside = {labels[key] for labels in others if key in labels} - inside
    operator, values = ("NotIn", outside) if outside and len(outside) < len(inside) else ("In", inside)
    return {"key": key, "operator": operator, "values": sorted(values)} if len(values) <= _MOST_INDEXES else None


def _is_kept(rule: Json) -> bool:
    """Whether a requirement is kept: it concerns the user's own labels, or every v2 pod meets it while it excludes running v1
    jobs."""
    return not str(rule.get("key", "")).startswith(V1_PREFIX) or rule.get("operator") in ("NotIn", "DoesNotExist")


def _is_about_all_jobsets(selection: Selection, new: Json) -> bool:
    rules = [] if selection.form == "labels" else new.get("matchExpressions") or ()
    return any(rule["key"] == JOBSET_NAME and rule["operator"] in ("Exists", "DoesNotExist") for rule in rules)


def _equalities(rules: list[Json]) -> dict[str, str]:
    return {rule["key"]: rule["values"][0] for rule in rules if _is_equality(rule)}


def _is_positive(rules: list[Json]) -> bool:
    return any(rule.get("operator") in ("In", "Exists") for rule in rules)


def _is_equality(rule: Json) -> bool:
    return rule.get("operator") == "In" and len(rule.get("values") or ()) == 1
