"""Hosts that scripts name."""

from __future__ import annotations

import base64

from migrate.conversion.rules.jobs_with_config_map import with_config_map
from shunter.api.meta import Json


def test_hosts_named_in_binary_data_are_told_of() -> None:
    text = base64.b64encode(b"ssh bert-worker-0 true").decode()
    volumes: list[Json] = [{"name": "code", "configMap": {"name": "settings"}}]
    container = {"command": ["python", "t.py"], "volumeMounts": [{"name": "code", "mountPath": "/code"}]}
    found = with_config_map(container, {"binaryData": {"hosts.txt": text}}, volumes=volumes).findings
    assert any("ConfigMap settings names hosts" in finding.message for finding in found)
