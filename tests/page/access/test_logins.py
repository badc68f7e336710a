"""Who a viewer is, by the headers of a proxy or a bearer token: what does not come from the proxy is not believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from shunter.kube.http.head import Head
from shunter.kube.http.request import Request
from shunter.kube.kubeconfig import Connection
from shunter.page.access.guard import Refusal, RefusedError, Settings
from shunter.page.access.logins import ProxiedUser, ProxyRules, TokenLogin, proxied_user
from shunter.page.access.sessions import Session, Sessions
from shunter.page.views.view import PageOptions

CERTIFICATE: Mapping[str, Any] = {"subject": ((("commonName", "proxy"),),)}
SECRET = ProxyRules(secret=b"s3cret", needs_certificate=False, groups_header="X-Groups")
BY_SECRET = {"x-shunter-proxy-secret": "s3cret"}
ADA = {"kubeflow-userid": "ada@example.org"}


def status(headers: Mapping[str, str], rules: ProxyRules = SECRET, certificate: Mapping[str, Any] | None = None) -> int:
    """That of the refusal; 200 for none."""
    found = proxied_user(headers, certificate, rules)
    return found.status if isinstance(found, Refusal) else 200


def test_a_viewer_has_the_user_and_groups_of_the_headers() -> None:
    headers = {**BY_SECRET, **ADA, "x-groups": "vision,speech,vision,,"}
    assert proxied_user(headers, None, SECRET) == ProxiedUser("ada@example.org", ("vision", "speech"))
    assert proxied_user({**BY_SECRET, **ADA}, None, SECRET) == ProxiedUser("ada@example.org")
    without_groups = SECRET._replace(groups_header="")
    assert proxied_user(headers, None, without_groups) == ProxiedUser("ada@example.org"), "no header was named for groups"


@pytest.mark.parametrize(
    ("rules", "headers", "certificate"),
    [
        (SECRET, ADA, CERTIFICATE),
        (SECRET, {**ADA, "x-shunter-proxy-secret": ""}, None),
        (SECRET, {**ADA, "x-shunter-proxy-secret": "s3cre"}, None),
        (SECRET, {**ADA, "x-shunter-proxy-secret": "s3cret2"}, None),
        (SECRET, {**ADA, "x-shunter-proxy-secret": "s3cr\u00e9t"}, None),
        (ProxyRules(), ADA, None),
        (ProxyRules(), ADA, {}),
        (ProxyRules(), {**ADA, **BY_SECRET}, None),
        (ProxyRules(secret=b"s3cret"), {**ADA, **BY_SECRET}, None),
        (ProxyRules(secret=b"s3cret"), ADA, CERTIFICATE),
        (ProxyRules(needs_certificate=False), ADA, None),
        (ProxyRules(needs_certificate=False), ADA, CERTIFICATE),
    ],
    ids=[
        *("a certificate for a secret", "an empty secret", "a part of it", "more than it", "other letters"),
        *("no certificate", "an empty certificate", "a secret for a certificate", "one of both", "the other of both"),
        *("nothing is asked for", "nothing is asked for, and a certificate"),
    ],
)
def test_headers_are_believed_only_of_the_proxy(
    rules: ProxyRules, headers: Mapping[str, str], certificate: Mapping[str, Any] | None
) -> None:
    assert status(headers, rules, certificate) == 401


@pytest.mark.parametrize("rules", [ProxyRules(), ProxyRules(secret=b"s3cret")])
def test_the_proxy_proves_itself_by_its_certificate_and_by_a_secret_where_there_is_one(rules: ProxyRules) -> None:
    assert status({**ADA, **BY_SECRET}, rules, CERTIFICATE) == 200


@pytest.mark.parametrize(
    ("headers", "refusal"),
    [
        ({}, 401),
        ({"kubeflow-userid": " "}, 401),
        ({"kubeflow-userid": "ada, eve"}, 400),
        ({"kubeflow-userid": "ada,eve"}, 400),
        ({**ADA, "x-groups": "vision, admins"}, 400),
        ({"kubeflow-userid": "system:admin"}, 403),
        ({"kubeflow-userid": "system:serviceaccount:team:a"}, 403),
        ({**ADA, "x-groups": "vision,system:masters"}, 403),
        ({"kubeflow-userid": "\u00e4da"}, 400),
        ({**ADA, "x-groups": "a\u200bb"}, 400),
        ({**ADA, "x-groups": "a\x00b"}, 400),
    ],
)
def test_a_viewer_cannot_name_themselves_or_a_group_of_the_system(headers: Mapping[str, str], refusal: int) -> None:
    """The server joins the values of a header that comes twice by `, `: one of them may be the viewer's."""
    assert status({**BY_SECRET, **headers}) == refusal


SETTINGS = Settings(hosts=frozenset({"page"}), cookie="page")
LOGIN, TOKEN = TokenLogin(Connection(server="https://cluster")), "abc.DEF-123_~+/=="


class NoWire:
    """A connection of which only the headers of its request are read."""

    certificate: Mapping[str, Any] | None = None
    is_slow = False

    def write(self, text: bytes) -> None:
        raise AssertionError(text)

    async def drain(self) -> None:
        raise AssertionError

    def abort(self) -> None:
        raise AssertionError

    def close_when_answered(self) -> None:
        raise AssertionError

    def detach(self) -> Any:
        raise AssertionError


async def session_of(authorization: str, sessions: Sessions) -> Session:
    head = Head(
        "GET", "/", {"authorization": authorization}, 0, takes_chunks=True, is_last=False, upgrade="", expects_continue=False
    )
    return await LOGIN.session(Request(NoWire(), head), sessions, SETTINGS)


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Sessions:
    """Every token is accepted, without an API server."""

    async def identify(session: Session) -> str:
        return session.user

    monkeypatch.setattr(Session, "identify", identify)
    return Sessions(PageOptions("prod"))


@pytest.mark.parametrize("scheme", ["bearer ", "BEARER ", " Bearer "])
@pytest.mark.parametrize("end", ["", " x"])
async def test_a_token_is_read_as_the_api_server_reads_it(sessions: Sessions, scheme: str, end: str) -> None:
    known = await session_of(f"Bearer {TOKEN}", sessions)
    assert await session_of(f"{scheme}{TOKEN}{end}", sessions) is known
    assert await session_of(f"{scheme}other{end}", sessions) is not known


@pytest.mark.parametrize(
    "value",
    [
        "Bearer",
        "Bearer ",
        "Bearer  abc",
        "Bearer\tabc",
        "Basic abc",
        "abc",
        "Bearer a\r\nX: 1",
        "Bearer a,b",
        "Bearer =",
        "Bearer \u00e9",
    ],
)
async def test_what_is_no_bearer_token_is_refused(sessions: Sessions, value: str) -> None:
    with pytest.raises(RefusedError) as refused:
        await session_of(value, sessions)
    assert refused.value.refusal.status == 401


@pytest.mark.parametrize("value", ["", " ", "a b", "a\r\nX: 1", "\u00e9", "Bearer a"])
async def test_a_form_takes_a_token_alone(sessions: Sessions, value: str) -> None:
    with pytest.raises(RefusedError) as refused:
        await LOGIN.with_token(value, sessions)
    assert refused.value.refusal.status == 401


async def test_blanks_around_a_token_in_a_form_are_ignored(sessions: Sessions) -> None:
    assert sessions.find(await LOGIN.with_token(f" {TOKEN}\n", sessions)) is not None
