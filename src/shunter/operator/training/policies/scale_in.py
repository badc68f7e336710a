"""Scaling in: pods beyond the number of replicas go, and carry with them that the operator took them away.

Their role may be scaled out again before they have ended: then how they end is no evidence about the job, while a pod that
others delete counts as failed.
"""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.core import Pod
from shunter.api.resources import PODS
from shunter.kube.controllers.plan import Patch, Ref, Write
from shunter.operator.training.children import Children, index
from shunter.operator.training.job import AnyJob
from shunter.operator.training.writes import deletion

SCALED_IN = "shunter.dev/scaled-in"
"""The annotation of a pod whose replica was one too many when it was deleted; its value is the pod's own uid, so that none has it
from a template."""


def superfluous(pods: Iterable[Pod], desired: int) -> list[Pod]:
    """The pods of one role to delete: beyond the desired number, or marked by an operator that ended before it deleted them."""
    return [pod for pod in pods if not pod.is_leaving and (_is_marked(pod) or index(pod) >= desired)]


def writes(job: AnyJob, pods: list[Pod]) -> list[Write]:
    """Marks these pods, then deletes them. One that has ended already goes as what it is."""
    marks = [_mark(pod) for pod in pods if not _is_marked(pod) and not pod.is_finished]
    return [*marks, *(deletion(job, PODS, pod) for pod in pods)]


def evidence(children: Children) -> Children:
    """The children without the pods that are being deleted by a scale-in: those do not count for the job's status."""
    kept = tuple(pod for pod in children.pods if not (pod.is_leaving and _is_marked(pod)))
    return children if len(kept) == len(children.pods) else Children(kept, children.services)


def _is_marked(pod: Pod) -> bool:
    return pod.metadata.annotations.get(SCALED_IN) == pod.metadata.uid


def _mark(pod: Pod) -> Patch:
    return Patch(ref=Ref.of(PODS, pod.metadata), patch={"metadata": {"annotations": {SCALED_IN: pod.metadata.uid}}})
