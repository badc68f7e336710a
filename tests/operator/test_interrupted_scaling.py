"""Jobs that are suspended only because `shunter scale` was interrupted."""

from __future__ import annotations

import pytest

from shunter.operator.interrupted_scaling import RESUMES, is_to_be_resumed


@pytest.mark.parametrize(
    ("mark", "generation", "suspend", "resumed"),
    [
        pytest.param("3", 3, True, True, id="marked, and not changed since"),
        pytest.param("3", 4, True, False, id="changed since"),
        pytest.param("3", 3, False, False, id="not suspended"),
        pytest.param(None, 3, True, False, id="suspended by its owner or a queue"),
    ],
)
def test_a_job_is_resumed_only_as_the_scaling_left_it(mark: str | None, generation: int, *, suspend: bool, resumed: bool) -> None:
    metadata = {"name": "j", "namespace": "n", "generation": generation, "annotations": {RESUMES: mark} if mark else {}}
    job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": {"suspend": suspend}}
    assert is_to_be_resumed(job) is resumed
