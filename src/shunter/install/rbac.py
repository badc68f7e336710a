"""Who may do what: the operator, no more than it uses, and the users of a namespace.

With `namespaces` given everything that is namespaced is granted by a Role in each of them, and only what is not namespaced
(shared runtimes, our own webhook configurations) by a ClusterRole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_TRAINING_RUNTIMES, ROLE_BINDINGS, ROLES, Resource
from shunter.api.scheduling.podgroups import VOLCANO_POD_GROUPS
from shunter.api.training.kinds import JOB_KINDS
from shunter.install.kinds import RESOURCES, is_on
from shunter.install.names import OPERATOR
from shunter.install.objects import HERE, obj
from shunter.install.template import Condition, Each, Item, Namespace, Not, On, Value, When, all_of, any_of
from shunter.install.workload import COSCHEDULING, SELF_MANAGED, VOLCANO
from shunter.operator import permissions
from shunter.operator.permissions import Grant

EVERYWHERE = Not(On("namespaces"))
CONTROLLER = f"{OPERATOR}-controller"
"""What controllers do in the namespaces that they serve."""

USER_VERBS = {"view": ("get", "list", "watch"), "edit": ("create", "update", "patch", "delete", "deletecollection")}
"""What each role adds to the one before it; Kubernetes' view is part of its edit, and that of its admin."""
SCALE_VERBS = {"view": ("get",), "edit": ("update", "patch")}
"""The verbs for `kubectl scale`."""


def operator_roles() -> list[Any]:
    """Roles and bindings of the ServiceAccount, some of them conditional."""
    canary = permissions.in_canary_namespace()
    secret, lease = Value("certificates.secretName"), Value("config.leaderElection.resourceName")
    shared = _granted(permissions.in_cluster())
    everywhere = _granted(permissions.in_served_namespaces())
    in_each = [*everywhere, *_granted(canary)]
    own = [*_granted(permissions.in_own_namespace(secret=secret, lease=lease)), *_granted(canary, EVERYWHERE)]
    return [
        obj(CLUSTER_ROLES, OPERATOR, rules=shared),
        _bound(CLUSTER_ROLE_BINDINGS, OPERATOR, CLUSTER_ROLES),
        When(EVERYWHERE, obj(CLUSTER_ROLES, CONTROLLER, rules=everywhere)),
        When(EVERYWHERE, _bound(CLUSTER_ROLE_BINDINGS, CONTROLLER, CLUSTER_ROLES)),
        Each("namespaces", obj(ROLES, CONTROLLER, namespace=Item(), rules=in_each)),
        Each("namespaces", _bound(ROLE_BINDINGS, CONTROLLER, ROLES, namespace=Item())),
        obj(ROLES, OPERATOR, rules=own),
        _bound(ROLE_BINDINGS, OPERATOR, ROLES),
    ]


def user_roles() -> list[Any]:
    """ClusterRoles that Kubernetes adds to its own view and edit, and Kubeflow to its own. Everybody may read the shared
    runtimes, which are in no namespace: a job names one of them."""
    name = "shunter-runtime-viewer"
    viewer = obj(CLUSTER_ROLES, name, rules=[_rule(CLUSTER_TRAINING_RUNTIMES, USER_VERBS["view"])])
    everybody = {"apiGroup": CLUSTER_ROLES.group, "kind": "Group", "name": "system:authenticated"}
    is_served = is_on(CLUSTER_TRAINING_RUNTIMES)
    return [
        *(_user_role(level) for level in USER_VERBS),
        When(is_served, viewer),
        When(is_served, _bound(CLUSTER_ROLE_BINDINGS, name, CLUSTER_ROLES, subject=everybody)),
    ]


def _user_role(level: str) -> Json:
    verbs = USER_VERBS[level]
    labels = {
        f"rbac.authorization.k8s.io/aggregate-to-{level}": "true",
        f"rbac.authorization.kubeflow.org/aggregate-to-kubeflow-{level}": "true",
    }
    rules: list[Any] = []
    for kind, resources in RESOURCES.items():
        served = [resource for resource in resources if resource.namespaced]
        rules += [When(On(f"kinds.{kind}"), _rule(resource, verbs)) for resource in served]
        if level == "view":
            jobs = resources[0]
            status = {"apiGroups": [jobs.group], "resources": [f"{jobs.plural}/status"], "verbs": ["get"]}
            rules.append(When(On(f"kinds.{kind}"), status))
    for scalable in (kind.resource for kind in JOB_KINDS if kind.is_scalable and level in SCALE_VERBS):
        path = f"{scalable.plural}/scale"
        scale = {"apiGroups": [scalable.group], "resources": [path], "verbs": list(SCALE_VERBS[level])}
        rules.append(When(On(f"kinds.{scalable.kind}"), scale))
    return obj(CLUSTER_ROLES, f"shunter-{level}", labels=labels, rules=rules)


def _rule(resource: Resource, verbs: Sequence[str]) -> Json:
    return {"apiGroups": [resource.group], "resources": [resource.plural], "verbs": list(verbs)}


def _bound(binding: Resource, name: str, role: Resource, *, subject: Json | None = None, namespace: Any = HERE) -> Json:
    operator = {"kind": "ServiceAccount", "name": OPERATOR, "namespace": Namespace()}
    reference = {"apiGroup": role.group, "kind": role.kind, "name": name}
    return obj(binding, name, namespace=namespace, roleRef=reference, subjects=[subject or operator])


def _granted(grants: Sequence[Grant], *further: Condition) -> list[Any]:
    """The rules of grants, each under its conditions."""
    return [_under([*further, *_conditions(grant)], grant.rule) for grant in grants]


def _conditions(grant: Grant) -> list[Condition]:
    found: list[Condition] = []
    if grant.kinds:
        found.append(any_of([On(f"kinds.{kind}") for kind in grant.kinds]))
    if grant.only_self_managed:
        found.append(SELF_MANAGED)
    if grant.setting:
        found.append(On(f"config.{grant.setting}"))
    if grant.only_with_gangs:
        found.append(VOLCANO if grant.resource == VOLCANO_POD_GROUPS else COSCHEDULING)
    return found


def _under(conditions: Sequence[Condition], rule: Json) -> Any:
    return When(all_of(conditions), rule) if conditions else rule
