"""Settings that need rights of their own, on an installed operator: progress, and metrics for those who may read them."""

from __future__ import annotations

import asyncio
import json
import ssl
from pathlib import Path

import aiohttp
import pytest

from conformance.installed import NAMESPACE, SERVICE, Endpoints, Replica, admin, install, is_admitting, is_there, until
from conformance.test_permissions import head, refusals, uses
from control_plane import ControlPlane, free_ports
from shunter.api.resources import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS, SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS, TRAIN_JOBS
from shunter.kube.client import Client
from shunter.operator.config import API_VERSION, KIND
from shunter.operator.trainer.statusserver.place import audience

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(300)]

TEAM = "team-a"


async def token(client: Client, *audiences: str) -> str:
    spec = {"audiences": list(audiences)}
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    answer = await client.create(SERVICE_ACCOUNTS, request, TEAM, subresource="token", name="default")
    return f"Bearer {answer['status']['token']}"


async def test_what_is_granted_for_progress_and_metrics_is_needed_and_enough(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    switched_on = {"featureGates": {"TrainJobStatus": True}, "metrics": {"auth": {"enabled": True}}}
    config = {"apiVersion": API_VERSION, "kind": KIND, **switched_on, "statusServer": {"port": port}}
    file = tmp_path / "config.yaml"
    file.write_text(json.dumps(config))
    parts = ("kube-controller-manager", "jobset")
    with ControlPlane(tmp_path / "plane", parts=parts, audit=True) as plane:
        async with admin(plane) as client, Endpoints(client) as endpoints, aiohttp.ClientSession() as session:
            await client.apply(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})
            await until(lambda: is_there(client, SERVICE_ACCOUNTS, "default", TEAM))
            await install(client, config=config)
            replica = Replica(plane, tmp_path, flags=[f"--config={file}"])
            replica.start()
            endpoints.add(replica)
            try:
                await asyncio.to_thread(replica.wait_ready)
                await until(lambda: is_admitting(client, TEAM))
                await client.create(
                    TRAIN_JOBS, {**head(TRAIN_JOBS, "told"), "spec": {"runtimeRef": {"name": "torch-distributed"}}}
                )
                await until(lambda: is_there(client, CONFIG_MAPS, "told-tls-config", TEAM))
                trusted = (await client.get(CONFIG_MAPS, "told-tls-config", TEAM))["data"]["ca.crt"]
                status = {"lastUpdatedTime": "2026-11-21T10:00:00Z", "progressPercentage": 40}
                async with session.post(
                    f"https://{replica.address}:{port}/apis/{audience(TEAM, 'told')}",
                    json={"trainerStatus": status},
                    headers={"Authorization": await token(client, audience(TEAM, "told"))},
                    ssl=ssl.create_default_context(cadata=trusted),
                    server_hostname=f"{SERVICE}.{NAMESPACE}.svc",
                ) as answer:
                    assert (answer.status, await answer.json()) == (200, {"trainerStatus": status})
                assert (await client.get(TRAIN_JOBS, "told", TEAM))["status"]["trainerStatus"] == status
                bearer = {"Authorization": await token(client)}
                async with session.get(f"http://{replica.metrics}/metrics", headers=bearer) as answer:
                    assert answer.status == 403
            finally:
                await asyncio.to_thread(replica.stop)
        assert refusals(plane.audit_log()) == []
        asked = {use.resource for use in uses(plane.audit_log()) if use.verb == "create"}
        assert {TOKEN_REVIEWS.plural, SUBJECT_ACCESS_REVIEWS.plural} <= asked
