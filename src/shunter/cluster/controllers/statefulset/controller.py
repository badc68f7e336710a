"""I/O layer: what the planner sees of StatefulSets, from the shared caches."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.apps import ControllerRevision, StatefulSet
from shunter.api.core import Pod
from shunter.api.meta import MetadataOnly
from shunter.api.resources import CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.cluster.controllers.statefulset.identity import claim_name, ordinal, ordinals
from shunter.cluster.controllers.statefulset.plan import Observed, plan
from shunter.cluster.controllers.workloads.indexes import OWNER_INDEXES, adopters, controlled_or_free
from shunter.kube.cache.store import key_of
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Key

COMPONENT = "statefulset-controller"


def register(manager: Manager) -> None:
    """Adds the controller."""
    sets = manager.informer(STATEFUL_SETS, StatefulSet)
    pods = manager.informer(PODS, Pod, indexes=OWNER_INDEXES)
    revisions = manager.informer(CONTROLLER_REVISIONS, ControllerRevision, indexes=OWNER_INDEXES)
    claims = manager.informer(PERSISTENT_VOLUME_CLAIMS, MetadataOnly)

    def observe(key: Key) -> Observed | None:
        """The StatefulSet, its pods and revisions, those of its namespace that nothing controls, and the existing claims of the
        pods that exist or should exist."""
        stateful_set = sets.store.get(key)
        if stateful_set is None:
            return None
        uid = stateful_set.metadata.uid
        own = controlled_or_free(pods.store, uid, key.namespace)
        numbers = {*ordinals(stateful_set), *(number for pod in own if (number := ordinal(stateful_set, pod)) is not None)}
        names = [claim_name(one, stateful_set, number) for one in stateful_set.spec.volume_claim_templates for number in numbers]
        return Observed(
            stateful_set=stateful_set,
            pods=own,
            revisions=controlled_or_free(revisions.store, uid, key.namespace),
            claims={name: claim for name in names if (claim := claims.store.get(Key(key.namespace, name))) is not None},
        )

    def of_claim(claim: MetadataOnly) -> Iterable[Key]:
        """A claim that goes may hold up the pod that waits for its name."""
        candidates = sets.store.list(claim.metadata.namespace)
        return [key_of(one) for one in candidates if _is_claimed(one, claim.metadata.name)]

    manager.controller(
        "statefulset",
        FunctionReconciler(observe, plan),
        primary=sets,
        owned=[pods, revisions],
        mapped=[
            (pods, lambda pod: adopters(pod, sets.store)),
            (revisions, lambda revision: adopters(revision, sets.store)),
            (claims, of_claim),
        ],
        recorder=manager.recorder(COMPONENT, "v1"),
    )


def _is_claimed(stateful_set: StatefulSet, claim: str) -> bool:
    prefixes = [f"{one['metadata']['name']}-{stateful_set.metadata.name}-" for one in stateful_set.spec.volume_claim_templates]
    return any(claim.startswith(prefix) for prefix in prefixes)
