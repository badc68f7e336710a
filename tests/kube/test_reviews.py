"""Somebody else's token: what it says of itself, whom a TokenReview found, and how long an answer is remembered."""

from __future__ import annotations

import base64
from types import SimpleNamespace

import pytest

from shunter.api.meta import Json
from shunter.kube import reviews
from shunter.kube.reviews import Pod, ReviewCache, User, access_review, bound_pod, reviewed_user, token_review, unverified_claims


def token(body: str) -> str:
    """A JSON web token with this payload."""
    return f"e30.{base64.urlsafe_b64encode(body.encode()).decode().rstrip('=')}.sign"


@pytest.mark.parametrize("body", ['{"sub": "a"}', '{"sub": "ab"}', '{"sub": "abc"}', '{"sub": "\u00e9\u4e16"}'])
def test_claims_are_read_whatever_the_padding_of_their_base64_would_be(body: str) -> None:
    assert list(unverified_claims(token(body))) == ["sub"]


@pytest.mark.parametrize(
    "text",
    ["", ".", "no-token", "a.b", "a.\u00e9.c", "a.A.c", token(""), token("null"), token("1"), token("[1]"), token('{"a": 1')],
)
def test_what_is_no_token_claims_nothing(text: str) -> None:
    assert unverified_claims(text) == {}


@pytest.mark.parametrize("unit", ["[", '{"a":'])
def test_a_token_nested_without_end_claims_nothing(unit: str) -> None:
    """Whoever reaches the status server may send one."""
    assert unverified_claims(token(unit * 20_000)) == {}


def test_a_review_without_audiences_is_about_the_api_server_itself() -> None:
    assert token_review("t")["spec"] == {"token": "t"}
    assert token_review("t", ["a", "b"])["spec"] == {"token": "t", "audiences": ["a", "b"]}


@pytest.mark.parametrize(
    ("status", "user"),
    [
        ({"authenticated": True, "user": {"username": "ada", "uid": "1", "groups": ["g", "h"]}}, User("ada", "1", ("g", "h"))),
        ({"authenticated": True, "user": {"username": "ada"}}, User("ada")),
        ({"authenticated": True, "user": {"username": "ada", "groups": None}}, User("ada")),
        ({"authenticated": False, "user": {"username": "ada"}}, None),
        ({"user": {"username": "ada"}}, None),
        ({"authenticated": True, "user": {"username": ""}}, None),
        ({"authenticated": True, "user": None}, None),
        ({"error": "invalid bearer token"}, None),
        ({}, None),
    ],
)
def test_a_user_is_whom_the_review_authenticated_by_name(status: Json, user: User | None) -> None:
    assert reviewed_user(status) == user


POD = {"authentication.kubernetes.io/pod-name": ["p"], "authentication.kubernetes.io/pod-uid": ["u"]}


@pytest.mark.parametrize(
    ("extra", "pod"),
    [
        (POD, Pod("team", "p", "u")),
        ({"authentication.kubernetes.io/pod-name": ["p"]}, None),
        ({**POD, "authentication.kubernetes.io/pod-uid": []}, None),
        ({**POD, "authentication.kubernetes.io/pod-uid": None}, None),
        (None, None),
    ],
)
def test_a_token_is_bound_to_a_pod_of_a_name_and_a_uid(extra: Json | None, pod: Pod | None) -> None:
    assert bound_pod({"user": {"username": "a", "extra": extra}}, "team") == pod


def test_an_access_review_asks_with_all_groups_of_the_user() -> None:
    """RBAC grants by group: one that is left out refuses what is allowed."""
    attributes = {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}
    assert access_review(User("ada", "1", ("g", "h")), attributes)["spec"] == {
        "user": "ada",
        "uid": "1",
        "groups": ["g", "h"],
        **attributes,
    }


def test_an_answer_that_is_none_is_told_from_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(reviews, "time", SimpleNamespace(monotonic=lambda: now[0]))
    cache = ReviewCache[str | None]()
    cache.put("bad", None, 10)
    assert (cache.get("bad"), cache.get("other")) == ((None,), None)
    now[0] = 110.0
    assert cache.get("bad") is None, "an answer is good for its seconds and no longer"


def test_a_full_cache_drops_what_has_expired_before_what_is_still_good(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(reviews, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(reviews, "_CACHE_SIZE", 3)
    cache = ReviewCache[int]()
    for key, seconds in (("old", 50), ("short", 5), ("new", 50)):
        cache.put(key, 1, seconds)
    now[0] = 106.0
    cache.put("fourth", 1, 50)
    assert [key for key in ("old", "short", "new", "fourth") if cache.get(key)] == ["old", "new", "fourth"]
    cache.put("fifth", 1, 50)
    assert [key for key in ("old", "new", "fourth", "fifth") if cache.get(key)] == ["new", "fourth", "fifth"]
