"""The guard's rules, as tables of requests."""

from __future__ import annotations

import pytest

from shunter.page.access.guard import (
    CODE_SECONDS,
    Settings,
    cookie_name,
    cookie_value,
    is_valid_code,
    local_hosts,
    new_code,
    new_session_id,
    refusal,
    refused_host,
    set_cookie,
)
from shunter.page.addresses import ROUTES

PORT = 8642
SETTINGS = Settings(local_hosts(PORT), cookie_name(PORT, is_secure=False))
KEY = b"k" * 32
NOW = 1_800_000_000.0


@pytest.mark.parametrize("host", ["127.0.0.1:8642", "localhost:8642", "[::1]:8642", "LOCALHOST:8642"])
def test_our_own_hosts(host: str) -> None:
    assert refused_host({"host": host}, SETTINGS) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:8643",
        "localhost:80",
        "localhost.:8642",
        "127.0.0.1.:8642",
        "evil.example:8642",
        "127.0.0.1.evil.example:8642",
        "localhost.evil.example:8642",
        "evil.example",
        "127.1:8642",
        "2130706433:8642",
        "0.0.0.0:8642",
        "0177.0.0.1:8642",
        "[::ffff:127.0.0.1]:8642",
        "[::1]",
        "127.0.0.1:8642@evil.example",
        "127.0.0.1:8642, evil.example",
        "127.0.0.1:08642",
    ],
)
def test_dns_rebinding_a_foreign_host_is_refused(host: str) -> None:
    refused = refused_host({"host": host}, SETTINGS)
    assert refused is not None
    assert refused.status == 421


ACTION = next(route for route in ROUTES if route.name == "act")
LIVE = next(route for route in ROUTES if route.name == "live")
OWN = {"host": "127.0.0.1:8642", "content-type": "application/json", "x-shunter": "page"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "same-origin"}, 0),
        ({"sec-fetch-site": "same-origin", "origin": "http://127.0.0.1:8642"}, 0),
        ({"origin": "http://127.0.0.1:8642"}, 0),
        ({}, 403),
        ({"sec-fetch-site": "none"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1:8642"}, 403),
        ({"sec-fetch-site": "same-origin", "origin": "http://localhost:8642"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://127.0.0.1:8642"}, 403),
        ({"origin": "http://127.0.0.1:8643"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"sec-fetch-site": "same-origin", "content-type": "text/plain"}, 415),
        ({"sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"}, 415),
        ({"sec-fetch-site": "same-origin", "content-type": "application/json; charset=utf-8"}, 0),
        ({"sec-fetch-site": "same-origin", "x-shunter": ""}, 403),
        ({"sec-fetch-site": "same-origin", "x-shunter": "page, page"}, 403),
    ],
)
def test_csrf_what_acts_comes_from_our_own_page(headers: dict[str, str], status: int) -> None:
    refused = refusal("POST", {**OWN, **headers}, ACTION, SETTINGS)
    assert (refused.status if refused else 0) == status


@pytest.mark.parametrize(
    ("headers", "is_taken"),
    [
        ({}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-origin", "origin": "null"}, False),
        ({"origin": "http://evil.example"}, False),
    ],
)
def test_reading_across_origins_is_refused_before_anything_is_read(headers: dict[str, str], is_taken: bool) -> None:
    assert (refusal("GET", {"host": "127.0.0.1:8642", **headers}, LIVE, SETTINGS) is None) == is_taken


def test_only_what_holds_nothing_of_the_cluster_is_open() -> None:
    assert {route.name for route in ROUTES if route.is_open} == {"open", "shell", "asset"}


def test_a_code_is_good_for_a_minute_and_with_its_key() -> None:
    code = new_code(KEY, NOW)
    assert is_valid_code(code, KEY, NOW)
    assert is_valid_code(code, KEY, NOW + CODE_SECONDS - 1)
    assert not is_valid_code(code, KEY, NOW + CODE_SECONDS + 1)
    assert not is_valid_code(code, KEY, NOW - 5)
    assert not is_valid_code(code, b"x" * 32, NOW)
    assert new_code(KEY, NOW) != code


@pytest.mark.parametrize("code", ["", ".", "..", "1800000000..", "x.y.z", "1800000000.abc", "\N{BULLET}.a.b"])
def test_other_texts_are_no_codes(code: str) -> None:
    assert not is_valid_code(code, KEY, NOW)


def test_a_code_with_a_later_time_is_no_code() -> None:
    made, rest = new_code(KEY, NOW).split(".", 1)
    assert not is_valid_code(f"{int(made) + 60}.{rest}", KEY, NOW + 100)


def test_a_session_id_has_256_bits() -> None:
    assert len(new_session_id()) == 43
    assert new_session_id() != new_session_id()


def test_the_cookie_is_for_this_page_alone() -> None:
    assert set_cookie(SETTINGS, "v") == "shunter-8642=v; Path=/; HttpOnly; SameSite=Strict"
    secure = SETTINGS._replace(cookie=cookie_name(443, is_secure=True), is_secure=True)
    assert set_cookie(secure, "v") == "__Host-shunter=v; Path=/; HttpOnly; SameSite=Strict; Secure"
    assert set_cookie(SETTINGS, "").endswith("; Max-Age=0")


@pytest.mark.parametrize(
    ("cookies", "value"),
    [
        ("shunter-8642=a", "a"),
        ("x=1; shunter-8642=a; y=2", "a"),
        ("shunter-8643=a", ""),
        ("shunter-8642=a; shunter-8642=b", ""),
        ("xshunter-8642=a", ""),
        ("", ""),
    ],
)
def test_a_cookie_is_read_by_its_whole_name_and_once(cookies: str, value: str) -> None:
    assert cookie_value({"cookie": cookies}, SETTINGS.cookie) == value
