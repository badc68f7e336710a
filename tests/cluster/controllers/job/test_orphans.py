"""Pods that are held by a finalizer that no Job takes off any more."""

from __future__ import annotations

import msgspec
import pytest

from cluster.controllers.job.tallied import ago, job, pod
from shunter.api.batch import Job
from shunter.api.core import Pod
from shunter.cluster.controllers.job.orphans import Orphan, plan
from shunter.kube.controllers.plan import NOTHING, Patch

ENDED = {"conditions": [{"type": "Failed", "status": "True", "lastTransitionTime": ago(60)}]}


def owned(**owner: str) -> Pod:
    held = pod("a")
    reference = msgspec.structs.replace(held.metadata.owner_references[0], **owner)
    return msgspec.structs.replace(held, metadata=msgspec.structs.replace(held.metadata, owner_references=(reference,)))


@pytest.mark.parametrize(
    ("held", "of", "is_released"),
    [
        pytest.param(pod("a"), None, True, id="its Job is gone"),
        pytest.param(pod("a"), job(ENDED), True, id="its Job has ended"),
        pytest.param(pod("a"), job(), False, id="its Job will count it"),
        pytest.param(pod("a"), job(ENDED, managedBy="example.com/kueue"), False, id="another controller will"),
        pytest.param(pod("a", tracked=False), None, False, id="nothing holds it"),
        pytest.param(owned(kind="Workflow"), None, False, id="of another kind's controller"),
        pytest.param(owned(api_version="batch.volcano.sh/v1alpha1"), None, False, id="of another group's Job"),
    ],
)
def test_a_pod_is_released_when_no_job_will_count_it(held: Pod, of: Job | None, *, is_released: bool) -> None:
    made = plan(Orphan(pod=held, job=of))
    if not is_released:
        assert made == NOTHING
        return
    (write,) = made.writes
    assert isinstance(write, Patch)
    assert (write.ref.name, write.ref.uid) == ("a", "a")
