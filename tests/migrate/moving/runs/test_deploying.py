"""Objects of a trial are all made, or none is left."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from fault_transport import FaultTransport, Refuse
from migrate.proof.jobs import pytorch
from shunter.api.resources import NAMESPACES, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving.runs.deploying import start
from shunter.migrate.moving.runs.trial import TrialOptions, trial_of
from shunter.migrate.options import Options

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(("method", "path"), [("POST", TRAIN_JOBS.plural), ("PATCH", TRAINING_RUNTIMES.plural)])
async def test_nothing_is_left_of_a_trial_that_is_refused_midway(method: str, path: str, client: Client) -> None:
    namespace = f"trial-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    trial_options = TrialOptions(namespace=namespace)
    made = trial_of(SourceObject(pytorch(1), "bert.yaml"), trial_options, Options(), now=datetime(2026, 11, 21, tzinfo=UTC))
    transport = FaultTransport(client.transport)
    transport.inject(Refuse(403, "Forbidden", "not you"), method=method, path=path)
    with pytest.raises(Forbidden, match="not you"):
        await start(client.through(transport), made)
    for resource in (TRAIN_JOBS, TRAINING_RUNTIMES):
        assert (await client.list(resource, namespace)).items == []
