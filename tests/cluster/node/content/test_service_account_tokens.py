"""When a pod's token is replaced."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from shunter.cluster.node.content.references import TokenKey
from shunter.cluster.node.content.service_account_tokens import is_fresh, stored_tokens
from shunter.cluster.node.layout import PodDirectory

HOUR = TokenKey("", 3600)
DAY = 24 * 3600.0
ISSUED = 1_000_000.0


def token(*, life: float, issued: float = ISSUED) -> str:
    body = base64.urlsafe_b64encode(json.dumps({"iat": issued, "exp": issued + life}).encode()).decode().rstrip("=")
    return f"head.{body}.signature"


@pytest.mark.parametrize(
    ("text", "key", "age", "fresh"),
    [
        pytest.param(token(life=3600), HOUR, 2879, True, id="before-80-percent"),
        pytest.param(token(life=3600), HOUR, 2880, False, id="at-80-percent"),
        pytest.param(token(life=365 * DAY), HOUR, 2880, False, id="a-longer-life-than-asked-for-does-not-count"),
        pytest.param(token(life=600), HOUR, 480, False, id="a-shorter-one-does"),
        pytest.param(token(life=30 * DAY), TokenKey("", int(30 * DAY)), DAY - 1, True, id="long-lived-within-a-day"),
        pytest.param(token(life=30 * DAY), TokenKey("", int(30 * DAY)), DAY, False, id="long-lived-after-a-day"),
        pytest.param("garbage", HOUR, 0, False, id="no-token"),
        pytest.param("a.b.c", HOUR, 0, False, id="no-claims"),
        pytest.param("", HOUR, 0, False, id="nothing"),
    ],
)
def test_a_token_is_replaced_in_time(text: str, key: TokenKey, age: float, fresh: bool) -> None:
    assert is_fresh(text, key, ISSUED + age) is fresh


def test_tokens_of_an_earlier_agent_are_found_in_the_volumes(tmp_path: Path) -> None:
    pod = PodDirectory(tmp_path)
    pod.volume("access").mkdir(parents=True)
    (pod.volume("access") / "token").write_text("found")
    sources = [
        {"serviceAccountToken": {"path": path, "expirationSeconds": seconds}} for path, seconds in (("token", 607), ("no", 99))
    ]
    spec = {"volumes": [{"name": "access", "projected": {"sources": [*sources, {"configMap": {"name": "ca"}}]}}, {"name": "e"}]}
    assert stored_tokens(spec, pod) == {TokenKey("", 607): "found"}
