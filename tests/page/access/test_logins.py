"""Who a viewer is, by the headers of a proxy or a bearer token: what does not come from the proxy is not believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from shunter.page.access.guard import Refusal, RefusedError
from shunter.page.access.logins import ProxiedUser, ProxyRules, bearer_token, proxied_user

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


@pytest.mark.parametrize("value", ["Bearer abc.DEF-123_~+/==", "bearer abc.DEF-123_~+/==", "BEARER   abc.DEF-123_~+/=="])
def test_the_scheme_of_a_token_has_no_case(value: str) -> None:
    assert bearer_token(value) == "abc.DEF-123_~+/=="


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic abc",
        "abc",
        "Bearer a b",
        "Bearer a\r\nX: 1",
        "Bearer a,b",
        "Bearer =",
        "Bearer \u00e9",
        " Bearer a",
    ],
)
def test_what_is_no_bearer_token_is_refused(value: str) -> None:
    with pytest.raises(RefusedError) as refused:
        bearer_token(value)
    assert refused.value.refusal.status == 401
