"""Tokens of service accounts: for whom, how long, and from which pod."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from cluster.api_server import RunningApiServer
from cluster.apiserver.http_client import Api, client
from shunter.api.meta import Json
from shunter.cluster.apiserver.auth.service_account_tokens import TokenError, TokenIssuer, user_of


async def test_a_token_is_good_only_for_whom_it_is_meant(api: Api, api_server: RunningApiServer, namespace: str) -> None:
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await api.create(accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a", "b"]}}
    token = (await api.create(f"{accounts}/s/token", request))["status"]["token"]

    async def reviewed(**spec: object) -> dict[str, object]:
        review = {"spec": {"token": token, **spec}}
        status: dict[str, object] = (await api.create("/apis/authentication.k8s.io/v1/tokenreviews", review))["status"]
        return status

    assert (await reviewed(audiences=["b", "c"]))["audiences"] == ["b"]
    for wrong in ({}, {"audiences": ["c"]}):
        assert "is invalid for the target audiences" in str((await reviewed(**wrong))["error"])
    async with client(api_server, token=token) as stranger:
        assert (await stranger.request("GET", "/api/v1/pods")).code == 401


async def test_service_account_tokens_cannot_be_changed(api: Api, api_server: RunningApiServer, namespace: str) -> None:
    await api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "worker"}})
    answer = await api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts/worker/token", {"spec": {}})
    head, payload, signature = answer["status"]["token"].split(".")
    forged = ".".join((head, payload[:-4] + "AAAA", signature))
    async with client(api_server, token=forged) as api:
        assert (await api.request("GET", "/apis")).code == 401


async def test_a_token_dies_at_once_with_its_account_and_its_pod(api_server: RunningApiServer, api: Api, namespace: str) -> None:
    root = f"/api/v1/namespaces/{namespace}"
    await api.create(f"{root}/serviceaccounts", {"metadata": {"name": "worker"}})
    spec = {"serviceAccountName": "worker", "containers": [{"name": "c", "image": "i"}]}
    await api.create(f"{root}/pods", {"metadata": {"name": "p"}, "spec": spec})
    bound = {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}}}
    bodies: list[Json] = [bound, {"spec": {}}]
    tokens = [(await api.create(f"{root}/serviceaccounts/worker/token", body))["status"]["token"] for body in bodies]
    async with client(api_server, token=tokens[0]) as pod, client(api_server, token=tokens[1]) as account:
        assert [(await one.request("GET", "/apis")).code for one in (pod, account)] == [200, 200]
        await api.request("DELETE", f"{root}/pods/p?gracePeriodSeconds=0")
        assert [(await one.request("GET", "/apis")).code for one in (pod, account)] == [401, 200]
        await api.request("DELETE", f"{root}/serviceaccounts/worker")
        assert [(await one.request("GET", "/apis")).code for one in (pod, account)] == [401, 401]
        await api.create(f"{root}/serviceaccounts", {"metadata": {"name": "worker"}})
        assert [(await one.request("GET", "/apis")).code for one in (pod, account)] == [401, 401]


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> TokenIssuer:
    """With a key of its own."""
    file = tmp_path_factory.mktemp("key") / "sa.key"
    form = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(ec.generate_private_key(ec.SECP256R1()).private_bytes(*form))
    return TokenIssuer(file)


def part(text: str) -> str:
    """One part of a JSON web token."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def test_a_token_of_ours_says_whose_it_is(issuer: TokenIssuer) -> None:
    pod = {"pod": {"name": "p", "uid": "u"}}
    token, _ = issuer.issue(namespace="team", account="worker", uid="1", audiences=["a"], seconds=600, objects=pod)
    user = user_of(issuer.claims(token))
    assert (user.name, user.uid) == ("system:serviceaccount:team:worker", "1")
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated")
    assert user.extra["authentication.kubernetes.io/pod-name"] == ("p",)


def test_a_token_that_has_expired_says_so(issuer: TokenIssuer) -> None:
    token, _ = issuer.issue(namespace="team", account="worker", uid="1", audiences=["a"], seconds=0)
    with pytest.raises(TokenError, match="service account token has expired"):
        issuer.claims(token)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "..",
        "a.b",
        "a.b.c.d",
        f"{part('{}')}.{part('{}')}.",
        f"{part('{}')}.{part('{}')}.A",
        f"{part('{}')}.{part('{}')}.{part('x' * 64)}",
        f"{part('{}')}.{part('[' * 40_000)}.{part('x' * 64)}",
        f"{part('{}')}.{part('no JSON')}.{part('x' * 64)}",
        f"{part('{}')}.\u00e9.{part('x' * 64)}",
        f"{part('{}')}.{part('{}')}.\u00e9",
    ],
)
def test_what_we_did_not_sign_is_no_token_whatever_it_says(issuer: TokenIssuer, token: str) -> None:
    with pytest.raises(TokenError):
        issuer.claims(token)
