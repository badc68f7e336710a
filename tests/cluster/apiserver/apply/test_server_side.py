"""Server-side apply: conflicts, and inputs that stay as they are."""

from __future__ import annotations

import copy

import pytest

from cluster.apiserver.apply.stored_pods import LATER, stored_pod, with_status
from shunter.cluster.apiserver.apply import managed
from shunter.cluster.apiserver.apply.errors import ApplyConflicts
from shunter.cluster.apiserver.apply.fields import FieldTree
from shunter.cluster.apiserver.apply.server_side import apply


def test_writes_leave_their_inputs_alone(tree: FieldTree) -> None:
    stored = stored_pod(tree)
    spec = {"containers": [{"name": "pytorch", "image": "i"}]}
    applied = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    before = copy.deepcopy([stored, applied])
    result = apply(stored, applied, tree=tree, manager="m", force=True, api_version="v1", now=LATER)
    apply(result, {**applied, "spec": {}}, tree=tree, manager="m", force=False, api_version="v1", now=LATER)
    managed.updated(stored, with_status(stored, "Failed"), tree=tree, manager="n", api_version="v1", now=LATER)
    assert [stored, applied] == before


def test_conflicts_name_manager_operation_and_field(tree: FieldTree) -> None:
    applied = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"restartPolicy": "Always"}}
    with pytest.raises(ApplyConflicts) as refusal:
        apply(stored_pod(tree), applied, tree=tree, manager="m", force=False, api_version="v1", now=LATER)
    assert [(conflict.manager, conflict.path) for conflict in refusal.value.conflicts] == [
        (managed.Manager("controller", "Update", "v1", ""), ("f:spec", "f:restartPolicy"))
    ]
