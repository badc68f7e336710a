"""docs/embedded.md: what the embedded cluster serves, what acts on it, and what a real cluster does otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).with_name("embedded.yaml")
_HEAD = """# What the embedded cluster does

Made from scripts/embedded.yaml by scripts/generate.py; a test holds it to what is served. The cluster that `shunter up` starts
serves the kinds of Kubernetes 1.36 below, JobSet's, those of the Kubeflow training APIs, and any CustomResourceDefinition. For
each there is something that acts on it, or a reason why nothing needs to. Actions on pods (binding, eviction, logs, exec, attach,
port-forward), scale, tokens and access reviews are served as well.

| Kind | What becomes of it | What differs from a real cluster, and why |
|---|---|---|
"""


def entries() -> list[dict[str, Any]]:
    """The rows, one for each kind that is served."""
    found: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text())
    return found


def embedded_page() -> bytes:
    """The page as it should be."""
    rows = [f"| {one['kind']} | {_act(one)} | {one.get('differs', '')} |" for one in sorted(entries(), key=_order)]
    return f"{_HEAD}{chr(10).join(rows)}\n".encode()


def _act(entry: dict[str, Any]) -> str:
    return f"Nothing acts on it. {entry['inert']}" if "inert" in entry else f"It {entry['does']}."


def _order(entry: dict[str, Any]) -> tuple[str, str]:
    group, _, kind = entry["kind"].rpartition(" ")
    return kind, group
