"""What an API server's answer to a canary says about the webhooks, and what it does not."""

from __future__ import annotations

import pytest

from fault_transport import Disconnect, FaultTransport, Refuse
from shunter.api.resources import TRAIN_JOBS
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.webhooks.canary import canary, problem_on_direct_call, problem_through_api_server

BODY = canary(TRAIN_JOBS, "team-a", {})
LABELS = "every job needs the label team"


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(Refuse(403, "Forbidden", f'admission webhook "policies" denied the request: {LABELS}'), id="a webhook"),
        pytest.param(
            Refuse(422, "Invalid", f"ValidatingAdmissionPolicy 'labels' with binding 'all' denied request: {LABELS}"),
            id="a policy",
        ),
        pytest.param(
            Refuse(403, "Forbidden", "unable to create new content in namespace team-a because it is being terminated"),
            id="a namespace that goes",
        ),
        pytest.param(Refuse(404, "NotFound", 'namespaces "team-a" not found'), id="a namespace that is gone"),
        pytest.param(Refuse(404, "NotFound", "the server could not find the requested resource"), id="a kind that is not served"),
    ],
)
async def test_what_others_refuse_is_not_held_against_the_webhooks(
    client: Client, faults: FaultTransport, refusal: Refuse
) -> None:
    """Else a policy about jobs would take the whole operator off its Service, and nobody could create any."""
    faults.inject(refusal)
    assert await problem_through_api_server(client, TRAIN_JOBS, BODY, is_mutated=False) == ""


@pytest.mark.parametrize(
    "message",
    [
        'trainjobs.trainer.kubeflow.org is forbidden: User "operator" cannot create resource "trainjobs"',
        'failed calling webhook "validator.trainjob": failed to call webhook: the server denied the request',
    ],
)
async def test_what_keeps_the_webhooks_from_being_asked_is_said(client: Client, faults: FaultTransport, message: str) -> None:
    faults.inject(Refuse(403, "Forbidden", message))
    assert message in await problem_through_api_server(client, TRAIN_JOBS, BODY, is_mutated=False)


async def test_a_canary_that_is_let_in_was_not_seen(client: Client) -> None:
    assert "is not given to the validating webhooks" in await problem_through_api_server(
        client, TRAIN_JOBS, BODY, is_mutated=False
    )


async def test_a_server_that_is_away_says_nothing(client: Client, faults: FaultTransport) -> None:
    faults.inject(Disconnect())
    with pytest.raises(ApiError):
        await problem_through_api_server(client, TRAIN_JOBS, BODY, is_mutated=False)


async def test_a_bundle_that_is_no_certificate_is_said() -> None:
    why = await problem_on_direct_call(("127.0.0.1", 1), "webhooks", b"no certificate", "/validate", BODY)
    assert why == "the caBundle that is registered is no certificate"
