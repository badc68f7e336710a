"""Who may do what: the operator, no more than it uses, and the users of a namespace.

With `namespaces` given everything that is namespaced is granted by a Role in each of them, and only what is not namespaced
(shared runtimes, our own webhook configurations) by a ClusterRole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, Resource
from shunter.install.kinds import RESOURCES, is_on
from shunter.install.names import OPERATOR
from shunter.install.objects import HERE, obj
from shunter.install.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from shunter.install.template import Each, Item, Namespace, Not, On, When

EVERYWHERE = Not(On("namespaces"))
CONTROLLER = f"{OPERATOR}-controller"
"""What controllers do in the namespaces that they serve."""

USER_VERBS = {"view": ("get", "list", "watch"), "edit": ("create", "update", "patch", "delete", "deletecollection")}
"""What each role adds to the one before it; Kubernetes' view is part of its edit, and that of its admin."""


def operator_roles() -> list[Any]:
    """Roles and bindings of the ServiceAccount, some of them conditional."""
    served, shared, own = _SERVED, _SHARED, _OWN
    return [
        obj(CLUSTER_ROLES, OPERATOR, rules=shared),
        _bound(CLUSTER_ROLE_BINDINGS, OPERATOR, CLUSTER_ROLES),
        When(EVERYWHERE, obj(CLUSTER_ROLES, CONTROLLER, rules=served)),
        When(EVERYWHERE, _bound(CLUSTER_ROLE_BINDINGS, CONTROLLER, CLUSTER_ROLES)),
        Each("namespaces", obj(ROLES, CONTROLLER, namespace=Item(), rules=served)),
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
    return obj(CLUSTER_ROLES, f"shunter-{level}", labels=labels, rules=rules)


def _rule(resource: Resource, verbs: Sequence[str]) -> Json:
    return {"apiGroups": [resource.group], "resources": [resource.plural], "verbs": list(verbs)}


def _bound(binding: Resource, name: str, role: Resource, *, subject: Json | None = None, namespace: Any = HERE) -> Json:
    operator = {"kind": "ServiceAccount", "name": OPERATOR, "namespace": Namespace()}
    reference = {"apiGroup": role.group, "kind": role.kind, "name": name}
    return obj(binding, name, namespace=namespace, roleRef=reference, subjects=[subject or operator])


def _g(group: str, resources: list[str], verbs: list[str], kind: str = "", names: list[str] | None = None) -> Any:
    rule: Json = {"apiGroups": [group], "resources": resources, "verbs": verbs}
    if names:
        rule["resourceNames"] = names
    return When(On(f"kinds.{kind}"), rule) if kind else rule


_SERVED = [
    _g("kubeflow.org", ["pytorchjobs"], ["get", "list", "watch", "patch"], "PyTorchJob"),
    _g("kubeflow.org", ["pytorchjobs/status"], ["patch"], "PyTorchJob"),
    _g("kubeflow.org", ["pytorchjobs/finalizers"], ["update"], "PyTorchJob"),
    _g("", ["pods", "services"], ["get", "list", "watch", "create", "patch", "delete"], "PyTorchJob"),
    _g("trainer.kubeflow.org", ["trainjobs", "trainingruntimes"], ["get", "list", "watch", "patch"], "TrainJob"),
    _g("trainer.kubeflow.org", ["trainjobs/status"], ["patch"], "TrainJob"),
    _g("trainer.kubeflow.org", ["trainjobs/finalizers"], ["update"], "TrainJob"),
    _g("jobset.x-k8s.io", ["jobsets"], ["get", "list", "watch", "create", "patch", "delete"], "TrainJob"),
    _g("", ["configmaps"], ["get", "list", "watch", "create", "patch", "delete"], "TrainJob"),
    _g("events.k8s.io", ["events"], ["create", "patch"]),
    _g("", ["events"], ["create", "patch"]),
]
_SHARED = [
    _g("trainer.kubeflow.org", ["clustertrainingruntimes"], ["get", "list", "watch", "patch"], "TrainJob"),
    _g(
        "admissionregistration.k8s.io",
        ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        ["get", "patch"],
    ),
]
_OWN = [
    _g("coordination.k8s.io", ["leases"], ["get", "create", "update"]),
    _g("", ["secrets"], ["get", "create", "update"]),
]
