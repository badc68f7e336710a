"""Every object of an installation, in the order in which they are applied, by the file that holds them in deploy/.

Roles come before who uses them, webhook configurations last: from then on no job is accepted without the operator.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, CONFIG_MAPS, ROLE_BINDINGS, ROLES, TRAIN_JOBS
from shunter.api.trainer import public_version
from shunter.install import monitoring, rbac, ui, webhooks, workload
from shunter.install.kinds import RESOURCES, is_on
from shunter.install.names import LABELS
from shunter.install.objects import obj
from shunter.install.template import AllOf, On, Scope, When, filled
from shunter.operator.trainer.runtimes import shipped


def template() -> Mapping[str, Sequence[Any]]:
    """File name -> its objects, many of them conditional."""
    return {
        "namespace": [workload.namespace()],
        "rbac": [workload.service_account(), *rbac.operator_roles()],
        "user-roles": [When(On("userRoles.enabled"), role) for role in rbac.user_roles()],
        "configuration": [workload.configuration()],
        "services": workload.services(),
        "network-policy": [workload.network_policy()],
        "certificate": webhooks.certificate(),
        "deployment": [workload.deployment(), workload.disruption_budget()],
        "ui": ui.ui(),
        "monitoring": monitoring.monitors(),
        "dashboard": [monitoring.dashboard_config_map()],
        "alerts": [monitoring.alert_rules()],
        "runtimes": [_runtime(runtime) for runtime in shipped()],
        "public-version": [When(is_on(TRAIN_JOBS), found) for found in _public_version()],
        "webhooks": webhooks.configurations(),
    }


def manifests(values: Json, *, namespace: str, served: Collection[str] = ()) -> list[Json]:
    """The objects for checked values, without the CRDs. `served` are apiVersions that the cluster has (monitoring `auto`)."""
    return [found for file in files(values, namespace=namespace, served=served).values() for found in file]


def files(values: Json, *, namespace: str, served: Collection[str] = ()) -> dict[str, list[Json]]:
    """The objects by file; a file may be empty."""
    scope = Scope(values, namespace, frozenset(served))
    return {name: filled(list(objects), scope) for name, objects in template().items()}


def chosen_crds(crds: Iterable[Json], values: Json) -> list[Json]:
    """The CustomResourceDefinitions of the enabled kinds, without JobSet's, which JobSet installs."""
    kinds = [kind for kind, is_wanted in values["kinds"].items() if is_wanted]
    desired = {resource.full_name for kind in kinds for resource in RESOURCES[kind]}
    return [crd for crd in crds if crd["metadata"]["name"] in desired]


def _public_version() -> list[Json]:
    return [
        obj(CONFIG_MAPS, public_version.NAME, **public_version.CONFIG_MAP),
        obj(ROLES, public_version.NAME, **public_version.ROLE),
        obj(ROLE_BINDINGS, public_version.NAME, **public_version.ROLE_BINDING),
    ]


def _runtime(runtime: Json) -> When:
    metadata = runtime["metadata"]
    labelled = {**runtime, "metadata": {**metadata, "labels": {**LABELS, **metadata["labels"]}}}
    assert runtime["kind"] == CLUSTER_TRAINING_RUNTIMES.kind
    return When(AllOf((On("runtimes.enabled"), is_on(TRAIN_JOBS))), labelled)
