"""The shell: what the planner sees of StatefulSets, from the shared caches."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from shunter.api.apps import ControllerRevision, StatefulSet
from shunter.api.core import Pod
from shunter.api.meta import MetadataOnly
from shunter.api.resources import CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS
from shunter.cluster.controllers.statefulset.identity import claim_name, ordinal, ordinals
from shunter.cluster.controllers.statefulset.plan import Observed, plan, plan_failure
from shunter.cluster.controllers.workloads.indexes import OWNER_INDEXES, adopters, controlled_or_free
from shunter.kube.cache.store import Store, key_of
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Failure, Key, Plan

COMPONENT = "statefulset-controller"


def register(manager: Manager) -> None:
    """Adds the controller."""
    sets = manager.informer(STATEFUL_SETS, StatefulSet)
    pods = manager.informer(PODS, Pod, indexes=OWNER_INDEXES)
    revisions = manager.informer(CONTROLLER_REVISIONS, ControllerRevision, indexes=OWNER_INDEXES)
    claims = manager.informer(PERSISTENT_VOLUME_CLAIMS, MetadataOnly)

    def of_claim(claim: MetadataOnly) -> Iterable[Key]:
        """A claim that goes may hold up the pod that waits for its name."""
        candidates = sets.store.list(claim.metadata.namespace)
        return [key_of(one) for one in candidates if _is_claimed(one, claim.metadata.name)]

    manager.controller(
        "statefulset",
        StatefulSetReconciler(sets.store, pods.store, revisions.store, claims.store),
        primary=sets,
        owned=[pods, revisions],
        mapped=[
            (pods, lambda pod: adopters(pod, sets.store)),
            (revisions, lambda revision: adopters(revision, sets.store)),
            (claims, of_claim),
        ],
        recorder=manager.recorder(COMPONENT, "v1"),
    )


class StatefulSetReconciler:
    """Pods and claims for StatefulSets."""

    def __init__(
        self,
        sets: Store[StatefulSet],
        pods: Store[Pod],
        revisions: Store[ControllerRevision],
        claims: Store[MetadataOnly],
    ) -> None:
        self._sets = sets
        self._pods = pods
        self._revisions = revisions
        self._claims = claims

    def observe(self, key: Key) -> Observed | None:
        """The StatefulSet, its pods and revisions, those of its namespace that nothing controls, and the claims that exist of the
        pods that are there or should be. None when there is no such StatefulSet."""
        stateful_set = self._sets.get(key)
        if stateful_set is None:
            return None
        uid = stateful_set.metadata.uid
        pods = controlled_or_free(self._pods, uid, key.namespace)
        numbers = {*ordinals(stateful_set), *(number for pod in pods if (number := ordinal(stateful_set, pod)) is not None)}
        names = [claim_name(one, stateful_set, number) for one in stateful_set.spec.volume_claim_templates for number in numbers]
        claims = {name: self._claims.get(Key(key.namespace, name)) for name in names}
        return Observed(
            stateful_set=stateful_set,
            pods=pods,
            revisions=controlled_or_free(self._revisions, uid, key.namespace),
            claims={name: claim for name, claim in claims.items() if claim is not None},
        )

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """Adopts, then makes or removes claims, pods and revisions, and writes the status."""
        return plan(observed, now)

    def plan_failure(self, observed: Observed, failure: Failure, now: datetime) -> Plan:
        """Nothing: the events of the refused writes tell of it."""
        return plan_failure(observed, failure, now)


def _is_claimed(stateful_set: StatefulSet, claim: str) -> bool:
    prefixes = [f"{one['metadata']['name']}-{stateful_set.metadata.name}-" for one in stateful_set.spec.volume_claim_templates]
    return any(claim.startswith(prefix) for prefix in prefixes)
