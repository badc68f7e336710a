"""What Go's encoder leaves out of runtimes and patches."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.operator.trainer.go_encoding import without_empty
from shunter.operator.trainer.runtime_patches import merged_jobset_spec


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param(
            {"a": "", "b": None, "c": [], "d": {}, "e": 0, "f": False}, {"d": {}, "e": 0, "f": False}, id="empty fields"
        ),
        pytest.param({"args": ["", None]}, {"args": ["", None]}, id="items of lists"),
        pytest.param({"labels": {"a": ""}}, {"labels": {"a": ""}}, id="values of string maps"),
        pytest.param({"env": [{"name": "A", "value": ""}]}, {"env": [{"name": "A"}]}, id="a variable without a value"),
        pytest.param({"name": "d", "readOnly": False}, {"name": "d"}, id="false that is no pointer"),
        pytest.param({"readOnly": True}, {"readOnly": True}, id="true"),
        pytest.param({"csi": {"driver": "d", "readOnly": False}}, {"csi": {"driver": "d", "readOnly": False}}, id="of csi"),
        pytest.param({"runAsNonRoot": False}, {"runAsNonRoot": False}, id="another pointer"),
        pytest.param({"storageClassName": "", "volumeName": ""}, {"storageClassName": ""}, id="a claim that wants no class"),
        pytest.param({"maxRestarts": 0, "replicas": 0}, {"replicas": 0}, id="a number that is no pointer"),
    ],
)
def test_fields_that_are_empty_are_left_out_but_for_pointers(value: Json, written: Json) -> None:
    assert without_empty(value) == written


def test_a_patch_does_not_make_a_mount_writable() -> None:
    """As upstream: false is not in the patch that is merged."""
    original = {"containers": [{"name": "a", "volumeMounts": [{"name": "d", "mountPath": "/d", "readOnly": True}]}]}
    patch = {"containers": [{"name": "a", "volumeMounts": [{"name": "d", "mountPath": "/d", "readOnly": False}]}]}
    assert merged_jobset_spec(original, patch) == original
