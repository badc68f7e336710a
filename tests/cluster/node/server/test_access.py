"""Who may use the node's server, and how seldom the API server is asked."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.cluster.node.server import access as kubelet_access
from shunter.cluster.node.server.access import (
    UNAUTHORIZED,
    AccessRequest,
    CredentialGuard,
    ReviewGuard,
    node_access,
    subresource,
    user_of_certificate,
)
from shunter.kube import reviews
from shunter.kube.client import Client
from shunter.kube.reviews import User, access_review, reviewed_user
from shunter.kube.transport import Response

CERTIFICATE = {
    "subject": ((("organizationName", "ops"),), (("organizationName", "all"),), (("commonName", "ann"),)),
}


class Reviewer:
    """A transport that answers reviews: tokens `TOKEN-OF-name` are good, and `ann` may do everything."""

    def __init__(self) -> None:
        self.asked: list[Json] = []
        self.status = 201

    async def request(self, method: str, path: str, *, params: Any = (), headers: Any = (), body: bytes = b"") -> Response:
        review = msgspec.json.decode(body)
        self.asked.append(review)
        spec = review["spec"]
        if review["kind"] == "TokenReview":
            _, _, name = spec["token"].partition("TOKEN-OF-")
            status: Json = {"authenticated": True, "user": {"username": name}} if name else {"error": "no"}
        else:
            status = {"allowed": spec["user"] == "ann"}
        return Response(self.status, {}, msgspec.json.encode({**review, "status": status}))


@pytest.fixture
def reviewer() -> Reviewer:
    return Reviewer()


@pytest.fixture
def guard(reviewer: Reviewer) -> ReviewGuard:
    return ReviewGuard(Client(reviewer), "here")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("access_request", "status"),
    [
        pytest.param(AccessRequest("GET", CERTIFICATE, ""), 0, id="certificate-of-one-who-may"),
        pytest.param(AccessRequest("POST", None, "TOKEN-OF-ann"), 0, id="token-of-one-who-may"),
        pytest.param(AccessRequest("GET", CERTIFICATE, "TOKEN-OF-bob"), 0, id="the-certificate-counts-first"),
        pytest.param(AccessRequest("GET", None, "TOKEN-OF-bob"), 403, id="token-of-one-who-may-not"),
        pytest.param(AccessRequest("GET", None, "garbage"), 401, id="bad-token"),
        pytest.param(AccessRequest("GET", None, ""), 401, id="nothing"),
        pytest.param(AccessRequest("GET", {"subject": ()}, ""), 401, id="certificate-without-a-name"),
    ],
)
async def test_the_api_server_decides(guard: ReviewGuard, access_request: AccessRequest, status: int) -> None:
    refusal = await guard.refusal(access_request)
    assert (refusal.status if refusal else 0) == status


async def test_answers_are_remembered_for_a_while(
    guard: ReviewGuard, reviewer: Reviewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    for _ in range(3):
        assert await guard.refusal(AccessRequest("GET", None, "TOKEN-OF-ann")) is None
    assert [review["kind"] for review in reviewer.asked] == ["TokenReview", "SubjectAccessReview"]
    now += kubelet_access.TOKEN_SECONDS
    await guard.refusal(AccessRequest("GET", None, "TOKEN-OF-ann"))
    assert [review["kind"] for review in reviewer.asked[2:]] == ["TokenReview"]
    now += kubelet_access.ALLOWED_SECONDS
    await guard.refusal(AccessRequest("GET", CERTIFICATE, ""))
    assert reviewer.asked[-1]["spec"]["groups"] == ["ops", "all", "system:authenticated"]


async def test_a_refusal_is_not_remembered_as_long(
    guard: ReviewGuard, reviewer: Reviewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    await guard.refusal(AccessRequest("GET", None, "TOKEN-OF-bob"))
    now += kubelet_access.DENIED_SECONDS
    await guard.refusal(AccessRequest("GET", None, "TOKEN-OF-bob"))
    assert [review["kind"] for review in reviewer.asked].count("SubjectAccessReview") == 2


async def test_memory_is_bounded(guard: ReviewGuard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "_CACHE_SIZE", 3)
    for number in range(10):
        await guard.refusal(AccessRequest("GET", None, f"garbage {number}"))
    assert len(guard._reviewer._users._answers) == 3


async def test_nobody_comes_in_while_the_api_server_cannot_say(guard: ReviewGuard, reviewer: Reviewer) -> None:
    reviewer.status = 500
    refusal = await guard.refusal(AccessRequest("GET", CERTIFICATE, ""))
    assert refusal is not None
    assert refusal.status == 500


@pytest.mark.parametrize(
    ("access_request", "known"),
    [
        pytest.param(AccessRequest("GET", CERTIFICATE, ""), True, id="certificate"),
        pytest.param(AccessRequest("GET", None, "secret"), True, id="token"),
        pytest.param(AccessRequest("GET", None, "secre"), False, id="another-token"),
        pytest.param(AccessRequest("GET", None, "s\udce9cret"), False, id="not-text"),
        pytest.param(AccessRequest("GET", None, ""), False, id="nothing"),
    ],
)
async def test_whoever_is_known_may_do_everything_on_the_embedded_cluster(access_request: AccessRequest, known: bool) -> None:
    assert await CredentialGuard(frozenset({"secret"})).refusal(access_request) == (None if known else UNAUTHORIZED)


def test_a_certificates_subject_is_a_user() -> None:
    assert user_of_certificate(CERTIFICATE) == User("ann", groups=("ops", "all", "system:authenticated"))


def test_a_certificate_that_names_the_group_of_all_known_users_has_it_once() -> None:
    subject = ((("organizationName", "system:authenticated"),), (("commonName", "ann"),))
    assert user_of_certificate({"subject": subject}) == User("ann", groups=("system:authenticated",))


def test_a_token_that_is_not_authenticated_is_nobodys() -> None:
    assert reviewed_user({"authenticated": False, "user": {"username": "ann"}}) is None


@pytest.mark.parametrize(
    ("path", "wanted"),
    [("/stats/summary", "stats"), ("/containerLogs/n/p/c", "proxy"), ("/exec/n/p/c", "proxy"), ("/x", "proxy")],
)
async def test_stats_are_a_right_of_their_own(guard: ReviewGuard, reviewer: Reviewer, path: str, wanted: str) -> None:
    await guard.refusal(AccessRequest("GET", CERTIFICATE, "", subresource(path)))
    await guard.refusal(AccessRequest("GET", CERTIFICATE, "", "other"))
    assert [one["spec"]["resourceAttributes"]["subresource"] for one in reviewer.asked] == [wanted, "other"]


def test_access_is_to_a_subresource_of_the_node() -> None:
    assert access_review(User("ann", "1", ("g",)), node_access("create", "here", "proxy"))["spec"] == {
        "user": "ann",
        "uid": "1",
        "groups": ["g"],
        "resourceAttributes": {"verb": "create", "version": "v1", "resource": "nodes", "subresource": "proxy", "name": "here"},
    }
