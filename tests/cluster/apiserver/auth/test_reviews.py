"""What token reviews and access reviews answer."""

from __future__ import annotations

from cluster.api_server import RunningApiServer
from cluster.apiserver.http_client import Api


async def test_token_review_knows_good_and_bad_tokens(api: Api, api_server: RunningApiServer) -> None:
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    good = await api.create(path, {"spec": {"token": api_server.token}})
    bad = await api.create(path, {"spec": {"token": "a.b.c"}})
    assert good["status"]["authenticated"] is True
    assert good["status"]["user"]["username"] == "admin"
    assert "authenticated" not in bad["status"]


async def test_access_reviews_answer_for_oneself_and_for_others(api: Api) -> None:
    asked = {"resourceAttributes": {"verb": "create", "resource": "pods"}}
    root = "/apis/authorization.k8s.io/v1"
    mine = await api.create(f"{root}/selfsubjectaccessreviews", {"spec": asked})
    theirs = await api.create(f"{root}/subjectaccessreviews", {"spec": {**asked, "user": "bob"}})
    masters = await api.create(f"{root}/subjectaccessreviews", {"spec": {**asked, "groups": ["system:masters"]}})
    assert [review["status"]["allowed"] for review in (mine, theirs, masters)] == [True, False, True]
