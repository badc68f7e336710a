"""A JobSet may be applied again: what JobSet's webhook has made of its immutable lists is sent back as it is."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from cluster.controllers.memory_cluster import RefusedError
from player.operator_replay import applied, served_kinds
from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.plan import FIELD_MANAGER
from shunter.operator.trainer.render import jobset_for
from shunter.operator.trainer.runtimes import shipped
from shunter.operator.trainer.stored_lists import with_stored_lists
from shunter.operator.trainer.views import LiveJobSet

MakeTrainJob = Callable[..., TrainJob]
RUNTIMES = {runtime["metadata"]["name"]: runtime for runtime in shipped()}
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def stored(wanted: Json, live: Json | None = None) -> Json:
    """As an API server with JobSet's definition and webhooks keeps it."""
    return applied(live, wanted, manager=FIELD_MANAGER, now=NOW)


def applied_again(wanted: Json, live: Json) -> Json:
    return stored(with_stored_lists(wanted, msgspec.convert(live, LiveJobSet)), live)


def jobset(**spec: Any) -> Json:
    """Whose pods mount the claims `model` and `data`."""
    mounts = [{"name": "model", "mountPath": "/model"}, {"name": "data", "mountPath": "/data"}]
    pods = {"spec": {"containers": [{"name": "node", "image": "any:1", "volumeMounts": mounts}]}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "j", "namespace": "team-a"},
        "spec": {"suspend": True, "replicatedJobs": [{"name": "node", "template": {"spec": {"template": pods}}}], **spec},
    }


def claim(name: str = "model", storage: Any = "20Gi", **spec: Any) -> Json:
    return {
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **spec},
    }


ACCEPTED = {
    "claims without a retention": {"volumeClaimPolicies": [{"templates": [claim()]}]},
    "claims with an empty retention": {"volumeClaimPolicies": [{"templates": [claim()], "retentionPolicy": {}}]},
    "claims that are retained": {"volumeClaimPolicies": [{"templates": [claim()], "retentionPolicy": {"whenDeleted": "Retain"}}]},
    "a size in another unit": {"volumeClaimPolicies": [{"templates": [claim(storage="0.5Ti")]}]},
    "a size that is a number": {"volumeClaimPolicies": [{"templates": [claim(storage=21474836480)]}]},
    "several policies": {"volumeClaimPolicies": [{"templates": [claim()]}, {"templates": [claim("data")]}]},
    "a rule without a name": {"failurePolicy": {"rules": [{"name": "", "action": "FailJobSet"}]}},
    "rules with and without": {
        "failurePolicy": {
            "maxRestarts": 0,
            "rules": [
                {"name": "mine", "action": "FailJobSet"},
                {"name": "", "action": "RestartJobSet", "onJobFailureReasons": []},
            ],
        }
    },
    "everything at once": {
        "network": {"subdomain": ""},
        "failurePolicy": {"maxRestarts": 0, "rules": [{"name": "", "action": "FailJobSet"}]},
        "volumeClaimPolicies": [{"templates": [claim(storage="512Mi"), claim("data", storage="0.5Gi")]}],
    },
}


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED)
def test_what_was_accepted_once_is_accepted_again(spec: Json) -> None:
    wanted = jobset(**spec)
    live = stored(wanted)
    assert applied_again(wanted, live)["spec"] == live["spec"]
    resumed = {**wanted, "spec": {**wanted["spec"], "suspend": False}}
    assert applied_again(resumed, live)["spec"] == {**live["spec"], "suspend": False}


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED)
def test_it_would_be_refused_as_it_was_written(spec: Json) -> None:
    """So that these cases show something."""
    wanted = jobset(**spec)
    live = stored(wanted)
    with pytest.raises(RefusedError, match="Value is immutable"):
        stored(wanted, live)


@pytest.mark.parametrize("name", RUNTIMES)
def test_the_jobset_of_every_shipped_runtime_can_be_suspended_and_resumed(make_trainjob: MakeTrainJob, name: str) -> None:
    schema = served_kinds()["ClusterTrainingRuntime"].kind.schema()
    runtime = copy.deepcopy(RUNTIMES[name])
    schema.default(runtime)
    live = None
    for suspend in (True, False, True, False):
        wanted = jobset_for(make_trainjob(runtimeRef={"name": name}, suspend=suspend), runtime)
        live = stored(wanted) if live is None else applied_again(wanted, live)
        assert live["spec"]["suspend"] is suspend


def test_a_jobset_that_another_operator_made_is_taken_over() -> None:
    """Upstream's wrote what Go's types write, under the same name."""
    wanted = jobset(volumeClaimPolicies=[{"templates": [claim()]}])
    theirs = copy.deepcopy(wanted)
    theirs["spec"]["volumeClaimPolicies"][0]["templates"][0]["status"] = {}
    live = stored(theirs)
    assert applied_again(wanted, live)["spec"] == live["spec"]


def test_what_another_release_of_jobset_added_is_sent_back() -> None:
    policies = [{"templates": [{**claim(), "status": {}}], "retentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Keep"}}]
    live = msgspec.convert({"spec": {"volumeClaimPolicies": policies}}, LiveJobSet)
    wanted = jobset(volumeClaimPolicies=[{"templates": [claim()]}])
    assert with_stored_lists(wanted, live)["spec"]["volumeClaimPolicies"] == policies


CHANGES = {
    "another size": [{"templates": [claim(storage="21Gi")]}],
    "a storage class less": [{"templates": [claim()]}],
    "one claim more": [{"templates": [claim(storageClassName="fast"), claim("data")]}],
    "one policy more": [{"templates": [claim(storageClassName="fast")]}, {"templates": [claim("data")]}],
    "another retention": [{"templates": [claim(storageClassName="fast")], "retentionPolicy": {"whenDeleted": "Retain"}}],
    "another name": [{"templates": [claim("data", storageClassName="fast")]}],
}


@pytest.mark.parametrize("policies", CHANGES.values(), ids=CHANGES)
def test_a_change_is_not_swallowed(policies: list[Json]) -> None:
    live = stored(jobset(volumeClaimPolicies=[{"templates": [claim(storageClassName="fast")]}]))
    with pytest.raises(RefusedError, match="Value is immutable"):
        applied_again(jobset(volumeClaimPolicies=policies), live)


def test_a_retention_that_was_taken_out_is_not_swallowed() -> None:
    live = stored(jobset(volumeClaimPolicies=[{"templates": [claim()], "retentionPolicy": {"whenDeleted": "Retain"}}]))
    with pytest.raises(RefusedError, match="Value is immutable"):
        applied_again(jobset(volumeClaimPolicies=[{"templates": [claim()]}]), live)


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param([{"name": "", "action": "RestartJobSet"}], id="another action"),
        pytest.param([{"name": "", "action": "FailJobSet", "targetReplicatedJobs": ["node"]}], id="another target"),
        pytest.param([{"name": "mine", "action": "FailJobSet"}], id="another name"),
    ],
)
def test_a_changed_rule_is_not_swallowed(rules: list[Json]) -> None:
    live = stored(jobset(failurePolicy={"rules": [{"name": "", "action": "FailJobSet"}]}))
    with pytest.raises(RefusedError, match="Value is immutable"):
        applied_again(jobset(failurePolicy={"rules": rules}), live)
