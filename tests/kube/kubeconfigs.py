"""Kubeconfigs for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def config(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, name: str = "x") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": f"{name}-ns"}}],
        "current-context": name,
    }


def written(path: Path, content: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path
